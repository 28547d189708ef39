/* kernel: checks and times operators, in one process. */
#include "engine/programs/program.h"

#include "base/json_writer.h"
#include "base/words.h"
#include "kernels/device.h"

#include <stdio.h>

static void print_line(void *context, const char *line)
{
    (void)context;
    puts(line);
    fflush(stdout);
}

static dit_status read_bench(const dit_json *doc, dit_kernel_bench *bench)
{
    static const char *const keys[] = {"schema", "program", "backend",  "element", "threads",
                                       "time",   "filter",  "platform", NULL};
    static const char *const dtypes[] = {"fp32", "bf16", "fp16", NULL}; /* of operators */
    const char *dtype = dtypes[0];
    int64_t threads = 1;
    DIT_TRY(dit_json_only_keys(doc, doc->root, "", keys));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "backend", &bench->backend));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "element", &dtype));
    DIT_TRY(dit_json_optional_int(doc, doc->root, "", "threads", 1, 1024, &threads));
    DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "time", &bench->time));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "filter", &bench->filter));
    bench->threads = (int)threads;
    if (dit_dtype_from_name(dtype, &bench->dtype) && dit_words_find(dtypes, dtype) >= 0) return DIT_OK;
    return dit_json_fail_word(doc, "/element", "element", dtype, dtypes);
}

/* True if the machine lacks the device, which says nothing about the operators. */
static bool is_absent(const dit_kernel_bench *bench, char *reason, size_t size)
{
    if (!dit_device_is_one(bench->backend) || dit_device_count(bench->backend) > 0) return false;
    if (dit_error_last()->status != DIT_ERR_ENVIRONMENT) return false;
    snprintf(reason, size, "%s", dit_error_last()->message);
    dit_error_clear();
    return true;
}

static dit_status run_bench(const dit_kernel_bench *bench, cJSON *report, bool *skipped)
{
    dit_json_writer w = {0};
    char reason[512];
    *skipped = is_absent(bench, reason, sizeof reason);
    if (!*skipped) return dit_kernels_bench(bench, report);
    printf("skipped: %s\n", reason);
    dit_json_put_string(&w, report, "skipped", reason);
    return w.status;
}

static dit_status kernel_run(const dit_program_args *args, bool *skipped)
{
    dit_kernel_bench bench = {.backend = "cpu", .progress = print_line};
    dit_json_writer w = {0};
    char path[4096];
    DIT_TRY(read_bench(args->doc, &bench));
    cJSON *record = dit_json_new_object(&w), *report = dit_json_put_object(&w, record, "kernels");
    dit_status st = w.status == DIT_OK ? run_bench(&bench, report, skipped) : w.status;
    snprintf(path, sizeof path, "%s/record.json", args->out_folder);
    dit_json_put_string(&w, record, "schema", "ditbench.record/1");
    dit_json_put_string(&w, record, "program", "kernel");
    DIT_KEEP_FIRST(st, dit_json_finish_file(&w, record, path, false)); /* a mismatch leaves a record, too */
    return st;
}

const dit_program dit_program_kernel = {
    .name = "kernel",
    .help = "check the operators against the reference and time them",
    .run = kernel_run,
};
