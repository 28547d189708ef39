/* Buffer: bytes that grow, for texts of unknown length.
 *
 * A failed allocation is remembered in `failed` and later appends do nothing, so that a writer checks once, at the
 * end. `data` is always NUL-terminated after the first append; the NUL is not counted in `used`.
 */
#ifndef DIT_BASE_BUFFER_H
#define DIT_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    char *data;
    size_t used, capacity;
    bool failed;
} dit_buffer;

void dit_buffer_append(dit_buffer *buffer, const void *bytes, size_t count);
void dit_buffer_char(dit_buffer *buffer, char byte);
void dit_buffer_text(dit_buffer *buffer, const char *text);
void dit_buffer_printf(dit_buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Forgets contents and failure, but keeps the capacity. */
void dit_buffer_reset(dit_buffer *buffer);
/* Frees the memory. Accepts a zeroed buffer. */
void dit_buffer_release(dit_buffer *buffer);

#ifdef __cplusplus
}
#endif
#endif
