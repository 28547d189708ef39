#include "engine/files/image_processor.h"

#include "engine/files/config.h"
#include "engine/files/picture_resize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096, CHANNELS = 3, LONGEST_EDGE = 1 << 16 };

typedef struct {
    bool resizes, crops, rescales, normalizes;
    int64_t resample; /* Pillow's number of a filter */
    double factor, mean[CHANNELS], deviation[CHANNELS];
    int64_t height, width; /* to resize to; height 0: width is that of the shorter edge */
    int64_t crop_height, crop_width;
} processor;

static const dit_config_field fields[] = {
    DIT_CONFIG_BOOL(processor, resizes, "do_resize", true),
    DIT_CONFIG_BOOL(processor, crops, "do_center_crop", true),
    DIT_CONFIG_BOOL(processor, rescales, "do_rescale", true),
    DIT_CONFIG_BOOL(processor, normalizes, "do_normalize", true),
    DIT_CONFIG_INT(processor, resample, "resample", 3, 0, 5),
    DIT_CONFIG_NUMBER(processor, factor, "rescale_factor", 1 / 255.0, 0, 1e6),
    DIT_CONFIG_END,
};

/* ---- config ------------------------------------------------------------------------------------------------------ */

/* Reads {"height", "width"}, {"shortest_edge"} or a number; an absent key leaves what is there. A number is the shorter edge of
 * `size`, and both edges of `crop_size`. */
static dit_status read_size(const dit_config *config, const char *key, bool by_edge, int64_t *height, int64_t *width)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(config->object, key);
    const dit_json *doc = config->doc;
    int64_t edge = 0, numbers[2] = {0};
    char at[64];
    snprintf(at, sizeof at, "/%s", key);
    if (!item) return DIT_OK;
    if (cJSON_IsNumber(item)) {
        DIT_TRY(dit_json_require_int(doc, config->object, config->pointer, key, 1, LONGEST_EDGE, &edge));
        *height = by_edge ? 0 : edge, *width = edge;
        return DIT_OK;
    }
    DIT_TRY(dit_json_require_object(doc, config->object, config->pointer, key, &item));
    DIT_TRY(dit_json_optional_int(doc, item, at, "shortest_edge", 1, LONGEST_EDGE, &edge));
    if (!edge) DIT_TRY(dit_json_require_int(doc, item, at, "height", 1, LONGEST_EDGE, &numbers[0]));
    if (!edge) DIT_TRY(dit_json_require_int(doc, item, at, "width", 1, LONGEST_EDGE, &numbers[1]));
    *height = numbers[0], *width = edge ? edge : numbers[1];
    return DIT_OK;
}

static dit_status read_channels(const dit_config *config, const char *key, double least, double out[CHANNELS])
{
    int count = -1;
    DIT_TRY(dit_config_read_numbers(config, key, least, 1e6, CHANNELS, out, &count));
    if (count < 0 || count == CHANNELS) return DIT_OK;
    return dit_json_fail(config->doc, config->pointer, DIT_ERR_JSON_VALUE, "%s has %d numbers instead of %d", key,
                         count, CHANNELS);
}

static dit_status read_config(const dit_config *config, processor *p)
{
    *p = (processor){.width = 224,
                     .crop_height = 224,
                     .crop_width = 224,
                     .mean = {0.48145466, 0.4578275, 0.40821073},
                     .deviation = {0.26862954, 0.26130258, 0.27577711}};
    DIT_TRY(dit_config_read(config, fields, p));
    DIT_TRY(read_channels(config, "image_mean", -1e6, p->mean));
    DIT_TRY(read_channels(config, "image_std", 1e-6, p->deviation));
    DIT_TRY(read_size(config, "size", true, &p->height, &p->width));
    return read_size(config, "crop_size", false, &p->crop_height, &p->crop_width);
}

