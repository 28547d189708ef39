#include "suite/generate/reference.h"

#include "base/picture_size.h"

#include <math.h>
#include <string.h>

enum { MEGAPIXEL = 1024 * 1024, MULTIPLE = 32 };

static const suite_reference_rule rules[] = {
    {"Flux2KleinPipeline", DIT_MOST_REFERENCES, MEGAPIXEL, true, 64, 8},
    {"Flux2Pipeline", DIT_MOST_REFERENCES, MEGAPIXEL, true, 64, 8},
    {"QwenImageEditPipeline", 1, MEGAPIXEL, false, 0, 0},
};

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
    double ratio = (double)width / (double)height, wide = sqrt((double)rule->area_px * ratio);
    if (!rule->cuts) {
        out->width_px = (int64_t)nearbyint(wide / MULTIPLE) * MULTIPLE;
        out->height_px = (int64_t)nearbyint(wide / ratio / MULTIPLE) * MULTIPLE;
    } else {
        bool large = height * width > rule->area_px;
        double by = large ? sqrt((double)rule->area_px / (double)(height * width)) : 1;
        out->cut_height_px = (int64_t)((double)height * by), out->cut_width_px = (int64_t)((double)width * by);
        out->height_px = out->cut_height_px / patch_px * patch_px;
        out->width_px = out->cut_width_px / patch_px * patch_px;
    }
    if (out->height_px && out->width_px) return DIT_OK;
    return DIT_FAIL(DIT_ERR_SHAPE, "%s has %lld x %lld pixels: so narrow a picture is no reference", path,
                    (long long)width, (long long)height);
}
