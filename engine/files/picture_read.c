#include "engine/files/picture_read.h"

#include "base/file.h"
#include "engine/files/jpeg_read.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

enum { SIGNATURE = 8, CHUNK = 8, CHECKSUM = 4 };
static const size_t most_bytes = (size_t)1 << 30;
static const int64_t most_pixels = INT64_C(1) << 26;

/* Looks for the chunk that makes a file animated; it stands before the first pixels. */
static bool is_animated(const uint8_t *bytes, size_t length)
{
    size_t at = SIGNATURE;
    while (at + CHUNK <= length) {
        const uint8_t *chunk = bytes + at;
        size_t data = (size_t)chunk[0] << 24 | (size_t)chunk[1] << 16 | (size_t)chunk[2] << 8 | chunk[3];
        if (memcmp(chunk + 4, "acTL", 4) == 0) return true;
        if (memcmp(chunk + 4, "IDAT", 4) == 0 || data > length - at - CHUNK) return false;
        at += CHUNK + data + CHECKSUM;
    }
    return false;
}

static dit_status fail_damaged(const char *path, const char *why)
{
    return DIT_FAIL(DIT_ERR_SHAPE, "%s is no readable PNG: %s", path, why[0] ? why : "damaged");
}

/* Reads the pixels of an image whose header has been read. */
static dit_status read_pixels(const char *path, png_image *image, int64_t *height, int64_t *width, uint8_t **rgb)
{
    if ((int64_t)image->width * image->height > most_pixels)
        return DIT_FAIL(DIT_ERR_SHAPE, "%s has %u x %u pixels, more than are read", path, image->width, image->height);
    if (image->format & PNG_FORMAT_FLAG_ALPHA)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s is transparent", path),
                              "colours behind nothing cannot be compared: write it without an alpha channel");
    image->format = PNG_FORMAT_RGB;
    *rgb = malloc(PNG_IMAGE_SIZE(*image));
    if (!*rgb) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the pixels of %s", path);
    *height = image->height, *width = image->width;
    if (png_image_finish_read(image, NULL, *rgb, 0, NULL) && !(image->warning_or_error & PNG_IMAGE_ERROR))
        return DIT_OK;
    free(*rgb);
    *rgb = NULL;
    return fail_damaged(path, image->message);
}

static dit_status parse_png(const char *name, const void *bytes, size_t length, int64_t *height, int64_t *width,
                            uint8_t **rgb)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    dit_status st;
    if (is_animated(bytes, length))
        st = dit_error_hint(
            DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s is animated, and only its first frame would be read", name),
            "give numbered frames (generate --frames numbered), or colours (generate --pixels)");
    else if (!png_image_begin_read_from_memory(&image, bytes, length))
        st = fail_damaged(name, image.message);
    else
        st = read_pixels(name, &image, height, width, rgb);
    png_image_free(&image);
    return st;
}

dit_status dit_picture_parse(const char *name, const void *bytes, size_t length, int64_t *height, int64_t *width,
                             uint8_t **rgb)
{
    *rgb = NULL;
    if (dit_is_jpeg(bytes, length)) return dit_jpeg_parse(name, bytes, length, most_pixels, height, width, rgb);
    if (length >= SIGNATURE && png_sig_cmp(bytes, 0, SIGNATURE) == 0)
        return parse_png(name, bytes, length, height, width, rgb);
    return DIT_FAIL(DIT_ERR_SHAPE, "%s is neither a PNG nor a JPEG file: it does not begin as one", name);
}

dit_status dit_picture_read(const char *path, int64_t *height, int64_t *width, uint8_t **rgb)
{
    char *bytes;
    size_t length;
    *rgb = NULL;
    DIT_TRY(dit_file_read(path, most_bytes, &bytes, &length));
    dit_status st = dit_picture_parse(path, bytes, length, height, width, rgb);
    free(bytes);
    return st;
}
