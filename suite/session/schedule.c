#include "suite/session/schedule.h"

#include "base/json_writer.h"
#include "suite/cases/document.h"
#include "suite/paths.h"
#include "suite/session/plan.h"
#include "suite/text.h"
#include "suite/workload/tags.h"

#include <stdlib.h>
#include <string.h>

/* ---- making ------------------------------------------------------------------------------------------------------ */

static dit_status copy_case(const suite_case *from, suite_case *to)
{
    *to = *from;
    to->document = cJSON_Duplicate(from->document, true);
    to->tags = cJSON_Duplicate(from->tags, true);
    return to->document && to->tags ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for case %s", from->label);
}

/* Keeps the case that case `index` is held against; it stands right behind the first one that needs it, or one further. */
static void keep_named(const suite_workload *workload, int index, const char *id, bool *keep)
{
    int at = index + 2 < workload->case_count ? index + 2 : workload->case_count - 1;
    if (!id[0]) return;
    while (at > 0 && strcmp(workload->cases[at].case_id, id) != 0) at--;
    keep[at] = true;
}

/* Sets keep[] of what the filter passes; oracles are no user's business, they come with the cases that need them. */
static dit_status choose_cases(const suite_workload *workload, const char *filter, bool *keep)
{
    for (int i = 0; i < workload->case_count; i++) {
        const suite_case *one = &workload->cases[i];
        if (!one->is_oracle && filter) DIT_TRY(suite_tags_filter(one->tags, filter, &keep[i]));
        if (!one->is_oracle && !filter) keep[i] = true;
        if (!keep[i]) continue;
        keep_named(workload, i, one->oracle_id, keep);
        keep_named(workload, i, one->converged_id, keep);
    }
    return DIT_OK;
}

/* A filter that keeps nothing is a slip: nobody wants an empty session. */
static dit_status fail_no_match(const suite_workload *workload, const char *filter)
{
    char values[700];
    dit_status st = DIT_FAIL(DIT_ERR_NO_MATCH, "the filter %s keeps none of the %d case%s of %s", filter,
                             workload->case_count, workload->case_count == 1 ? "" : "s", workload->name);
    suite_tags_describe(workload->cases, workload->case_count, filter, values, sizeof values);
    return dit_error_hint(st, "%s%s`ditbench expand` lists the cases", values, values[0] ? "; " : "");
}

/* Copies the chosen cases; place[i] is where case i went, -1 when it was left out. */
static dit_status take_cases(const suite_workload *workload, const char *filter, suite_schedule *out, int *place)
{
    bool *keep = calloc((size_t)workload->case_count + 1, sizeof *keep);
    dit_status st = keep ? choose_cases(workload, filter, keep) : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a filter");
    for (int i = 0; i < workload->case_count && st == DIT_OK; i++) {
        place[i] = keep[i] ? out->case_count : -1;
        if (!keep[i]) continue;
        out->case_count++;
        st = copy_case(&workload->cases[i], &out->cases[place[i]]);
    }
    free(keep);
    if (st == DIT_OK && filter && !out->case_count) return fail_no_match(workload, filter);
    return st;
}

static dit_status describe_workload(const suite_workload *workload, suite_schedule *out)
{
    dit_json_writer w = {0};
    out->workload = dit_json_new_object(&w);
    out->dropped = dit_json_new_array(&w);
    suite_text_put(&w, out->workload, "path", workload->source.path);
    suite_text_put(&w, out->workload, "name", workload->name);
    suite_text_put(&w, out->workload, "title", workload->title);
    suite_text_put(&w, out->workload, "hash", workload->hash);
    suite_text_put(&w, out->workload, "parameters", workload->parameters);
    suite_text_put(&w, out->workload, "notes_for", workload->notes_for);
    dit_json_put_int(&w, out->workload, "seed", (int64_t)(workload->plan_seed & ((UINT64_C(1) << 53) - 1)));
    if (workload->until > 0) {
        cJSON *repeat = dit_json_put_object(&w, out->workload, "repeat");
        dit_json_put_number(&w, repeat, "until", workload->until);
        dit_json_put_int(&w, repeat, "least", workload->processes);
    }
    dit_json_put_copy(&w, out->workload, "set", workload->settings);
    dit_json_put_copy(&w, out->workload, "plots", workload->plots);
    dit_json_put_copy(&w, out->workload, "expect", workload->expect);
    dit_json_put_copy(&w, out->workload, "gate", workload->gate);
    for (int i = 0; i < workload->dropped_count; i++) {
        const suite_dropped *dropped = &workload->dropped[i];
        cJSON *row = dit_json_put_object(&w, out->dropped, NULL);
        dit_json_put_copy(&w, row, "cell", dropped->cell);
        suite_text_put(&w, row, "code", dit_status_name(dropped->code));
        suite_text_put(&w, row, "reason", dropped->reason);
    }
    return w.status;
}

