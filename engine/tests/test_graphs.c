/* Graphs over a device that only notes what it is asked for: when work is done directly, recorded, launched; what makes
 * two pieces of work the same; and that a launch counts what the recording counted. */
#include "base/log.h"
#include "engine/runtime/graphs.h"
#include "kernels/device_impl.h"

#include "base/tests/test.h"

enum { LOG_BYTES = 256, BYTES = 96, ROWS = 10 };

/* ---- the device -------------------------------------------------------------------------------------------------- */

struct dit_device_graph {
    char order[LOG_BYTES]; /* what was asked for while it was recorded */
};

typedef struct {
    dit_device device;
    bool recording, fails;
    int graphs;                              /* that were not freed */
    char queue[LOG_BYTES], order[LOG_BYTES]; /* done; being recorded */
} noting_device;

static void note(noting_device *d, const char *what)
{
    char *to = d->recording ? d->order : d->queue;
    strncat(to, what, LOG_BYTES - 1 - strlen(to));
}

static dit_status begin(dit_device *device)
{
    noting_device *d = (noting_device *)device;
    d->recording = true;
    d->order[0] = '\0';
    return DIT_OK;
}

static dit_status end(dit_device *device, dit_device_graph **out)
{
    noting_device *d = (noting_device *)device;
    d->recording = false;
    *out = NULL;
    if (d->fails) return DIT_FAIL(DIT_ERR_DEVICE, "recording is not for today");
    *out = calloc(1, sizeof **out);
    memcpy((*out)->order, d->order, sizeof d->order);
    d->graphs++;
    return DIT_OK;
}

static dit_status launch(dit_device *device, dit_device_graph *graph)
{
    note((noting_device *)device, "<");
    note((noting_device *)device, graph->order);
    note((noting_device *)device, ">");
    return DIT_OK;
}

static void free_graph(dit_device *device, dit_device_graph *graph)
{
    ((noting_device *)device)->graphs--;
    free(graph);
}

static int64_t record_event(dit_device *device)
{
    return ((noting_device *)device)->recording ? -1 : 0;
}

static const dit_device_ops noting = {.name = "noting",
                                      .record_event = record_event,
                                      .record_begin = begin,
                                      .record_end = end,
                                      .launch = launch,
                                      .graph_free = free_graph};
static const dit_device_ops unable = {.name = "unable"};

/* ---- work -------------------------------------------------------------------------------------------------------- */

typedef struct {
    noting_device device;
    dit_runtime rt;
    dit_graphs *graphs;
    const char *does;
    dit_status ends;
} fixture;

static dit_status work(void *context)
{
    fixture *f = context;
    dit_comm_counter *sent = &f->rt.counters.at[DIT_AXIS_RING][DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_STEP];
    note(&f->device, f->does);
    f->rt.flops.linear += 7, f->rt.flops.attention += 5;
    f->rt.flops.calls[DIT_OPERATOR_LINEAR] += 3;
    sent->bytes += BYTES, sent->messages += 2;
    return f->ends;
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    f->device.device.ops = &noting;
    f->rt.device = &f->device.device;
    f->does = "abc";
    *state = f;
    dit_log_set_level(DIT_LOG_ERROR);
    if (dit_timing_create(f->rt.device, &f->rt.timing) != DIT_OK) return -1;
    return dit_graphs_create(&f->rt, &f->graphs) == DIT_OK && f->graphs ? 0 : -1;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    dit_graphs_free(f->graphs);
    int left = f->device.graphs;
    dit_timing_free(f->rt.timing);
    free(f);
    return left;
}

static const dit_graph_key some_rows = {.count = ROWS, .band = -1, .text = true};

static void run(fixture *f, dit_graph_key key)
{
    assert_int_equal(dit_graphs_run(f->graphs, &key, work, f), DIT_OK);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void the_first_is_direct_the_second_recorded_later_ones_launched(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 4; i++) run(f, some_rows);
    assert_string_equal(f->device.queue, "abc<abc><abc><abc>");
    assert_int_equal(dit_graphs_launches(f->graphs), 3);
    assert_int_equal(f->device.graphs, 1);
    assert_null(dit_graphs_problem(f->graphs));
}

static void a_launch_counts_what_the_recording_counted(void **state)
{
    fixture *f = *state;
    const dit_comm_counter *sent = &f->rt.counters.at[DIT_AXIS_RING][DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_STEP];
    for (int i = 1; i <= 5; i++) {
        run(f, some_rows);
        assert_int_equal(sent->bytes, i * BYTES);
        assert_int_equal(sent->messages, i * 2);
        assert_true(f->rt.flops.linear == i * 7.0 && f->rt.flops.attention == i * 5.0 && f->rt.flops.other == 0);
        assert_int_equal(f->rt.flops.calls[DIT_OPERATOR_LINEAR], i * 3);
    }
    memset(&f->rt.counters, 0, sizeof f->rt.counters); /* a new account */
    f->rt.flops = (dit_flops){0};
    run(f, some_rows);
    assert_int_equal(sent->bytes, BYTES);
    assert_true(f->rt.flops.linear == 7.0);
}

