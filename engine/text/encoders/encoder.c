#include "engine/text/encoders/encoder_impl.h"

#include "base/words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All architectures. */
static const text_class *const classes[] = {&text_t5,    &text_umt5,           &text_mt5,      &text_bert,
                                            &text_clip,  &text_clip_projected, &text_llama,    &text_clip_vision,
                                            &text_qwen3, &text_qwen25_vl,      &text_mistral3, &text_gemma2};
enum { CLASS_COUNT = sizeof classes / sizeof *classes };

/* ---- configs ----------------------------------------------------------------------------------------------------- */

/* Reads the first of the config's architectures, NULL where it names none. */
static dit_status read_architecture(const dit_config *config, const char **out)
{
    const cJSON *list = NULL;
    *out = NULL;
    DIT_TRY(dit_json_optional_array(config->doc, config->object, config->pointer, "architectures", &list));
    const cJSON *first = list ? cJSON_GetArrayItem(list, 0) : NULL;
    if (first && !cJSON_IsString(first))
        return dit_json_fail(config->doc, "/architectures", DIT_ERR_JSON_TYPE, "an architecture is not a string");
    if (first) *out = first->valuestring;
    return DIT_OK;
}

static dit_status find_class(const dit_config *config, const text_class **out)
{
    const char *name, *type = NULL, *built[CLASS_COUNT + 1] = {NULL};
    DIT_TRY(read_architecture(config, &name));
    DIT_TRY(dit_json_optional_string(config->doc, config->object, config->pointer, "model_type", &type));
    for (int i = 0; i < CLASS_COUNT; i++) {
        *out = classes[i];
        built[i] = classes[i]->architectures[0];
        if (name && dit_words_find(classes[i]->architectures, name) >= 0) return DIT_OK;
    }
    for (int i = 0; i < CLASS_COUNT; i++) {
        *out = classes[i];
        if (!name && type && strcmp(type, classes[i]->model_type) == 0) return DIT_OK;
    }
    return dit_words_hint_all(DIT_FAIL(DIT_ERR_UNSUPPORTED, "text encoder \"%s\" is not built",
                                       name   ? name
                                       : type ? type
                                              : "of a config that names no architecture"),
                              "built", built);
}

/* `sees`: of the part that sees pictures. */
static dit_status read_shape(const dit_config *config, bool sees, const text_class **klass, text_shape *out)
{
    *out = (text_shape){0};
    DIT_TRY(find_class(config, klass));
    if (sees && !(*klass)->tower)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_UNSUPPORTED, "what sees pictures in a %s is not built", (*klass)->architectures[0]),
            "that of %s is", text_qwen25_vl.architectures[0]);
    if (sees) *klass = (*klass)->tower;
    DIT_TRY((*klass)->read(config, out));
    const dit_text_encoder_facts *f = &out->facts;
    if (out->theta > 0 && (f->head_dim < 2 || f->head_dim % 2))
        return DIT_FAIL(DIT_ERR_SHAPE, "heads of %lld channels cannot be rotated: the width must be even",
                        (long long)f->head_dim);
    if (f->heads % f->key_heads)
        return DIT_FAIL(DIT_ERR_SHAPE, "%lld key heads do not divide %lld heads", (long long)f->key_heads,
                        (long long)f->heads);
    return DIT_OK;
}

static dit_status read_facts(const dit_config *config, bool sees, dit_text_encoder_facts *out)
{
    const text_class *klass;
    text_shape shape;
    DIT_TRY(read_shape(config, sees, &klass, &shape));
    *out = shape.facts;
    return DIT_OK;
}

dit_status dit_text_encoder_read_facts(const dit_config *config, dit_text_encoder_facts *out)
{
    return read_facts(config, false, out);
}

dit_status dit_text_encoder_read_tower_facts(const dit_config *config, dit_text_encoder_facts *out)
{
    return read_facts(config, true, out);
}

/* Patches that become one embedding. */
static int64_t merged_patches(const dit_text_encoder_facts *f)
{
    return f->merge ? f->merge * f->merge : 1;
}

