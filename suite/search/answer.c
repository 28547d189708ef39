#include "suite/search/answer.h"

#include "base/json_writer.h"
#include "suite/platform/profile.h"

#include <math.h>

static const double NEARLY_ALL = 0.95;

const char *suite_search_binds_name(suite_search_binds binds)
{
    static const char *const names[SUITE_BINDS_COUNT] = {"device", "host", "messages"};
    return names[binds];
}

suite_search_binds suite_search_what_binds(const suite_search_candidate *candidate)
{
    const suite_bounds *bounds = &candidate->bounds;
    double seconds = candidate->seconds > 0 ? candidate->seconds : bounds->seconds;
    if (bounds->host_s >= NEARLY_ALL * seconds && bounds->host_s >= bounds->device_s) return SUITE_BINDS_HOST;
    return bounds->device_s >= NEARLY_ALL * seconds ? SUITE_BINDS_DEVICE : SUITE_BINDS_MESSAGES;
}

int suite_search_rival(const suite_search *search)
{
    if (search->winner < 0 || search->request.goal == SUITE_GOAL_MEMORY) return -1;
    const suite_search_candidate *winner = &search->candidates[search->winner];
    int rival = -1;
    for (int i = 0; i < search->count; i++) {
        const suite_search_candidate *one = &search->candidates[i];
        bool runs = one->state == SUITE_FOUND_SIMULATED || one->state == SUITE_FOUND_BOUND;
        bool beside = search->request.goal == SUITE_GOAL_FRONT && one->ranks != winner->ranks;
        if (!runs || beside || suite_search_what_binds(one) == suite_search_what_binds(winner)) continue;
        if (rival < 0 || one->behind < search->candidates[rival].behind) rival = i;
    }
    return rival;
}

bool suite_search_winner_shares_links(const suite_search *search)
{
    for (int i = 0; search->winner >= 0 && i < search->size_count; i++)
        if (search->sizes[i].ranks == search->candidates[search->winner].ranks)
            return search->sizes[i].replicas_share_links;
    return false;
}

/* ---- the document ------------------------------------------------------------------------------------------------ */

static void put_bounds(dit_json_writer *w, cJSON *out, const suite_bounds *bounds)
{
    cJSON *object = dit_json_put_object(w, out, "bounds");
    dit_json_put_number(w, object, "device_s", bounds->device_s);
    dit_json_put_number(w, object, "host_s", bounds->host_s);
    dit_json_put_number(w, object, "wire_s", bounds->wire_s);
    dit_json_put_number(w, object, "chain_s", bounds->chain_s);
    dit_json_put_number(w, object, "floor_s", bounds->floor_s);
}

static void put_candidate(dit_json_writer *w, cJSON *out, const suite_search_candidate *one)
{
    dit_json_put_string(w, out, "mesh", one->mesh);
    dit_json_put_int(w, out, "ranks", one->ranks);
    dit_json_put_int(w, out, "replicas", one->replicas);
    if (one->per_hour > 0) dit_json_put_number(w, out, "per_hour", one->per_hour);
    dit_json_put_bool(w, out, "exact", one->exact);
    dit_json_put_string(w, out, "case_id", one->kase->case_id);
    dit_json_put_string(w, out, "state", suite_search_state_name(one->state));
    if (one->state == SUITE_FOUND_SIMULATED) {
        dit_json_put_bool(w, out, "kept", one->kept);
        dit_json_put_number(w, out, "seconds", one->seconds);
    }
    if (one->value > 0) dit_json_put_number(w, out, "value", one->value);
    if (!isnan(one->behind)) dit_json_put_number(w, out, "behind", one->behind);
    if (one->bounds.status == DIT_OK) {
        dit_json_put_number(w, out, "bound_s", one->bounds.seconds);
        dit_json_put_string(w, out, "bound", one->bounds.largest);
        put_bounds(w, out, &one->bounds);
        dit_json_put_string(w, out, "binds", suite_search_binds_name(suite_search_what_binds(one)));
        dit_json_put_int(w, out, "memory_bytes", one->bounds.memory_bytes);
    }
    if (*one->code) dit_json_put_string(w, out, "code", one->code);
    if (*one->reason) dit_json_put_string(w, out, "reason", one->reason);
}

static void put_sizes(dit_json_writer *w, cJSON *out, const suite_search *s)
{
    cJSON *list = dit_json_put_array(w, out, "front");
    for (int i = 0; i < s->size_count; i++) {
        cJSON *size = dit_json_put_object(w, list, NULL);
        dit_json_put_int(w, size, "ranks", s->sizes[i].ranks);
        if (s->sizes[i].replicas_share_links) dit_json_put_bool(w, size, "replicas_share_links", true);
        if (s->sizes[i].winner < 0) continue;
        const suite_search_candidate *winner = &s->candidates[s->sizes[i].winner];
        dit_json_put_string(w, size, "mesh", winner->mesh);
        dit_json_put_int(w, size, "replicas", winner->replicas);
        if (winner->per_hour > 0) dit_json_put_number(w, size, "per_hour", winner->per_hour);
        if (winner->seconds > 0) dit_json_put_number(w, size, "seconds", winner->seconds);
        dit_json_put_number(w, size, "value", winner->value);
    }
}

