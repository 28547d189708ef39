/* describe: counts the parameters, flops, bytes and memory of cases by running the engine over shapes alone
 * (kernels/count/, comm/count.c); one process stands for any rank of any mesh.
 *
 * Each entry of "cases" is {"name", "case": a denoise case, "rank": 0, "habits"?: of other software that is counted
 * (base/habits.h)}. The record's "describe" has in that order
 *   {"name", "family", "mesh", "rank", "parameters", "shard_bytes"?, "gathered_bytes"?, "image_tokens", "text_tokens", "steps", "forwards_per_step",
 *    "flops": {"prepare", "linear", "attention", "other"}, "memory": bytes by class, "memory_peak": of all classes,
 *    "predicted_memory", "communication": [{"axis", "collective", "phase", "messages", "bytes", "predicted_messages",
 *    "predicted_bytes"}]}
 * The two that may be missing are of weights in shards: a rank's own, and the blocks that are gathered at once.
 * Or {"name", "error": {"code", "message"}}. Parameters are those that the rank holds. Flops are the rank's for one
 * forward of one guidance branch and image; a multiply-add counts two; `prepare` is work once per image. Memory is the
 * peak of sampling in fp32; communication covers all steps.
 */
#include "base/footprint.h"
#include "base/json_writer.h"
#include "base/label.h"
#include "engine/case/pipeline.h"
#include "engine/programs/program.h"
#include "engine/results/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- counting ---------------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t parameters;
    dit_flops prepare, all; /* of the rank's whole batch: the preparation; the whole run */
    dit_stream_account stream;
} description;

static dit_status count_run(dit_pipeline *p, description *d)
{
    int64_t elapsed;
    d->parameters = p->rt.parameters;
    dit_runtime_reset_account(&p->rt);
    DIT_TRY(dit_sampler_prepare(&p->sampler, &p->condition));
    d->prepare = p->rt.flops;
    dit_runtime_reset_account(&p->rt);
    DIT_TRY(dit_pipeline_run(p, NULL, &elapsed));
    d->all = p->rt.flops;
    return dit_weight_stream_account(p->model->params.stream, &d->stream);
}

/* ---- the record -------------------------------------------------------------------------------------------------- */

static void add_flops(dit_json_writer *w, const dit_pipeline *p, const description *d, cJSON *out)
{
    double rows = (double)p->partition.batch, forwards = rows * (double)p->kase.steps;
    const double linear = (d->all.linear - d->prepare.linear) / forwards;
    const double attention = (d->all.attention - d->prepare.attention) / forwards;
    const double other = (d->all.other - d->prepare.other) / forwards;
    cJSON *flops = dit_json_put_object(w, out, "flops");
    dit_json_put_number(w, flops, "prepare", (d->prepare.linear + d->prepare.attention + d->prepare.other) / rows);
    dit_json_put_number(w, flops, "linear", linear);
    dit_json_put_number(w, flops, "attention", attention);
    dit_json_put_number(w, flops, "other", other);
}

static dit_status add_memory(const dit_pipeline *p, cJSON *out)
{
    dit_json_writer w = {0};
    int64_t predicted[DIT_MEMORY_CLASS_COUNT];
    dit_json_put_int(&w, out, "memory_peak", p->rt.ledger.total_peak);
    cJSON *counted = dit_json_put_object(&w, out, "memory"),
          *formula = dit_json_put_object(&w, out, "predicted_memory");
    if (!counted || !formula) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a description");
    dit_memory_predict_cached(&p->rt.parallel, &p->rt.facts, &p->kase.cache, predicted);
    dit_memory_shards(&p->rt.parallel, &p->rt.facts, predicted);
    for (int i = 0; i < DIT_MEMORY_CLASS_COUNT; i++) {
        const char *name = dit_memory_class_name((dit_memory_class)i);
        dit_json_put_int(&w, counted, name, p->rt.ledger.peak[i]);
        dit_json_put_int(&w, formula, name, predicted[i]);
    }
    return w.status;
}

static void add_communication(dit_json_writer *w, const dit_pipeline *p, cJSON *out)
{
    dit_volume_table predicted;
    cJSON *list = dit_json_put_array(w, out, "communication");
    dit_cache_use use = dit_cache_own_use(p->sampler.cache);
    dit_volume_predict_cached(&p->rt.parallel, &p->rt.facts, &use, p->rank, &predicted);
    dit_weight_stream_volume(p->model->params.stream, p->rank, &predicted);
    for (int i = 0; i < DIT_VOLUME_PLACES; i++) {
        dit_volume_place at = dit_volume_place_of(i);
        dit_record_put_traffic(w, list, at, DIT_VOLUME_AT(&p->rt.counters, at), DIT_VOLUME_AT(&predicted, at));
    }
}

