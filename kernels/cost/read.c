/* Reads accelerators and profiles from JSON. */
#include "kernels/cost/read.h"

#include "base/json.h"
#include "base/words.h"
#include "kernels/cost/accelerator.h"
#include "kernels/cost/collective.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { POINTER = 128 };

/* ---- values ------------------------------------------------------------------------------------------------------ */

static dit_status copy_name(const dit_json *doc, const cJSON *value, const char *pointer, char out[DIT_COST_NAME])
{
    if (!cJSON_IsString(value)) return dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "a name is a string");
    if (snprintf(out, DIT_COST_NAME, "%s", value->valuestring) < DIT_COST_NAME) return DIT_OK;
    return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "a name has at most %d bytes", DIT_COST_NAME - 1);
}

/* ---- curves ------------------------------------------------------------------------------------------------------ */

/* Checks that knot i can follow the one before, by the rule in model.h. */
static dit_status check_knot(const dit_json *doc, const char *pointer, const dit_cost_curve *curve, int i)
{
    double x = curve->x[i], y = curve->y[i];
    if (!(x > 0 && y > 0))
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "knot %d: size %g and rate %g must both be above 0", i,
                             x, y);
    if (i == 0) return DIT_OK;
    if (!(x > curve->x[i - 1]))
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "sizes must ascend, and do not at knot %d", i);
    if (y - curve->y[i - 1] <= curve->y[i - 1] * log(x / curve->x[i - 1])) return DIT_OK;
    return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "the rate rises so fast at knot %d that time would fall", i);
}

static dit_status add_knot(const dit_json *doc, const char *pointer, const cJSON *x, const cJSON *y,
                           dit_cost_curve *out)
{
    if (!cJSON_IsNumber(x) || !cJSON_IsNumber(y))
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_TYPE, "knot %d is not two numbers", out->count);
    if (out->count == DIT_COST_KNOTS)
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "more than %d knots", DIT_COST_KNOTS);
    out->x[out->count] = x->valuedouble;
    out->y[out->count] = y->valuedouble;
    DIT_TRY(check_knot(doc, pointer, out, out->count));
    out->count++;
    return DIT_OK;
}

/* Reads [{"bytes": ..., "fraction": ...}, ...]; without the key kernels of all sizes get the whole bandwidth. */
static dit_status read_fractions(const dit_json *doc, const cJSON *cost, dit_cost_curve *out)
{
    const cJSON *list = NULL, *knot;
    DIT_TRY(dit_json_optional_array(doc, cost, "/cost", "bandwidth_fraction", &list));
    cJSON_ArrayForEach(knot, list)
    {
        const cJSON *bytes = cJSON_GetObjectItemCaseSensitive(knot, "bytes");
        const cJSON *fraction = cJSON_GetObjectItemCaseSensitive(knot, "fraction");
        DIT_TRY(add_knot(doc, "/cost/bandwidth_fraction", bytes, fraction, out));
        if (out->y[out->count - 1] > 1)
            return dit_json_fail(doc, "/cost/bandwidth_fraction", DIT_ERR_JSON_VALUE, "a fraction is at most 1");
    }
    return DIT_OK;
}

static dit_status read_rates(const dit_json *doc, const cJSON *table, const char *pointer, dit_cost_curve *out)
{
    const cJSON *tokens = NULL, *rates = NULL;
    DIT_TRY(dit_json_optional_array(doc, table, pointer, "tokens", &tokens));
    DIT_TRY(dit_json_optional_array(doc, table, pointer, "flops_per_s", &rates));
    int count = cJSON_GetArraySize(tokens);
    if (count == 0 || count != cJSON_GetArraySize(rates))
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "%d tokens and %d flops_per_s", count,
                             cJSON_GetArraySize(rates));
    for (int i = 0; i < count; i++)
        DIT_TRY(add_knot(doc, pointer, cJSON_GetArrayItem(tokens, i), cJSON_GetArrayItem(rates, i), out));
    return DIT_OK;
}

/* ---- attention tables -------------------------------------------------------------------------------------------- */

static bool has_kernel(const cJSON *tables, const char *kernel)
{
    const cJSON *table;
    cJSON_ArrayForEach(table, tables)
    {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(table, "kernel"));
        if (name && !strcmp(name, kernel)) return true;
    }
    return false;
}