static void put_counts(dit_json_writer *w, cJSON *out, const suite_search *s)
{
    cJSON *counts = dit_json_put_object(w, out, "counts"), *times = dit_json_put_object(w, out, "times");
    dit_json_put_int(w, counts, "meshes", s->count);
    dit_json_put_int(w, counts, "illegal", s->illegal_count);
    dit_json_put_int(w, counts, "simulated", s->simulated);
    dit_json_put_int(w, counts, "kept", s->kept);
    dit_json_put_int(w, counts, "by_bound", s->by_bound);
    dit_json_put_int(w, counts, "by_memory", s->by_memory);
    dit_json_put_int(w, counts, "failed", s->failed);
    dit_json_put_number(w, times, "count_s", s->count_s);
    dit_json_put_number(w, times, "bounds_s", s->bounds_s);
    dit_json_put_number(w, times, "simulate_s", s->simulate_s);
}

static void put_question(dit_json_writer *w, cJSON *out, const suite_search *s)
{
    const cJSON *document = s->count ? s->candidates[0].kase->document : NULL;
    dit_json_put_string(w, out, "schema", "ditbench.search/1");
    dit_json_put_string(w, out, "model", s->request.model);
    dit_json_put_string(w, out, "platform", s->request.platform);
    dit_json_put_string(w, out, "profile", s->request.profile);
    suite_profile_put(w, out, s->request.profile);
    dit_json_put_string(w, out, "element", dit_json_text_or(dit_json_member(document, "platform"), "element", NULL));
    dit_json_put_string(w, out, "scope", s->request.scope);
    dit_json_put_string(w, out, "goal", suite_search_goal_name(s->request.goal));
    dit_json_put_int(w, out, "devices", s->request.devices);
    dit_json_put_bool(w, out, "approximate", s->request.approximate);
    dit_json_put_number(w, out, "within", s->request.within);
    if (s->request.calibration)
        dit_json_put_string(w, out, "calibration", suite_calibration_path(s->request.calibration));
    dit_json_put_copy(w, out, "run", dit_json_member(document, "run"));
}

static void put_changes(dit_json_writer *w, cJSON *out, const suite_search *s)
{
    cJSON *list = s->request.what_if > 0 ? dit_json_put_array(w, out, "what_if") : NULL;
    for (int part = 0; list && part < SUITE_CHANGE_COUNT; part++) {
        const suite_search_change *change = &s->changes[part];
        if (change->first < 0) continue;
        cJSON *one = dit_json_put_object(w, list, NULL);
        dit_json_put_string(w, one, "part", suite_search_part_name((suite_search_part)part));
        dit_json_put_number(w, one, "times", s->request.what_if);
        dit_json_put_string(w, one, "mesh", s->candidates[change->first].mesh);
        dit_json_put_number(w, one, "bound_s", change->bound_s);
        dit_json_put_string(w, one, "before", s->candidates[change->before].mesh);
        dit_json_put_number(w, one, "before_bound_s", change->before_s);
    }
}

dit_status suite_search_to_json(const suite_search *search, cJSON **out)
{
    dit_json_writer w = {0};
    cJSON *root = dit_json_new_object(&w), *list;
    int rival = suite_search_rival(search);
    put_question(&w, root, search);
    if (search->winner >= 0)
        put_candidate(&w, dit_json_put_object(&w, root, "winner"), &search->candidates[search->winner]);
    if (rival >= 0) put_candidate(&w, dit_json_put_object(&w, root, "rival"), &search->candidates[rival]);
    put_sizes(&w, root, search);
    list = dit_json_put_array(&w, root, "meshes");
    for (int i = 0; i < search->count; i++)
        put_candidate(&w, dit_json_put_object(&w, list, NULL), &search->candidates[i]);
    list = dit_json_put_array(&w, root, "illegal");
    for (int i = 0; i < search->illegal_count; i++) {
        cJSON *one = dit_json_put_object(&w, list, NULL);
        dit_json_put_string(&w, one, "mesh", search->illegal[i].mesh);
        dit_json_put_int(&w, one, "ranks", search->illegal[i].ranks);
        dit_json_put_string(&w, one, "code", search->illegal[i].code);
        dit_json_put_string(&w, one, "reason", search->illegal[i].reason);
    }
    put_changes(&w, root, search);
    if (suite_search_winner_shares_links(search)) dit_json_put_bool(&w, root, "replicas_share_links", true);
    put_counts(&w, root, search);
    return dit_json_finish(&w, root, out);
}
