#include "base/picture_size.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 1 << 20, UPRIGHT = 1, SWAPPED = 5 };

static unsigned word_at(const uint8_t *at, int count, bool little)
{
    unsigned word = 0;
    for (int i = 0; i < count; i++) word = word << 8 | at[little ? count - 1 - i : i];
    return word;
}

int dit_exif_orientation(const uint8_t *exif, size_t length)
{
    enum { TAG = 0x0112, SHORT = 3, ENTRY = 12, HEADER = 6 };
    if (length < HEADER + 8 || memcmp(exif, "Exif\0", HEADER) != 0) return UPRIGHT;
    const uint8_t *tiff = exif + HEADER;
    size_t bytes = length - HEADER;
    bool little = tiff[0] == 'I';
    if (memcmp(tiff, little ? "II*\0" : "MM\0*", 4) != 0) return UPRIGHT;
    size_t at = word_at(tiff + 4, 4, little);
    if (at > bytes - 2 || bytes < 2) return UPRIGHT;
    size_t entries = word_at(tiff + at, 2, little);
    for (at += 2; entries > 0 && bytes >= ENTRY && at <= bytes - ENTRY; entries--, at += ENTRY) {
        const uint8_t *entry = tiff + at;
        if (word_at(entry, 2, little) != TAG || word_at(entry + 2, 2, little) != SHORT) continue;
        unsigned value = word_at(entry + 8, 2, little);
        return value >= 1 && value <= 8 ? (int)value : UPRIGHT;
    }
    return UPRIGHT;
}

static bool size_of_png(const uint8_t *at, size_t length, int64_t *height, int64_t *width)
{
    static const uint8_t magic[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    enum { WIDTH_AT = 16, HEIGHT_AT = 20, LEAST = 24 };
    if (length < LEAST || memcmp(at, magic, sizeof magic) != 0) return false;
    *width = word_at(at + WIDTH_AT, 4, false), *height = word_at(at + HEIGHT_AT, 4, false);
    return true;
}

/* Whether a segment of a JPEG begins a frame, and so has the size: SOF0 to SOF15 without tables. */
static bool is_frame(unsigned marker)
{
    return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

/* Walks over the segments to the frame. */
static bool size_of_jpeg(const uint8_t *at, size_t length, int64_t *height, int64_t *width)
{
    enum { APP1 = 0xE1, LEAST = 9 };
    int orientation = UPRIGHT;
    if (length < 2 || at[0] != 0xFF || at[1] != 0xD8) return false;
    for (size_t i = 2; i + LEAST <= length && at[i] == 0xFF;) {
        unsigned marker = at[i + 1], bytes = word_at(at + i + 2, 2, false);
        bool filled = marker == 0xFF;
        if (!filled && is_frame(marker)) {
            bool swapped = orientation >= SWAPPED;
            *height = word_at(at + i + (swapped ? 7 : 5), 2, false);
            *width = word_at(at + i + (swapped ? 5 : 7), 2, false);
            return true;
        }
        if (!filled && marker == APP1 && orientation == UPRIGHT && bytes >= 2 && i + 2 + bytes <= length)
            orientation = dit_exif_orientation(at + i + 4, bytes - 2);
        i += filled ? 1 : 2 + bytes;
    }
    return false;
}

dit_status dit_picture_size_parse(const char *name, const void *bytes, size_t length, int64_t *height, int64_t *width)
{
    bool known = size_of_png(bytes, length, height, width) || size_of_jpeg(bytes, length, height, width);
    if (!known) return DIT_FAIL(DIT_ERR_SHAPE, "%s is neither a PNG nor a JPEG with a size in its head", name);
    if (*height > 0 && *width > 0) return DIT_OK;
    return DIT_FAIL(DIT_ERR_SHAPE, "%s has %lld x %lld pixels", name, (long long)*width, (long long)*height);
}

dit_status dit_picture_size(const char *path, int64_t *height, int64_t *width)
{
    FILE *file = fopen(path, "rb");
    uint8_t *head = malloc(HEAD_BYTES);
    dit_status st = !file  ? DIT_FAIL(DIT_ERR_IO, "cannot read %s", path)
                    : head ? DIT_OK
                           : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the head of a picture");
    if (st == DIT_OK) st = dit_picture_size_parse(path, head, fread(head, 1, HEAD_BYTES, file), height, width);
    if (file) fclose(file);
    free(head);
    return st;
}
