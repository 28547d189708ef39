#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Grows the buffer for `more` bytes and the NUL. */
static bool reserve(dit_buffer *buffer, size_t more)
{
    if (buffer->failed) return false;
    if (more < buffer->capacity - buffer->used) return true;
    size_t wanted = buffer->used + more + 1, capacity = buffer->capacity ? buffer->capacity : 256;
    while (capacity < wanted && capacity < (size_t)-1 / 2) capacity *= 2;
    char *data = wanted > more && capacity >= wanted ? realloc(buffer->data, capacity) : NULL;
    buffer->failed = !data;
    if (!data) return false;
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

void dit_buffer_append(dit_buffer *buffer, const void *bytes, size_t count)
{
    if (!reserve(buffer, count)) return;
    if (count) memcpy(buffer->data + buffer->used, bytes, count);
    buffer->used += count;
    buffer->data[buffer->used] = '\0';
}

void dit_buffer_char(dit_buffer *buffer, char byte)
{
    if (!reserve(buffer, 1)) return;
    buffer->data[buffer->used++] = byte;
    buffer->data[buffer->used] = '\0';
}

void dit_buffer_text(dit_buffer *buffer, const char *text)
{
    dit_buffer_append(buffer, text, strlen(text));
}

void dit_buffer_printf(dit_buffer *buffer, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length < 0) buffer->failed = true;
    if (length >= 0 && reserve(buffer, (size_t)length)) {
        vsnprintf(buffer->data + buffer->used, (size_t)length + 1, format, again);
        buffer->used += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

void dit_buffer_reset(dit_buffer *buffer)
{
    buffer->used = 0;
    buffer->failed = false;
    if (buffer->data) buffer->data[0] = '\0';
}

void dit_buffer_release(dit_buffer *buffer)
{
    free(buffer->data);
    *buffer = (dit_buffer){0};
}
