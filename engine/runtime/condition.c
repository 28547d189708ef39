#include "engine/runtime/condition.h"

#include "base/rng.h"

#include <stdlib.h>
#include <string.h>

/* How a kind is made when no file has it. */
typedef enum { SOURCE_NONE, SOURCE_NORMAL, SOURCE_ONES, SOURCE_RUN } condition_source;

enum { NAMES = 3 };

/* Every kind: its name, which also selects its random stream, and its names in the transformer's forward and in
 * pipelines. */
static const struct {
    const char *name, *forward[NAMES], *positive, *negative;
    condition_source source;
    bool shared;
} kinds[DIT_CONDITION_COUNT] = {
    [DIT_CONDITION_TEXT] =
        {"text", {"encoder_hidden_states"}, "prompt_embeds", "negative_prompt_embeds", SOURCE_NORMAL, false},
    [DIT_CONDITION_TEXT_MASK] = {"text_mask",
                                 {"encoder_attention_mask", "text_embedding_mask", "encoder_hidden_states_mask"},
                                 "prompt_attention_mask",
                                 "negative_prompt_attention_mask",
                                 SOURCE_ONES,
                                 false},
    [DIT_CONDITION_TEXT_2] = {"text_2",
                              {"encoder_hidden_states_t5", "encoder_hidden_states_2"},
                              "prompt_embeds_2",
                              "negative_prompt_embeds_2",
                              SOURCE_NORMAL,
                              false},
    [DIT_CONDITION_TEXT_2_MASK] = {"text_2_mask",
                                   {"text_embedding_mask_t5", "encoder_attention_mask_2"},
                                   "prompt_attention_mask_2",
                                   "negative_prompt_attention_mask_2",
                                   SOURCE_ONES,
                                   false},
    [DIT_CONDITION_POOLED] = {"pooled",
                              {"pooled_projections"},
                              "pooled_prompt_embeds",
                              "negative_pooled_prompt_embeds",
                              SOURCE_NORMAL,
                              false},
    [DIT_CONDITION_GUIDANCE] = {"guidance", {"guidance"}, NULL, NULL, SOURCE_RUN, false},
    [DIT_CONDITION_RESOLUTION] = {"resolution", {"resolution"}, NULL, NULL, SOURCE_RUN, false},
    [DIT_CONDITION_ASPECT_RATIO] = {"aspect_ratio", {"aspect_ratio"}, NULL, NULL, SOURCE_RUN, false},
    [DIT_CONDITION_META_SIZE] = {"image_meta_size", {"image_meta_size"}, NULL, NULL, SOURCE_RUN, false},
    [DIT_CONDITION_STYLE] = {"style", {"style"}, NULL, NULL, SOURCE_RUN, false},
    [DIT_CONDITION_IMAGE] = {"image",
                             {"encoder_hidden_states_image", "image_embeds"},
                             "image_embeds",
                             "image_embeds",
                             SOURCE_NORMAL,
                             false},
    [DIT_CONDITION_LATENT] = {"latent_condition", {NULL}, "latent_condition", "latent_condition", SOURCE_NORMAL, false},
    [DIT_CONDITION_REFERENCE] = {"reference", {NULL}, "reference_latents", "reference_latents", SOURCE_NORMAL, false},
    [DIT_CONDITION_FIRST_FRAME] =
        {"first_frame", {NULL}, "first_frame_latents", "first_frame_latents", SOURCE_NORMAL, false},
    [DIT_CONDITION_IMAGE_IDS] = {"image_ids", {"img_ids"}, NULL, NULL, SOURCE_NONE, true},
    [DIT_CONDITION_TEXT_IDS] = {"text_ids", {"txt_ids"}, NULL, NULL, SOURCE_NONE, true},
    [DIT_CONDITION_ROPE_COS] = {"rope_cos", {"image_rotary_emb_cos"}, NULL, NULL, SOURCE_NONE, true},
    [DIT_CONDITION_ROPE_SIN] = {"rope_sin", {"image_rotary_emb_sin"}, NULL, NULL, SOURCE_NONE, true},
    [DIT_CONDITION_ROPE_SCALE] = {"rope_scale", {"rope_interpolation_scale"}, NULL, NULL, SOURCE_RUN, true},
    [DIT_CONDITION_FRAME_RATE] = {"frame_rate", {"fps"}, NULL, NULL, SOURCE_RUN, true},
};