static const char *chosen_kernel(const cJSON *tables, const dit_cost_profile *profile)
{
    for (int i = 0; i < DIT_COST_KERNELS && profile->attention_kernels[i][0]; i++)
        if (has_kernel(tables, profile->attention_kernels[i])) return profile->attention_kernels[i];
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(tables, 0), "kernel"));
}

/* Checks that a larger head takes no less time (flops / rate) than a smaller one. */
static dit_status check_heads(const dit_json *doc, const char *pointer, const dit_cost_attention_table *small,
                              const dit_cost_attention_table *large)
{
    double ratio = (double)large->head_dim / (double)small->head_dim;
    if (large->head_dim <= small->head_dim)
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "head sizes of one kernel must ascend");
    for (int i = 0; i < large->flops_per_s.count; i++)
        if (large->flops_per_s.y[i] > ratio * dit_cost_curve_at(&small->flops_per_s, large->flops_per_s.x[i]))
            return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "heads of %lld would take less time than of %lld",
                                 (long long)large->head_dim, (long long)small->head_dim);
    return DIT_OK;
}

static dit_status add_table(const dit_json *doc, const cJSON *value, const char *pointer, dit_cost_device *out)
{
    static const char *const keys[] = {"kernel", "head_dim", "tokens", "flops_per_s", "note", NULL};
    dit_cost_attention_table *table = out->attention + out->tables;
    if (out->tables == DIT_COST_TABLES)
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "more than %d tables of a kernel", DIT_COST_TABLES);
    DIT_TRY(dit_json_only_keys(doc, value, pointer, keys));
    DIT_TRY(dit_json_require_int(doc, value, pointer, "head_dim", 1, 1024, &table->head_dim));
    DIT_TRY(read_rates(doc, value, pointer, &table->flops_per_s));
    if (out->tables > 0) DIT_TRY(check_heads(doc, pointer, table - 1, table));
    out->tables++;
    return DIT_OK;
}

static dit_status read_attention(const dit_json *doc, const cJSON *cost, const dit_cost_profile *profile,
                                 dit_cost_device *out)
{
    const cJSON *tables = NULL;
    DIT_TRY(dit_json_optional_array(doc, cost, "/cost", "attention", &tables));
    const char *kernel = chosen_kernel(tables, profile);
    if (!kernel)
        return dit_json_fail(doc, "/cost", DIT_ERR_JSON_MISSING, "attention has no table with a kernel's name");
    for (int i = 0; i < cJSON_GetArraySize(tables); i++) {
        const cJSON *table = cJSON_GetArrayItem(tables, i);
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(table, "kernel"));
        char pointer[POINTER];
        snprintf(pointer, sizeof pointer, "/cost/attention/%d", i);
        if (name && !strcmp(name, kernel)) DIT_TRY(add_table(doc, table, pointer, out));
    }
    return DIT_OK;
}

/* ---- accelerators ------------------------------------------------------------------------------------------------ */

static dit_status fail_dtype(const char *dtype)
{
    const char *names[DIT_ACCELERATOR_TYPE_COUNT + 1] = {NULL};
    for (int i = 0, count = 0; i < DIT_ACCELERATOR_TYPE_COUNT; i++)
        if (dit_accelerator_type_bytes((dit_accelerator_type)i))
            names[count++] = dit_accelerator_type_name((dit_accelerator_type)i);
    return dit_fail_word(DIT_ERR_NOT_FOUND, "dtype of the cost model", dtype, names);
}

static dit_status take_dtype(const dit_json *doc, const dit_accelerator *facts, const char *dtype, dit_cost_device *out)
{
    int type = 0;
    while (type < DIT_ACCELERATOR_TYPE_COUNT && strcmp(dtype, dit_accelerator_type_name((dit_accelerator_type)type)))
        type++;
    out->element_bytes = dit_accelerator_type_bytes((dit_accelerator_type)type);
    if (!out->element_bytes) return fail_dtype(dtype);
    out->peak_flops_per_s = facts->peak_flops_per_s[type];
    out->fp32_flops_per_s = facts->peak_flops_per_s[DIT_ACCELERATOR_FP32];
    if (out->peak_flops_per_s > 0) return DIT_OK;
    return dit_error_hint(
        dit_json_fail(doc, "/peak_flops_per_s", DIT_ERR_UNSUPPORTED, "%s does not compute with %s", out->name, dtype),
        "choose a dtype that the file gives a peak for");
}

