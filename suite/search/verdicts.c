#include "suite/search/verdicts.h"

#include "base/json_writer.h"
#include "suite/platform/platform.h"
#include "suite/search/answer.h"
#include "suite/search/search.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double GIB = 1024.0 * 1024 * 1024;

/* ---- in words ---------------------------------------------------------------------------------------------------- */

enum { VERDICT = 400 };
static const double SLIGHT = 1e-3; /* a share that no digit is worth */

/* A rank, and the device that it lies on. */
static void say_missing(const suite_search_candidate *one, const suite_platform *platform, char out[VERDICT])
{
    double needs = (double)one->bounds.memory_bytes / GIB, has = (double)platform->memory_bytes / GIB;
    if (needs <= has) {
        snprintf(out, VERDICT, "out of memory: %s", one->reason); /* only its simulation found out */
        return;
    }
    snprintf(out, VERDICT, "out of memory: %.2f GiB missing of %.2f GiB", needs - has, needs);
}

/* How far the best displaced mesh is from the best exact one. */
static void say_beside_exact(const suite_search *s, const suite_search_candidate *one, char out[VERDICT])
{
    int exact = suite_search_best(s, true);
    if (exact < 0) {
        snprintf(out, VERDICT, "best approximate");
        return;
    }
    double share = one->value / s->candidates[exact].value - 1;
    snprintf(out, VERDICT, "best approximate: %.1f %% %s time than %s, the best exact one", 100 * fabs(share),
             share < 0 ? "less" : "more", s->candidates[exact].mesh);
}

static void say_time(const suite_search *s, const suite_search_candidate *one, char out[VERDICT])
{
    const char *best = one->exact ? "" : " the best approximate";
    if (s->count == 1)
        snprintf(out, VERDICT, "fits; no other mesh was looked at");
    else if (one != &s->candidates[suite_search_best(s, one->exact)] && one->behind < SLIGHT)
        snprintf(out, VERDICT, "less than %g %% behind%s", 100 * SLIGHT, best);
    else if (one != &s->candidates[suite_search_best(s, one->exact)])
        snprintf(out, VERDICT, "%.1f %% behind%s", 100 * one->behind, best);
    else if (one->exact)
        snprintf(out, VERDICT, "best");
    else
        say_beside_exact(s, one, out);
}

static void say(const suite_search *s, const suite_search_candidate *one, const suite_platform *platform,
                char out[VERDICT])
{
    switch (one->state) {
    case SUITE_FOUND_SIMULATED: say_time(s, one, out); break;
    case SUITE_FOUND_BOUND:
        snprintf(out, VERDICT, "excluded by bound: at least %.1f %% behind%s", 100 * one->behind,
                 one->exact ? "" : " the best approximate");
        break;
    case SUITE_FOUND_MEMORY: say_missing(one, platform, out); break;
    case SUITE_FOUND_FAILED: snprintf(out, VERDICT, "failed: %s: %s", one->code, one->reason); break;
    default: snprintf(out, VERDICT, "at least %.4g s", one->bounds.seconds); break;
    }
}

/* ---- in the answer ----------------------------------------------------------------------------------------------- */

/* The explained mesh that a candidate is; NULL: none, because its denoising alone needs too much memory. */
static cJSON *find_mesh(cJSON *meshes, const suite_search_candidate *one)
{
    const cJSON *parallel = dit_json_member(one->kase->document, "parallel");
    cJSON *mesh;
    cJSON_ArrayForEach(mesh, meshes)
    {
        if (cJSON_Compare(dit_json_member(mesh, "parallel"), parallel, true)) return mesh;
    }
    return NULL;
}

static void put_candidate(dit_json_writer *w, cJSON *mesh, const suite_search *s, const suite_search_candidate *one,
                          const suite_platform *platform)
{
    char verdict[VERDICT];
    say(s, one, platform, verdict);
    dit_json_put_bool(w, mesh, "exact", one->exact);
    dit_json_put_string(w, mesh, "state", suite_search_state_name(one->state));
    if (one->state == SUITE_FOUND_SIMULATED) {
        dit_json_put_number(w, mesh, "seconds", one->seconds);
        dit_json_put_bool(w, mesh, "kept", one->kept);
    }
    if (one->bounds.status == DIT_OK) {
        dit_json_put_number(w, mesh, "bound_s", one->bounds.seconds);
        dit_json_put_string(w, mesh, "bound", one->bounds.largest);
        dit_json_put_string(w, mesh, "binds", suite_search_binds_name(suite_search_what_binds(one)));
        dit_json_put_int(w, mesh, "request_memory_bytes", one->bounds.memory_bytes);
    }
    if (!isnan(one->behind)) dit_json_put_number(w, mesh, "behind", one->behind);
    dit_json_put_string(w, mesh, "verdict", verdict);
}

/* Exact ones first, each in the order of their times; ones that no search knows, of which there should be none, last. */
static void move_meshes(dit_json_writer *w, cJSON *meshes, cJSON *ordered, const suite_search *s,
                        const suite_platform *platform)
{
    for (int exact = 1; exact >= 0; exact--)
        for (int i = 0; i < s->count && w->status == DIT_OK; i++) {
            cJSON *mesh = s->candidates[i].exact == (bool)exact ? find_mesh(meshes, &s->candidates[i]) : NULL;
            if (!mesh) continue;
            put_candidate(w, mesh, s, &s->candidates[i], platform);
            dit_json_put_item(w, ordered, NULL, cJSON_DetachItemViaPointer(meshes, mesh));
        }
    while (meshes->child && w->status == DIT_OK)
        dit_json_put_item(w, ordered, NULL, cJSON_DetachItemFromArray(meshes, 0));
}

static void put_meshes(dit_json_writer *w, cJSON *answer, const suite_search *s, const suite_platform *platform)
{
    cJSON *ordered = dit_json_new_array(w);
    if (!ordered) return;
    move_meshes(w, cJSON_GetObjectItemCaseSensitive(answer, "meshes"), ordered, s, platform);
    cJSON_ReplaceItemInObjectCaseSensitive(answer, "meshes", ordered);
}

static dit_status put_search(const suite_search *s, cJSON *answer)
{
    dit_json_writer w = {0};
    suite_platform platform;
    DIT_TRY(suite_platform_load(s->request.platform, &platform));
    dit_json_put_string(&w, answer, "times", s->request.bounds_only ? "bounds" : "simulated");
    dit_json_put_string(&w, answer, "scope", s->request.scope);
    if (s->request.calibration)
        dit_json_put_string(&w, answer, "calibration", suite_calibration_path(s->request.calibration));
    put_meshes(&w, answer, s, &platform);
    return w.status;
}

dit_status suite_verdicts_add(const suite_explain_params *explained, const suite_verdicts_params *params, cJSON *answer)
{
    suite_meshes_params meshes = suite_explain_meshes(explained);
    meshes.scope = params->scope ? params->scope : "pipeline";
    const suite_search_request request = {.model = explained->model,
                                          .platform = explained->platform,
                                          .profile = explained->profile,
                                          .devices = explained->devices,
                                          .mesh = explained->mesh,
                                          .meshes = &meshes,
                                          .scope = meshes.scope,
                                          .num_images = explained->num_images,
                                          .approximate = true,
                                          .apart = true,
                                          .bounds_only = params->bounds_only,
                                          .fresh = params->fresh,
                                          .at_once = params->at_once,
                                          .calibration = params->calibration,
                                          .told = params->told,
                                          .context = params->context};
    suite_search found;
    DIT_TRY(suite_search_run(&request, &found));
    dit_status st = put_search(&found, answer);
    suite_search_release(&found);
    return st;
}
