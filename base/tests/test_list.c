/* Lists that grow by doubling: what was in them stays, and a count that no memory could hold is an error. */
#include "base/list.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_entries_stay(void **state)
{
    (void)state;
    int *list = NULL;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(dit_list_grow((void **)&list, i, sizeof *list), DIT_OK);
        list[i] = i * i;
    }
    for (int i = 0; i < 1000; i++) assert_int_equal(list[i], i * i);
    free(list);
}

static void test_too_many_entries(void **state)
{
    (void)state;
    void *list = malloc(1), *before = list;
    assert_int_equal(dit_list_grow(&list, INT_MAX / 2 + 1, SIZE_MAX / 4), DIT_ERR_MEMORY);
    assert_ptr_equal(list, before);
    dit_error_clear();
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_entries_stay), cmocka_unit_test(test_too_many_entries)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
