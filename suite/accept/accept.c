#include "suite/accept/accept.h"

#include "reports/records/journal.h"
#include "suite/platform/cluster.h"
#include "suite/session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *suite_accept_verdict_name(suite_accept_verdict verdict)
{
    static const char *const names[SUITE_ACCEPT_COUNT] = {"within", "faster", "slower", "edge", "unknown"};
    return names[verdict];
}

void suite_accepted_release(suite_accepted *accepted)
{
    for (int i = 0; i < accepted->search_count; i++) suite_search_release(&accepted->searches[i]);
    free(accepted->searches);
    free(accepted->cases);
    report_table_release(&accepted->table);
    *accepted = (suite_accepted){.count = 0};
}

suite_accept_verdict suite_accept_judge(double low, double high, const dit_summary *measured)
{
    if (measured->median >= low && measured->median <= high) return SUITE_ACCEPT_WITHIN;
    if (measured->high < low) return SUITE_ACCEPT_FASTER;
    if (measured->low > high) return SUITE_ACCEPT_SLOWER;
    return SUITE_ACCEPT_EDGE;
}

/* ---- what to predict ---------------------------------------------------------------------------------------------------- */

/* "flux.1-dev{mini}" as it is asked for: "flux.1-dev~mini". */
static void write_model(const report_case *kase, char out[96])
{
    const char *model = dit_json_text_or(kase->tags, "model", "");
    size_t used = 0;
    for (; *model && used < 95; model++)
        if (*model != '}') out[used++] = *model == '{' ? '~' : *model;
    out[used] = '\0';
}

/* The case comes from a session, which may be anybody's. */
static dit_status read_run(const dit_json *document, suite_search_request *out)
{
    const cJSON *run = dit_json_member(document->root, "run");
    const cJSON *text = dit_json_member(dit_json_member(document->root, "model"), "text");
    const struct {
        const char *key;
        int64_t most, *to;
    } numbers[] = {{"width_px", 1 << 20, &out->width_px},
                   {"height_px", 1 << 20, &out->height_px},
                   {"num_frames", 1 << 20, &out->num_frames},
                   {"num_inference_steps", 10000, &out->steps},
                   {"num_images", 4096, &out->num_images}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        *numbers[i].to = 0;
        DIT_TRY(dit_json_optional_int(document, run, "/run", numbers[i].key, 1, numbers[i].most, numbers[i].to));
    }
    out->text_tokens = 0;
    return dit_json_optional_int(document, text, "/model/text", "tokens", 0, 1 << 20, &out->text_tokens);
}

/* Fills the question of one case from its document. */
static dit_status ask(const suite_procure_request *request, const dit_json *document, const char *model,
                      dit_parallel *mesh, suite_search_request *out)
{
    const cJSON *measure = dit_json_member(document->root, "measure");
    DIT_TRY(dit_parallel_from_json(document, dit_json_member(document->root, "parallel"), "/parallel", mesh));
    *out = request->search;
    out->model = model;
    out->scope = dit_json_text_or(measure, "scope", "denoise");
    out->platform = request->machines[0].priced.machine.name;
    out->goal = SUITE_GOAL_LATENCY;
    out->devices = 0;
    out->mesh = mesh;
    out->approximate = true; /* what was measured is asked, exact or not */
    return read_run(document, out);
}

static dit_status forecast(const suite_procure_request *request, const dit_parallel *mesh, suite_accepted_case *one)
{
    const suite_price_machine *machine = &request->machines[0].priced.machine;
    const suite_forecast_request asked = {.accelerator = machine->accelerator,
                                          .profile = request->search.profile,
                                          .parallel = mesh,
                                          .document = one->chosen->kase->document,
                                          .devices = one->chosen->ranks,
                                          .node_devices = machine->node_devices,
                                          .seconds = one->chosen->seconds};
    if (machine->topology == SUITE_TOPOLOGY_CORES && !request->forecaster->extrapolate) {
        snprintf(one->why, sizeof one->why, "predictions were checked on accelerators, none on cores; --extrapolate");
        one->forecast.seconds = one->chosen->seconds;
        return DIT_OK;
    }
    DIT_TRY(suite_forecast_of(request->forecaster, &asked, &one->forecast));
    if (!one->forecast.has_interval) {
        snprintf(one->why, sizeof one->why, "%s", one->forecast.why);
        return DIT_OK;
    }
    one->verdict = suite_accept_judge(one->forecast.low, one->forecast.high, &one->measured->metric[REPORT_LATENCY]);
    return DIT_OK;
}

