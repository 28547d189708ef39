#include "base/label.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const dit_label_info settings[] = {
    [DIT_LABEL_STAGES - DIT_GROUP_COUNT] = {"", "attn_layer_num_for_pp", "7,7,6",
                                            "Uneven stages: the first stage has 7 blocks, the last has 6. Even stages "
                                            "are not written."},
    [DIT_LABEL_BANDS - DIT_GROUP_COUNT] = {"M", "num_pipeline_patch", "M4",
                                           "The pipeline cuts the image into 4 bands, which follow each other through "
                                           "the stages."},
    [DIT_LABEL_FRACTION - DIT_GROUP_COUNT] = {"f", "patch_fraction", "f0.5",
                                              "Partial patches (pcpp): half of each neighbour's keys and values are "
                                              "exchanged."},
    [DIT_LABEL_WARMUP - DIT_GROUP_COUNT] = {"W", "warmup_steps", "W1",
                                            "The first diffusion step is synchronous; the steps after it use stale "
                                            "activations."},
};

dit_label_info dit_label_get(int part)
{
    if (part >= DIT_GROUP_COUNT) return settings[part - DIT_GROUP_COUNT];
    dit_axis axis = dit_axis_at_label(part);
    const dit_axis_info *info = dit_axis_get(axis);
    return (dit_label_info){info->prefix, dit_axis_key(axis), info->example, info->meaning};
}

void dit_parallel_label(const dit_parallel *parallel, char out[64])
{
    int used = 0;
    for (int place = 0; place < DIT_GROUP_COUNT && used < 50; place++) {
        dit_axis axis = dit_axis_at_label(place);
        int degree = dit_parallel_degree(parallel, axis);
        if (degree > 1)
            used +=
                snprintf(out + used, 64 - (size_t)used, "%s%s%d", used ? " " : "", dit_axis_get(axis)->prefix, degree);
    }
    if (!used) snprintf(out, 64, "1");
}

/* Whether `word` is the label of a mesh with this degree alone. */
static bool is_degree(const char *word, dit_axis axis, int degree)
{
    char label[64];
    dit_parallel one = {0};
    one.degree[axis] = degree;
    dit_parallel_label(&one, label);
    return degree > 1 && strcmp(label, word) == 0;
}

static bool take_word(const char *word, dit_parallel *out)
{
    int degree = atoi(word + strcspn(word, "0123456789"));
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) {
        if (!is_degree(word, (dit_axis)axis, degree)) continue;
        out->degree[axis] = degree;
        return true;
    }
    return strcmp(word, "1") == 0 || dit_patch_method_from_name(word, &out->patch_method);
}

dit_status dit_parallel_from_label(const char *label, dit_parallel *out)
{
    char words[256], *rest = NULL;
    snprintf(words, sizeof words, "%s", label);
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        if (!take_word(word, out))
            return DIT_FAIL(DIT_ERR_USAGE, "\"%s\" of mesh \"%s\" is neither a degree nor a patch method", word, label);
    return DIT_OK;
}

void dit_parallel_method(const dit_parallel *parallel, char out[DIT_METHOD_NAME])
{
    bool axes[DIT_GROUP_COUNT];
    for (int axis = 0; axis < DIT_GROUP_COUNT; axis++) axes[axis] = dit_parallel_degree(parallel, (dit_axis)axis) > 1;
    dit_method_name(axes, parallel->patch_method, out);
}

const char *dit_parallel_attention(const dit_parallel *parallel)
{
    bool ulysses = dit_parallel_degree(parallel, DIT_AXIS_ULYSSES) > 1;
    bool ring = dit_parallel_degree(parallel, DIT_AXIS_RING) > 1;
    if (dit_parallel_degree(parallel, DIT_AXIS_PATCH) > 1) return dit_patch_method_name(parallel->patch_method);
    if (ulysses && ring) return "usp";
    return ulysses ? "ulysses" : ring ? "ring" : "local";
}
