/* Fixture of the workload tests: the shipped models beside platforms of known size, so that no count depends on the
 * machine the tests run on. */
#ifndef DIT_SUITE_TESTS_WORKLOAD_FIXTURE_H
#define DIT_SUITE_TESTS_WORKLOAD_FIXTURE_H

#include "suite/workload/load.h"
#include "suite/workload/workload.h"

#include "base/tests/test.h"

#include <sys/stat.h>

static char fixture_folder[TEST_FOLDER];

static inline void fixture_write(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", fixture_folder, name);
    test_file_write(path, text, strlen(text));
}

static inline void fixture_platform(const char *name, int devices, int max_ranks, const char *memory_bytes)
{
    char text[512], path[64];
    snprintf(text, sizeof text,
             "{\"schema\":\"ditbench.platform/1\",\"name\":\"%s\",\"backend\":\"cpu\",\"launcher\":\"mpirun\","
             "\"devices\":%d,\"max_ranks\":%d,\"memory_bytes\":%s,\"memory_scope\":\"host\"}",
             name, devices, max_ranks, memory_bytes);
    snprintf(path, sizeof path, "platforms/%s.json", name);
    fixture_write(path, text);
}

/* What lies in the folder of the shipped data, under the same name. */
static const char *const fixture_links[] = {
    "models",
    "vaes",
    "text_encoders",
    "accelerators",
    "links",
    "profiles",
    "platforms/any.json",
    "platforms/8xa100-sxm.json",
    "platforms/4xt4.json",
};
enum { FIXTURE_LINKS = sizeof fixture_links / sizeof *fixture_links };

static inline void fixture_link(const char *name)
{
    char target[512], path[256];
    snprintf(target, sizeof target, "%s/workloads/%s", DITBENCH_SOURCE_DIR, name);
    snprintf(path, sizeof path, "%s/%s", fixture_folder, name);
    assert_int_equal(symlink(target, path), 0);
}

static inline int fixture_setup(void **state)
{
    char path[256];
    (void)state;
    assert_int_equal(test_folder_make(fixture_folder), 0);
    snprintf(path, sizeof path, "%s/platforms", fixture_folder);
    assert_int_equal(mkdir(path, 0700), 0);
    for (int i = 0; i < FIXTURE_LINKS; i++) fixture_link(fixture_links[i]);
    fixture_platform("local-cpu", 2, 8, "68719476736");
    fixture_platform("tiny", 2, 0, "1073741824");
    return setenv("DITBENCH_WORKLOADS", fixture_folder, 1);
}

static inline int fixture_teardown(void **state)
{
    (void)state;
    return test_folder_remove(fixture_folder);
}

/* A workload of these members (a JSON text without the outer braces), which must be good. */
static inline suite_workload fixture_load(const char *members)
{
    suite_workload workload;
    char *text = NULL;
    int length = asprintf(&text, "{\"schema\":\"ditbench.workload/1\",\"name\":\"test\",%s}", members);
    assert_true(length > 0);
    dit_status st = suite_workload_parse(text, (size_t)length, "test.json", &workload);
    if (st != DIT_OK) fail_msg("%s: %s", dit_status_name(st), dit_error_last()->message);
    free(text);
    return workload;
}

/* A workload of these members, which must be refused. */
static inline dit_status fixture_refused(const char *members)
{
    suite_workload workload;
    char text[1024];
    int length = snprintf(text, sizeof text, "{\"schema\":\"ditbench.workload/1\",\"name\":\"test\",%s}", members);
    assert_true(length > 0 && (size_t)length < sizeof text);
    return suite_workload_parse(text, (size_t)length, "test.json", &workload);
}

/* A workload of these members, which must be of one cell that is dropped for `code`, with `reason` in its text. */
static inline void fixture_dropped(const char *members, dit_status code, const char *reason)
{
    suite_workload workload = fixture_load(members);
    assert_int_equal(workload.case_count, 0);
    assert_int_equal(workload.dropped_count, 1);
    if (workload.dropped[0].code != code || !strstr(workload.dropped[0].reason, reason))
        fail_msg("%s: %s", dit_status_name(workload.dropped[0].code), workload.dropped[0].reason);
    suite_workload_release(&workload);
}

/* An object of a case's document. */
static inline const cJSON *fixture_part(const suite_case *one, const char *key)
{
    const cJSON *part = cJSON_GetObjectItemCaseSensitive(one->document, key);
    assert_non_null(part);
    return part;
}

static inline double fixture_number(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

/* The tag of a case as text. */
static inline const char *fixture_tag(const suite_case *one, const char *tag)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(one->tags, tag);
    assert_non_null(item);
    assert_true(cJSON_IsString(item));
    return item->valuestring;
}

#endif
