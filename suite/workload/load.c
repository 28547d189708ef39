#include "suite/workload/load.h"

#include "base/request.h"
#include "base/words.h"
#include "suite/catalogue/catalogue.h"
#include "suite/catalogue/parameter.h"
#include "suite/workload/axes.h"
#include "suite/workload/expand.h"
#include "suite/workload/matrix.h"
#include "suite/workload/names.h"
#include "suite/workload/plots.h"
#include "suite/workload/programs/converged.h"
#include "suite/workload/programs/program.h"
#include "suite/workload/rules.h"
#include "suite/workload/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- head -------------------------------------------------------------------------------------------------------- */

static dit_status read_head(suite_workload *workload)
{
    const dit_json *doc = &workload->source;
    suite_matrix *matrix = workload->matrix;
    const char *name, *title, *description = "";
    DIT_TRY(dit_json_require_schema(doc, "ditbench.workload/1"));
    DIT_TRY(suite_require_identifier(doc, doc->root, "", "name", &name));
    title = name;
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "title", &title));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "description", &description));
    const char *program = suite_programs()[0]->name;
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "program", &program));
    DIT_TRY(suite_program_find(doc, "/program", program, &matrix->program));
    snprintf(workload->name, sizeof workload->name, "%s", name);
    snprintf(workload->title, sizeof workload->title, "%.250s", title);
    return DIT_OK;
}

enum { USUAL_MOST = 20 }; /* processes of a case whose interval stays wide */

static dit_status read_repeat(suite_workload *workload)
{
    static const char *const keys[] = {"processes", "until", "most", "seed", NULL};
    const dit_json *doc = &workload->source;
    const cJSON *repeat = NULL;
    int64_t processes = 3, most = 0, seed = 1;
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "repeat", &repeat));
    if (repeat) {
        DIT_TRY(suite_only_keys(doc, repeat, "/repeat", keys));
        DIT_TRY(dit_json_optional_int(doc, repeat, "/repeat", "processes", 1, 1000, &processes));
        DIT_TRY(dit_json_optional_number(doc, repeat, "/repeat", "until", 1e-6, 1, &workload->until));
        DIT_TRY(dit_json_optional_int(doc, repeat, "/repeat", "most", 6, 1000, &most));
        if (most && !(workload->until > 0))
            return dit_json_fail(doc, "/repeat/most", DIT_ERR_JSON_VALUE,
                                 "most means something beside until only: processes are as many as it says");
        DIT_TRY(dit_json_optional_int(doc, repeat, "/repeat", "seed", 0, INT64_C(9007199254740991), &seed));
    }
    workload->processes = (int)processes;
    workload->most_processes = most ? (int)most : USUAL_MOST;
    workload->plan_seed = (uint64_t)seed;
    return DIT_OK;
}

static dit_status read_measure(suite_workload *workload)
{
    static const char *const keys[] = {"warmup_runs", "warmup_most", "iterations", "deadline_s",     "trace", "probe",
                                       "gemm",        "scope",       "waits",      "prompts_differ", NULL};
    const dit_json *doc = &workload->source;
    suite_matrix *matrix = workload->matrix;
    const cJSON *measure = NULL;
    matrix->warmup_runs = 1;
    matrix->iterations = 3;
    matrix->deadline_s = 600;
    matrix->scope = dit_request_scopes()[0];
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "measure", &measure));
    if (!measure) return DIT_OK;
    DIT_TRY(suite_only_keys(doc, measure, "/measure", keys));
    DIT_TRY(dit_json_optional_int(doc, measure, "/measure", "warmup_runs", 0, 1000, &matrix->warmup_runs));
    DIT_TRY(dit_json_optional_int(doc, measure, "/measure", "warmup_most", 2, 1000, &matrix->warmup_most));
    DIT_TRY(dit_json_optional_int(doc, measure, "/measure", "iterations", 1, 100000, &matrix->iterations));
    DIT_TRY(dit_json_optional_bool(doc, measure, "/measure", "trace", &matrix->trace));
    DIT_TRY(dit_json_optional_bool(doc, measure, "/measure", "probe", &matrix->probe));
    DIT_TRY(dit_json_optional_bool(doc, measure, "/measure", "gemm", &matrix->gemm));
    DIT_TRY(dit_json_optional_bool(doc, measure, "/measure", "waits", &matrix->waits));
    DIT_TRY(dit_json_optional_bool(doc, measure, "/measure", "prompts_differ", &matrix->prompts_differ));
    DIT_TRY(dit_json_optional_string(doc, measure, "/measure", "scope", &matrix->scope));
    if (dit_words_find(dit_request_scopes(), matrix->scope) < 0)
        return dit_json_fail_word(doc, "/measure/scope", "scope", matrix->scope, dit_request_scopes());
    return dit_json_optional_int(doc, measure, "/measure", "deadline_s", 1, 604800, &matrix->deadline_s);
}

static dit_status read_workload(suite_workload *workload)
{
    static const char *const keys[] = {"schema",    "name",    "title",   "description", "program",
                                       "defaults",  "axes",    "zip",     "exclude",     "constraints",
                                       "repeat",    "measure", "plots",   "expect",      "notes_for",
                                       "published", "gate",    "quality", NULL};
    const dit_json *doc = &workload->source;
    DIT_TRY(suite_only_keys(doc, doc->root, "", keys));
    DIT_TRY(read_head(workload));
    DIT_TRY(read_repeat(workload));
    DIT_TRY(read_measure(workload));
    DIT_TRY(suite_axes_read(workload));
    DIT_TRY(suite_converged_read(workload));
    DIT_TRY(suite_rules_check(workload));
    return suite_plots_read(workload);
}

static dit_status hash_source(suite_workload *workload)
{
    char *text;
    DIT_TRY(suite_workload_parameters(workload->source.root, workload->parameters));
    DIT_TRY(dit_json_canonical(workload->source.root, &text));
    dit_hash(text, strlen(text), workload->hash);
    free(text);
    return DIT_OK;
}

/* `workload->source` is parsed. */
static dit_status finish(suite_workload *workload)
{
    workload->matrix = calloc(1, sizeof *workload->matrix);
    if (!workload->matrix) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a workload");
    DIT_TRY(read_workload(workload));
    DIT_TRY(hash_source(workload));
    DIT_TRY(suite_expand(workload));
    return suite_names_check(workload);
}

dit_status suite_workload_parse(const char *text, size_t length, const char *path, suite_workload *out)
{
    *out = (suite_workload){0};
    DIT_TRY(dit_json_parse(text, length, path, &out->source));
    dit_status st = finish(out);
    if (st != DIT_OK) suite_workload_release(out);
    return st;
}

dit_status suite_workload_load(const char *path, suite_workload *out)
{
    return suite_workload_load_set(path, NULL, out);
}

/* A complaint about a place of the file should not hide that the command line changed what stands there. */
static dit_status note_settings(const suite_strings *settings, dit_status st)
{
    for (int i = 0; settings && i < settings->count && st != DIT_OK; i++)
        dit_error_note(st, "applying --set %.100s", settings->items[i]);
    return st;
}

dit_status suite_workload_load_set(const char *path, const suite_strings *settings, suite_workload *out)
{
    char found[4096];
    *out = (suite_workload){0};
    DIT_TRY(suite_workload_find(path, found, sizeof found));
    DIT_TRY(dit_json_read_file(found, &out->source));
    dit_status st = suite_settings_apply(settings, &out->source, &out->settings);
    if (st == DIT_OK) st = note_settings(settings, finish(out));
    if (st != DIT_OK) suite_workload_release(out);
    return st;
}