static void other_rows_and_other_addresses_are_other_work(void **state)
{
    fixture *f = *state;
    static const char place[2];
    dit_graph_key others[] = {some_rows, some_rows, some_rows, some_rows, some_rows, some_rows};
    others[0].first = 1;
    others[1].count = ROWS + 1;
    others[2].text = false;
    others[3].in = place;
    others[4].out = place;
    others[5].beside = place + 1;
    run(f, some_rows), run(f, some_rows);
    f->does = "x";
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) run(f, others[i]);
    assert_string_equal(f->device.queue, "abc<abc>xxxxxx");
    run(f, others[4]);
    run(f, some_rows);
    assert_string_equal(f->device.queue, "abc<abc>xxxxxx<x><abc>");
}

static void more_keys_than_there_is_room_for_are_direct(void **state)
{
    fixture *f = *state;
    enum { KEYS = 40 };
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < KEYS; i++) {
            dit_graph_key key = some_rows;
            key.first = i;
            f->device.queue[0] = '\0';
            run(f, key);
            assert_true(strcmp(f->device.queue, "abc") == 0 || (round > 0 && strcmp(f->device.queue, "<abc>") == 0));
        }
    assert_string_equal(f->device.queue, "abc");
    assert_true(f->rt.flops.linear == 3 * KEYS * 7.0);
}

static void what_is_forgotten_begins_anew(void **state)
{
    fixture *f = *state;
    run(f, some_rows), run(f, some_rows);
    dit_graphs_forget(f->graphs);
    assert_int_equal(f->device.graphs, 0);
    f->does = "new";
    run(f, some_rows), run(f, some_rows), run(f, some_rows);
    assert_string_equal(f->device.queue, "abc<abc>new<new><new>");
    dit_graphs_forget(NULL);
}

static void what_cannot_be_recorded_is_done_directly_and_counted_once(void **state)
{
    fixture *f = *state;
    run(f, some_rows);
    f->device.fails = true;
    run(f, some_rows);
    assert_string_equal(f->device.queue, "abcabc");
    assert_string_equal(dit_graphs_problem(f->graphs), "recording is not for today");
    f->device.fails = false; /* it is not tried again */
    run(f, some_rows);
    assert_string_equal(f->device.queue, "abcabcabc");
    assert_int_equal(dit_graphs_launches(f->graphs), 0);
    assert_true(f->rt.flops.linear == 3 * 7.0);
}

static void work_that_fails_says_so(void **state)
{
    fixture *f = *state;
    f->ends = DIT_ERR_DEVICE;
    assert_int_equal(dit_graphs_run(f->graphs, &some_rows, work, f), DIT_ERR_DEVICE);
    f->ends = DIT_OK;
    run(f, some_rows);
    f->ends = DIT_ERR_DEVICE;
    assert_int_equal(dit_graphs_run(f->graphs, &some_rows, work, f), DIT_ERR_DEVICE);
    assert_int_equal(f->device.graphs, 0);
    assert_false(f->device.recording);
}

static void a_device_that_cannot_record_has_none(void **state)
{
    fixture *f = *state;
    dit_runtime rt = {0};
    dit_device device = {.ops = &unable};
    dit_graphs *none = f->graphs;
    assert_int_equal(dit_graphs_create(&rt, &none), DIT_OK);
    assert_null(none);
    rt.device = &device;
    assert_int_equal(dit_graphs_create(&rt, &none), DIT_OK);
    assert_null(none);
    assert_int_equal(dit_graphs_launches(none), 0);
    dit_graphs_free(none);
}

int main(void)
{
#define IN_FIXTURE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        IN_FIXTURE(the_first_is_direct_the_second_recorded_later_ones_launched),
        IN_FIXTURE(a_launch_counts_what_the_recording_counted),
        IN_FIXTURE(other_rows_and_other_addresses_are_other_work),
        IN_FIXTURE(more_keys_than_there_is_room_for_are_direct),
        IN_FIXTURE(what_is_forgotten_begins_anew),
        IN_FIXTURE(what_cannot_be_recorded_is_done_directly_and_counted_once),
        IN_FIXTURE(work_that_fails_says_so),
        IN_FIXTURE(a_device_that_cannot_record_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
