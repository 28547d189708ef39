#include "suite/export/export.h"

#include <stdio.h>
#include <string.h>

static const suite_export_format *const formats[] = {&suite_export_junit,  &suite_export_google_benchmark,
                                                     &suite_export_bmf,    &suite_export_openmetrics,
                                                     &suite_export_csv,    &suite_export_markdown,
                                                     &suite_export_github, &suite_export_conbench,
                                                     &suite_export_sqlite, NULL};

const suite_export_format *const *suite_export_formats(void)
{
    return formats;
}

const suite_export_format *suite_export_find(const char *name)
{
    for (int i = 0; formats[i]; i++)
        if (strcmp(formats[i]->name, name) == 0) return formats[i];
    return NULL;
}

void suite_export_case_name(const report_case *kase, char out[SUITE_EXPORT_NAME])
{
    snprintf(out, SUITE_EXPORT_NAME, "%s%s", report_case_is_simulated(kase) ? "simulated/" : "", kase->label);
}

bool suite_export_has(const report_case *kase, report_metric metric)
{
    return kase->metric[metric].n > 0 && !report_metric_get(metric)->comparison;
}

void suite_export_failure(const report_case *kase, char *out, size_t size)
{
    out[0] = '\0';
    if (kase->status == DIT_OUTCOME_OK) return;
    const char *code = kase->failure.code, *why = kase->failure.message;
    snprintf(out, size, "%s%s%s", code && *code ? code : dit_outcome_name(kase->status), why && *why ? ": " : "",
             why ? why : "");
}

dit_status suite_export_document(dit_json_writer *w, cJSON *root, dit_buffer *out)
{
    cJSON *document = NULL;
    DIT_TRY(dit_json_finish(w, root, &document));
    char *text = cJSON_Print(document);
    cJSON_Delete(document);
    dit_buffer_text(out, text ? text : "");
    dit_buffer_char(out, '\n');
    bool whole = text != NULL && !out->failed;
    cJSON_free(text);
    return whole ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for the export");
}