/* The mesh that is the measured one; NULL: it has no time. */
static const suite_search_candidate *winner_of(const suite_search *found, char why[300])
{
    if (found->winner >= 0) return &found->candidates[found->winner];
    const char *reason = found->count           ? found->candidates[0].reason
                         : found->illegal_count ? found->illegal[0].reason
                                                : "the platform has no such mesh";
    snprintf(why, 300, "%.299s", reason);
    return NULL;
}

static dit_status judge(const suite_procure_request *request, const suite_session *session, suite_accepted *out,
                        suite_accepted_case *one)
{
    char folder[SUITE_PATH], path[SUITE_PATH], model[96];
    suite_search_request asked;
    suite_search *found = &out->searches[out->search_count++];
    dit_parallel mesh;
    dit_json document = {0};
    DIT_TRY(suite_session_case_dir(session, one->measured->case_id, folder));
    DIT_TRY(suite_path(path, "%s/case.json", folder));
    DIT_TRY(dit_json_read_file(path, &document));
    write_model(one->measured, model);
    dit_status st = ask(request, &document, model, &mesh, &asked);
    if (st == DIT_OK) snprintf(one->scope, sizeof one->scope, "%s", asked.scope);
    asked.scope = one->scope;
    dit_json_release(&document);
    if (st == DIT_OK) st = suite_search_run(&asked, found);
    if (st == DIT_ERR_USAGE || st == DIT_ERR_NOT_FOUND || st == DIT_ERR_UNSUPPORTED) { /* of this case alone */
        snprintf(one->why, sizeof one->why, "%.299s", dit_error_last()->message);
        dit_error_clear();
        return DIT_OK;
    }
    DIT_TRY(st);
    one->chosen = winner_of(found, one->why);
    return one->chosen ? forecast(request, &mesh, one) : DIT_OK;
}

/* ---- the session ----------------------------------------------------------------------------------------------------------- */

static bool is_judged(const report_case *kase)
{
    return strcmp(kase->evidence, "measured") == 0 && kase->ok_count > 0 && kase->metric[REPORT_LATENCY].n > 0 &&
           strcmp(dit_json_text_or(kase->tags, "program", "denoise"), "denoise") == 0 &&
           strcmp(dit_json_text_or(kase->tags, "method", ""), "oracle") != 0;
}

static dit_status judge_all(const suite_procure_request *request, const suite_session *session, suite_accepted *out)
{
    size_t most = (size_t)out->table.case_count + 1;
    out->cases = calloc(most, sizeof *out->cases);
    out->searches = calloc(most, sizeof *out->searches);
    if (!out->cases || !out->searches) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %zu cases", most);
    for (int i = 0; i < out->table.case_count; i++) {
        if (!is_judged(&out->table.cases[i])) continue;
        suite_accepted_case *one = &out->cases[out->count++];
        *one = (suite_accepted_case){.measured = &out->table.cases[i], .verdict = SUITE_ACCEPT_UNKNOWN};
        if (request->told) request->told(request->context, i, out->table.case_count, one->measured->label);
        DIT_TRY(judge(request, session, out, one));
        out->verdicts[one->verdict]++;
    }
    if (out->count) return DIT_OK;
    return dit_error_hint(DIT_FAIL(DIT_ERR_NOT_FOUND, "%s: nothing was measured there", session->name),
                          "measure the machine first: `ditbench run gpu/methods` on it");
}

dit_status suite_accept_run(const suite_procure_request *request, const char *name, suite_accepted *out)
{
    suite_session session;
    *out = (suite_accepted){.count = 0};
    DIT_TRY(suite_session_find(name, &session));
    DIT_TRY(report_table_read(session.journal, &out->table));
    return judge_all(request, &session, out);
}