/* Blocks that run. */
static int64_t blocks_of(const dit_text_encoder_params *p, const dit_text_encoder_facts *f)
{
    if (p->pooled) return f->layers;
    return p->states.count ? p->states.after[p->states.count - 1] : f->layers - p->skip;
}

dit_text_facts dit_text_encoder_call(const dit_text_encoder_params *p, const dit_text_encoder_facts *f)
{
    return (dit_text_facts){.prompts = p->batch,
                            .tokens = p->tokens,
                            .kept_tokens = (p->tokens - p->crop) / merged_patches(f),
                            .width = f->width,
                            .out_width = f->out_width,
                            .states = p->states.count,
                            .pooled = p->pooled ? f->pooled : 0,
                            .heads = f->heads,
                            .key_heads = f->key_heads,
                            .blocks = blocks_of(p, f),
                            .element_bytes = p->rt ? dit_dtype_bytes(p->rt->ledger.dtype) : 4};
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static dit_status check_states(const dit_text_states *states, int64_t layers)
{
    for (int i = 0; i < states->count; i++) {
        int64_t least = i ? states->after[i - 1] + 1 : 0;
        if (states->after[i] >= least && states->after[i] <= layers) continue;
        return DIT_FAIL(
            DIT_ERR_SHAPE,
            "a hidden state after block %lld does not exist here: the encoder has %lld blocks, and states are "
            "taken in rising order",
            (long long)states->after[i], (long long)layers);
    }
    return DIT_OK;
}

static dit_status check_params(const dit_text_encoder_params *p, const dit_text_encoder_facts *f)
{
    if (p->batch < 1 || p->tokens < 1 || (f->max_tokens && p->tokens > f->max_tokens))
        return DIT_FAIL(DIT_ERR_SHAPE, "%lld prompts of %lld tokens cannot be encoded; the encoder takes up to %lld",
                        (long long)p->batch, (long long)p->tokens, (long long)f->max_tokens);
    if (p->skip < 0 || p->skip > f->layers || p->crop < 0 || p->crop >= p->tokens)
        return DIT_FAIL(DIT_ERR_SHAPE,
                        "a hidden state %lld before the last of %lld, without the first %lld of %lld tokens, does not "
                        "exist",
                        (long long)p->skip, (long long)f->layers, (long long)p->crop, (long long)p->tokens);
    if (f->merge && (p->batch != 1 || p->tokens != p->grid_height * p->grid_width || p->skip || p->crop || p->pooled ||
                     p->states.count))
        return DIT_FAIL(DIT_ERR_SHAPE, "%lld pictures of %lld x %lld patches, %lld in all: one is seen, and whole",
                        (long long)p->batch, (long long)p->grid_width, (long long)p->grid_height, (long long)p->tokens);
    DIT_TRY(check_states(&p->states, f->layers));
    if (p->pooled && !f->pooled)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "this text encoder has no pooled text"),
                              "only CLIP's encoders have it");
    dit_text_facts call = dit_text_encoder_call(p, f);
    return dit_text_parallel_check(DIT_TEXT_TENSOR, (int)dit_tp_share(p->rt).of, &call);
}

/* Finds which prefix, and which of the names, a file has for the table of token embeddings. */
static void find_names(dit_text_encoder *e)
{
    dit_tensor_view view;
    const char *const *prefix = e->klass->prefixes, *const *tokens = e->klass->names.tokens;
    char name[256];
    e->tokens = tokens[0];
    snprintf(e->root.prefix, sizeof e->root.prefix, "%s", prefix[0]);
    for (int i = 0; e->weights.file && prefix[i]; i++)
        for (int j = 0; tokens[j]; j++) {
            snprintf(name, sizeof name, "%s%s", prefix[i], tokens[j]);
            if (!dit_safetensors_find(e->weights.file, name, &view)) continue;
            snprintf(e->root.prefix, sizeof e->root.prefix, "%s", prefix[i]);
            e->tokens = tokens[j];
            return;
        }
}