/* Takes what every formula needs. */
static dit_status take_facts(const dit_json *doc, const dit_accelerator *facts, dit_cost_device *out)
{
    static const char *const needed[] = {"memory_bytes", "streaming_multiprocessors", "memory_bandwidth_bytes_per_s"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!dit_json_member(doc->root, needed[i]))
            return dit_json_fail(doc, "", DIT_ERR_JSON_MISSING, "there is no '%s'", needed[i]);
    DIT_TRY(copy_name(doc, dit_json_member(doc->root, "name"), "/name", out->name));
    DIT_TRY(copy_name(doc, dit_json_member(doc->root, "architecture"), "/architecture", out->architecture));
    out->memory_bytes = facts->memory_bytes;
    out->processors = facts->streaming_multiprocessors;
    out->bandwidth_bytes_per_s = facts->memory_bandwidth_bytes_per_s;
    out->l2_bytes = (double)facts->l2_bytes;
    return DIT_OK;
}

/* Reads [{"rows", "columns", "efficiency"}, ...] and {"queries", "keys"}; without the keys, tiles are those of GPU
 * libraries. */
static dit_status read_tiles(const dit_json *doc, const cJSON *cost, dit_cost_device *out)
{
    static const char *const keys[] = {"rows", "columns", "efficiency", NULL}, *const own[] = {"queries", "keys", NULL};
    const cJSON *list = NULL, *value, *attention = NULL;
    char at[POINTER];
    DIT_TRY(dit_json_optional_array(doc, cost, "/cost", "gemm_tiles", &list));
    cJSON_ArrayForEach(value, list)
    {
        dit_cost_tile *tile = out->tile + out->tiles;
        snprintf(at, sizeof at, "/cost/gemm_tiles/%d", out->tiles);
        if (out->tiles == DIT_COST_TILES)
            return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "more than %d tiles", DIT_COST_TILES);
        DIT_TRY(dit_json_only_keys(doc, value, at, keys));
        DIT_TRY(dit_json_require_int(doc, value, at, "rows", 1, 65536, &tile->rows));
        DIT_TRY(dit_json_require_int(doc, value, at, "columns", 1, 65536, &tile->columns));
        DIT_TRY(dit_json_require_number(doc, value, at, "efficiency", 1e-3, 1, &tile->efficiency));
        out->tiles++;
    }
    DIT_TRY(dit_json_optional_object(doc, cost, "/cost", "attention_tile", &attention));
    if (!attention) return DIT_OK;
    DIT_TRY(dit_json_only_keys(doc, attention, "/cost/attention_tile", own));
    DIT_TRY(dit_json_require_int(doc, attention, "/cost/attention_tile", "queries", 1, 65536, &out->attention_queries));
    return dit_json_require_int(doc, attention, "/cost/attention_tile", "keys", 1, 65536, &out->attention_keys);
}

/* Reads {"ranks", "compute", "bandwidth"}; without the key nothing is shared. */
static dit_status read_together(const dit_json *doc, const cJSON *cost, dit_cost_together *out)
{
    static const char *const keys[] = {"ranks", "compute", "bandwidth", NULL};
    const cJSON *object = NULL;
    DIT_TRY(dit_json_optional_object(doc, cost, "/cost", "together", &object));
    if (!object) return DIT_OK;
    DIT_TRY(dit_json_only_keys(doc, object, "/cost/together", keys));
    DIT_TRY(dit_json_require_number(doc, object, "/cost/together", "ranks", 2, 65536, &out->ranks));
    DIT_TRY(dit_json_require_number(doc, object, "/cost/together", "compute", 1e-3, 1, &out->compute));
    return dit_json_require_number(doc, object, "/cost/together", "bandwidth", 1e-3, 1, &out->bandwidth);
}

