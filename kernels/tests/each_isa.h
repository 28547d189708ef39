/* For test programs of what depends on the instruction set: their tests run once on each that this machine has, under
 * the name "test (avx2)"; one that it lacks is a skip with the reason. Include it once in a program.
 *
 * A test finds the instruction set in DITBENCH_ISA, where dit_kernels_get("cpu") finds it, too. Tests have no fixtures
 * of their own; the group may.
 */
#ifndef DIT_KERNELS_TESTS_EACH_ISA_H
#define DIT_KERNELS_TESTS_EACH_ISA_H

#include "base/tests/test.h"
#include "kernels/kernels.h"

enum { EACH_ISA_MOST = 96, EACH_ISA_NAME = 160 };

typedef struct {
    struct CMUnitTest tests[EACH_ISA_MOST];
    char names[EACH_ISA_MOST][EACH_ISA_NAME];
    size_t count;
} each_isa_list;

static each_isa_list each_isa_tests;
static char each_isa_found[32]; /* DITBENCH_ISA as the program was started, "" for none */

static int each_isa_lower(void **state)
{
    return setenv("DITBENCH_ISA", *state, 1);
}

static int each_isa_restore(void **state)
{
    (void)state;
    return each_isa_found[0] ? setenv("DITBENCH_ISA", each_isa_found, 1) : unsetenv("DITBENCH_ISA");
}

/* The test's name says SKIP: what cmocka 1.1.5 writes for skip() begins with "not ok". */
static void each_isa_lacks(void **state)
{
    (void)state;
}

static struct CMUnitTest *each_isa_next(each_isa_list *list)
{
    if (list->count < EACH_ISA_MOST) return &list->tests[list->count++];
    fprintf(stderr, "each_isa.h: more than %d tests\n", EACH_ISA_MOST);
    exit(1);
}

static void each_isa_add(each_isa_list *list, const struct CMUnitTest *test, const char *isa)
{
    struct CMUnitTest *next = each_isa_next(list);
    char *name = list->names[list->count - 1];
    bool here = dit_kernels_has_isa(isa);
    snprintf(name, EACH_ISA_NAME,
             here ? "%s (%s)" : "%s # SKIP (%s) this processor lacks it, or DITBENCH_ISA forbids it", test->name, isa);
    *next = *test;
    next->name = name;
    next->initial_state = (void *)isa;
    next->setup_func = here ? each_isa_lower : NULL;
    next->teardown_func = here ? each_isa_restore : NULL;
    if (!here) next->test_func = each_isa_lacks;
}

/* Runs `each` of the tests on every instruction set, then the `others` (NULL: none) once. `set_up`, `tear_down`: of the
 * group, or NULL. Returns the number of failures, for main. */
static int run_on_each_isa(const struct CMUnitTest *each, size_t count, const struct CMUnitTest *others, size_t more,
                           CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    each_isa_list *list = &each_isa_tests;
    const char *isa, *found = getenv("DITBENCH_ISA");
    if (found) snprintf(each_isa_found, sizeof each_isa_found, "%s", found);
    for (int i = 0; (isa = dit_kernels_isa_at(i)); i++)
        for (size_t t = 0; t < count; t++) each_isa_add(list, &each[t], isa);
    for (size_t t = 0; t < more; t++) *each_isa_next(list) = others[t];
    return _cmocka_run_group_tests("tests", list->tests, list->count, set_up, tear_down);
}

#define RUN_ON_EACH_ISA(each, set_up, tear_down)                                                                       \
    run_on_each_isa(each, sizeof each / sizeof *each, NULL, 0, set_up, tear_down)

#endif