static dit_status load_first_distances(dit_text_encoder *e)
{
    dit_scope first = e->root;
    char prefix[sizeof first.prefix];
    if (e->shape.window) return text_window_make(e, &e->relative);
    if (!e->shape.buckets || e->shape.bias_per_block) return DIT_OK;
    snprintf(prefix, sizeof prefix, "%.60s%.60s0.", e->root.prefix, e->klass->names.block);
    snprintf(first.prefix, sizeof first.prefix, "%s", prefix);
    return text_distances_load(e, &first, &e->relative);
}

/* Values of a patch of a picture. */
static int64_t patch_values(const dit_text_encoder *e)
{
    int64_t copies = e->shape.copies ? e->shape.copies : 1;
    return 3 * copies * e->shape.facts.patch * e->shape.facts.patch;
}

/* Rows of patches in a run. Where they are not merged, a token of the class stands before a picture's. */
static int64_t patch_rows(const dit_text_encoder *e)
{
    const dit_text_encoder_facts *f = &e->shape.facts;
    return f->patch ? e->params.batch * (e->params.tokens - !f->merge) : 0;
}

/* The projection stands outside of the prefix, and has no bias. */
static dit_status load_projection(dit_text_encoder *e)
{
    dit_weights plain = e->weights;
    dit_scope scope = {.rt = e->params.rt, .weights = &plain};
    plain.without_biases = true;
    if (!e->params.pooled || !e->shape.projected) return DIT_OK;
    return scope_linear(&scope, e->klass->names.projection, e->shape.facts.pooled, e->shape.facts.width,
                        &e->projection);
}

/* The layer over a patch has no bias. */
static dit_status load_patch(dit_text_encoder *e)
{
    dit_weights plain = e->weights;
    dit_scope scope = scope_whole(&e->root);
    plain.without_biases = true;
    scope.weights = &plain;
    if (!e->klass->names.patches) return DIT_OK;
    return scope_linear(&scope, e->klass->names.patches, e->shape.facts.width, patch_values(e), &e->patch);
}

/* Layers over merged patches, of which every rank has all. */
static dit_status load_merger(dit_text_encoder *e)
{
    const dit_text_encoder_facts *f = &e->shape.facts;
    dit_scope scope = scope_whole(&e->root);
    int64_t wide = merged_patches(f) * f->width;
    if (!f->merge) return DIT_OK;
    DIT_TRY(scope_linear(&scope, e->klass->names.merge_in, wide, wide, &e->merge_in));
    return scope_linear(&scope, e->klass->names.merge_out, f->out_width, wide, &e->merge_out);
}

/* Loads everything but embeddings, which are read by row, and blocks that are streamed. */
static dit_status load_weights(dit_text_encoder *e)
{
    const text_names *names = &e->klass->names;
    dit_runtime *rt = e->params.rt;
    int64_t held = e->params.streamed ? 1 : e->blocks_run;
    void *memory;
    find_names(e);
    if (names->embedding_norm)
        DIT_TRY(text_norm_load(e, &e->root, names->embedding_norm, &e->embedding_norm[0], &e->embedding_norm[1]));
    if (names->final_norm && (e->ends_normed || e->params.pooled))
        DIT_TRY(text_norm_load(e, &e->root, names->final_norm, &e->final_norm[0], &e->final_norm[1]));
    DIT_TRY(load_first_distances(e));
    DIT_TRY(load_projection(e));
    DIT_TRY(load_patch(e));
    DIT_TRY(load_merger(e));
    DIT_TRY(dit_arena_alloc(&rt->run, held * (int64_t)sizeof *e->blocks, &memory));
    e->blocks = memory;
    for (int64_t i = 0; !e->params.streamed && i < e->blocks_run; i++) DIT_TRY(text_block_load(e, i, &e->blocks[i]));
    return DIT_OK;
}

