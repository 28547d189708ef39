/* What every test program begins with: cmocka, with the headers that it needs before it; assertions that say both
 * values; and a scratch folder.
 *
 * Assertions are macros, so that a failure names the line of the test. Each evaluates its arguments once.
 */
#ifndef DIT_BASE_TESTS_TEST_H
#define DIT_BASE_TESTS_TEST_H

#include "base/file.h"
#include "base/status.h"

#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __cplusplus
extern "C" {
#endif
#include <cmocka.h>
#ifdef __cplusplus
}
#endif

/* ---- assertions -------------------------------------------------------------------------------------------------- */

/* `got` is at most `tolerance` away from `want`. */
#define assert_near(got, want, tolerance)                                                                              \
    do {                                                                                                               \
        const double test_got = (got), test_want = (want);                                                             \
        if (!(fabs(test_got - test_want) <= (tolerance))) fail_msg("got %.17g, want %.17g", test_got, test_want);      \
    } while (0)

/* `got` is at most the share `relative` of `want` away from it. */
#define assert_close(got, want, relative)                                                                              \
    do {                                                                                                               \
        const double test_got = (got), test_want = (want);                                                             \
        if (!(fabs(test_got - test_want) <= (relative)*fabs(test_want)))                                               \
            fail_msg("got %.17g, want %.17g", test_got, test_want);                                                    \
    } while (0)

/* The call ends with DIT_OK; otherwise its message is printed. */
#define assert_ok(call)                                                                                                \
    do {                                                                                                               \
        const dit_status test_status = (call);                                                                         \
        if (test_status != DIT_OK) fail_msg("%s: %s", dit_status_name(test_status), dit_error_last()->message);        \
    } while (0)

/* The call fails with `status`, and its message contains `words`. */
#define assert_fails(call, status, words)                                                                              \
    do {                                                                                                               \
        const dit_status test_status = (call);                                                                         \
        const char *test_message = test_status == DIT_OK ? "" : dit_error_last()->message;                             \
        if (test_status != (status) || !strstr(test_message, words))                                                   \
            fail_msg("want %s with \"%s\", got %s: %s", dit_status_name(status), words, dit_status_name(test_status),  \
                     test_message);                                                                                    \
    } while (0)

#define assert_contains(text, part)                                                                                    \
    do {                                                                                                               \
        const char *test_text = (text), *test_part = (part);                                                           \
        if (!strstr(test_text, test_part)) fail_msg("\"%s\" is not in: %.2000s", test_part, test_text);                \
    } while (0)

/* ---- files ------------------------------------------------------------------------------------------------------- */

enum { TEST_FOLDER = 32 };

/* Makes a new folder and writes its path. Returns what cmocka wants of a set-up: 0, or -1 when it could not. */
static inline int test_folder_make(char folder[TEST_FOLDER])
{
    snprintf(folder, TEST_FOLDER, "/tmp/ditbench-test-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int test_entry_remove(const char *path, const struct stat *facts, int type, struct FTW *walk)
{
    (void)facts, (void)type, (void)walk;
    return remove(path);
}

/* Removes the folder with all that it holds. Returns 0, or -1. */
static inline int test_folder_remove(const char *folder)
{
    return nftw(folder, test_entry_remove, 16, FTW_DEPTH | FTW_PHYS) == 0 ? 0 : -1;
}

static inline void test_file_write(const char *path, const void *data, size_t bytes)
{
    const dit_file_piece piece = {data, bytes};
    assert_ok(dit_file_write(path, &piece, 1));
}

/* Makes a new file of these bytes and writes its path. The caller unlinks it. */
static inline void test_file_make(char path[TEST_FOLDER], const void *data, size_t bytes)
{
    snprintf(path, TEST_FOLDER, "/tmp/ditbench-test-XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, data, bytes), bytes);
    assert_int_equal(close(file), 0);
}

/* The whole file, with a NUL behind it; the caller frees. `length` may be NULL.
 * gcc 12 takes what it inlines here for a dangling pointer. */
__attribute__((noinline, unused)) static char *test_file_read(const char *path, size_t *length)
{
    char *text = NULL;
    size_t bytes = 0;
    assert_ok(dit_file_read(path, (size_t)64 << 20, &text, &bytes));
    if (length) *length = bytes;
    return text;
}

#endif