/* True for kinds that are cut over the ranks as tokens are. */
static bool is_of_tokens(dit_condition_kind kind)
{
    return kind == DIT_CONDITION_LATENT || kind == DIT_CONDITION_REFERENCE || kind == DIT_CONDITION_FIRST_FRAME;
}

/* Returns the partition of a kind's tokens: of what stands beside the latent's, or of those behind them. */
static dit_partition tokens_of(const dit_partition *part, dit_condition_kind kind)
{
    return kind == DIT_CONDITION_REFERENCE ? dit_partition_of_references(part) : dit_partition_of_latents(part);
}

/* Returns how many of a row's floats this rank holds. */
static int64_t local_elements(const dit_partition *part, dit_condition_kind kind, int64_t elements)
{
    const dit_partition tokens = tokens_of(part, kind);
    return is_of_tokens(kind) ? elements / tokens.image_tokens * tokens.image_count : elements;
}

/* True for kinds that only the host reads (masks, styles, positions): it computes operands from them. */
static bool is_for_host(dit_condition_kind kind)
{
    return kinds[kind].shared || kind == DIT_CONDITION_TEXT_MASK || kind == DIT_CONDITION_TEXT_2_MASK ||
           kind == DIT_CONDITION_STYLE;
}

/* Allocates memory for a kind. Numbers that are embedded, and latents, are kept in fp32. */
static dit_status take(dit_runtime *rt, dit_condition_kind kind, int64_t elements, float **out)
{
    if (is_for_host(kind)) return dit_arena_host(&rt->image, elements, out);
    if (kinds[kind].source == SOURCE_RUN || is_of_tokens(kind)) return dit_arena_fp32(&rt->image, elements, out);
    return dit_arena_activations(&rt->image, elements, out);
}

static dit_status hand_over(dit_runtime *rt, dit_condition_kind kind, const float *rows, int64_t elements)
{
    return is_for_host(kind) ? DIT_OK : dit_runtime_upload(rt, rows, elements);
}

/* Returns a local row's index in the whole guidance batch. */
static int64_t batch_row(const dit_runtime *rt, const dit_partition *part, int64_t local)
{
    int64_t branch = part->branch_first + local / part->images, image = part->image_first + local % part->images;
    return branch * rt->facts.num_images + image;
}

/* Takes memory of zeros, which the caller may fill. */
static dit_status take_empty(dit_runtime *rt, const dit_partition *part, dit_condition_kind kind, int64_t elements,
                             const float **out)
{
    float *rows;
    DIT_TRY(take(rt, kind, part->batch * local_elements(part, kind, elements), &rows));
    *out = rows;
    int64_t all = part->batch * local_elements(part, kind, elements);
    if (!rt->ledger.counting_only) memset(rows, 0, (size_t)all * sizeof *rows);
    return hand_over(rt, kind, rows, all);
}

/* ---- from the run ------------------------------------------------------------------------------------------------ */