static dit_status make_buffers(dit_text_encoder *e)
{
    const dit_text_encoder_params *p = &e->params;
    const dit_text_encoder_facts *f = &e->shape.facts;
    dit_arena *image = &p->rt->image, *step = &p->rt->step;
    int64_t rows = p->batch * p->tokens, qkv = (e->H + 2 * e->key_heads) * f->head_dim;
    int64_t inner = (e->shape.gated ? 2 : 1) * e->inner;
    const dit_buffer buffers[] = {
        {image, &e->mask, rows, DIT_BUFFER_FP32},
        {image, &e->cosines, e->shape.theta > 0 ? p->tokens * f->head_dim : 0, DIT_BUFFER_FP32},
        {image, &e->sines, e->shape.theta > 0 ? p->tokens * f->head_dim : 0, DIT_BUFFER_FP32},
        {step, &e->patches, patch_rows(e) * patch_values(e), DIT_BUFFER_ACTIVATIONS},
        {step, &e->merged, f->merge ? rows * f->width : 0, DIT_BUFFER_ACTIVATIONS},
        {step, &e->embedded, f->merge ? rows / merged_patches(f) * f->out_width : 0, DIT_BUFFER_ACTIVATIONS},
        {step, &e->stream, rows * f->width, DIT_BUFFER_ACTIVATIONS},
        {step, &e->normed, rows * f->width, DIT_BUFFER_ACTIVATIONS},
        {step, &e->wide, rows * (qkv > inner ? qkv : inner), DIT_BUFFER_ACTIVATIONS},
        {step, &e->attended, rows * e->H * f->head_dim, DIT_BUFFER_ACTIVATIONS},
        {step, &e->kept, e->states.count * rows * f->width, DIT_BUFFER_ACTIVATIONS},
        {step, &e->pooled_rows, p->pooled ? p->batch * f->width : 0, DIT_BUFFER_ACTIVATIONS},
        {step, &e->pooled, p->pooled ? p->batch * f->pooled : 0, DIT_BUFFER_ACTIVATIONS},
    };
    void *positions;
    DIT_TRY(dit_buffers_take(buffers, sizeof buffers / sizeof *buffers));
    DIT_TRY(dit_arena_array(image, p->tokens, DIT_DTYPE_INT32, &positions));
    e->positions = positions;
    return dit_tp_reserve(p->rt, rows * f->width, 0);
}

/* Which of time, row and column an angle of a head is about. */
static int axis_of(const text_shape *s, int64_t angle)
{
    if (angle < s->sections[0]) return 0;
    return angle < s->sections[0] + s->sections[1] ? 1 : 2;
}

/* Returns an angle of a token's rotation, a float32 product, as the library makes it. `places`: of the tokens, or NULL: they
 * stand in a row. */
static float angle_of(const dit_text_encoder *e, const int32_t *places, int64_t token, int64_t angle)
{
    int64_t D = e->shape.facts.head_dim, position = token;
    if (e->shape.paired_axes) {
        int64_t row, column;
        text_grid_at(&e->grid, token, &row, &column);
        D /= 2;
        position = angle < D / 2 ? row : column;
        angle %= D / 2;
    } else if (places) {
        position = places[token * 3 + axis_of(&e->shape, angle)];
    }
    float frequency = 1.0f / powf((float)e->shape.theta, (float)(angle * 2) / (float)D);
    return (float)position * frequency;
}

/* Fills cosines and sines of the angles. */
static dit_status fill_rotation(dit_text_encoder *e, const int32_t *places)
{
    dit_runtime *rt = e->params.rt;
    int64_t tokens = e->params.tokens, D = e->shape.facts.head_dim;
    for (int64_t i = 0; i < tokens * D; i++) {
        float angle = angle_of(e, places, i / D, i % D / 2);
        e->cosines[i] = cosf(angle);
        e->sines[i] = sinf(angle);
    }
    DIT_TRY(dit_runtime_upload(rt, e->cosines, tokens * D));
    return dit_runtime_upload(rt, e->sines, tokens * D);
}

/* Fills what depends on positions alone. */
static dit_status fill_positions(dit_text_encoder *e)
{
    dit_runtime *rt = e->params.rt;
    int64_t tokens = e->params.tokens;
    for (int64_t i = 0; i < tokens; i++) e->positions[i] = (int32_t)i;
    DIT_TRY(dit_runtime_upload(rt, e->positions, tokens));
    return e->shape.theta > 0 ? fill_rotation(e, NULL) : DIT_OK;
}

