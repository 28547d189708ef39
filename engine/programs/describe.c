/* describe: counts the parameters, flops, bytes and memory of cases by running the engine over shapes alone
 * (kernels/count/, comm/count.c); one process stands for any rank of any mesh.
 *
 * Each entry of "cases" is {"name", "case": a denoise case, "rank": 0}. The record's "describe" has in that order
 *   {"name", "family", "mesh", "rank", "parameters", "image_tokens", "text_tokens", "steps", "forwards_per_step",
 *    "flops": {"prepare", "linear", "attention", "other"}, "memory": bytes by class, "memory_peak": of all classes,
 *    "predicted_memory", "communication": [{"axis", "collective", "phase", "messages", "bytes", "predicted_messages",
 *    "predicted_bytes"}]}
 * or {"name", "error": {"code", "message"}}. Parameters are those that the rank holds. Flops are the rank's for one
 * forward of one guidance branch and image; a multiply-add counts two; `prepare` is work once per image. Memory is the
 * peak of sampling in fp32; communication covers all steps.
 */
#include "base/footprint.h"
#include "base/label.h"
#include "engine/case/pipeline.h"
#include "engine/programs/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- counting ---------------------------------------------------------------------------------------------------- */

typedef struct {
    int64_t parameters;
    dit_flops prepare, all; /* of the rank's whole batch: the preparation; the whole run */
} description;

static dit_status count_run(dit_pipeline *p, description *d)
{
    int64_t elapsed;
    d->parameters = p->rt.parameters;
    dit_runtime_reset_account(&p->rt);
    DIT_TRY(dit_model_prepare(p->model, &p->condition));
    d->prepare = p->rt.flops;
    dit_runtime_reset_account(&p->rt);
    DIT_TRY(dit_pipeline_run(p, NULL, &elapsed));
    d->all = p->rt.flops;
    return DIT_OK;
}

/* ---- the record -------------------------------------------------------------------------------------------------- */

static dit_status add_flops(const dit_pipeline *p, const description *d, cJSON *out)
{
    double rows = (double)p->partition.batch, forwards = rows * (double)p->kase.steps;
    const double linear = (d->all.linear - d->prepare.linear) / forwards;
    const double attention = (d->all.attention - d->prepare.attention) / forwards;
    const double other = (d->all.other - d->prepare.other) / forwards;
    cJSON *flops = cJSON_AddObjectToObject(out, "flops");
    if (!flops) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a description");
    DIT_TRY(
        dit_json_add_number(flops, "prepare", (d->prepare.linear + d->prepare.attention + d->prepare.other) / rows));
    DIT_TRY(dit_json_add_number(flops, "linear", linear));
    DIT_TRY(dit_json_add_number(flops, "attention", attention));
    return dit_json_add_number(flops, "other", other);
}

static dit_status add_memory(const dit_pipeline *p, cJSON *out)
{
    int64_t predicted[DIT_MEMORY_CLASS_COUNT];
    DIT_TRY(dit_json_add_int(out, "memory_peak", p->rt.ledger.total_peak));
    cJSON *counted = cJSON_AddObjectToObject(out, "memory"),
          *formula = cJSON_AddObjectToObject(out, "predicted_memory");
    if (!counted || !formula) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a description");
    dit_memory_predict(&p->rt.parallel, &p->rt.facts, predicted);
    for (int i = 0; i < DIT_MEMORY_CLASS_COUNT; i++) {
        const char *name = dit_memory_class_name((dit_memory_class)i);
        DIT_TRY(dit_json_add_int(counted, name, p->rt.ledger.peak[i]));
        DIT_TRY(dit_json_add_int(formula, name, predicted[i]));
    }
    return DIT_OK;
}

static dit_status add_traffic(cJSON *list, dit_volume_place at, const dit_comm_counter *counted,
                              const dit_volume *predicted)
{
    if (counted->messages == 0 && predicted->messages == 0) return DIT_OK;
    cJSON *row = cJSON_CreateObject();
    if (!row || !cJSON_AddItemToArray(list, row)) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a description");
    DIT_TRY(dit_json_add_string(row, "axis", dit_axis_name(at.axis)));
    DIT_TRY(dit_json_add_string(row, "collective", dit_collective_name(at.collective)));
    DIT_TRY(dit_json_add_string(row, "phase", dit_phase_name(at.phase)));
    DIT_TRY(dit_json_add_int(row, "messages", counted->messages));
    DIT_TRY(dit_json_add_int(row, "bytes", counted->bytes));
    DIT_TRY(dit_json_add_int(row, "predicted_messages", predicted->messages));
    return dit_json_add_int(row, "predicted_bytes", predicted->bytes);
}