static dit_status read_cost(const dit_json *doc, const cJSON *cost, dit_cost_device *out)
{
    static const char *const keys[] = {"gemm_ceiling",
                                       "gemm_fill_k",
                                       "attention",
                                       "attention_scale",
                                       "exponentials_per_s",
                                       "head_granularity",
                                       "bandwidth_fraction",
                                       "gemm_tiles",
                                       "attention_tile",
                                       "together",
                                       "bandwidth_scale",
                                       "l2_speed",
                                       "launch_s",
                                       "evidence",
                                       "source",
                                       NULL};
    double bandwidth_scale = 1;
    out->attention_scale = 1;
    out->head_granularity = 32;
    DIT_TRY(dit_json_only_keys(doc, cost, "/cost", keys));
    DIT_TRY(dit_json_require_number(doc, cost, "/cost", "gemm_ceiling", 1e-3, 1, &out->gemm_ceiling));
    out->gemm_fill_k = dit_cost_fill_k(out, dit_cost_generation_of(out->architecture) >= DIT_COST_HOPPER);
    DIT_TRY(dit_json_optional_number(doc, cost, "/cost", "gemm_fill_k", 0, 1e6, &out->gemm_fill_k));
    DIT_TRY(dit_json_optional_number(doc, cost, "/cost", "attention_scale", 1e-3, 1e3, &out->attention_scale));
    DIT_TRY(dit_json_optional_number(doc, cost, "/cost", "exponentials_per_s", 1e6, 1e18, &out->exponentials_per_s));
    DIT_TRY(dit_json_optional_int(doc, cost, "/cost", "head_granularity", 1, 1024, &out->head_granularity));
    DIT_TRY(dit_json_optional_number(doc, cost, "/cost", "bandwidth_scale", 1e-3, 1e3, &bandwidth_scale));
    out->bandwidth_bytes_per_s *= bandwidth_scale;
    DIT_TRY(dit_json_optional_number(doc, cost, "/cost", "l2_speed", 1, 100, &out->l2_speed));
    DIT_TRY(dit_json_require_number(doc, cost, "/cost", "launch_s", 0, 1, &out->launch_s));
    DIT_TRY(read_tiles(doc, cost, out));
    DIT_TRY(read_together(doc, cost, &out->together));
    return read_fractions(doc, cost, &out->bandwidth_fraction);
}

/* Returns the factor on the attention tables, which are fp16. A dtype with a lower peak is slower in that ratio; one
 * with a higher peak is no faster, because few attention kernels support it. */
static double type_scale(const dit_accelerator *facts, const dit_cost_device *device)
{
    double half = facts->peak_flops_per_s[DIT_ACCELERATOR_FP16];
    return half > 0 ? fmin(1, device->peak_flops_per_s / half) : 1;
}

/* Returns the clock of a processor that makes two flops of fp32 in each of its lanes: 64 of them up to the A100, then
 * 128. */
static double clock_of(const dit_cost_device *device)
{
    static const char *const narrow[] = {"Volta", "Turing", "Ampere GA100"};
    double lanes = 128;
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
        if (strncmp(device->architecture, narrow[i], strlen(narrow[i])) == 0) lanes = 64;
    return device->fp32_flops_per_s / (2 * lanes * device->processors);
}

static dit_status read_device(const dit_json *doc, const char *dtype, const dit_cost_profile *profile,
                              dit_cost_device *out)
{
    dit_accelerator facts;
    DIT_TRY(dit_json_require_schema(doc, "ditbench.accelerator/1"));
    DIT_TRY(dit_accelerator_read(doc, &facts));
    DIT_TRY(take_facts(doc, &facts, out));
    DIT_TRY(take_dtype(doc, &facts, dtype, out));
    if (!facts.cost)
        return dit_error_hint(dit_json_fail(doc, "", DIT_ERR_UNSUPPORTED, "%s has no cost-model parameters", out->name),
                              "add `cost`, as the other files in workloads/accelerators do");
    DIT_TRY(read_cost(doc, facts.cost, out));
    out->clock_hz = clock_of(out);
    out->attention_scale *= type_scale(&facts, out);
    return read_attention(doc, facts.cost, profile, out);
}

dit_status dit_cost_device_read(const char *path, const char *dtype, const dit_cost_profile *profile,
                                dit_cost_device *out)
{
    dit_json doc = {0};
    dit_status st = DIT_OK;
    *out = (dit_cost_device){0};
    DIT_TRY_GOTO(st, dit_json_read_file(path, &doc), done);
    DIT_TRY_GOTO(st, read_device(&doc, dtype, profile, out), done);
done:
    dit_json_release(&doc);
    return st;
}