dit_status suite_schedule_make(const suite_workload *workload, const char *filter, suite_schedule *out)
{
    dit_status st = DIT_OK;
    int count = 0, kept = 0;
    *out = (suite_schedule){0};
    int *place = calloc((size_t)workload->case_count + 1, sizeof *place);
    out->cases = calloc((size_t)workload->case_count + 1, sizeof *out->cases);
    if (!place || !out->cases) {
        st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d cases", workload->case_count);
        goto done;
    }
    DIT_TRY_GOTO(st, describe_workload(workload, out), done);
    DIT_TRY_GOTO(st, take_cases(workload, filter, out, place), done);
    DIT_TRY_GOTO(st, suite_plan(workload, &out->items, &count), done);
    for (int i = 0; i < count; i++) {
        suite_run_item item = out->items[i];
        if ((item.case_index = place[item.case_index]) < 0) continue;
        item.order = kept;
        out->items[kept++] = item;
    }
    out->item_count = kept;
done:
    free(place);
    if (st != DIT_OK) suite_schedule_release(out);
    return st;
}

static void release_case(suite_case *one)
{
    cJSON_Delete(one->document);
    cJSON_Delete(one->tags);
}

int suite_schedule_drop_simulated(suite_schedule *schedule)
{
    int kept = 0, dropped = 0;
    for (int i = 0; i < schedule->item_count; i++) {
        suite_run_item item = schedule->items[i];
        if (schedule->cases[item.case_index].is_simulated) continue;
        for (int c = item.case_index - 1; c >= 0; c--) item.case_index -= schedule->cases[c].is_simulated;
        item.order = kept;
        schedule->items[kept++] = item;
    }
    schedule->item_count = kept;
    for (int i = 0; i < schedule->case_count; i++) {
        if (schedule->cases[i].is_simulated) {
            release_case(&schedule->cases[i]);
            dropped++;
        } else
            schedule->cases[i - dropped] = schedule->cases[i];
    }
    schedule->case_count -= dropped;
    return dropped;
}

/* ---- saving ------------------------------------------------------------------------------------------------------ */

static void case_to_json(dit_json_writer *w, const suite_case *one, cJSON *list)
{
    cJSON *row = dit_json_put_object(w, list, NULL);
    dit_json_put_string(w, row, "case_id", one->case_id);
    dit_json_put_string(w, row, "reference_id", one->reference_id);
    dit_json_put_string(w, row, "label", one->label);
    dit_json_put_int(w, row, "world_size", one->world_size);
    dit_json_put_int(w, row, "deadline_s", one->deadline_s);
    dit_json_put_bool(w, row, "is_reference", one->is_reference);
    if (one->is_oracle) dit_json_put_bool(w, row, "is_oracle", true);
    if (one->is_converged) dit_json_put_bool(w, row, "is_converged", true);
    if (one->oracle_id[0]) dit_json_put_string(w, row, "oracle_id", one->oracle_id);
    if (one->converged_id[0]) dit_json_put_string(w, row, "converged_id", one->converged_id);
    dit_json_put_copy(w, row, "tags", one->tags);
    dit_json_put_copy(w, row, "case", one->document);
}

static void item_to_json(dit_json_writer *w, const suite_run_item *item, cJSON *list)
{
    cJSON *row = dit_json_put_object(w, list, NULL);
    dit_json_put_int(w, row, "case", item->case_index);
    dit_json_put_int(w, row, "process", item->process);
    dit_json_put_int(w, row, "block", item->block);
    dit_json_put_int(w, row, "order", item->order);
}