static dit_status create(dit_text_encoder *e)
{
    const dit_text_encoder_params *p = &e->params;
    DIT_TRY(read_shape(&p->config, p->sees, &e->klass, &e->shape));
    const dit_text_encoder_facts *f = &e->shape.facts;
    DIT_TRY(check_params(p, f));
    if (f->merge) {
        int64_t side = e->shape.window_side ? e->shape.window_side : p->tokens;
        DIT_TRY(text_grid_make(p->grid_height, p->grid_width, f->merge, side, &e->grid));
    }
    e->weights = *p->weights;
    e->weights.without_biases = !e->shape.biases;
    e->root = (dit_scope){.rt = p->rt, .weights = &e->weights, .share = dit_tp_share(p->rt)};
    e->H = dit_tp_count(p->rt, f->heads);
    e->key_heads = dit_tp_count(p->rt, f->key_heads);
    e->inner = dit_tp_count(p->rt, f->inner);
    e->blocks_run = blocks_of(p, f);
    if (e->shape.window >= p->tokens) e->shape.window = 0; /* it hides nothing */
    e->states = p->states;
    if (!e->states.count && p->pooled && p->skip > 0) e->states = (dit_text_states){1, {f->layers - p->skip}};
    e->ends_normed = e->states.count ? e->states.after[e->states.count - 1] == f->layers : p->skip == 0;
    DIT_TRY(load_weights(e));
    DIT_TRY(make_buffers(e));
    return fill_positions(e);
}

dit_status dit_text_encoder_create(const dit_text_encoder_params *params, dit_text_encoder **out)
{
    *out = NULL;
    dit_text_encoder *e = calloc(1, sizeof *e);
    if (!e) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a text encoder");
    e->params = *params;
    dit_status st = create(e);
    if (st != DIT_OK) {
        dit_text_encoder_free(e);
        return dit_error_note(st, "creating the text encoder");
    }
    *out = e;
    return DIT_OK;
}

void dit_text_encoder_free(dit_text_encoder *encoder)
{
    if (encoder) text_grid_release(&encoder->grid);
    free(encoder);
}

const dit_text_encoder_facts *dit_text_encoder_get_facts(const dit_text_encoder *encoder)
{
    return &encoder->shape.facts;
}

/* ---- embeddings -------------------------------------------------------------------------------------------------- */

static dit_status check_ids(const dit_text_encoder *e, const int32_t *ids)
{
    int64_t tokens = e->params.tokens, count = e->params.batch * tokens, vocabulary = e->shape.facts.vocabulary;
    for (int64_t i = 0; i < count; i++)
        if (ids[i] < 0 || ids[i] >= vocabulary)
            return dit_error_hint(DIT_FAIL(DIT_ERR_SHAPE,
                                           "token %lld of prompt %lld has the id %d, but the text encoder's vocabulary "
                                           "has %lld tokens",
                                           (long long)(i % tokens), (long long)(i / tokens), (int)ids[i],
                                           (long long)vocabulary),
                                  "the tokenizer belongs to another encoder");
    return DIT_OK;
}

/* Adds rows [0, count) of a table to every prompt's tokens, row by row; with one row, that row to every token. */
static dit_status add_table(dit_text_encoder *e, const char *name, int64_t stored, int64_t count)
{
    dit_runtime *rt = e->params.rt;
    int64_t width = e->shape.facts.width, rows = e->params.batch * e->params.tokens;
    int64_t shape[2] = {stored, width};
    char full[256];
    float *table;
    snprintf(full, sizeof full, "%s%s", e->root.prefix, name);
    dit_arena_mark mark = dit_arena_get_mark(&rt->step);
    dit_status st = dit_arena_host(&rt->step, count * width, &table);
    if (st == DIT_OK)
        st = dit_weights_read_rows(rt, &e->weights, full, shape, e->positions, count, DIT_INIT_TABLE, table);
    for (int64_t i = 0; st == DIT_OK && i < dit_runtime_values(rt, rows * width); i++)
        e->stream[i] += table[i / width % e->params.tokens % count * width + i % width];
    dit_arena_release_to(&rt->step, mark);
    return st;
}

