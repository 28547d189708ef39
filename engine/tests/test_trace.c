/* The trace's buffer and clock: order, nesting, wrapping, totals, offsets; and that nothing is allocated. */
#include "engine/timing/trace.h"

#include "base/tests/test.h"

static void start(dit_trace *trace, int64_t capacity)
{
    assert_int_equal(dit_trace_init(trace, capacity), DIT_OK);
}

static void record(dit_trace *trace, dit_trace_category category, const char *name, int64_t begin, int64_t end)
{
    dit_trace_record(trace, &(dit_trace_event){.name = name, .category = category, .begin_ns = begin, .end_ns = end});
}

static void events_carry_where_they_happened(void **state)
{
    dit_trace trace;
    (void)state;
    start(&trace, 8);
    record(&trace, DIT_TRACE_COMPUTE, "linear", 1, 2);
    trace.step = 3, trace.patch = 2, trace.layer = 4, trace.phase = "blocks";
    record(&trace, DIT_TRACE_COMPUTE, "attention", 2, 5);
    assert_int_equal(trace.events[0].step, -1);
    assert_int_equal(trace.events[0].patch, -1);
    assert_int_equal(trace.events[0].layer, -1);
    assert_null(trace.events[0].phase);
    assert_int_equal(trace.events[1].step, 3);
    assert_int_equal(trace.events[1].patch, 2);
    assert_int_equal(trace.events[1].layer, 4);
    assert_string_equal(trace.events[1].phase, "blocks");
    assert_int_equal(trace.events[1].sequence, 1);
    dit_trace_release(&trace);
}

/* An event is recorded at its end: the inner ones come first, also where the clock did not tick between. */
static void what_encloses_comes_before_what_it_encloses(void **state)
{
    static const char *const order[] = {"blocks", "block", "linear", "attention", "head", "copy"};
    dit_trace trace;
    (void)state;
    start(&trace, 8);
    record(&trace, DIT_TRACE_COMPUTE, "linear", 10, 20);
    record(&trace, DIT_TRACE_COMPUTE, "attention", 20, 30);
    record(&trace, DIT_TRACE_LAYER, "block", 10, 30);
    record(&trace, DIT_TRACE_PHASE, "blocks", 10, 30);
    record(&trace, DIT_TRACE_COMPUTE, "copy", 40, 41);
    record(&trace, DIT_TRACE_PHASE, "head", 39, 41);
    dit_trace_sort(&trace);
    for (int i = 0; i < 6; i++) assert_string_equal(trace.events[i].name, order[i]);
    dit_trace_release(&trace);
}

static void a_full_buffer_keeps_the_newest_and_counts_the_rest(void **state)
{
    dit_trace trace;
    (void)state;
    start(&trace, 5);
    int64_t calls = trace.ledger.calls;
    for (int64_t i = 0; i < 12; i++) record(&trace, DIT_TRACE_WAIT, "send_recv", i, i + 1);
    assert_int_equal(trace.ledger.calls, calls);
    assert_int_equal(calls, 1);
    assert_int_equal(dit_trace_held(&trace), 5);
    assert_int_equal(dit_trace_dropped(&trace), 7);
    dit_trace_sort(&trace);
    for (int64_t i = 0; i < 5; i++) assert_int_equal(trace.events[i].begin_ns, 7 + i);
    assert_int_equal(dit_trace_total_ns(&trace, DIT_TRACE_WAIT, NULL), 5);
    dit_trace_release(&trace);
}

static void totals_are_by_category_and_name(void **state)
{
    dit_trace trace;
    (void)state;
    start(&trace, 8);
    record(&trace, DIT_TRACE_COMPUTE, "linear", 0, 10);
    record(&trace, DIT_TRACE_COMPUTE, "linear", 20, 25);
    record(&trace, DIT_TRACE_COMPUTE, "norm", 30, 31);
    record(&trace, DIT_TRACE_WAIT, "all_to_all", 40, 90);
    assert_int_equal(dit_trace_total_ns(&trace, DIT_TRACE_COMPUTE, "linear"), 15);
    assert_int_equal(dit_trace_total_ns(&trace, DIT_TRACE_COMPUTE, NULL), 16);
    assert_int_equal(dit_trace_total_ns(&trace, DIT_TRACE_WAIT, NULL), 50);
    assert_int_equal(dit_trace_total_ns(&trace, DIT_TRACE_PHASE, NULL), 0);
    assert_int_equal(dit_trace_dropped(&trace), 0);
    dit_trace_release(&trace);
}

static void without_a_trace_nothing_is_recorded(void **state)
{
    (void)state;
    assert_int_equal(dit_trace_begin(NULL), 0);
    dit_trace_end(NULL, DIT_TRACE_COMPUTE, "linear", 0);
}

/* A clock that is `offset` ahead, barriers that are entered and left at uneven times: the bounds hold it, and the round
 * in which all came together makes them narrow. */
static void barriers_bound_the_offset_of_a_clock(void **state)
{
    enum { ROUNDS = 20 };
    static const int64_t offsets[] = {0, 123456789, -987654321};
    (void)state;
    for (int k = 0; k < 3; k++) {
        int64_t before[ROUNDS], after[ROUNDS], before_0[ROUNDS], after_0[ROUNDS];
        uint32_t random = 12345;
        for (int i = 0; i < ROUNDS; i++) {
            int64_t late[4];
            for (int j = 0; j < 4; j++) {
                random = random * 1664525u + 1013904223u;
                late[j] = i == 7 ? 10 : (int64_t)(random >> 16) % 5000;
            }
            int64_t entered = 100000 * i + late[0], entered_0 = 100000 * i + late[1];
            int64_t all_in = entered > entered_0 ? entered : entered_0;
            before[i] = entered + offsets[k], after[i] = all_in + late[2] + offsets[k];
            before_0[i] = entered_0, after_0[i] = all_in + late[3];
        }
        dit_trace_clock clock = {0};
        dit_trace_bound_offset(before, after, before_0, after_0, ROUNDS, &clock);
        int64_t error = clock.offset_ns - offsets[k];
        assert_true(llabs(error) <= clock.uncertainty_ns);
        assert_true(clock.uncertainty_ns <= 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_carry_where_they_happened),
        cmocka_unit_test(what_encloses_comes_before_what_it_encloses),
        cmocka_unit_test(a_full_buffer_keeps_the_newest_and_counts_the_rest),
        cmocka_unit_test(totals_are_by_category_and_name),
        cmocka_unit_test(without_a_trace_nothing_is_recorded),
        cmocka_unit_test(barriers_bound_the_offset_of_a_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