static void derive_row(const dit_latent *latent, dit_condition_kind kind, const dit_condition_run *run, float *row)
{
    static const double uncropped = 1024, usual_frame_rate = 25, film_frame_rate = 24;
    double height = (double)run->height_px, width = (double)run->width_px;
    bool given = false;
    for (int i = 0; i < 6; i++) given = given || run->meta_size[i] != 0;
    const double sizes[6] = {uncropped, uncropped, height, width, 0, 0};
    switch (kind) {
    case DIT_CONDITION_GUIDANCE: row[0] = (float)run->guidance_scale; break;
    case DIT_CONDITION_RESOLUTION: row[0] = (float)height, row[1] = (float)width; break;
    case DIT_CONDITION_ASPECT_RATIO: row[0] = (float)(height / width); break;
    case DIT_CONDITION_STYLE: row[0] = (float)run->style; break;
    case DIT_CONDITION_ROPE_SCALE:
        row[0] = (float)((double)latent->vae_temporal / (run->frame_rate > 0 ? run->frame_rate : usual_frame_rate));
        row[1] = row[2] = (float)latent->vae_spatial;
        break;
    case DIT_CONDITION_FRAME_RATE: row[0] = (float)(run->frame_rate > 0 ? run->frame_rate : film_frame_rate); break;
    default:
        for (int i = 0; i < 6; i++) row[i] = (float)(given ? run->meta_size[i] : sizes[i]);
        break;
    }
}

static dit_status derive(dit_runtime *rt, const dit_partition *part, dit_condition_kind kind,
                         const dit_condition_need *need, const dit_condition_run *run, const float **out)
{
    float *rows;
    DIT_TRY(take(rt, kind, part->batch * need->elements, &rows));
    for (int64_t b = 0; b < part->batch; b++) derive_row(&rt->facts.latent, kind, run, rows + b * need->elements);
    for (int64_t i = 0; i < part->batch * need->elements && need->scale > 0; i++) rows[i] *= need->scale;
    *out = rows;
    return hand_over(rt, kind, rows, part->batch * need->elements);
}

/* ---- from a file ------------------------------------------------------------------------------------------------- */

/* A file, the names it uses and how it lays out latents. */
typedef struct {
    dit_runtime *rt;
    const dit_partition *part;
    const dit_safetensors *file;
    dit_condition_names names;
    const dit_latent *latent;
    dit_latent_layout layout;
} condition_reader;

/* Finds the tensor of a branch; `found` is false when the file does not have it. */
static dit_status find_tensor(const condition_reader *r, dit_condition_kind kind, bool negative, int64_t elements,
                              int64_t *rows, dit_tensor_view *view, bool *found)
{
    bool pipeline = r->names == DIT_CONDITION_PIPELINE;
    const char *name = !pipeline ? kinds[kind].forward[0] : negative ? kinds[kind].negative : kinds[kind].positive;
    *rows = kinds[kind].shared ? 1 : r->rt->facts.num_images * (pipeline ? 1 : r->rt->facts.guidance_branches);
    *found = name && dit_safetensors_find(r->file, name, view);
    for (int i = 1; i < NAMES && !*found && !pipeline && kinds[kind].forward[i]; i++) {
        name = kinds[kind].forward[i];
        *found = dit_safetensors_find(r->file, name, view);
    }
    if (!*found) return DIT_OK;
    if (pipeline && view->rank > 0 && view->shape[0] == 1) *rows = 1; /* one prompt for every image */
    if (view->elements == *rows * elements && (kinds[kind].shared || (view->rank > 0 && view->shape[0] == *rows)))
        return DIT_OK;
    return DIT_FAIL(DIT_ERR_SHAPE, "%s has %lld elements in %lld rows, this run takes %lld rows of %lld", name,
                    (long long)view->elements, view->rank ? (long long)view->shape[0] : 0LL, (long long)*rows,
                    (long long)elements);
}

