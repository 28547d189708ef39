/* For shell tests: a PNG against the levels diffusers computed, and its text chunks.
 *
 *   engine_picture_diff levels FILE.png OUTPUT.safetensors [FRAME]   prints the greatest difference to image_u8 [1, h, w, 3],
 *                                                            or to a frame of [1, frames, h, w, 3]
 *   engine_picture_diff same FILE.png OTHER.png              the same between two files
 *   engine_picture_diff text FILE.png KEYWORD                prints a text chunk
 *   engine_picture_diff frames FILE.png                      prints the number that acTL announces, 1 without it
 * Exit: 0; 1 when something is missing or sizes differ.
 */
#include "base/file.h"
#include "base/safetensors.h"

#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint8_t *rgb;
    int64_t width, height;
} pixels;

static bool read_pixels(const char *path, pixels *out)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_file(&image, path)) return false;
    image.format = PNG_FORMAT_RGB;
    *out = (pixels){malloc(PNG_IMAGE_SIZE(image)), image.width, image.height};
    return out->rgb && png_image_finish_read(&image, NULL, out->rgb, 0, NULL);
}

static int print_worst(const pixels *x, const float *levels)
{
    int worst = 0;
    for (int64_t i = 0; i < x->width * x->height * 3; i++) {
        int difference = abs((int)x->rgb[i] - (int)levels[i]);
        if (difference > worst) worst = difference;
    }
    return printf("%d\n", worst) < 0;
}

static int compare_levels(const char *png, const char *path, int64_t frame)
{
    pixels x = {0};
    dit_safetensors *file = NULL;
    dit_tensor_view view;
    float *levels = NULL;
    bool good = read_pixels(png, &x) && dit_safetensors_open(path, &file) == DIT_OK &&
                dit_safetensors_find(file, "image_u8", &view) && (view.rank == 4 || view.rank == 5);
    int64_t elements = x.width * x.height * 3, frames = good && view.rank == 5 ? view.shape[1] : 1;
    const int64_t *last = good ? view.shape + view.rank - 3 : NULL;
    good = good && last[0] == x.height && last[1] == x.width && last[2] == 3 && frame >= 0 && frame < frames;
    if (good) levels = malloc((size_t)elements * sizeof *levels);
    good = good && levels && dit_tensor_read(&view, frame * elements, elements, levels) == DIT_OK;
    int code = good ? print_worst(&x, levels) : 1;
    dit_safetensors_close(file);
    free(levels);
    free(x.rgb);
    return code;
}

static int compare_pictures(const char *one, const char *other)
{
    pixels x = {0}, y = {0};
    float *levels = NULL;
    bool good = read_pixels(one, &x) && read_pixels(other, &y) && x.width == y.width && x.height == y.height;
    if (good) levels = malloc((size_t)(y.width * y.height * 3) * sizeof *levels);
    for (int64_t i = 0; levels && i < y.width * y.height * 3; i++) levels[i] = y.rgb[i];
    int code = levels ? print_worst(&x, levels) : 1;
    free(levels);
    free(x.rgb);
    free(y.rgb);
    return code;
}

static int print_text(const char *path, const char *keyword)
{
    FILE *file = fopen(path, "rb");
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_textp texts = NULL;
    int code = 1;
    if (!file) return 1;
    png_init_io(png, file);
    png_read_info(png, info);
    int count = png_get_text(png, info, &texts, NULL);
    for (int i = 0; i < count; i++)
        if (strcmp(texts[i].key, keyword) == 0) code = puts(texts[i].text) < 0;
    png_destroy_read_struct(&png, &info, NULL);
    fclose(file);
    return code;
}

/* acTL lies between the header and the first data: bytes 33.. of the file. */
static int print_frames(const char *path)
{
    char *text;
    size_t length;
    unsigned frames = 1;
    if (dit_file_read(path, (size_t)1 << 30, &text, &length) != DIT_OK) return 1;
    const uint8_t *bytes = (const uint8_t *)text;
    if (length > 48 && memcmp(bytes + 37, "acTL", 4) == 0)
        frames = (unsigned)bytes[41] << 24 | (unsigned)bytes[42] << 16 | (unsigned)bytes[43] << 8 | bytes[44];
    free(text);
    return printf("%u\n", frames) < 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "levels") == 0) return compare_levels(argv[2], argv[3], 0);
    if (argc == 5 && strcmp(argv[1], "levels") == 0) return compare_levels(argv[2], argv[3], atoi(argv[4]));
    if (argc == 4 && strcmp(argv[1], "same") == 0) return compare_pictures(argv[2], argv[3]);
    if (argc == 4 && strcmp(argv[1], "text") == 0) return print_text(argv[2], argv[3]);
    if (argc == 3 && strcmp(argv[1], "frames") == 0) return print_frames(argv[2]);
    fprintf(stderr, "usage: engine_picture_diff levels|same|text|frames ...\n");
    return 1;
}
