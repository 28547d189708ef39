#include "suite/machine/devices.h"

#include "base/json.h"
#include "suite/launch/launch.h"
#include "suite/paths.h"
#include "suite/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ASKED_S = 120, MOST_KNOWN = 4, ANSWER_BYTES = 1 << 20 };

/* ---- asking ------------------------------------------------------------------------------------------------------ */

/* The last line that is an object: libraries may have written others. */
static dit_status parse_answer(char *text, dit_json *out)
{
    char *last = NULL;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (line[0] == '{') last = line;
    if (!last) return DIT_FAIL(DIT_ERR_ENVIRONMENT, "the engine says nothing about its devices");
    return dit_json_parse(last, strlen(last), "devices", out);
}

static dit_status read_answer(const char *path, dit_json *out)
{
    FILE *file = fopen(path, "re");
    char *text = calloc(1, ANSWER_BYTES);
    if (file && text) text[fread(text, 1, ANSWER_BYTES - 1, file)] = '\0';
    dit_status st = file && text ? parse_answer(text, out) : DIT_FAIL(DIT_ERR_IO, "%s cannot be read", path);
    if (file) fclose(file);
    free(text);
    return st;
}

static dit_status run_engine(const char *path, const char *backend, const char *log_path, dit_json *out)
{
    char reason[320];
    char *const argv[] = {(char *)(uintptr_t)path, (char *)"--devices", (char *)(uintptr_t)backend, NULL};
    suite_process_result result = {0};
    const suite_process_params params = {
        .argv = argv, .attempt = log_path, .log_path = log_path, .deadline_s = ASKED_S};
    DIT_TRY(suite_process_run(&params, &result));
    if (result.end == SUITE_PROCESS_TIMEOUT)
        return DIT_FAIL(DIT_ERR_TIMEOUT, "the engine did not list its devices within %d s", ASKED_S);
    if (result.end == SUITE_PROCESS_EXITED && result.exit_code == 0) return read_answer(log_path, out);
    suite_text_tail(log_path, reason, sizeof reason);
    return DIT_FAIL(DIT_ERR_ENVIRONMENT, "the engine cannot list its devices: %s",
                    reason[0] ? reason : "it ended without a message");
}

static dit_status ask(const char *engine, const char *backend, dit_json *out)
{
    char log_path[SUITE_PATH];
    const char *folder = getenv("TMPDIR");
    DIT_TRY(suite_path(log_path, "%s/ditbench-devices-XXXXXX", folder && *folder == '/' ? folder : "/tmp"));
    int file = mkstemp(log_path);
    if (file < 0) return DIT_FAIL(DIT_ERR_IO, "%s: %s", log_path, strerror(errno));
    close(file);
    dit_status st = run_engine(engine, backend, log_path, out);
    unlink(log_path);
    return st;
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

/* Devices that could be opened; the first that could not says why. */
static void take_list(const cJSON *root, suite_devices *out)
{
    const cJSON *device;
    out->list = root;
    cJSON_ArrayForEach(device, dit_json_member(root, "devices"))
    {
        const cJSON *memory = dit_json_member(device, "memory_bytes");
        int64_t bytes = cJSON_IsNumber(memory) ? (int64_t)memory->valuedouble : 0;
        if (dit_json_text_or(device, "error", "")[0]) {
            if (!out->reason[0]) snprintf(out->reason, sizeof out->reason, "%s", dit_json_text_or(device, "error", ""));
            continue;
        }
        out->count++;
        if (bytes && (!out->memory_bytes || bytes < out->memory_bytes)) out->memory_bytes = bytes;
    }
    if (out->count) return;
    if (dit_json_text_or(root, "message", "")[0])
        snprintf(out->reason, sizeof out->reason, "%s", dit_json_text_or(root, "message", ""));
    snprintf(out->hint, sizeof out->hint, "%s", dit_json_text_or(root, "hint", ""));
}

/* An answer that is kept: facts of the machine do not change while the harness runs. */
typedef struct {
    char engine[SUITE_PATH], backend[16]; /* "": free */
    dit_json answer;
    suite_devices devices;
} known_devices;

static void learn(const char *engine, const char *backend, known_devices *known)
{
    dit_json_release(&known->answer);
    *known = (known_devices){0};
    snprintf(known->engine, sizeof known->engine, "%s", engine);
    snprintf(known->backend, sizeof known->backend, "%s", backend);
    if (ask(engine, backend, &known->answer) == DIT_OK) {
        take_list(known->answer.root, &known->devices);
        return;
    }
    snprintf(known->devices.reason, sizeof known->devices.reason, "%s", dit_error_last()->message);
    snprintf(known->devices.hint, sizeof known->devices.hint, "%s", dit_error_last()->hint);
    dit_error_clear();
}

void suite_devices_find(const char *engine, const char *backend, suite_devices *out)
{
    static known_devices known[MOST_KNOWN];
    static int next;
    char path[SUITE_PATH];
    *out = (suite_devices){0};
    if (suite_launch_engine(engine, path) != DIT_OK) {
        snprintf(out->reason, sizeof out->reason, "%s", dit_error_last()->message);
        snprintf(out->hint, sizeof out->hint, "%s", dit_error_last()->hint);
        dit_error_clear();
        return;
    }
    for (int i = 0; i < MOST_KNOWN; i++) {
        if (strcmp(known[i].engine, path) != 0 || strcmp(known[i].backend, backend) != 0) continue;
        *out = known[i].devices;
        return;
    }
    learn(path, backend, &known[next]);
    *out = known[next].devices;
    next = (next + 1) % MOST_KNOWN;
}

void suite_devices_refusal(const suite_devices *devices, const char *backend, const suite_device_need *need,
                           char out[640])
{
    const double gib = 1024.0 * 1024 * 1024;
    int64_t bytes = need->memory_bytes * (need->shared ? need->ranks : 1);
    out[0] = '\0';
    if (devices->count < 1)
        snprintf(out, 640, "no device of backend %s: %s", backend,
                 devices->reason[0] ? devices->reason : "this machine has none");
    else if (need->ranks > devices->count && !need->shared)
        snprintf(out, 640, "%d ranks need %d devices of backend %s, this machine has %d", need->ranks, need->ranks,
                 backend, devices->count);
    else if (devices->memory_bytes && bytes > devices->memory_bytes)
        snprintf(out, 640, "the case needs %.1f GiB %s, a device of backend %s has %.1f GiB", (double)bytes / gib,
                 need->shared ? "over all ranks" : "per rank", backend, (double)devices->memory_bytes / gib);
}
