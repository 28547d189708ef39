#include "engine/files/image_processor.h"

#include "engine/files/config.h"
#include "engine/files/picture_resize.h"

#include <math.h>
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

static float normal_of(const processor *p, int64_t channel, float value)
{
    if (p->rescales) value = (float)((double)value * p->factor);
    return p->normalizes ? (value - (float)p->mean[channel]) / (float)p->deviation[channel] : value;
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
        planes[i] = normal_of(p, c, inside ? rgb[(y * width + x) * CHANNELS + c] : 0);
    }
}

/* Numbers of a whole picture, as planes. */
static void normalize(const processor *p, const uint8_t *rgb, int64_t pixels, float *planes)
{
    for (int64_t i = 0; i < CHANNELS * pixels; i++)
        planes[i] = normal_of(p, i / pixels, rgb[i % pixels * CHANNELS + i / pixels]);
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

/* Reads the config of a folder. */
static dit_status open_config(const char *folder, char path[PATH_BYTES], dit_json *doc)
{
    if (snprintf(path, PATH_BYTES, "%s/preprocessor_config.json", folder) >= PATH_BYTES)
        return DIT_FAIL(DIT_ERR_IO, "the path %.200s... is too long", folder);
    return dit_config_read_file(path, doc);
}

dit_status dit_image_process(const char *folder, const uint8_t *rgb, int64_t height, int64_t width, int64_t size,
                             float *planes)
{
    char path[PATH_BYTES];
    dit_json doc;
    processor p;
    DIT_TRY(open_config(folder, path, &doc));
    dit_status st = read_config(&(dit_config){.doc = &doc, .object = doc.root, .pointer = ""}, &p);
    if (st == DIT_OK) st = process(&p, rgb, height, width, size, planes);
    dit_json_release(&doc);
    return st == DIT_OK ? st : dit_error_note(st, "by %s", path);
}

/* ---- a picture that keeps its shape ------------------------------------------------------------------------------ */

/* What the config says of the area. */
typedef struct {
    int64_t least, most, patch, merge;
} area_rule;

/* Newer releases write the bounds into `size`, as edges. */
static dit_status read_area(const dit_config *config, area_rule *rule)
{
    enum { MOST = 1 << 28 };
    const cJSON *size = NULL;
    const dit_json *doc = config->doc;
    *rule = (area_rule){.least = 56 * 56, .most = 28 * 28 * 1280, .patch = 14, .merge = 2};
    DIT_TRY(dit_json_optional_object(doc, config->object, config->pointer, "size", &size));
    if (size) DIT_TRY(dit_json_optional_int(doc, size, "/size", "shortest_edge", 1, MOST, &rule->least));
    if (size) DIT_TRY(dit_json_optional_int(doc, size, "/size", "longest_edge", 1, MOST, &rule->most));
    DIT_TRY(dit_json_optional_int(doc, config->object, config->pointer, "min_pixels", 1, MOST, &rule->least));
    DIT_TRY(dit_json_optional_int(doc, config->object, config->pointer, "max_pixels", 1, MOST, &rule->most));
    DIT_TRY(dit_json_optional_int(doc, config->object, config->pointer, "patch_size", 1, 1024, &rule->patch));
    return dit_json_optional_int(doc, config->object, config->pointer, "merge_size", 1, 16, &rule->merge);
}

/* Both extents as the nearest multiples of a side; where the area is out of bounds, the picture shrinks or grows to them. */
static void settle_area(const area_rule *rule, double height, double width, double side, double *to_height,
                        double *to_width)
{
    *to_height = nearbyint(height / side) * side, *to_width = nearbyint(width / side) * side;
    double area = *to_height * *to_width;
    if (area > (double)rule->most) {
        double by = sqrt(height * width / (double)rule->most);
        *to_height = fmax(side, floor(height / by / side) * side);
        *to_width = fmax(side, floor(width / by / side) * side);
    } else if (area < (double)rule->least) {
        double by = sqrt((double)rule->least / (height * width));
        *to_height = ceil(height * by / side) * side;
        *to_width = ceil(width * by / side) * side;
    }
}

static dit_status check_area(const area_rule *rule, int64_t height, int64_t width, int64_t side)
{
    enum { LONGEST = 200 };
    int64_t longer = height > width ? height : width, shorter = height > width ? width : height;
    if (rule->patch * rule->merge != side)
        return DIT_FAIL(DIT_ERR_SHAPE, "patch_size %lld and merge_size %lld are not those of the encoder",
                        (long long)rule->patch, (long long)rule->merge);
    if (longer <= LONGEST * shorter) return DIT_OK;
    return DIT_FAIL(DIT_ERR_SHAPE, "a picture of %lld x %lld pixels: one side is more than %d times the other",
                    (long long)width, (long long)height, LONGEST);
}

static dit_status resize_whole(const processor *p, const uint8_t *rgb, int64_t height, int64_t width, int64_t to_height,
                               int64_t to_width, uint8_t **out)
{
    dit_resize_filter filter;
    DIT_TRY(find_filter(p->resample, &filter));
    *out = malloc((size_t)(to_height * to_width * CHANNELS));
    if (!*out) return DIT_FAIL(DIT_ERR_MEMORY, "no memory to resize a picture");
    return dit_picture_resize(filter, rgb, height, width, to_height, to_width, *out);
}

static dit_status process_area(const dit_config *config, const uint8_t *rgb, int64_t height, int64_t width,
                               int64_t side, int64_t *to_height, int64_t *to_width, float **planes)
{
    processor p = {.mean = {0.48145466, 0.4578275, 0.40821073}, .deviation = {0.26862954, 0.26130258, 0.27577711}};
    area_rule rule;
    double rows, columns;
    uint8_t *resized = NULL;
    DIT_TRY(dit_config_read(config, fields, &p));
    DIT_TRY(read_channels(config, "image_mean", -1e6, p.mean));
    DIT_TRY(read_channels(config, "image_std", 1e-6, p.deviation));
    DIT_TRY(read_area(config, &rule));
    DIT_TRY(check_area(&rule, height, width, side));
    if (!p.resizes) return DIT_FAIL(DIT_ERR_UNSUPPORTED, "do_resize false: a picture has no whole patches then");
    settle_area(&rule, (double)height, (double)width, (double)side, &rows, &columns);
    *to_height = (int64_t)rows, *to_width = (int64_t)columns;
    dit_status st = resize_whole(&p, rgb, height, width, *to_height, *to_width, &resized);
    if (st == DIT_OK) *planes = malloc((size_t)(CHANNELS * *to_height * *to_width) * sizeof **planes);
    if (st == DIT_OK && !*planes) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for a picture");
    if (st == DIT_OK) normalize(&p, resized, *to_height * *to_width, *planes);
    free(resized);
    return st;
}

dit_status dit_image_process_area(const char *folder, const uint8_t *rgb, int64_t height, int64_t width, int64_t side,
                                  int64_t *to_height, int64_t *to_width, float **planes)
{
    char path[PATH_BYTES];
    dit_json doc;
    *planes = NULL;
    DIT_TRY(open_config(folder, path, &doc));
    const dit_config config = {.doc = &doc, .object = doc.root, .pointer = ""};
    dit_status st = process_area(&config, rgb, height, width, side, to_height, to_width, planes);
    dit_json_release(&doc);
    return st == DIT_OK ? st : dit_error_note(st, "by %s", path);
}