/* ---- profiles ---------------------------------------------------------------------------------------------------- */

static dit_status read_part(const dit_json *doc, const cJSON *parts, dit_cost_part part, dit_cost_profile *out)
{
    static const char *const keys[] = {"kernels", "passes", "why", NULL};
    const cJSON *value;
    char pointer[POINTER];
    DIT_TRY(dit_json_require_object(doc, parts, "/parts", dit_cost_part_name(part), &value));
    snprintf(pointer, sizeof pointer, "/parts/%s", dit_cost_part_name(part));
    DIT_TRY(dit_json_only_keys(doc, value, pointer, keys));
    DIT_TRY(dit_json_require_number(doc, value, pointer, "kernels", 0, 1000, &out->parts[part].kernels));
    return dit_json_require_number(doc, value, pointer, "passes", 0, 1000, &out->parts[part].passes);
}

static dit_status read_parts(const dit_json *doc, dit_cost_profile *out)
{
    const char *keys[DIT_COST_PART_COUNT + 1] = {0};
    const cJSON *parts;
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "parts", &parts));
    for (int i = 0; i < DIT_COST_PART_COUNT; i++) keys[i] = dit_cost_part_name((dit_cost_part)i);
    DIT_TRY(dit_json_only_keys(doc, parts, "/parts", keys));
    for (int i = 0; i < DIT_COST_PART_COUNT; i++) DIT_TRY(read_part(doc, parts, (dit_cost_part)i, out));
    return DIT_OK;
}

static dit_status read_kernels(const dit_json *doc, dit_cost_profile *out)
{
    const cJSON *list = NULL;
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "attention_kernels", &list));
    int count = cJSON_GetArraySize(list);
    if (count > DIT_COST_KERNELS)
        return dit_json_fail(doc, "/attention_kernels", DIT_ERR_JSON_VALUE, "more than %d kernels", DIT_COST_KERNELS);
    for (int i = 0; i < count; i++)
        DIT_TRY(copy_name(doc, cJSON_GetArrayItem(list, i), "/attention_kernels", out->attention_kernels[i]));
    return DIT_OK;
}

/* Checks `like`, which says where fitted values come from: a key of this profile, the name of another profile. */
static dit_status read_like(const dit_json *doc)
{
    const cJSON *like = NULL, *item;
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "like", &like));
    cJSON_ArrayForEach(item, like) if (!cJSON_IsString(item)) return dit_json_fail(doc, "/like", DIT_ERR_JSON_TYPE,
                                                                                   "expected names of profiles");
    return DIT_OK;
}

/* Finds the file or folder that the profile names: in `folder` beside the profile, unless it is a whole path. */
static dit_status find_beside(const dit_json *doc, const char *key, const char *folder, const char *ending,
                              char out[DIT_COST_PATH])
{
    const char *name = "", *slash = strrchr(doc->path, '/');
    char pointer[POINTER];
    int own = slash ? (int)(slash - doc->path + 1) : 0;
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", key, &name));
    if (!*name) return DIT_OK;
    snprintf(pointer, sizeof pointer, "/%s", key);
    int length = *name == '/' ? snprintf(out, DIT_COST_PATH, "%s", name)
                              : snprintf(out, DIT_COST_PATH, "%.*s%s/%s%s", own, doc->path, folder, name, ending);
    if (length >= DIT_COST_PATH)
        return dit_json_fail(doc, pointer, DIT_ERR_JSON_VALUE, "the path of the %s is too long", key);
    if (access(out, R_OK) == 0) return DIT_OK;
    return dit_json_fail(doc, pointer, DIT_ERR_NOT_FOUND, "there is no %s in %s", key, out);
}

