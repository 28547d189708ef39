/* Simulations of attention layers: what a kernel takes, what is sent, the same bytes again, what masks and layouts
 * cost. Skipped without SimGrid. */
#include "suite/tests/simulator_fixture.h"
#include "suite/tests/workload_fixture.h"
#include "suite/workload/load.h"
#include "suite/workload/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A layer of `members` on 8 A100; *predicted_bytes: the closed form, fp32. */
static suite_simulated simulate_waiting(const char *members, const char *platform, bool waits, int64_t *predicted_bytes)
{
    char text[2048];
    suite_workload workload;
    suite_simulated out = {0};
    snprintf(text, sizeof text,
             "{\"schema\":\"ditbench.workload/1\",\"name\":\"s\",\"program\":\"attention\",\"defaults\":{\"platform\":"
             "\"%s\",\"profile\":\"pytorch-eager\",%s}%s}",
             platform, members, waits ? ",\"measure\":{\"waits\":true}" : "");
    if (suite_workload_parse(text, strlen(text), "s", &workload) != DIT_OK) fail_msg("%s", dit_error_last()->message);
    assert_int_equal(workload.case_count, 1);
    const suite_case *one = &workload.cases[0];
    dit_status st = suite_simulate_case(&params, one->document, one->world_size, platform, "pytorch-eager", &out);
    if (st != DIT_OK) fail_msg("%s: %s", members, dit_error_last()->message);
    if (predicted_bytes) *predicted_bytes = one->predicted_bytes;
    suite_workload_release(&workload);
    return out;
}

static suite_simulated simulate(const char *members, const char *platform, int64_t *predicted_bytes)
{
    return simulate_waiting(members, platform, false, predicted_bytes);
}

static double seconds(const char *members)
{
    return simulate(members, "8xa100-sxm", NULL).seconds;
}

#define LARGE "\"tokens\":16384,\"heads\":32,\"head_dim\":128"
#define LONG  "\"tokens\":65536,\"heads\":32,\"head_dim\":128"
#define SMALL "\"tokens\":4096,\"heads\":16,\"head_dim\":64,\"batch\":2"

/* The A100's kernel runs heads of 128 over 16384 keys at 204 TFLOP/s (workloads/accelerators/a100-sxm-80.json) and
 * starts in 4 us; under a mask a query sees half of the keys, and itself, and half of the last tile on each of 108
 * processors is waited for. */
static void one_rank_takes_what_its_kernel_takes(void **state)
{
    const double tokens = 16384, whole = 4 * tokens * tokens * 32 * 128 / 204e12, start = 4e-6;
    (void)state;
    suite_simulated out = simulate(LARGE ",\"method\":\"single\",\"world_size\":1", "8xa100-sxm", NULL);
    assert_true(fabs(out.seconds - whole - start) < 2e-9); /* records are in nanoseconds */
    assert_int_equal(out.sent_bytes, 0);
    double masked = seconds(LARGE ",\"method\":\"single\",\"world_size\":1,\"causal\":true");
    double last = (1 - 1 / 108.0) / 2 * 4 * 128 * tokens * 128 / (204e12 / 108);
    assert_true(fabs(masked - whole * (tokens + 1) / (2 * tokens) - last - start) < 2e-9);
}

static const char *const layers[] = {
    SMALL ",\"ulysses_degree\":4",
    SMALL ",\"ulysses_degree\":4,\"packed\":true",
    SMALL ",\"ring_degree\":4,\"causal\":true",
    SMALL ",\"ring_degree\":4,\"causal\":true,\"layout\":\"zigzag\"",
    SMALL ",\"ulysses_degree\":2,\"ring_degree\":4,\"causal\":true,\"layout\":\"stripe\",\"kv_heads\":4",
    SMALL ",\"ulysses_degree\":4,\"ring_degree\":2,\"packed\":true,\"kv_heads\":2",
    SMALL ",\"ring_degree\":4,\"attention\":\"token-ring\"",
    SMALL ",\"ring_degree\":4,\"attention\":\"all-gather\",\"causal\":true,\"layout\":\"zigzag\",\"kv_heads\":4",
    SMALL ",\"ring_degree\":4,\"attention\":\"lightseq\",\"causal\":true",
    SMALL
    ",\"ulysses_degree\":2,\"ring_degree\":4,\"attention\":\"double-ring\",\"inner_ring\":2,\"context_first\":true",
    "\"tokens\":4095,\"heads\":6,\"head_dim\":64,\"ulysses_degree\":4,\"pad_tokens\":true,\"pad_heads\":true",
};
enum { LAYERS = sizeof layers / sizeof *layers };