static dit_status find_filter(int64_t number, dit_resize_filter *out)
{
    enum { LANCZOS = 1, BILINEAR = 2, BICUBIC = 3 };
    *out = number == LANCZOS ? DIT_RESIZE_LANCZOS : number == BILINEAR ? DIT_RESIZE_BILINEAR : DIT_RESIZE_BICUBIC;
    if (number >= LANCZOS && number <= BICUBIC) return DIT_OK;
    return DIT_FAIL(DIT_ERR_UNSUPPORTED, "resample %lld of Pillow is not implemented; 1 (Lanczos), 2 and 3 are",
                    (long long)number);
}

/* ---- a picture --------------------------------------------------------------------------------------------------- */

/* The size to resize to: both edges, or the longer one in proportion, cut. */
static void settle_size(const processor *p, int64_t height, int64_t width, int64_t *to_height, int64_t *to_width)
{
    bool wide = height < width;
    int64_t edge = p->width, longer = wide ? width : height, shorter = wide ? height : width;
    int64_t other = (int64_t)((double)(edge * longer) / (double)shorter);
    *to_height = p->height ? p->height : wide ? edge : other;
    *to_width = p->height ? p->width : wide ? other : edge;
}

/* Numbers of the middle; what lies beyond the picture is black. */
static void take_middle(const processor *p, const uint8_t *rgb, int64_t height, int64_t width, int64_t size,
                        float *planes)
{
    int64_t up = size > height ? size - height : 0, aside = size > width ? size - width : 0;
    int64_t top = up ? -((up + 1) / 2) : (height - size) / 2, left = aside ? -((aside + 1) / 2) : (width - size) / 2;
    for (int64_t i = 0; i < CHANNELS * size * size; i++) {
        int64_t c = i / (size * size), y = top + i / size % size, x = left + i % size;
        bool inside = y >= 0 && y < height && x >= 0 && x < width;
        float value = inside ? rgb[(y * width + x) * CHANNELS + c] : 0;
        if (p->rescales) value = (float)((double)value * p->factor);
        if (p->normalizes) value = (value - (float)p->mean[c]) / (float)p->deviation[c];
        planes[i] = value;
    }
}

static dit_status process(const processor *p, const uint8_t *rgb, int64_t height, int64_t width, int64_t size,
                          float *planes)
{
    dit_resize_filter filter;
    int64_t to_height = height, to_width = width;
    uint8_t *resized = NULL;
    dit_status st = DIT_OK;
    if (p->resizes) settle_size(p, height, width, &to_height, &to_width);
    int64_t out_height = p->crops ? p->crop_height : to_height, out_width = p->crops ? p->crop_width : to_width;
    if (out_height != size || out_width != size || to_height > LONGEST_EDGE || to_width > LONGEST_EDGE)
        return DIT_FAIL(DIT_ERR_SHAPE, "%lld x %lld pixels become %lld x %lld; the image encoder takes %lld x %lld",
                        (long long)width, (long long)height, (long long)out_width, (long long)out_height,
                        (long long)size, (long long)size);
    if (p->resizes) {
        DIT_TRY(find_filter(p->resample, &filter));
        resized = malloc((size_t)(to_height * to_width * CHANNELS));
        st = resized ? dit_picture_resize(filter, rgb, height, width, to_height, to_width, resized)
                     : DIT_FAIL(DIT_ERR_MEMORY, "no memory to resize a picture");
    }
    if (st == DIT_OK) take_middle(p, resized ? resized : rgb, to_height, to_width, size, planes);
    free(resized);
    return st;
}

dit_status dit_image_process(const char *folder, const uint8_t *rgb, int64_t height, int64_t width, int64_t size,
                             float *planes)
{
    char path[PATH_BYTES];
    dit_json doc;
    processor p;
    if (snprintf(path, sizeof path, "%s/preprocessor_config.json", folder) >= (int)sizeof path)
        return DIT_FAIL(DIT_ERR_IO, "the path %.200s... is too long", folder);
    DIT_TRY(dit_config_read_file(path, &doc));
    dit_status st = read_config(&(dit_config){.doc = &doc, .object = doc.root, .pointer = ""}, &p);
    if (st == DIT_OK) st = process(&p, rgb, height, width, size, planes);
    dit_json_release(&doc);
    return st == DIT_OK ? st : dit_error_note(st, "by %s", path);
}