/* Reads this rank's tokens of one row of latents. Those of a reference are packed, as its pipelines make them. */
static dit_status read_latent_row(const condition_reader *r, dit_condition_kind kind, const dit_tensor_view *view,
                                  int64_t first, int64_t elements, float *out)
{
    const dit_partition part = tokens_of(r->part, kind);
    int64_t cols = elements / part.image_tokens;
    float *stored = malloc((size_t)elements * sizeof *stored), *tokens = malloc((size_t)elements * sizeof *tokens);
    dit_status st = stored && tokens ? dit_tensor_read(view, first, elements, stored)
                                     : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld floats", (long long)elements);
    if (st == DIT_OK && kind == DIT_CONDITION_REFERENCE) {
        dit_partition_take(&part, stored, cols, out);
    } else if (st == DIT_OK) {
        dit_latent_pack(r->latent, r->layout, 1, elements / dit_latent_cells(r->latent), stored, tokens);
        dit_partition_take(&part, tokens, cols, out);
    }
    free(stored);
    free(tokens);
    return st;
}

static dit_status read_row(const condition_reader *r, dit_condition_kind kind, const dit_tensor_view *view, int64_t row,
                           int64_t elements, float *out)
{
    if (is_of_tokens(kind)) return read_latent_row(r, kind, view, row * elements, elements, out);
    return dit_tensor_read(view, row * elements, elements, out);
}

static dit_status read_kind(const condition_reader *r, dit_condition_kind kind, int64_t elements, const float **out)
{
    dit_tensor_view view[2];
    int64_t rows[2], images = r->rt->facts.num_images, batch = kinds[kind].shared ? 1 : r->part->batch;
    int64_t local = local_elements(r->part, kind, elements);
    bool found[2] = {false, false}, apart = r->names == DIT_CONDITION_PIPELINE && r->rt->facts.guidance_branches == 2;
    float *data;
    *out = NULL;
    DIT_TRY(find_tensor(r, kind, false, elements, &rows[1], &view[1], &found[1]));
    if (apart) DIT_TRY(find_tensor(r, kind, true, elements, &rows[0], &view[0], &found[0]));
    if (!found[1]) return DIT_OK;
    if (apart && !found[0])
        return dit_error_hint(DIT_FAIL(DIT_ERR_TENSOR_MISSING, "the file has %s but no %s, and guidance needs both",
                                       kinds[kind].positive, kinds[kind].negative),
                              "add the negative prompt's tensor, or set guidance_scale (and true_cfg_scale) to 1");
    DIT_TRY(take(r->rt, kind, batch * local, &data));
    for (int64_t b = 0; b < batch; b++) {
        int64_t row = kinds[kind].shared ? 0 : batch_row(r->rt, r->part, b);
        int which = apart && row < images ? 0 : 1;
        if (r->names == DIT_CONDITION_PIPELINE) row %= images;
        DIT_TRY(read_row(r, kind, &view[which], row % rows[which], elements, data + b * local));
    }
    *out = data;
    return hand_over(r->rt, kind, data, batch * local);
}

dit_status dit_condition_read(dit_runtime *rt, const dit_partition *part, const dit_condition_need *needs,
                              const dit_safetensors *file, dit_condition_names names, const dit_latent *latent,
                              dit_latent_layout layout, const dit_condition_run *run, dit_condition *out)
{
    condition_reader reader = {rt, part, file, names, latent, layout};
    *out = (dit_condition){0};
    for (int kind = 0; kind < DIT_CONDITION_COUNT; kind++) {
        const dit_condition_need *need = &needs[kind];
        if (need->elements == 0 || (names == DIT_CONDITION_FORWARD && is_of_tokens((dit_condition_kind)kind))) continue;
        if (need->later)
            DIT_TRY(take_empty(rt, part, (dit_condition_kind)kind, need->elements, &out->at[kind]));
        else if (names == DIT_CONDITION_PIPELINE && kinds[kind].source == SOURCE_RUN)
            DIT_TRY(derive(rt, part, (dit_condition_kind)kind, need, run, &out->at[kind]));
        else
            DIT_TRY(read_kind(&reader, (dit_condition_kind)kind, need->elements, &out->at[kind]));
        if (out->at[kind] || need->optional) continue;
        return DIT_FAIL(DIT_ERR_TENSOR_MISSING, "this model needs %s (tensor \"%s\")", kinds[kind].name,
                        names == DIT_CONDITION_FORWARD ? kinds[kind].forward[0] : kinds[kind].positive);
    }
    return DIT_OK;
}