/* Lays the patches of pictures out as rows, in the order of the layer's inputs: colour, row, column. */
static dit_status place_patches(dit_text_encoder *e, const float *pixels)
{
    dit_runtime *rt = e->params.rt;
    int64_t patch = e->shape.facts.patch, size = e->shape.facts.image_size, across = size / patch,
            cols = patch_values(e);
    int64_t rows = e->params.batch * across * across;
    for (int64_t i = 0; i < dit_runtime_values(rt, rows * cols); i++) {
        int64_t row = i / cols, at = i % cols, picture = row / (across * across), place = row % (across * across);
        int64_t c = at / (patch * patch), y = place / across * patch + at / patch % patch;
        e->patches[i] = pixels[((picture * 3 + c) * size + y) * size + place % across * patch + at % patch];
    }
    return dit_runtime_upload(rt, e->patches, rows * cols);
}

/* The class's embedding and patches that have gone through their layer, with positions. */
static dit_status embed_pictures(dit_text_encoder *e, const dit_text_input *input)
{
    dit_runtime *rt = e->params.rt;
    int64_t width = e->shape.facts.width, tokens = e->params.tokens, rows = e->params.batch * tokens,
            cols = patch_values(e);
    char full[256];
    float *token;
    if (tokens != e->shape.facts.max_tokens)
        return DIT_FAIL(DIT_ERR_SHAPE, "%lld tokens of a picture: the encoder makes %lld", (long long)tokens,
                        (long long)e->shape.facts.max_tokens);
    snprintf(full, sizeof full, "%s%s", e->root.prefix, e->tokens);
    dit_arena_mark mark = dit_arena_get_mark(&rt->step);
    dit_status st = dit_arena_host(&rt->step, width, &token);
    if (st == DIT_OK) st = dit_weights_read(rt, &e->weights, full, 1, &width, DIT_INIT_TABLE, token);
    for (int64_t i = 0; st == DIT_OK && i < dit_runtime_values(rt, rows * width); i++)
        e->stream[i] = i / width % tokens ? 0 : token[i % width];
    dit_arena_release_to(&rt->step, mark);
    if (st == DIT_OK) st = add_table(e, e->klass->names.positions, tokens, tokens);
    DIT_TRY(st);
    DIT_TRY(dit_runtime_upload(rt, e->stream, rows * width));
    DIT_TRY(place_patches(e, input->pixels));
    for (int64_t b = 0; b < e->params.batch; b++)
        layer_linear_add(rt, &e->patch, rows_dense(e->patches + b * (tokens - 1) * cols, 1, tokens - 1, cols),
                         rows_dense(e->stream + (b * tokens + 1) * width, 1, tokens - 1, width), NULL, 0);
    return DIT_OK;
}

/* A picture of any size: its patches, which have gone through their layer. */
static dit_status embed_grid(dit_text_encoder *e, const dit_text_input *input)
{
    dit_runtime *rt = e->params.rt;
    int64_t rows = e->params.tokens, cols = patch_values(e);
    if (!rt->ledger.counting_only)
        text_grid_place(&e->grid, input->pixels, e->shape.facts.patch, e->shape.copies, e->patches);
    DIT_TRY(dit_runtime_upload(rt, e->patches, rows * cols));
    layer_linear(rt, &e->patch, rows_dense(e->patches, 1, rows, cols),
                 rows_dense(e->stream, 1, rows, e->shape.facts.width), DIT_ACT_NONE);
    return DIT_OK;
}

/* Puts what pictures became in the place of the tokens that stand for it, and rotates by the places in pictures. */
static dit_status show(dit_text_encoder *e, const dit_text_input *input)
{
    const dit_text_pictures *pictures = &input->pictures;
    int64_t tokens = e->params.tokens, width = e->shape.facts.width;
    if (!pictures->count || e->params.rt->ledger.counting_only) return DIT_OK;
    int32_t *places = malloc((size_t)(tokens * 3) * sizeof *places);
    dit_status st = places ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the places of tokens");
    for (int64_t b = e->params.batch - 1; b >= 0 && st == DIT_OK; b--) { /* the first text's places are left */
        const int32_t *ids = input->ids + b * tokens;
        const float *row = pictures->rows;
        st = text_places_make(ids, tokens, e->shape.facts.picture_token, pictures, places);
        for (int64_t i = 0; i < tokens && st == DIT_OK; i++) {
            if (ids[i] != e->shape.facts.picture_token) continue;
            memcpy(e->stream + (b * tokens + i) * width, row, (size_t)width * sizeof *row);
            row += width;
        }
    }
    if (st == DIT_OK) st = fill_rotation(e, places);
    free(places);
    return st;
}