static dit_status write_description(const dit_pipeline *p, const description *d, cJSON *out)
{
    dit_json_writer w = {0};
    const dit_facts *facts = &p->rt.facts;
    char mesh[64];
    dit_parallel_label(&p->rt.parallel, mesh);
    dit_json_put_string(&w, out, "family", facts->family);
    dit_json_put_string(&w, out, "mesh", mesh);
    dit_json_put_int(&w, out, "rank", p->rank);
    dit_json_put_int(&w, out, "parameters", d->parameters);
    if (d->stream.shard_bytes) {
        dit_json_put_int(&w, out, "shard_bytes", d->stream.shard_bytes);
        dit_json_put_int(&w, out, "gathered_bytes", d->stream.peak_bytes);
    }
    dit_json_put_int(&w, out, "image_tokens", facts->image_tokens);
    dit_json_put_int(&w, out, "text_tokens", facts->text_tokens);
    dit_json_put_int(&w, out, "steps", p->kase.steps);
    dit_json_put_int(&w, out, "forwards_per_step", facts->guidance_branches);
    add_flops(&w, p, d, out);
    DIT_TRY(add_memory(p, out));
    add_communication(&w, p, out);
    return w.status;
}

static double no_clock(void *context)
{
    (void)context;
    return 0;
}

static dit_status read_habits(const dit_json *doc, const cJSON *object, const char *at, dit_habits *out)
{
    static const char *const keys[] = {DIT_HABIT_KEYS, NULL};
    char pointer[64];
    snprintf(pointer, sizeof pointer, "%s/habits", at);
    DIT_TRY(dit_json_only_keys(doc, object, pointer, keys));
    return dit_habits_read(doc, object, pointer, out);
}

/* Describes the case of an entry, which is read as a document of its own. */
static dit_status describe_case(const dit_json *doc, const cJSON *entry, const char *at, cJSON *out)
{
    static const char *const keys[] = {"name", "case", "rank", "habits", NULL};
    dit_guest other = {.now_s = no_clock}; /* counting asks a guest for nothing else */
    description d = {0};
    dit_pipeline pipeline = {0};
    dit_json view = *doc;
    const cJSON *kase, *habits = NULL;
    int64_t rank = 0;
    DIT_TRY(dit_json_only_keys(doc, entry, at, keys));
    DIT_TRY(dit_json_require_object(doc, entry, at, "case", &kase));
    DIT_TRY(dit_json_optional_int(doc, entry, at, "rank", 0, 65535, &rank));
    DIT_TRY(dit_json_optional_object(doc, entry, at, "habits", &habits));
    if (habits) DIT_TRY(read_habits(doc, habits, at, &other.habits));
    view.root = (cJSON *)(uintptr_t)kase;
    dit_status st = dit_pipeline_create_counting(&view, (int)rank, habits ? &other : NULL, &pipeline);
    if (st == DIT_OK) st = count_run(&pipeline, &d);
    if (st == DIT_OK) st = write_description(&pipeline, &d, out);
    dit_pipeline_release(&pipeline);
    return st;
}

static dit_status describe_entry(const dit_json *doc, const cJSON *entry, int index, cJSON *list)
{
    dit_json_writer w = {0};
    char at[32];
    const char *name = dit_json_text_or(entry, "name", NULL);
    snprintf(at, sizeof at, "/cases/%d", index);
    cJSON *out = dit_json_put_object(&w, list, NULL);
    dit_json_put_string(&w, out, "name", name ? name : "");
    dit_status st = describe_case(doc, entry, at, out);
    if (st != DIT_OK) dit_record_put_error(&w, st, out);
    return w.status;
}

static dit_status describe_all(const dit_program_args *args, cJSON *list)
{
    static const char *const keys[] = {"schema", "program", "cases", "platform", NULL};
    const cJSON *cases = NULL, *entry;
    int index = 0;
    DIT_TRY(dit_json_only_keys(args->doc, args->doc->root, "", keys));
    DIT_TRY(dit_json_optional_array(args->doc, args->doc->root, "", "cases", &cases));
    cJSON_ArrayForEach(entry, cases) DIT_TRY(describe_entry(args->doc, entry, index++, list));
    return DIT_OK;
}

static dit_status describe_run(const dit_program_args *args, bool *skipped)
{
    dit_json_writer w = {0};
    char path[4096];
    (void)skipped;
    cJSON *record = dit_json_new_object(&w), *list = dit_json_put_array(&w, record, "describe");
    if (w.status == DIT_OK) dit_json_put_status(&w, describe_all(args, list));
    dit_json_put_string(&w, record, "schema", "ditbench.record/1");
    dit_json_put_string(&w, record, "program", "describe");
    snprintf(path, sizeof path, "%s/record.json", args->out_folder);
    return dit_json_finish_file(&w, record, path, false);
}

const dit_program dit_program_describe = {
    .name = "describe",
    .help = "parameters, flops, bytes and memory of cases, counted without computing",
    .run = describe_run,
};