static dit_status add_communication(const dit_pipeline *p, cJSON *out)
{
    dit_volume_table predicted;
    cJSON *list = cJSON_AddArrayToObject(out, "communication");
    if (!list) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a description");
    dit_volume_predict(&p->rt.parallel, &p->rt.facts, p->rank, &predicted);
    for (int i = 0; i < DIT_VOLUME_PLACES; i++) {
        dit_volume_place at = dit_volume_place_of(i);
        DIT_TRY(add_traffic(list, at, DIT_VOLUME_AT(&p->rt.counters, at), DIT_VOLUME_AT(&predicted, at)));
    }
    return DIT_OK;
}

static dit_status write_description(const dit_pipeline *p, const description *d, cJSON *out)
{
    const dit_facts *facts = &p->rt.facts;
    char mesh[64];
    dit_parallel_label(&p->rt.parallel, mesh);
    DIT_TRY(dit_json_add_string(out, "family", facts->family));
    DIT_TRY(dit_json_add_string(out, "mesh", mesh));
    DIT_TRY(dit_json_add_int(out, "rank", p->rank));
    DIT_TRY(dit_json_add_int(out, "parameters", d->parameters));
    DIT_TRY(dit_json_add_int(out, "image_tokens", facts->image_tokens));
    DIT_TRY(dit_json_add_int(out, "text_tokens", facts->text_tokens));
    DIT_TRY(dit_json_add_int(out, "steps", p->kase.steps));
    DIT_TRY(dit_json_add_int(out, "forwards_per_step", facts->guidance_branches));
    DIT_TRY(add_flops(p, d, out));
    DIT_TRY(add_memory(p, out));
    return add_communication(p, out);
}

static dit_status write_problem(dit_status problem, cJSON *out)
{
    cJSON *error = cJSON_AddObjectToObject(out, "error");
    if (!error) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a description");
    char message[512];
    snprintf(message, sizeof message, "%s", dit_error_last()->message);
    DIT_TRY(dit_json_add_string(error, "code", dit_status_name(problem)));
    return dit_json_add_string(error, "message", message);
}

/* Describes the case of an entry, which is read as a document of its own. */
static dit_status describe_case(const dit_json *doc, const cJSON *entry, const char *at, cJSON *out)
{
    static const char *const keys[] = {"name", "case", "rank", NULL};
    description d = {0};
    dit_pipeline pipeline = {0};
    dit_json view = *doc;
    const cJSON *kase;
    int64_t rank = 0;
    DIT_TRY(dit_json_only_keys(doc, entry, at, keys));
    DIT_TRY(dit_json_require_object(doc, entry, at, "case", &kase));
    DIT_TRY(dit_json_optional_int(doc, entry, at, "rank", 0, 65535, &rank));
    view.root = (cJSON *)(uintptr_t)kase;
    dit_status st = dit_pipeline_create_counting(&view, (int)rank, NULL, &pipeline);
    if (st == DIT_OK) st = count_run(&pipeline, &d);
    if (st == DIT_OK) st = write_description(&pipeline, &d, out);
    dit_pipeline_release(&pipeline);
    return st;
}

static dit_status describe_entry(const dit_json *doc, const cJSON *entry, int index, cJSON *list)
{
    char at[32];
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "name"));
    cJSON *out = cJSON_CreateObject();
    snprintf(at, sizeof at, "/cases/%d", index);
    if (!out || !cJSON_AddItemToArray(list, out)) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a description");
    DIT_TRY(dit_json_add_string(out, "name", name ? name : ""));
    dit_status st = describe_case(doc, entry, at, out);
    return st == DIT_OK || st == DIT_ERR_MEMORY ? st : write_problem(st, out);
}

static dit_status describe_all(const dit_program_args *args, cJSON *record)
{
    static const char *const keys[] = {"schema", "program", "cases", "platform", NULL};
    const cJSON *cases = NULL, *entry;
    int index = 0;
    char path[4096];
    cJSON *list = record ? cJSON_AddArrayToObject(record, "describe") : NULL;
    if (!list) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    DIT_TRY(dit_json_only_keys(args->doc, args->doc->root, "", keys));
    DIT_TRY(dit_json_optional_array(args->doc, args->doc->root, "", "cases", &cases));
    cJSON_ArrayForEach(entry, cases) DIT_TRY(describe_entry(args->doc, entry, index++, list));
    DIT_TRY(dit_json_add_string(record, "schema", "ditbench.record/1"));
    DIT_TRY(dit_json_add_string(record, "program", "describe"));
    snprintf(path, sizeof path, "%s/record.json", args->out_folder);
    return dit_json_write_file(record, path, false);
}

static dit_status describe_run(const dit_program_args *args, bool *skipped)
{
    (void)skipped;
    cJSON *record = cJSON_CreateObject();
    dit_status st = describe_all(args, record);
    cJSON_Delete(record);
    return st;
}

const dit_program dit_program_describe = {
    .name = "describe",
    .help = "parameters, flops, bytes and memory of cases, counted without computing",
    .run = describe_run,
};