static dit_status embed_text(dit_text_encoder *e, const dit_text_input *input)
{
    dit_runtime *rt = e->params.rt;
    const text_shape *s = &e->shape;
    const text_names *names = &e->klass->names;
    int64_t rows = e->params.batch * e->params.tokens, shape[2] = {s->facts.vocabulary, s->facts.width};
    char full[256];
    snprintf(full, sizeof full, "%s%s", e->root.prefix, e->tokens);
    if (!rt->ledger.counting_only) DIT_TRY(check_ids(e, input->ids));
    DIT_TRY(dit_weights_read_rows(rt, &e->weights, full, shape, input->ids, rows, DIT_INIT_TABLE, e->stream));
    for (int64_t i = 0; s->embedding_scale > 0 && i < dit_runtime_values(rt, rows * s->facts.width); i++)
        e->stream[i] *= (float)s->embedding_scale;
    DIT_TRY(show(e, input));
    if (s->types) DIT_TRY(add_table(e, names->types, s->types, 1));
    if (s->positions) DIT_TRY(add_table(e, names->positions, s->positions, e->params.tokens));
    return dit_runtime_upload(rt, e->stream, rows * s->facts.width);
}

static dit_status embed(dit_text_encoder *e, const dit_text_input *input)
{
    dit_runtime *rt = e->params.rt;
    const text_names *names = &e->klass->names;
    int64_t rows = e->params.batch * e->params.tokens;
    DIT_TRY(e->shape.facts.merge   ? embed_grid(e, input)
            : e->shape.facts.patch ? embed_pictures(e, input)
                                   : embed_text(e, input));
    if (names->embedding_norm) text_norm_run(e, e->stream, e->embedding_norm[0], e->embedding_norm[1], e->stream);
    e->masked = input->mask != NULL;
    for (int64_t i = 0; e->masked && i < rows; i++) e->mask[i] = input->mask[i] ? 0.0f : -INFINITY;
    return e->masked ? dit_runtime_upload(rt, e->mask, rows) : DIT_OK;
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

/* Keeps `from`, the state after so many blocks, where it is one of those that are taken. */
static void keep_state(dit_text_encoder *e, int64_t after, const float *from)
{
    int64_t elements = e->params.batch * e->params.tokens * e->shape.facts.width;
    for (int i = 0; i < e->states.count; i++)
        if (e->states.after[i] == after) dit_runtime_copy(e->params.rt, from, elements, e->kept + i * elements);
}

static dit_status run_blocks(dit_text_encoder *e)
{
    dit_runtime *rt = e->params.rt;
    for (int64_t i = 0; i < e->blocks_run; i++) {
        keep_state(e, i, e->stream);
        if (!e->params.streamed) {
            DIT_TRY(text_block_run(e, &e->blocks[i]));
            continue;
        }
        dit_arena_mark mark = dit_arena_get_mark(&rt->run);
        dit_status st = text_block_load(e, i, e->blocks);
        if (st == DIT_OK) st = text_block_run(e, e->blocks);
        if (st == DIT_OK) st = dit_runtime_synchronize(rt);
        dit_arena_release_to(&rt->run, mark);
        DIT_TRY(st);
    }
    return DIT_OK;
}

/* Returns the token at which a prompt's text is pooled. */
static int64_t pooled_token(const dit_text_encoder *e, const int32_t *ids)
{
    int64_t largest = 0;
    for (int64_t i = 0; i < e->params.tokens; i++) {
        if (e->shape.end_token && ids[i] == e->shape.end_token) return i;
        if (ids[i] > ids[largest]) largest = i;
    }
    return e->shape.end_token ? 0 : largest;
}

/* Takes each prompt's row at its end token from the normed stream, and projects it. */
static dit_status pool(dit_text_encoder *e, const dit_text_input *input, float *pooled)
{
    dit_runtime *rt = e->params.rt;
    int64_t width = e->shape.facts.width, batch = e->params.batch, out = e->shape.facts.pooled;
    float *result = e->shape.projected ? e->pooled : e->pooled_rows;
    for (int64_t b = 0; b < batch; b++) {
        int64_t token = rt->ledger.counting_only ? 0 : pooled_token(e, input->ids + b * e->params.tokens);
        dit_runtime_copy(rt, e->normed + (b * e->params.tokens + token) * width, width, e->pooled_rows + b * width);
    }
    if (e->shape.projected)
        layer_linear(rt, &e->projection, rows_dense(e->pooled_rows, 1, batch, width), rows_dense(result, 1, batch, out),
                     DIT_ACT_NONE);
    if (rt->ledger.counting_only) return DIT_OK;
    DIT_TRY(dit_runtime_download(rt, result, batch * out));
    memcpy(pooled, result, (size_t)(batch * out) * sizeof *pooled);
    return DIT_OK;
}

/* Hands out the rows that are not cropped, of `count` states beside each other. */
static dit_status deliver(const dit_text_encoder *e, const dit_text_input *input, const float *states, int count,
                          float *hidden)
{
    const dit_text_encoder_params *p = &e->params;
    int64_t width = e->shape.facts.width, row_bytes = width * (int64_t)sizeof *hidden, rows = p->batch * p->tokens;
    if (p->rt->ledger.counting_only) return DIT_OK;
    DIT_TRY(dit_runtime_download(p->rt, states, count * rows * width));
    for (int64_t row = 0; row < rows; row++) {
        if (row % p->tokens < p->crop) continue;
        bool zeros = p->zero_padding && input->mask && !input->mask[row];
        for (int i = 0; i < count; i++, hidden += width)
            if (zeros)
                memset(hidden, 0, (size_t)row_bytes);
            else
                memcpy(hidden, states + (i * rows + row) * width, (size_t)row_bytes);
    }
    return DIT_OK;
}

/* Makes one embedding of every few patches of the normed stream, and hands them out line by line. */
static dit_status deliver_merged(dit_text_encoder *e, float *hidden)
{
    dit_runtime *rt = e->params.rt;
    const dit_text_encoder_facts *f = &e->shape.facts;
    int64_t rows = e->params.tokens / merged_patches(f), wide = merged_patches(f) * f->width;
    layer_linear(rt, &e->merge_in, rows_dense(e->normed, 1, rows, wide), rows_dense(e->merged, 1, rows, wide),
                 DIT_ACT_GELU_ERF);
    layer_linear(rt, &e->merge_out, rows_dense(e->merged, 1, rows, wide),
                 rows_dense(e->embedded, 1, rows, f->out_width), DIT_ACT_NONE);
    if (rt->ledger.counting_only) return DIT_OK;
    DIT_TRY(dit_runtime_download(rt, e->embedded, rows * f->out_width));
    text_grid_restore(&e->grid, e->embedded, f->out_width, hidden);
    return DIT_OK;
}

dit_status dit_text_encoder_run(dit_text_encoder *e, const dit_text_input *input, float *hidden, float *pooled)
{
    DIT_TRY(embed(e, input));
    DIT_TRY(run_blocks(e));
    if (e->final_norm[0]) text_norm_run(e, e->stream, e->final_norm[0], e->final_norm[1], e->normed);
    if (e->shape.facts.merge) return deliver_merged(e, hidden);
    const float *last = e->final_norm[0] && e->ends_normed ? e->normed : e->stream;
    keep_state(e, e->blocks_run, last);
    if (e->params.pooled) DIT_TRY(pool(e, input, pooled));
    return e->states.count ? deliver(e, input, e->kept, e->states.count, hidden) : deliver(e, input, last, 1, hidden);
}
