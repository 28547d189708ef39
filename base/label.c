#include "base/label.h"

#include "base/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const dit_label_info settings[] = {
    [DIT_LABEL_AHEAD - DIT_GROUP_COUNT] =
        {"ahead", "fsdp_prefetch", "ahead2",
         "Weights in shards: 2 blocks are gathered ahead of the one that runs. One ahead is not written."},
    [DIT_LABEL_STAGES - DIT_GROUP_COUNT] = {"", "attn_layer_num_for_pp", "7,7,6",
                                            "Uneven stages: the first stage has 7 blocks, the last has 6. Even stages "
                                            "are not written."},
    [DIT_LABEL_BANDS - DIT_GROUP_COUNT] = {"M", "num_pipeline_patch", "M4",
                                           "The pipeline cuts the image into 4 bands, which follow each other through "
                                           "the stages."},
    [DIT_LABEL_FRACTION - DIT_GROUP_COUNT] = {"f", "patch_fraction", "f0.5",
                                              "Partial patches (pcpp): half of each neighbour's keys and values are "
                                              "exchanged."},
    [DIT_LABEL_HALO - DIT_GROUP_COUNT] = {"halo", "halo_frames", "halo1",
                                          "Video-Infinity: a rank sees one frame of each "
                                          "neighbour."},
    [DIT_LABEL_GLOBAL - DIT_GROUP_COUNT] = {"g", "global_frames", "g4",
                                            "Video-Infinity: all ranks see 4 frames of the "
                                            "whole clip."},
    [DIT_LABEL_BLOCK -
        DIT_GROUP_COUNT] = {"b", "block_frames", "b8", "DualParal and TPP: a block has 8 frames of tokens."},
    [DIT_LABEL_CONTEXT - DIT_GROUP_COUNT] = {"c", "context_frames", "c4",
                                             "DualParal and TPP: a block sees 4 frames of the blocks beside it."},
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

/* Appends a word; where it does not fit the whole ends in "...". */
static void append(char out[64], const char *word)
{
    size_t used = strlen(out), room = 64 - used;
    if (snprintf(out + used, room, "%s%s", used ? " " : "", word) >= (int)room) memcpy(out + 60, "...", 4);
}

void dit_parallel_label(const dit_parallel *parallel, char out[64])
{
    out[0] = '\0';
    for (int place = 0; place < DIT_GROUP_COUNT; place++) {
        dit_axis axis = dit_axis_at_label(place);
        int degree = dit_parallel_degree(parallel, axis);
        char word[32];
        snprintf(word, sizeof word, "%s%d", dit_axis_get(axis)->prefix, degree);
        if (degree > 1) append(out, word);
    }
    if (!*out) append(out, "1");
    if (parallel->fsdp_degree <= 1 || parallel->fsdp_prefetch == 1) return;
    char ahead[32];
    snprintf(ahead, sizeof ahead, "%s%d", dit_label_get(DIT_LABEL_AHEAD).prefix, parallel->fsdp_prefetch);
    append(out, ahead);
}

static const char inner_prefix[] = "inner";

void dit_parallel_label_ring(const dit_parallel *parallel, char out[64])
{
    char inner[32] = "";
    out[0] = '\0';
    if (dit_parallel_degree(parallel, DIT_AXIS_RING) == 1 || parallel->ring_method == DIT_RING_MERGE) return;
    if (parallel->inner_ring) snprintf(inner, sizeof inner, " %s%d", inner_prefix, parallel->inner_ring);
    snprintf(out, 64, "%s%s", dit_ring_method_name(parallel->ring_method), inner);
}

void dit_parallel_label_whole(const dit_parallel *parallel, char out[64])
{
    char stages[6 * DIT_MAX_STAGES], ring[64];
    dit_parallel_label(parallel, out);
    dit_parallel_label_ring(parallel, ring);
    if (*ring) append(out, ring);
    dit_stage_blocks_to_text(parallel, stages, sizeof stages);
    if (*stages) append(out, stages);
    if (dit_parallel_degree(parallel, DIT_AXIS_PATCH) > 1) append(out, dit_patch_method_name(parallel->patch_method));
    if (dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION) > 1 && parallel->stage_method != DIT_STAGE_PIPEFUSION)
        append(out, dit_stage_method_name(parallel->stage_method));
}

void dit_stage_blocks_to_text(const dit_parallel *parallel, char *out, size_t size)
{
    const int stages = parallel->stage_blocks[0] ? dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION) : 0;
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < stages && i < DIT_MAX_STAGES && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%d", i ? "," : "", parallel->stage_blocks[i]);
}