static dit_status hash_document(const cJSON *document, char out[DIT_HASH_HEX])
{
    char *text = NULL;
    DIT_TRY(dit_json_canonical(document, &text));
    dit_hash(text, strlen(text), out);
    free(text);
    return DIT_OK;
}

static dit_status save_cases(const suite_schedule *schedule, const suite_session *session)
{
    char path[SUITE_PATH];
    for (int i = 0; i < schedule->case_count; i++) {
        DIT_TRY(suite_session_case_dir(session, schedule->cases[i].case_id, path));
        DIT_TRY(suite_path_make(path));
        DIT_TRY(suite_path(path, "%s/cases/%s/case.json", session->dir, schedule->cases[i].case_id));
        DIT_TRY(dit_json_write_file(schedule->cases[i].document, path, false));
    }
    return DIT_OK;
}

dit_status suite_schedule_save(suite_schedule *schedule, const suite_session *session)
{
    DIT_TRY(save_cases(schedule, session));
    return suite_schedule_save_plan(schedule, session);
}

dit_status suite_schedule_save_plan(suite_schedule *schedule, const suite_session *session)
{
    dit_json_writer w = {0};
    char path[SUITE_PATH] = "";
    cJSON *document = dit_json_new_object(&w);
    cJSON *cases = dit_json_put_array(&w, document, "cases"), *items = dit_json_put_array(&w, document, "items");
    dit_json_put_string(&w, document, "schema", "ditbench.plan/1");
    dit_json_put_copy(&w, document, "workload", schedule->workload);
    dit_json_put_copy(&w, document, "dropped", schedule->dropped);
    dit_json_put_copy(&w, document, "published", schedule->published);
    for (int i = 0; i < schedule->case_count; i++) case_to_json(&w, &schedule->cases[i], cases);
    for (int i = 0; i < schedule->item_count; i++) item_to_json(&w, &schedule->items[i], items);
    if (w.status == DIT_OK) dit_json_put_status(&w, hash_document(document, schedule->hash));
    if (w.status == DIT_OK) dit_json_put_status(&w, suite_path(path, "%s/plan.json", session->dir));
    return dit_json_finish_file(&w, document, path, true);
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static dit_status case_from_json(const dit_json *doc, const cJSON *row, suite_case *out)
{
    const char *case_id = "", *reference_id = "", *oracle_id = "", *converged_id = "", *label = "";
    const cJSON *tags = NULL, *document = NULL;
    int64_t world_size = 1;
    char hash[DIT_HASH_HEX];
    DIT_TRY(dit_json_require_string(doc, row, "/cases", "case_id", &case_id));
    DIT_TRY(dit_json_require_string(doc, row, "/cases", "reference_id", &reference_id));
    DIT_TRY(dit_json_require_string(doc, row, "/cases", "label", &label));
    DIT_TRY(dit_json_require_int(doc, row, "/cases", "world_size", 1, 1 << 20, &world_size));
    DIT_TRY(dit_json_require_int(doc, row, "/cases", "deadline_s", 0, 1 << 30, &out->deadline_s));
    DIT_TRY(dit_json_optional_bool(doc, row, "/cases", "is_reference", &out->is_reference));
    DIT_TRY(dit_json_optional_bool(doc, row, "/cases", "is_oracle", &out->is_oracle));
    DIT_TRY(dit_json_optional_bool(doc, row, "/cases", "is_converged", &out->is_converged));
    DIT_TRY(dit_json_optional_string(doc, row, "/cases", "oracle_id", &oracle_id));
    DIT_TRY(dit_json_optional_string(doc, row, "/cases", "converged_id", &converged_id));
    DIT_TRY(dit_json_optional_int(doc, row, "/cases", "predicted_memory_bytes", 0, INT64_C(1) << 52,
                                  &out->predicted_memory_bytes));
    DIT_TRY(dit_json_require_object(doc, row, "/cases", "tags", &tags));
    DIT_TRY(dit_json_require_object(doc, row, "/cases", "case", &document));
    DIT_TRY(hash_document(document, hash));
    if (strcmp(hash, case_id) != 0)
        return DIT_FAIL(DIT_ERR_INTEGRITY, "%s: case %.32s hashes to %s", doc->path, case_id, hash);
    memcpy(out->case_id, hash, sizeof hash);
    strncpy(out->reference_id, reference_id, sizeof out->reference_id - 1);
    strncpy(out->oracle_id, oracle_id, sizeof out->oracle_id - 1);
    strncpy(out->converged_id, converged_id, sizeof out->converged_id - 1);
    strncpy(out->label, label, sizeof out->label - 1);
    out->world_size = (int)world_size;
    out->is_simulated = suite_case_simulated(document);
    out->tags = cJSON_Duplicate(tags, true);
    out->document = cJSON_Duplicate(document, true);
    return out->tags && out->document ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for case %s", label);
}

static dit_status item_from_json(const dit_json *doc, const cJSON *row, int case_count, suite_run_item *out)
{
    int64_t index = 0, process = 0, block = 0, order = 0;
    DIT_TRY(dit_json_require_int(doc, row, "/items", "case", 0, case_count - 1, &index));
    DIT_TRY(dit_json_require_int(doc, row, "/items", "process", 0, 1 << 20, &process));
    DIT_TRY(dit_json_require_int(doc, row, "/items", "block", 0, 1 << 20, &block));
    DIT_TRY(dit_json_require_int(doc, row, "/items", "order", 0, 1 << 30, &order));
    *out = (suite_run_item){(int)index, (int)process, (int)block, (int)order};
    return DIT_OK;
}

static dit_status load_lists(const dit_json *doc, suite_schedule *out)
{
    const cJSON *cases = dit_json_member(doc->root, "cases"), *row;
    const cJSON *items = dit_json_member(doc->root, "items");
    if (!cJSON_IsArray(cases) || !cJSON_IsArray(items))
        return DIT_FAIL(DIT_ERR_JSON_MISSING, "%s: needs the lists \"cases\" and \"items\"", doc->path);
    const cJSON *dropped = NULL, *published = NULL, *workload = NULL;
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "dropped", &dropped));
    DIT_TRY(dit_json_optional_array(doc, doc->root, "", "published", &published));
    DIT_TRY(dit_json_require_object(doc, doc->root, "", "workload", &workload));
    out->workload = cJSON_Duplicate(workload, true);
    out->dropped = dropped ? cJSON_Duplicate(dropped, true) : cJSON_CreateArray();
    out->published = published ? cJSON_Duplicate(published, true) : NULL;
    out->cases = calloc((size_t)cJSON_GetArraySize(cases) + 1, sizeof *out->cases);
    out->items = calloc((size_t)cJSON_GetArraySize(items) + 1, sizeof *out->items);
    if (!out->cases || !out->items) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the plan");
    cJSON_ArrayForEach(row, cases) DIT_TRY(case_from_json(doc, row, &out->cases[out->case_count++]));
    cJSON_ArrayForEach(row, items) DIT_TRY(item_from_json(doc, row, out->case_count, &out->items[out->item_count++]));
    return DIT_OK;
}

dit_status suite_schedule_load(const suite_session *session, suite_schedule *out)
{
    char path[SUITE_PATH];
    dit_json document = {0};
    dit_status st = DIT_OK;
    *out = (suite_schedule){0};
    DIT_TRY(suite_path(path, "%s/plan.json", session->dir));
    DIT_TRY(dit_json_read_file(path, &document));
    DIT_TRY_GOTO(st, dit_json_require_schema(&document, "ditbench.plan/1"), done);
    DIT_TRY_GOTO(st, hash_document(document.root, out->hash), done);
    st = load_lists(&document, out);
done:
    dit_json_release(&document);
    if (st != DIT_OK) suite_schedule_release(out);
    return st;
}

void suite_schedule_release(suite_schedule *schedule)
{
    for (int i = 0; i < schedule->case_count; i++) {
        release_case(&schedule->cases[i]);
    }
    free(schedule->cases);
    free(schedule->items);
    cJSON_Delete(schedule->workload);
    cJSON_Delete(schedule->dropped);
    cJSON_Delete(schedule->published);
    *schedule = (suite_schedule){0};
}