/* ---- from captions ----------------------------------------------------------------------------------------------- */

/* Captions with what they are looked up in. */
typedef struct {
    const dit_text_table *table;
    const char *const *captions;
    int64_t count;
} caption_list;

static dit_status check_table(const caption_list *list, const dit_condition_need *needs, int64_t images)
{
    int64_t width = dit_text_table_width(list->table);
    int64_t text = needs[DIT_CONDITION_TEXT].elements, pooled = needs[DIT_CONDITION_POOLED].elements;
    if (list->count != 1 && list->count != images)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_SHAPE, "%lld captions for %lld images", (long long)list->count, (long long)images),
            "give one caption, or one for each image");
    if (text != DIT_CAPTION_SLOTS * width || (pooled && pooled != width))
        return dit_error_hint(DIT_FAIL(DIT_ERR_SHAPE,
                                       "the text table gives %d slots of %lld numbers, but the model takes %lld in all "
                                       "and %lld pooled",
                                       DIT_CAPTION_SLOTS, (long long)width, (long long)text, (long long)pooled),
                              "give the folder that was trained with this model");
    return DIT_OK;
}

/* Fills a local row of text and, where there is one, of pooled text. */
static dit_status look_up_row(dit_runtime *rt, const dit_partition *part, const caption_list *list, int64_t local,
                              float *text, float *pooled)
{
    int64_t images = rt->facts.num_images, row = batch_row(rt, part, local), width = dit_text_table_width(list->table);
    bool silent = rt->facts.guidance_branches == 2 && row < images;
    const char *caption = silent ? NULL : list->captions[row % images % list->count];
    return dit_text_table_look_up(list->table, caption, text + local * DIT_CAPTION_SLOTS * width,
                                  pooled ? pooled + local * width : NULL);
}

/* Fills this rank's rows of text and, where there is one, of pooled text. */
static dit_status fill_text(dit_runtime *rt, const dit_partition *part, const dit_condition_need *needs,
                            const caption_list *list, float *text, float *pooled)
{
    if (!rt->ledger.counting_only) DIT_TRY(check_table(list, needs, rt->facts.num_images));
    for (int64_t b = 0; b < part->batch && !rt->ledger.counting_only; b++)
        DIT_TRY(look_up_row(rt, part, list, b, text, pooled));
    DIT_TRY(hand_over(rt, DIT_CONDITION_TEXT, text, part->batch * needs[DIT_CONDITION_TEXT].elements));
    if (!pooled) return DIT_OK;
    return hand_over(rt, DIT_CONDITION_POOLED, pooled, part->batch * needs[DIT_CONDITION_POOLED].elements);
}

static dit_status look_up_text(dit_runtime *rt, const dit_partition *part, const dit_condition_need *needs,
                               const caption_list *list, dit_condition *out)
{
    int64_t text_elements = part->batch * needs[DIT_CONDITION_TEXT].elements;
    int64_t pooled_elements = part->batch * needs[DIT_CONDITION_POOLED].elements;
    float *text, *pooled = NULL;
    DIT_TRY(take(rt, DIT_CONDITION_TEXT, text_elements, &text));
    if (pooled_elements) DIT_TRY(take(rt, DIT_CONDITION_POOLED, pooled_elements, &pooled));
    out->at[DIT_CONDITION_TEXT] = text;
    out->at[DIT_CONDITION_POOLED] = pooled;
    return fill_text(rt, part, needs, list, text, pooled);
}

dit_status dit_condition_tell(dit_runtime *rt, const dit_partition *part, const dit_condition_need *needs,
                              const dit_text_table *table, const char *const *captions, int64_t count,
                              const dit_condition *condition)
{
    const caption_list list = {table, captions, count};
    return fill_text(rt, part, needs, &list, (float *)(uintptr_t)condition->at[DIT_CONDITION_TEXT],
                     (float *)(uintptr_t)condition->at[DIT_CONDITION_POOLED]);
}

