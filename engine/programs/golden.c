/* golden: computes a folder exported from diffusers again and compares tensor by tensor. The table below lists the
 * kinds of folders; engine/golden/ says what each contains. */
#include "base/json_writer.h"
#include "engine/comm/comm.h"
#include "engine/golden/golden.h"
#include "engine/programs/program.h"

#include <stdio.h>
#include <string.h>

/* All kinds of folders. The first kind that recognises a folder computes it. */
/* clang-format off */
static const golden_kind *const kinds[] = {
    &golden_kind_e2e,
    &golden_kind_text,
    &golden_kind_vae,
    &golden_kind_model,
    &golden_kind_schedulers,
    &golden_kind_ops,
};
/* clang-format on */
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

static dit_status find_kind(const char *folder, const golden_kind **out)
{
    for (int i = 0; i < KIND_COUNT; i++) {
        *out = kinds[i];
        if (kinds[i]->recognise(folder)) return DIT_OK;
    }
    return dit_error_hint(
        DIT_FAIL(DIT_ERR_NOT_FOUND, "%s is not a golden folder of a known kind", folder),
        "it needs config.json (model), e2e.json (sampling loop), text.json (text encoder), scheduler configs or "
        "ops.safetensors");
}

/* True for errors that say nothing about the numbers: this engine, or this mesh, cannot compute the folder. */
static bool is_skip(dit_status st)
{
    return st == DIT_ERR_UNSUPPORTED || strncmp(dit_status_name(st), "E_CONSTRAINT_", 13) == 0;
}

static dit_status write_verdict(const golden_report *report, const char *folder, const char *verdict,
                                const char *out_folder)
{
    char path[GOLDEN_PATH];
    DIT_TRY(golden_path(out_folder, "record.json", path));
    dit_json_writer w = {0};
    cJSON *record = dit_json_new_object(&w), *result = dit_json_put_object(&w, record, "golden");
    dit_json_put_string(&w, record, "schema", "ditbench.record/1");
    dit_json_put_string(&w, record, "program", "golden");
    dit_json_put_string(&w, result, "path", folder);
    dit_json_put_string(&w, result, "verdict", verdict);
    dit_json_put_string(&w, result, "reason", report->reason);
    if (cJSON_GetArraySize(report->tensors)) dit_json_put_number(&w, result, "worst_rel_l2", report->worst);
    dit_json_put_reference(&w, result, "tensors", report->tensors);
    return dit_json_finish_file(&w, record, path, false);
}

static dit_status check_folder(golden_report *report, const char *folder, const dit_case_platform *platform,
                               const char *out_folder, bool *skipped)
{
    const golden_kind *kind;
    DIT_TRY(find_kind(folder, &kind));
    dit_status st = kind->run(report, folder, platform);
    *skipped = is_skip(st);
    if (st != DIT_OK && !*skipped) return st;
    if (*skipped)
        snprintf(report->reason, sizeof report->reason, "%s: %s", dit_status_name(st), dit_error_last()->message);
    if (!*skipped && cJSON_GetArraySize(report->tensors) == 0) {
        report->failed = true;
        snprintf(report->reason, sizeof report->reason, "the folder has no tensor that this engine computes");
    }
    if (dit_comm_rank(dit_comm_world()) == 0)
        DIT_TRY(write_verdict(report, folder, *skipped ? "skip" : report->failed ? "fail" : "pass", out_folder));
    /* All ranks see a mismatch, so all leave alike. */
    return !*skipped && report->failed ? DIT_FAIL(DIT_ERR_MISMATCH, "%s: %s", folder, report->reason) : DIT_OK;
}

static dit_status golden_run(const dit_program_args *args, bool *skipped)
{
    static const char *const keys[] = {"schema", "program", "folder", "parallel", "attention", "platform", NULL};
    dit_parallel parallel;
    dit_case_platform platform = {.parallel = &parallel};
    const char *folder;
    DIT_TRY(dit_json_only_keys(args->doc, args->doc->root, "", keys));
    DIT_TRY(dit_json_require_string(args->doc, args->doc->root, "", "folder", &folder));
    DIT_TRY(dit_case_read_platform(args->doc, &platform));
    golden_report report = {.tensors = cJSON_CreateArray()};
    if (!report.tensors) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for results");
    dit_status st = check_folder(&report, folder, &platform, args->out_folder, skipped);
    cJSON_Delete(report.tensors);
    return st;
}

const dit_program dit_program_golden = {
    .name = "golden",
    .help = "compare a folder exported from diffusers, tensor by tensor",
    .run = golden_run,
};
