#include "suite/quotes/quoted_source.h"

#include "reports/records/journal.h"
#include "suite/compare/baseline.h"
#include "suite/compare/named_side.h"
#include "suite/pack/pack.h"
#include "suite/session/session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A session gives metrics over several cases (speedup), too; a baseline has what its processes measured. */
struct suite_quoted_source {
    char *name;
    report_table table;
    suite_side side;
    bool is_baseline;
};

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* Reads the journal of a packed session, which lies in a folder of its own meanwhile. */
static dit_status read_packed(const char *path, report_table *out)
{
    char scratch[] = "/tmp/ditbench-claims-XXXXXX", folder[SUITE_PATH], journal[SUITE_PATH], name[SUITE_SESSION_NAME];
    suite_pack_summary summary;
    if (!mkdtemp(scratch)) return DIT_FAIL(DIT_ERR_IO, "cannot make a folder in /tmp");
    dit_status st = suite_path(folder, "%s/session", scratch);
    if (st == DIT_OK) st = suite_unpack(path, folder, name, &summary);
    if (st == DIT_OK) st = suite_path(journal, "%s/journal.jsonl", folder);
    if (st == DIT_OK) st = report_table_read(journal, out);
    (void)!suite_path_remove(scratch);
    return st;
}

static dit_status read_source(const char *name, struct suite_quoted_source *out)
{
    suite_session session;
    out->is_baseline = ends_with(name, ".json");
    if (out->is_baseline) return suite_baseline_load(name, &out->side);
    if (ends_with(name, ".tar")) return read_packed(name, &out->table);
    if (suite_session_find(name, &session) == DIT_OK) return report_table_read(session.journal, &out->table);
    out->is_baseline = true; /* a commit: whatever compare would take */
    return suite_side_load(name, &out->side);
}

static void release_source(struct suite_quoted_source *source)
{
    free(source->name);
    report_table_release(&source->table);
    suite_side_release(&source->side);
}

static dit_status find_source(suite_quoted_sources *sources, const char *name, struct suite_quoted_source **out)
{
    for (int i = 0; i < sources->count; i++)
        if (strcmp(sources->rows[i].name, name) == 0) return *out = &sources->rows[i], DIT_OK;
    struct suite_quoted_source *grown = realloc(sources->rows, ((size_t)sources->count + 1) * sizeof *grown);
    if (!grown) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the sources of a page");
    sources->rows = grown;
    *out = &grown[sources->count];
    **out = (struct suite_quoted_source){.name = strdup(name)};
    dit_status st = (*out)->name ? read_source(name, *out) : DIT_FAIL(DIT_ERR_MEMORY, "no memory for a name");
    if (st == DIT_OK)
        sources->count++;
    else
        release_source(*out);
    return st;
}

/* Whether a case is called so: by its label, or by the beginning of its id. */
static bool is_called(const char *wanted, const char *case_id, const char *label)
{
    return strcmp(label, wanted) == 0 || (strlen(wanted) >= 4 && strncmp(case_id, wanted, strlen(wanted)) == 0);
}

static dit_status value_in_side(const struct suite_quoted_source *source, const char *kase, report_metric metric,
                                double *out, int *found)
{
    for (int i = 0; i < source->side.case_count; i++) {
        const suite_side_case *one = &source->side.cases[i];
        if (!is_called(kase, one->case_id, one->label)) continue;
        *out = suite_side_median(one, metric);
        (*found)++;
    }
    return DIT_OK;
}

static dit_status value_in_table(const struct suite_quoted_source *source, const char *kase, report_metric metric,
                                 double *out, int *found)
{
    for (int i = 0; i < source->table.case_count; i++) {
        const report_case *one = &source->table.cases[i];
        if (report_case_is_oracle(one) || !is_called(kase, one->case_id, one->label)) continue;
        *out = one->metric[metric].n ? one->metric[metric].median : NAN;
        (*found)++;
    }
    return DIT_OK;
}

dit_status suite_quoted_value(suite_quoted_sources *sources, const char *source, const char *kase, report_metric metric,
                              double *out)
{
    struct suite_quoted_source *from = NULL;
    int found = 0;
    *out = NAN;
    DIT_TRY(find_source(sources, source, &from));
    DIT_TRY((from->is_baseline ? value_in_side : value_in_table)(from, kase, metric, out, &found));
    if (found != 1)
        return DIT_FAIL(DIT_ERR_NOT_FOUND, "%s has %s case \"%s\"", source, found ? "more than one" : "no", kase);
    if (!isfinite(*out))
        return DIT_FAIL(DIT_ERR_NOT_FOUND, "\"%s\" has no %s in %s", kase, report_metric_get(metric)->name, source);
    return DIT_OK;
}

void suite_quoted_sources_release(suite_quoted_sources *sources)
{
    for (int i = 0; i < sources->count; i++) release_source(&sources->rows[i]);
    free(sources->rows);
    *sources = (suite_quoted_sources){0};
}
