#include "suite/generate/reference.h"

#include "base/picture_size.h"

#include <math.h>
#include <string.h>

enum { MEGAPIXEL = 1024 * 1024, MULTIPLE = 32, SEEN = 384 * 384 };

static const suite_reference_rule rules[] = {
    {.pipeline = "Flux2KleinPipeline",
     .most = DIT_MOST_REFERENCES,
     .area_px = MEGAPIXEL,
     .cuts = true,
     .least_px = 64,
     .longest = 8},
    {.pipeline = "Flux2Pipeline",
     .most = DIT_MOST_REFERENCES,
     .area_px = MEGAPIXEL,
     .cuts = true,
     .least_px = 64,
     .longest = 8},
    {.pipeline = "QwenImageEditPipeline", .most = 1, .area_px = MEGAPIXEL},
    {.pipeline = "QwenImageEditPlusPipeline",
     .most = DIT_MOST_REFERENCES,
     .area_px = MEGAPIXEL,
     .seen_px = SEEN,
     .last = true},
};

/* Extents of an area in a picture's shape, in multiples of 32. */
static void fill_area(int64_t area_px, double ratio, int64_t *height_px, int64_t *width_px)
{
    double wide = sqrt((double)area_px * ratio);
    *width_px = (int64_t)nearbyint(wide / MULTIPLE) * MULTIPLE;
    *height_px = (int64_t)nearbyint(wide / ratio / MULTIPLE) * MULTIPLE;
}

const suite_reference_rule *suite_reference_rule_of(const char *pipeline)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strcmp(rules[i].pipeline, pipeline) == 0) return &rules[i];
    return NULL;
}

static dit_status check(const suite_reference_rule *rule, const char *path, int64_t height, int64_t width)
{
    int64_t shorter = height < width ? height : width, longer = height < width ? width : height;
    if (shorter < rule->least_px)
        return DIT_FAIL(DIT_ERR_SHAPE, "%s has %lld x %lld pixels: %s takes no side below %lld", path, (long long)width,
                        (long long)height, rule->pipeline, (long long)rule->least_px);
    if (!rule->longest || longer <= rule->longest * shorter) return DIT_OK;
    return DIT_FAIL(DIT_ERR_SHAPE, "%s has %lld x %lld pixels: %s takes no side of more than %lld times the other",
                    path, (long long)width, (long long)height, rule->pipeline, (long long)rule->longest);
}

dit_status suite_reference_size(const suite_reference_rule *rule, const char *path, int64_t patch_px,
                                suite_reference *out)
{
    int64_t height, width;
    *out = (suite_reference){0};
    DIT_TRY(dit_picture_size(path, &height, &width));
    DIT_TRY(check(rule, path, height, width));
    double ratio = (double)width / (double)height;
    if (!rule->cuts) {
        fill_area(rule->area_px, ratio, &out->height_px, &out->width_px);
        if (rule->seen_px) fill_area(rule->seen_px, ratio, &out->seen_height_px, &out->seen_width_px);
    } else {
        bool large = height * width > rule->area_px;
        double by = large ? sqrt((double)rule->area_px / (double)(height * width)) : 1;
        out->cut_height_px = (int64_t)((double)height * by), out->cut_width_px = (int64_t)((double)width * by);
        out->height_px = out->cut_height_px / patch_px * patch_px;
        out->width_px = out->cut_width_px / patch_px * patch_px;
    }
    bool seen = !rule->seen_px || (out->seen_height_px && out->seen_width_px);
    if (out->height_px && out->width_px && seen) return DIT_OK;
    return DIT_FAIL(DIT_ERR_SHAPE, "%s has %lld x %lld pixels: so narrow a picture is no reference", path,
                    (long long)width, (long long)height);
}