bool dit_stage_blocks_from_text(const char *text, int blocks[DIT_MAX_STAGES], int *count)
{
    char *end;
    for (*count = 0; *count < DIT_MAX_STAGES; text = end + 1) {
        long number = *text >= '1' && *text <= '9' ? strtol(text, &end, 10) : 0;
        if (number < 1 || number > DIT_MAX_BLOCKS) return false;
        blocks[(*count)++] = (int)number;
        if (*end != ',') return !*end;
    }
    return false;
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

/* "24,33"; *stages: how many. */
static bool take_stages(const char *word, dit_parallel *out, int *stages)
{
    int blocks[DIT_MAX_STAGES] = {0}, count;
    if (!strchr(word, ',') || !dit_stage_blocks_from_text(word, blocks, &count)) return false;
    memcpy(out->stage_blocks, blocks, sizeof blocks);
    *stages = count;
    return true;
}

/* "all-gather", "inner2" */
static bool take_ring(const char *word, dit_parallel *out)
{
    const size_t prefix = sizeof inner_prefix - 1;
    int method = dit_words_find(dit_ring_method_names_of_models(), word);
    if (method >= 0) out->ring_method = (dit_ring_method)method;
    if (method >= 0) return true;
    if (strncmp(word, inner_prefix, prefix) != 0) return false;
    char *end;
    long inner = strtol(word + prefix, &end, 10);
    if (inner < 1 || inner > DIT_MAX_DEGREE || *end) return false;
    out->inner_ring = (int)inner;
    return true;
}

/* The number behind `prefix`, within [least, most]; false where the word is another one. */
static bool take_number(const char *word, const char *prefix, long least, long most, int *out)
{
    size_t length = strlen(prefix);
    char *end;
    if (strncmp(word, prefix, length) != 0 || word[length] < '0' || word[length] > '9') return false;
    long number = strtol(word + length, &end, 10);
    if (number < least || number > most || *end) return false;
    *out = (int)number;
    return true;
}

/* "fsdp8", whose weights are gathered one block ahead, or then "ahead2" */
static bool take_shards(const char *word, dit_parallel *out)
{
    const dit_axis_info *info = dit_axis_get(DIT_AXIS_FSDP);
    if (out->fsdp_degree > 1 && take_number(word, dit_label_get(DIT_LABEL_AHEAD).prefix, 0, 64, &out->fsdp_prefetch))
        return true;
    if (!take_number(word, info->prefix, 2, info->greatest, &out->fsdp_degree)) return false;
    out->fsdp_prefetch = 1;
    return true;
}

static bool take_word(const char *word, dit_parallel *out, int *stages)
{
    int degree = atoi(word + strcspn(word, "0123456789"));
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) {
        if (!is_degree(word, (dit_axis)axis, degree)) continue;
        out->degree[axis] = degree;
        return true;
    }
    return strcmp(word, "1") == 0 || dit_patch_method_from_name(word, &out->patch_method) ||
           dit_stage_method_from_name(word, &out->stage_method) || take_stages(word, out, stages) ||
           take_ring(word, out) || take_shards(word, out);
}

dit_status dit_parallel_from_label(const char *label, dit_parallel *out)
{
    char words[512], *rest = NULL;
    int stages = 0;
    if (strlen(label) >= sizeof words)
        return DIT_FAIL(DIT_ERR_USAGE, "mesh \"%.40s...\" is longer than %zu characters", label, sizeof words - 1);
    snprintf(words, sizeof words, "%s", label);
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        if (!take_word(word, out, &stages))
            return DIT_FAIL(
                DIT_ERR_USAGE,
                "\"%s\" of mesh \"%s\" is no degree, no list of stages and no method of rings, patches or stages", word,
                label);
    if (!stages || stages == dit_parallel_degree(out, DIT_AXIS_PIPEFUSION)) return DIT_OK;
    return DIT_FAIL(DIT_ERR_USAGE, "mesh \"%s\" lists %d stages and has %d", label, stages,
                    dit_parallel_degree(out, DIT_AXIS_PIPEFUSION));
}

void dit_parallel_method(const dit_parallel *parallel, char out[DIT_METHOD_NAME])
{
    bool axes[DIT_GROUP_COUNT];
    for (int axis = 0; axis < DIT_GROUP_COUNT; axis++) axes[axis] = dit_parallel_degree(parallel, (dit_axis)axis) > 1;
    dit_method_name(axes, parallel->patch_method, parallel->ring_method, parallel->stage_method, out);
}

const char *dit_parallel_attention(const dit_parallel *parallel)
{
    bool ulysses = dit_parallel_degree(parallel, DIT_AXIS_ULYSSES) > 1;
    bool ring = dit_parallel_degree(parallel, DIT_AXIS_RING) > 1;
    if (dit_parallel_degree(parallel, DIT_AXIS_PATCH) > 1) return dit_patch_method_name(parallel->patch_method);
    if (dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION) > 1 && parallel->stage_method != DIT_STAGE_PIPEFUSION)
        return "stream";
    if (ring && parallel->ring_method != DIT_RING_MERGE) return dit_ring_method_name(parallel->ring_method);
    if (ulysses && ring) return "usp";
    return ulysses ? "ulysses" : ring ? "ring" : "local";
}