/* Both in the two bytes of the element. */
static void bytes_are_the_closed_form(void **state)
{
    (void)state;
    for (int i = 0; i < LAYERS; i++) {
        int64_t predicted = 0;
        suite_simulated out = simulate(layers[i], "8xa100-sxm", &predicted);
        assert_true(predicted > 0);
        assert_int_equal(out.sent_bytes, predicted);
    }
}

static void the_same_layer_takes_the_same_time(void **state)
{
    (void)state;
    for (int i = 0; i < LAYERS; i += 2) {
        suite_simulated first = simulate(layers[i], "8xl20", NULL);
        suite_simulated second = simulate(layers[i], "8xl20", NULL);
        assert_true(first.seconds == second.seconds);
        assert_int_equal(first.steps, second.steps);
        assert_int_equal(first.memory_bytes, second.memory_bytes);
    }
}

/* Of a basic ring of 4 the last rank has 7/4 of the mean work, of a zigzag one each the mean. Every hop of a
 * stripe is masked, and has last tiles that are waited for. */
static void layouts_cost_what_their_busiest_rank_has(void **state)
{
    (void)state;
    double basic = seconds(LONG ",\"ring_degree\":4,\"causal\":true,\"layout\":\"basic\"");
    double zigzag = seconds(LONG ",\"ring_degree\":4,\"causal\":true,\"layout\":\"zigzag\"");
    double stripe = seconds(LONG ",\"ring_degree\":4,\"causal\":true,\"layout\":\"stripe\"");
    double unmasked = seconds(LONG ",\"ring_degree\":4");
    assert_true(basic > 1.5 * zigzag && basic < 1.75 * zigzag);
    assert_true(stripe > zigzag && stripe < 1.05 * zigzag);
    assert_true(unmasked > 1.6 * zigzag && unmasked < 2 * zigzag);
}

/* Over two nodes every hop of a ring has a rank that waits for one link between them. In a double ring each of eight
 * ranks has a link of its own, for a message that has eight hops of time. */
static void inner_rings_keep_to_their_node(void **state)
{
    const char *const ring = "\"tokens\":65536,\"heads\":8,\"head_dim\":128,\"ring_degree\":16";
    char members[256];
    double seconds[3];
    (void)state;
    snprintf(members, sizeof members, "%s,\"attention\":\"ring\"", ring);
    seconds[0] = simulate(members, "2x8xh100-sxm", NULL).seconds;
    for (int i = 1; i < 3; i++) {
        snprintf(members, sizeof members, "%s,\"attention\":\"double-ring\",\"inner_ring\":%d", ring, i == 1 ? 16 : 8);
        seconds[i] = simulate(members, "2x8xh100-sxm", NULL).seconds;
    }
    assert_true(seconds[1] <= seconds[0] && seconds[1] > 0.98 * seconds[0]); /* the profile wraps its ring */
    assert_true(seconds[2] < 0.9 * seconds[0]);
}

