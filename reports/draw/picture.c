#include "reports/draw/picture.h"

#include <png.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS_MAX = 64 << 20, INK_PER_MILLE = 1 };

static int64_t count_ink(const uint32_t *pixels, int64_t count)
{
    int64_t ink = 0;
    for (int64_t i = 0; i < count; i++) ink += pixels[i] != pixels[0];
    return ink;
}

/* Decodes into `pixels`; both are ended with png_image_free by the caller. */
static dit_status decode(png_image *image, const char *path, uint32_t **pixels)
{
    if (!png_image_begin_read_from_file(image, path)) return DIT_FAIL(DIT_ERR_IO, "%s: %s", path, image->message);
    if ((int64_t)image->width * image->height > PIXELS_MAX)
        return DIT_FAIL(DIT_ERR_IO, "%s: %u x %u pixels are too many", path, image->width, image->height);
    image->format = PNG_FORMAT_RGBA;
    *pixels = malloc(PNG_IMAGE_SIZE(*image));
    if (!*pixels) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the pixels of %s", path);
    if (!png_image_finish_read(image, NULL, *pixels, 0, NULL))
        return DIT_FAIL(DIT_ERR_IO, "%s: %s", path, image->message);
    return DIT_OK;
}

dit_status report_picture_check(const char *path)
{
    png_image image;
    uint32_t *pixels = NULL;
    memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
    dit_status st = decode(&image, path, &pixels);
    int64_t count = (int64_t)image.width * image.height;
    if (st == DIT_OK && count_ink(pixels, count) * 1000 < count * INK_PER_MILLE)
        st =
            dit_error_hint(DIT_FAIL(DIT_ERR_ENVIRONMENT, "%s is blank", path), "does gnuplot find a font? try fc-list");
    free(pixels);
    png_image_free(&image);
    return st;
}
