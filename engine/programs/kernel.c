/* kernel: operator check and timing, one process. */
#include "engine/programs/program.h"

#include "kernels/kernels.h"

#include <stdio.h>

static void print_line(void *context, const char *line)
{
    (void)context;
    puts(line);
    fflush(stdout);
}

static dit_status kernel_run(const dit_program_args *args, bool *skipped)
{
    static const char *const keys[] = {"schema", "program", "backend", "threads", "time", "filter", "platform", NULL};
    const dit_json *doc = args->doc;
    dit_kernel_bench bench = {.backend = "cpu", .progress = print_line};
    int64_t threads = 1;
    char path[4096];
    dit_status st;
    (void)skipped;
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "backend", &bench.backend));
    DIT_TRY(dit_json_optional_int(doc, doc->root, "", "threads", 1, 1024, &threads));
    DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "time", &bench.time));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "filter", &bench.filter));
    bench.threads = (int)threads;
    cJSON *record = cJSON_CreateObject(), *report = record ? cJSON_AddObjectToObject(record, "kernels") : NULL;
    if (!report) {
        cJSON_Delete(record);
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    }
    st = dit_kernels_bench(&bench, report);
    snprintf(path, sizeof path, "%s/record.json", args->out_folder);
    DIT_KEEP_FIRST(st, dit_json_add_string(record, "schema", "ditbench.record/1"));
    DIT_KEEP_FIRST(st, dit_json_add_string(record, "program", "kernel"));
    DIT_KEEP_FIRST(st, dit_json_write_file(record, path, false));
    cJSON_Delete(record);
    return st;
}

const dit_program dit_program_kernel = {
    .name = "kernel",
    .help = "check the operators against the reference and time them",
    .run = kernel_run,
};