static void expect_not_simulated(const char *members)
{
    char text[512];
    suite_workload workload;
    snprintf(text, sizeof text,
             "{\"schema\":\"ditbench.workload/1\",\"name\":\"s\",\"program\":\"attention\",\"defaults\":{"
             "\"platform\":\"8xa100-sxm\",\"profile\":\"pytorch-eager\",%s," SMALL "}}",
             members);
    assert_int_equal(suite_workload_parse(text, strlen(text), "s", &workload), DIT_OK);
    assert_int_equal(workload.case_count, 0);
    assert_int_equal(workload.dropped[0].code, DIT_ERR_UNSUPPORTED);
    suite_workload_release(&workload);
}

/* Its rows of scores are no operator's. */
static void ring_self_attention_is_not_simulated(void **state)
{
    (void)state;
    expect_not_simulated("\"attention\":\"ring-self-attention\",\"ring_degree\":4");
}

/* No accelerator's kernel that skips by them has been timed. */
static void masks_are_not_simulated(void **state)
{
    (void)state;
    expect_not_simulated("\"mask\":\"window\"");
}

/* Of small layers the host is the bottleneck: an exchange for all of q, k and v costs it less than one for each. */
static void packing_spares_the_host(void **state)
{
    (void)state;
    double apart = seconds("\"tokens\":512,\"heads\":8,\"head_dim\":64,\"ulysses_degree\":8");
    double packed = seconds("\"tokens\":512,\"heads\":8,\"head_dim\":64,\"ulysses_degree\":8,\"packed\":true");
    assert_true(packed < 0.7 * apart);
}

/* Who waits after every forward issues its first kernel, in 20 us, while the device has nothing to do; the others are
 * issued in time. */
static void waiting_costs_the_issue_of_the_first_kernel(void **state)
{
    const char *const layer = LARGE ",\"ulysses_degree\":2";
    (void)state;
    double ahead = simulate_waiting(layer, "8xa100-sxm", false, NULL).seconds;
    double waiting = simulate_waiting(layer, "8xa100-sxm", true, NULL).seconds;
    assert_true(fabs(waiting - ahead - 20e-6) < 0.1e-6);
}

/* Apart and not packed, a ring of the stack copies what it exchanges with itself; packed, it does not. */
static void a_ring_exchanges_with_itself(void **state)
{
    (void)state;
    double apart = seconds(LARGE ",\"ring_degree\":4"), packed = seconds(LARGE ",\"ring_degree\":4,\"packed\":true");
    double bytes = 16384 / 4 * 32 * 128 * 2; /* of one of q, k, v and the result: four times, each read and written */
    assert_true(apart - packed > 4 * 2 * bytes / 2.039e12);
    suite_simulated one = simulate(LARGE ",\"ring_degree\":4,\"packed\":true", "8xa100-sxm", NULL);
    assert_int_equal(one.sent_bytes, simulate(LARGE ",\"ring_degree\":4", "8xa100-sxm", NULL).sent_bytes);
}

static void other_programs_are_refused(void **state)
{
    suite_simulated out;
    cJSON *document = cJSON_Parse("{\"schema\":\"ditbench.case/1\",\"program\":\"golden\",\"platform\":{}}");
    (void)state;
    assert_non_null(document);
    assert_true(suite_simulate_case(&params, document, 1, "8xa100-sxm", "pytorch-eager", &out) != DIT_OK);
    assert_non_null(strstr(dit_error_last()->message, "denoise and attention are"));
    cJSON_Delete(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_takes_what_its_kernel_takes),
        cmocka_unit_test(bytes_are_the_closed_form),
        cmocka_unit_test(the_same_layer_takes_the_same_time),
        cmocka_unit_test(layouts_cost_what_their_busiest_rank_has),
        cmocka_unit_test(inner_rings_keep_to_their_node),
        cmocka_unit_test(ring_self_attention_is_not_simulated),
        cmocka_unit_test(masks_are_not_simulated),
        cmocka_unit_test(packing_spares_the_host),
        cmocka_unit_test(waiting_costs_the_issue_of_the_first_kernel),
        cmocka_unit_test(a_ring_exchanges_with_itself),
        cmocka_unit_test(other_programs_are_refused),
    };
    if (!has_simulator()) return DIT_EXIT_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