dit_status dit_condition_look_up(dit_runtime *rt, const dit_partition *part, const dit_condition_need *needs,
                                 const dit_text_table *table, const char *const *captions, int64_t count,
                                 const dit_condition_run *run, dit_condition *out)
{
    const caption_list list = {table, captions, count};
    *out = (dit_condition){0};
    DIT_TRY(look_up_text(rt, part, needs, &list, out));
    for (int kind = 0; kind < DIT_CONDITION_COUNT; kind++) {
        if (needs[kind].elements == 0 || out->at[kind]) continue;
        if (kinds[kind].source == SOURCE_RUN)
            DIT_TRY(derive(rt, part, (dit_condition_kind)kind, &needs[kind], run, &out->at[kind]));
        else if (!needs[kind].optional && kinds[kind].source != SOURCE_NONE)
            return DIT_FAIL(DIT_ERR_UNSUPPORTED, "this model needs %s, which captions do not give", kinds[kind].name);
    }
    return DIT_OK;
}

/* ---- seeded ------------------------------------------------------------------------------------------------------ */

static void seed_row(dit_runtime *rt, const dit_partition *part, dit_condition_kind kind, uint64_t seed, int64_t row,
                     int64_t elements, float *out)
{
    uint64_t stream = dit_rng_stream(kinds[kind].name);
    if (!is_of_tokens(kind)) {
        dit_rng_normal(seed, stream, (uint64_t)(row * elements), elements, 0.0f, 1.0f, out);
        return;
    }
    const dit_partition tokens = tokens_of(part, kind);
    int64_t cols = elements / tokens.image_tokens;
    int64_t image = row % rt->facts.num_images; /* both guidance branches have one index */
    for (int64_t i = 0; i < dit_partition_runs(&tokens); i++) {
        dit_run run = dit_partition_run(&tokens, i);
        dit_rng_normal(seed, stream, (uint64_t)(image * elements + run.token * cols), run.count * cols, 0.0f, 1.0f,
                       out + run.row * cols);
    }
}

static dit_status seed_kind(dit_runtime *rt, const dit_partition *part, dit_condition_kind kind, uint64_t seed,
                            int64_t elements, const float **out)
{
    int64_t local = local_elements(part, kind, elements);
    float *rows;
    DIT_TRY(take(rt, kind, part->batch * local, &rows));
    for (int64_t b = 0; b < part->batch && !rt->ledger.counting_only; b++) {
        if (kinds[kind].source == SOURCE_NORMAL)
            seed_row(rt, part, kind, seed, batch_row(rt, part, b), elements, rows + b * local);
        for (int64_t i = 0; i < local && kinds[kind].source == SOURCE_ONES; i++) rows[b * local + i] = 1.0f;
    }
    *out = rows;
    return hand_over(rt, kind, rows, part->batch * local);
}

dit_status dit_condition_seed(dit_runtime *rt, const dit_partition *part, const dit_condition_need *needs,
                              uint64_t seed, const dit_condition_run *run, dit_condition *out)
{
    *out = (dit_condition){0};
    for (int kind = 0; kind < DIT_CONDITION_COUNT; kind++) {
        if (needs[kind].elements == 0 || kinds[kind].source == SOURCE_NONE) continue;
        if (needs[kind].later)
            DIT_TRY(take_empty(rt, part, (dit_condition_kind)kind, needs[kind].elements, &out->at[kind]));
        else if (kinds[kind].source == SOURCE_RUN)
            DIT_TRY(derive(rt, part, (dit_condition_kind)kind, &needs[kind], run, &out->at[kind]));
        else
            DIT_TRY(seed_kind(rt, part, (dit_condition_kind)kind, seed, needs[kind].elements, &out->at[kind]));
    }
    return DIT_OK;
}