/* Reads the census and the wrapper that the profile names, and what counted operators cost. */
static dit_status read_counted(const dit_json *doc, dit_cost_profile *out)
{
    char rule[DIT_COST_PATH] = "";
    DIT_TRY(find_beside(doc, "rule", "rules", ".json", rule));
    if (*rule) DIT_TRY(dit_rule_read(rule, &out->rule));
    DIT_TRY(dit_json_optional_number(doc, doc->root, "", "graph_launch_s", 0, 1, &out->graph_launch_s));
    DIT_TRY(dit_json_optional_number(doc, doc->root, "", "graph_kernel_s", 0, 1, &out->graph_kernel_s));
    DIT_TRY(dit_json_optional_number(doc, doc->root, "", "view_dispatch_s", 0, 1, &out->view_dispatch_s));
    DIT_TRY(dit_json_optional_number(doc, doc->root, "", "norm_row_s", 0, 1, &out->norm_row_s));
    DIT_TRY(dit_json_optional_number(doc, doc->root, "", "indexed_elements_per_clock", 0, 1e3,
                                     &out->indexed_elements_per_clock));
    DIT_TRY(dit_json_optional_number(doc, doc->root, "", "picture_element_s", 0, 1, &out->picture_element_s));
    DIT_TRY(dit_json_optional_number(doc, doc->root, "", "pageable_copy_bytes_per_s", 1, 1e15,
                                     &out->pageable_copy_bytes_per_s));
    DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "tables_on_device_alone", &out->tables_on_device_alone));
    DIT_TRY(find_beside(doc, "wrapper", "wrappers", ".json", out->wrapper));
    return find_beside(doc, "census", "census", "", out->census);
}

static dit_status read_profile(const dit_json *doc, dit_cost_profile *out)
{
    static const char *const keys[] = {"schema",
                                       "name",
                                       "title",
                                       "measured",
                                       "dispatch_s",
                                       "collective_dispatch_s",
                                       "synchronise_s",
                                       "communication_processors",
                                       "kernels_before_messages",
                                       DIT_HABIT_KEYS,
                                       "conv_efficiency",
                                       "conv3d_efficiency",
                                       "like",
                                       "packed_linear",
                                       "attention_kernels",
                                       "census",
                                       "wrapper",
                                       "rule",
                                       "graph_launch_s",
                                       "graph_kernel_s",
                                       "view_dispatch_s",
                                       "norm_row_s",
                                       "indexed_elements_per_clock",
                                       "picture_element_s",
                                       "pageable_copy_bytes_per_s",
                                       "tables_on_device_alone",
                                       "parts",
                                       "evidence",
                                       "source",
                                       NULL};
    const cJSON *root = doc->root;
    DIT_TRY(dit_json_require_schema(doc, "ditbench.profile/1"));
    DIT_TRY(dit_json_only_keys(doc, root, "", keys));
    DIT_TRY(copy_name(doc, cJSON_GetObjectItemCaseSensitive(root, "name"), "/name", out->name));
    DIT_TRY(dit_json_require_number(doc, root, "", "dispatch_s", 0, 1, &out->dispatch_s));
    DIT_TRY(dit_json_require_number(doc, root, "", "collective_dispatch_s", 0, 1, &out->collective_dispatch_s));
    DIT_TRY(dit_json_require_number(doc, root, "", "synchronise_s", 0, 1, &out->synchronise_s));
    DIT_TRY(
        dit_json_require_number(doc, root, "", "communication_processors", 0, 1024, &out->communication_processors));
    DIT_TRY(dit_json_optional_number(doc, root, "", "kernels_before_messages", 0, 1, &out->kernels_before_messages));
    DIT_TRY(dit_habits_read(doc, root, "", &out->habits));
    out->conv_efficiency = 1;
    DIT_TRY(dit_json_optional_number(doc, root, "", "conv_efficiency", 1e-3, 1, &out->conv_efficiency));
    out->conv3d_efficiency = 1;
    DIT_TRY(dit_json_optional_number(doc, root, "", "conv3d_efficiency", 1e-3, 1, &out->conv3d_efficiency));
    DIT_TRY(read_like(doc));
    DIT_TRY(dit_json_optional_bool(doc, root, "", "packed_linear", &out->packed_linear));
    DIT_TRY(read_kernels(doc, out));
    DIT_TRY(read_counted(doc, out));
    return read_parts(doc, out);
}

dit_status dit_cost_profile_read(const char *path, dit_cost_profile *out)
{
    dit_json doc = {0};
    dit_status st = DIT_OK;
    *out = (dit_cost_profile){0};
    DIT_TRY_GOTO(st, dit_json_read_file(path, &doc), done);
    DIT_TRY_GOTO(st, read_profile(&doc, out), done);
done:
    dit_json_release(&doc);
    return st;
}
