/* What operators and messages cost a simulated rank, without SimGrid: a clock and a table of links answer in its place.
 */
#include "engine/sim/sim.h"

#include "base/clock.h"
#include "kernels/cost/read.h"

#include "base/tests/test.h"

/* ---- in SimGrid's place ------------------------------------------------------------------------------------------ */

static double clock_s;

static double now_s(void)
{
    return clock_s;
}

static void pass(double seconds)
{
    clock_s += seconds;
}

enum { FAST = 200, SLOW = 20 }; /* GB/s */

/* device3 is slow to reach; device9 is not there. */
static double bandwidth(const char *from, const char *to)
{
    if (strcmp(from, to) == 0 || strcmp(from, "device9") == 0 || strcmp(to, "device9") == 0) return 0;
    return 1e9 * (strcmp(to, "device3") == 0 ? SLOW : FAST);
}

static const dit_sim_grid grid = {.now_s = now_s, .pass = pass, .bandwidth = bandwidth};

/* ---- a rank ------------------------------------------------------------------------------------------------------ */

static const char nvlink[] = "\"inside\":\"nvlink\",\"nvswitch\":true,\"devices_per_node\":8,"
                             "\"bandwidth_bytes_per_s\":200e9,\"inside_many_peers_efficiency\":0.5";
static const char cores[] = "\"inside\":\"memory\",\"devices_per_node\":8,"
                            "\"bandwidth_bytes_per_s\":10e9,\"inside_latency_s\":1e-6";

/* A rank of `ranks` on A100s in fp16, with a profile and links. */
static dit_sim *open_rank(const char *profile, const char *links, int ranks)
{
    char text[1024];
    dit_json doc;
    dit_sim *sim;
    clock_s = 0;
    snprintf(text, sizeof text,
             "{\"simulation\":{\"accelerator\":\"%s/workloads/accelerators/a100-sxm-80.json\","
             "\"profile\":\"%s/workloads/profiles/%s.json\",\"element\":\"fp16\",%s}}",
             DITBENCH_SOURCE_DIR, DITBENCH_SOURCE_DIR, profile, links);
    assert_ok(dit_json_parse(text, strlen(text), "case", &doc));
    assert_ok(dit_sim_create(&grid, &sim));
    assert_ok(dit_sim_read(sim, &doc, ranks));
    dit_json_release(&doc);
    return sim;
}

static void close_rank(dit_sim *sim)
{
    dit_cost_set_hook(NULL, NULL);
    dit_sim_free(sim);
}

static dit_cost_group group_of(const dit_sim *sim, int ranks)
{
    static const int all[] = {0, 1, 2, 3, 4, 5, 6, 7};
    return dit_sim_links_group(dit_sim_get_links(sim), all, ranks);
}

static const dit_cost_op product = {.kind = DIT_COST_OP_LINEAR,
                                    .flops = 2.0 * 8192 * 8192 * 8192,
                                    .rows = 8192,
                                    .n = 8192,
                                    .k = 8192,
                                    .pieces = 1,
                                    .elements = 8192 * 8192};
static const dit_cost_op small = {.kind = DIT_COST_OP_NORM, .elements = 1 << 20};

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static void messages_cost_their_issue_the_librarys_latency_and_the_links(void **state)
{
    dit_sim *sim = open_rank("ditbench", nvlink, 4);
    dit_cost_group group = group_of(sim, 4);
    dit_cost_exchange nccl = dit_cost_exchange_of(&group, DIT_COST_ALL_GATHER, 4e6);
    (void)state;
    assert_true(nccl.front_latency_s > 0);
    assert_false(dit_sim_issue(sim));
    assert_near(dit_sim_host_now(sim), 8e-6, 1e-15); /* collective_dispatch_s of the profile */
    assert_near(dit_sim_enter(sim, &group, DIT_COST_ALL_GATHER, 8e6, false), 1 / nccl.bandwidth_factor, 1e-12);
    assert_near(clock_s, 8e-6 + nccl.front_latency_s, 1e-15);
    pass(1e-3); /* what SimGrid makes of the messages */
    dit_sim_leave(sim);
    assert_near(dit_sim_device_now(sim), 8e-6 + nccl.front_latency_s + 1e-3, 1e-15);
    assert_near(dit_sim_now(sim), dit_sim_device_now(sim), 0);
    close_rank(sim);
}

static void bytes_on_the_links_are_the_simulations(void **state)
{
    dit_sim *sim = open_rank("ditbench", nvlink, 4);
    (void)state;
    assert_int_equal(dit_sim_element_bytes(sim), 2);
    assert_int_equal(dit_sim_wire(sim, 4000, 1), 2000);
    assert_int_equal(dit_sim_wire(sim, 4000, 1.5), 3000);
    assert_int_equal(dit_sim_wire(sim, 4004, 1), 2004); /* whole floats */
    assert_int_equal(dit_sim_wire(sim, 0, 2), 0);
    close_rank(sim);
}

/* All peers at once: the ranks' ends are slower than the links. */
static void a_collective_lasts_as_long_as_its_ranks_own_ends(void **state)
{
    dit_sim *sim = open_rank("ditbench", nvlink, 8);
    dit_cost_group group = group_of(sim, 8);
    assert_near(group.ends_bytes_per_s, 200e9, 0);
    group.ends_bytes_per_s = group.ring_bandwidth_bytes_per_s; /* nothing slower lies between two ranks */
    dit_cost_exchange nccl = dit_cost_exchange_of(&group, DIT_COST_ALL_TO_ALL, 32e6);
    (void)state;
    assert_true(nccl.ends_s > 0);
    (void)dit_sim_enter(sim, &group, DIT_COST_ALL_TO_ALL, 64e6, false);
    dit_sim_leave(sim);
    assert_near(dit_sim_now(sim), nccl.ends_s, 1e-12);
    (void)dit_sim_enter(sim, &group, DIT_COST_ALL_TO_ALL, 64e6, false);
    pass(1);
    dit_sim_leave(sim);
    assert_near(dit_sim_now(sim), nccl.ends_s + nccl.front_latency_s + 1, 1e-12);
    close_rank(sim);
}

static void gathers_begun_one_after_the_other_take_turns(void **state)
{
    dit_sim *sim = open_rank("ditbench", nvlink, 4);
    dit_cost_group group = group_of(sim, 4);
    dit_cost_exchange nccl = dit_cost_exchange_of(&group, DIT_COST_ALL_GATHER, 32e6);
    (void)state;
    (void)dit_sim_enter(sim, &group, DIT_COST_ALL_GATHER, 64e6, true);
    double first_s = dit_sim_done_after(sim, 0);
    assert_near(first_s, nccl.seconds, 1e-12);
    assert_near(dit_sim_done_after(sim, first_s), 2 * nccl.seconds, 1e-12);
    dit_sim_not_before(sim, first_s);
    assert_near(clock_s, first_s, 1e-12);
    dit_sim_not_before(sim, 0);
    assert_near(clock_s, first_s, 1e-12);
    close_rank(sim);
}

/* ---- beside computation ------------------------------------------------------------------------------------------ */

static double seconds_of(dit_sim *sim, const dit_cost_op *op)
{
    double before_s = dit_sim_device_now(sim);
    dit_sim_charge(sim, op);
    return dit_sim_device_now(sim) - before_s;
}

static void operators_are_slower_beside_messages_and_not_behind_them(void **state)
{
    dit_sim *sim = open_rank("ditbench", nvlink, 4);
    dit_cost_group group = group_of(sim, 4);
    (void)state;
    double alone_s = seconds_of(sim, &product);
    (void)dit_sim_enter(sim, &group, DIT_COST_SEND_RECV, 1e6, false);
    dit_sim_leave(sim);
    assert_near(seconds_of(sim, &product), alone_s, 1e-5);
    (void)dit_sim_enter(sim, &group, DIT_COST_SEND_RECV, 1e12, true);
    dit_sim_leave(sim);
    assert_true(seconds_of(sim, &product) > 1.1 * alone_s);
    dit_sim_wait_until(sim, 1e6);
    assert_near(seconds_of(sim, &product), alone_s, 1e-5);
    close_rank(sim);
}

static void left_out_messages_hold_processors_too(void **state)
{
    dit_sim *sim = open_rank("ditbench", nvlink, 4);
    dit_cost_group group = group_of(sim, 4);
    (void)state;
    double alone_s = seconds_of(sim, &product);
    dit_sim_pass_over(sim, &group, 1e12);
    assert_near(clock_s, 0, 0);
    assert_true(seconds_of(sim, &product) > 1.1 * alone_s);
    close_rank(sim);
}

static int started;
static dit_status start(void *context)
{
    started++;
    return context ? DIT_OK : DIT_FAIL(DIT_ERR_MPI, "nothing to start");
}

static void compute(int64_t elements)
{
    static float x[64];
    dit_kernels_cost()->copy(NULL, &(dit_copy_args){.n0 = 1, .n1 = 1, .n2 = 1, .inner = elements, .src = x, .dst = x});
}

/* Eager PyTorch: the device is behind, so that the next kernel is there before the messages. */
static void messages_behind_a_busy_device_start_with_the_next_operator(void **state)
{
    dit_sim *sim = open_rank("pytorch-eager", nvlink, 4);
    (void)state;
    assert_false(dit_sim_issue(sim));
    dit_sim_charge(sim, &product);
    assert_true(dit_sim_issue(sim));
    started = 0;
    dit_sim_put_off(sim, start, sim);
    dit_sim_charge(sim, &small); /* no call of an operator's */
    assert_int_equal(started, 0);
    compute(64);
    compute(64);
    assert_int_equal(started, 1);
    dit_sim_put_off(sim, start, sim);
    assert_ok(dit_sim_start_put_off(sim));
    assert_ok(dit_sim_start_put_off(sim));
    assert_int_equal(started, 2);
    close_rank(sim);
}

static dit_status start_messages(void *context)
{
    dit_cost_group group = group_of(context, 4);
    dit_sim_enter(context, &group, DIT_COST_SEND_RECV, 1e3, true);
    dit_sim_leave(context);
    return DIT_OK;
}

/* By hand: the operator has the processors first, so messages start with its last tiles. */
static void messages_wait_for_the_last_tiles_of_the_next_operator(void **state)
{
    const dit_cost_op attention = {.kind = DIT_COST_OP_ATTENTION,
                                   .attention = {.B = 1, .H = 24, .Sq = 4096, .Sk = 4096, .D = 128, .seen = 1},
                                   .elements = 1};
    dit_sim *sim = open_rank("pytorch-eager", nvlink, 4);
    dit_cost_profile eager;
    dit_cost_device a100;
    (void)state;
    assert_ok(dit_cost_profile_read(DITBENCH_SOURCE_DIR "/workloads/profiles/pytorch-eager.json", &eager));
    assert_ok(
        dit_cost_device_read(DITBENCH_SOURCE_DIR "/workloads/accelerators/a100-sxm-80.json", "fp16", &eager, &a100));
    assert_near(eager.kernels_before_messages, 1, 0);
    dit_cost_group group = group_of(sim, 4);
    dit_cost_time time = dit_cost_op_time(&a100, &eager, &attention);
    assert_true(time.last_s < 0.5 * time.device_s);
    dit_sim_charge(sim, &product);
    assert_true(dit_sim_issue(sim));
    double begins_s = dit_sim_device_now(sim);
    dit_sim_put_off(sim, start_messages, sim);
    dit_sim_charge(sim, &attention);
    assert_ok(dit_sim_start_put_off(sim));
    double front_s = dit_cost_exchange_of(&group, DIT_COST_SEND_RECV, 1e3 / 2).front_latency_s;
    assert_near(clock_s, begins_s + (time.device_s - time.last_s) + front_s, 1e-12);
    close_rank(sim);
}

static void what_could_not_be_started_is_told_whoever_asks_next(void **state)
{
    dit_sim *sim = open_rank("pytorch-eager", nvlink, 4);
    (void)state;
    started = 0;
    dit_sim_put_off(sim, start, NULL);
    compute(64);
    assert_fails(dit_sim_start_put_off(sim), DIT_ERR_MPI, "nothing to start");
    dit_sim_put_off(sim, start, sim);
    assert_int_equal(dit_sim_start_put_off(sim), DIT_ERR_MPI);
    assert_int_equal(started, 1);
    close_rank(sim);
}

static void a_library_that_adds_while_it_sends_adds_for_nothing(void **state)
{
    dit_sim *sim = open_rank("ditbench", nvlink, 4);
    (void)state;
    dit_sim_set_free_of_charge(sim, true);
    compute(1 << 20);
    assert_near(dit_sim_now(sim), 0, 0);
    dit_sim_set_free_of_charge(sim, false);
    compute(1 << 20);
    assert_true(dit_sim_now(sim) > 0);
    close_rank(sim);
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

static void the_first_entry_of_a_batch_carries_all(void **state)
{
    dit_sim *sim = open_rank("pytorch-eager", nvlink, 4);
    dit_guest guest = dit_sim_guest(sim);
    int64_t bytes = 100;
    (void)state;
    assert_true(dit_sim_batch(sim, &bytes));
    assert_int_equal(bytes, 100);
    dit_guest_begin_entry(&guest, 0, 3);
    assert_true(dit_sim_batch(sim, &bytes));
    assert_int_equal(bytes, 300);
    dit_sim_charge(sim, &small);
    double host_s = dit_sim_host_now(sim), device_s = dit_sim_device_now(sim);
    dit_guest_begin_entry(&guest, 1, 3);
    assert_false(dit_sim_batch(sim, &bytes));
    dit_sim_charge(sim, &small);
    assert_near(dit_sim_host_now(sim), host_s, 0);
    assert_true(dit_sim_device_now(sim) > device_s);
    dit_guest_begin_entry(&guest, 0, 1);
    dit_sim_charge(sim, &small);
    assert_true(dit_sim_host_now(sim) > host_s);
    close_rank(sim);
}

/* ---- cores of one host ------------------------------------------------------------------------------------------- */

static void cores_pay_for_their_messages_themselves(void **state)
{
    dit_sim *sim = open_rank("cpu", cores, 8);
    dit_cost_group group = group_of(sim, 8);
    dit_guest guest = dit_sim_guest(sim);
    int64_t bytes = 100;
    (void)state;
    dit_sim_copy(sim, 3, 1e9);
    assert_near(dit_sim_device_now(sim), 3e-6 + 0.1, 1e-12);
    dit_sim_copy(sim, 0, 1e9);
    assert_near(dit_sim_device_now(sim), 3e-6 + 0.1, 1e-12);
    assert_near(dit_sim_enter(sim, &group, DIT_COST_ALL_TO_ALL, 1e9, false), 1, 0);
    dit_sim_leave(sim);
    assert_near(dit_sim_device_now(sim), 3e-6 + 0.1, 1e-12);
    dit_guest_begin_entry(&guest, 1, 2); /* this engine's own ranks exchange entry by entry */
    assert_true(dit_sim_batch(sim, &bytes));
    assert_int_equal(bytes, 100);
    close_rank(sim);
    sim = open_rank("ditbench", nvlink, 8);
    dit_sim_copy(sim, 3, 1e9);
    assert_near(dit_sim_now(sim), 0, 0);
    close_rank(sim);
}

/* ---- links ------------------------------------------------------------------------------------------------------- */

static const char nodes[] = "\"inside\":\"nvlink\",\"devices_per_node\":2,\"node_devices\":4,\"adapters_per_node\":2,"
                            "\"bandwidth_bytes_per_s\":200e9,\"network_bandwidth_bytes_per_s\":10e9";

static void a_group_has_the_links_between_its_ranks(void **state)
{
    dit_sim *sim = open_rank("ditbench", nodes, 4);
    const dit_sim_links *links = dit_sim_get_links(sim);
    (void)state;
    /* Ranks 0, 1 are devices 0, 1 of a node; ranks 2, 3 are devices 4, 5, the first of the next. */
    dit_cost_group pair = dit_sim_links_group(links, (const int[]){0, 1}, 2);
    assert_int_equal(pair.nodes, 1);
    assert_near(pair.bandwidth_bytes_per_s, FAST * 1e9, 0);
    dit_cost_group across = dit_sim_links_group(links, (const int[]){0, 2}, 2);
    assert_int_equal(across.nodes, 2);
    assert_near(across.network_bandwidth_bytes_per_s, 10e9, 0); /* one rank a node has one adapter */
    dit_cost_group all = dit_sim_links_group(links, (const int[]){0, 1, 2, 3}, 4);
    assert_int_equal(all.nodes, 2);
    assert_near(all.network_bandwidth_bytes_per_s, 20e9, 0);
    close_rank(sim);
}

static void the_narrowest_route_is_that_of_a_ring(void **state)
{
    dit_sim *sim = open_rank("ditbench", nvlink, 8);
    (void)state;
    assert_near(group_of(sim, 3).ring_bandwidth_bytes_per_s, FAST * 1e9, 0);
    assert_near(group_of(sim, 4).ring_bandwidth_bytes_per_s, SLOW * 1e9, 0);
    /* A device that is not there shares the host: the case says how fast that is. */
    dit_cost_group unknown = dit_sim_links_group(dit_sim_get_links(sim), (const int[]){9}, 1);
    assert_near(unknown.ring_bandwidth_bytes_per_s, 200e9, 0);
    close_rank(sim);
}

/* ---- hops -------------------------------------------------------------------------------------------------------- */

static void long_rings_are_told_by_their_first_hops(void **state)
{
    dit_sim_hops hops = dit_sim_hops_of(3);
    dit_sim_ring ring = {0};
    (void)state;
    for (int turn = 0; turn < 2; turn++)
        for (int hop = 0; hop < 7; hop++) {
            assert_int_equal(dit_sim_hops_next(&hops, &ring, 7), hop >= 3);
            double began_s = ring.ended_s;
            if (hop < 3)
                dit_sim_hops_arrived(&hops, &ring, began_s + (hop ? 2 : 5));
            else
                assert_near(dit_sim_hops_due(&ring), began_s + 2, 0);
        }
    assert_true(hops.any);
    assert_near(hops.longest, 2, 0);
    assert_near(hops.shortest, 2, 0);
    assert_near(hops.unlike, 0, 0);
}

static void short_rings_are_simulated_whole(void **state)
{
    dit_sim_hops some = dit_sim_hops_of(3), all = dit_sim_hops_of(0);
    dit_sim_ring ring = {0}, other = {0};
    (void)state;
    for (int hop = 0; hop < 12; hop++) {
        assert_false(dit_sim_hops_next(&some, &ring, 6));
        dit_sim_hops_arrived(&some, &ring, hop);
        assert_false(dit_sim_hops_next(&all, &other, 12));
        dit_sim_hops_arrived(&all, &other, hop);
    }
    assert_false(some.any || all.any);
}

/* The last of the first hops took longer than the one before it. */
static void hops_that_still_change_are_told_apart(void **state)
{
    dit_sim_hops hops = dit_sim_hops_of(2);
    dit_sim_ring ring = {0};
    (void)state;
    for (int hop = 0; hop < 2; hop++) {
        (void)dit_sim_hops_next(&hops, &ring, 9);
        dit_sim_hops_arrived(&hops, &ring, hop ? 5 : 1);
    }
    assert_near(hops.unlike, 0.75, 1e-12);
}

/* ---- the clock --------------------------------------------------------------------------------------------------- */

static void the_engines_clock_is_virtual(void **state)
{
    dit_sim *sim = open_rank("ditbench", nvlink, 4);
    dit_guest guest = dit_sim_guest(sim);
    (void)state;
    dit_sim_set_clock(sim);
    assert_int_equal(dit_clock_ns(), 0);
    dit_sim_wait_until(sim, 1.5e-6);
    assert_int_equal(dit_clock_ns(), 1500);
    assert_near(dit_guest_now_s(&guest), 1.5e-6, 0);
    assert_near(dit_sim_host_now(sim), 0, 0);
    dit_sim_synchronise(sim);
    assert_near(dit_sim_host_now(sim), 1.5e-6, 0);
    assert_near(clock_s, 1.5e-6, 0);
    dit_clock_set_source(NULL, NULL);
    close_rank(sim);
}

/* ---- pieces that a census counts --------------------------------------------------------------------------------- */

/* A rank with the software whose operators are counted, and FLUX.1-dev as its case's model, with other latents where
 * `changed`; one of `ulysses` that share its sequence. */
static dit_sim *open_shared(bool changed, int ulysses)
{
    char text[2048];
    dit_json doc;
    dit_sim *sim;
    clock_s = 0;
    snprintf(text, sizeof text,
             "{\"simulation\":{\"accelerator\":\"%s/workloads/accelerators/a100-sxm-80.json\","
             "\"profile\":\"%s/workloads/profiles/pytorch-eager-2025.json\",\"element\":\"fp16\",%s},"
             "\"model\":{\"config\":{\"_class_name\":\"FluxTransformer2DModel\",\"attention_head_dim\":128,"
             "\"axes_dims_rope\":[16,56,56],\"guidance_embeds\":true,\"in_channels\":%d,\"joint_attention_dim\":4096,"
             "\"num_attention_heads\":24,\"num_layers\":19,\"num_single_layers\":38,\"out_channels\":null,"
             "\"patch_size\":1,\"pooled_projection_dim\":768}},\"parallel\":{\"ulysses_degree\":%d}}",
             DITBENCH_SOURCE_DIR, DITBENCH_SOURCE_DIR, nvlink, changed ? 32 : 64, ulysses);
    assert_ok(dit_json_parse(text, strlen(text), "case", &doc));
    assert_ok(dit_sim_create(&grid, &sim));
    assert_ok(dit_sim_read(sim, &doc, ulysses));
    dit_json_release(&doc);
    return sim;
}

static dit_sim *open_counted(bool changed)
{
    return open_shared(changed, 1);
}

static const dit_piece double_block = {
    .kind = DIT_PIECE_BLOCK, .batch = 1, .branches = 1, .image_rows = 4096, .text_rows = 512, .segments = 1};

/* What a call of an operator adds to the host's and the device's time. */
static double added_by(const dit_sim *sim, void (*call)(const dit_guest *), const dit_guest *guest)
{
    double before_s = dit_sim_host_now(sim) + dit_sim_device_now(sim);
    call(guest);
    return dit_sim_host_now(sim) + dit_sim_device_now(sim) - before_s;
}

static void call_norm(const dit_guest *guest)
{
    guest->kernels->norm(NULL, &(dit_norm_args){.rows = 4096, .C = 3072});
}
static void call_attention(const dit_guest *guest)
{
    guest->kernels->attention(NULL, &(dit_attention_args){.B = 1, .H = 24, .Sq = 4608, .Sk = 4608, .D = 128});
}
static void end_attention(const dit_guest *guest)
{
    dit_guest_at_attention(guest, false);
}
static void end_piece(const dit_guest *guest)
{
    dit_guest_at_piece(guest, NULL);
}
static void begin_before(const dit_guest *guest)
{
    dit_guest_at_piece(guest, &(dit_piece){.kind = DIT_PIECE_BEFORE, .batch = 1, .image_rows = 4096});
}
static void begin_block(const dit_guest *guest)
{
    dit_guest_at_piece(guest, &double_block);
}

static void a_counted_piece_is_charged_once_and_its_operators_are_not(void **state)
{
    dit_sim *sim = open_counted(false);
    dit_guest guest = dit_sim_guest(sim);
    (void)state;
    assert_true(added_by(sim, call_norm, &guest) > 0);
    assert_near(added_by(sim, begin_before, &guest), 0, 0);
    assert_near(added_by(sim, call_norm, &guest), 0, 0); /* other software computes it in its forward */
    assert_near(added_by(sim, end_piece, &guest), 0, 0);
    double host_s = dit_sim_host_now(sim);
    assert_true(added_by(sim, begin_block, &guest) > 0);
    assert_true(dit_sim_host_now(sim) - host_s > 30 * 2e-5); /* kernels alone are more than thirty */
    assert_near(added_by(sim, call_norm, &guest), 0, 0);
    dit_guest_at_attention(&guest, true);
    assert_true(added_by(sim, call_norm, &guest) > 0); /* what the method makes around its attention */
    assert_true(added_by(sim, call_attention, &guest) > 0);
    assert_true(added_by(sim, end_attention, &guest) > 0);
    assert_true(added_by(sim, call_attention, &guest) > 0); /* a second one, over the text */
    assert_near(added_by(sim, end_attention, &guest), 0, 0);
    assert_near(added_by(sim, end_piece, &guest), 0, 0);
    assert_true(added_by(sim, call_norm, &guest) > 0);
    close_rank(sim);
}

static void a_model_that_no_census_has_is_charged_by_parts(void **state)
{
    dit_sim *sim = open_counted(true);
    dit_guest guest = dit_sim_guest(sim);
    (void)state;
    assert_near(added_by(sim, begin_block, &guest), 0, 0);
    assert_true(added_by(sim, call_norm, &guest) > 0);
    assert_near(added_by(sim, end_piece, &guest), 0, 0);
    close_rank(sim);
}

/* Wan's pipeline calls its model once for each branch of guidance, so that its host issues everything twice. */
static void two_forwards_issue_their_messages_each(void **state)
{
    static const dit_piece block = {
        .kind = DIT_PIECE_BLOCK, .batch = 2, .branches = 2, .image_rows = 1024, .text_rows = 512, .frames = 4};
    char text[2048];
    dit_json doc;
    dit_sim *sim;
    (void)state;
    clock_s = 0;
    snprintf(text, sizeof text,
             "{\"simulation\":{\"accelerator\":\"%s/workloads/accelerators/a100-sxm-80.json\","
             "\"profile\":\"%s/workloads/profiles/pytorch-eager-2025.json\",\"element\":\"fp16\",%s},"
             "\"model\":{\"config\":{\"_class_name\":\"WanTransformer3DModel\",\"added_kv_proj_dim\":null,"
             "\"attention_head_dim\":128,\"cross_attn_norm\":true,\"eps\":1e-06,\"ffn_dim\":8960,\"freq_dim\":256,"
             "\"image_dim\":null,\"in_channels\":16,\"num_attention_heads\":12,\"num_layers\":30,\"out_channels\":16,"
             "\"patch_size\":[1,2,2],\"qk_norm\":\"rms_norm_across_heads\",\"rope_max_seq_len\":1024,\"text_dim\":4096"
             "}},\"parallel\":{\"ulysses_degree\":2}}",
             DITBENCH_SOURCE_DIR, DITBENCH_SOURCE_DIR, nvlink);
    assert_ok(dit_json_parse(text, strlen(text), "case", &doc));
    assert_ok(dit_sim_create(&grid, &sim));
    assert_ok(dit_sim_read(sim, &doc, 2));
    dit_json_release(&doc);
    dit_guest guest = dit_sim_guest(sim);
    dit_guest_at_piece(&guest, &block);
    double host_s = dit_sim_host_now(sim);
    (void)dit_sim_issue(sim);
    double one_s = dit_sim_host_now(sim) - host_s; /* of neither attention */
    dit_guest_at_attention(&guest, true);
    host_s = dit_sim_host_now(sim);
    (void)dit_sim_issue(sim);
    assert_near(dit_sim_host_now(sim) - host_s, 2 * one_s, 1e-12);
    close_rank(sim);
}

static void call_copy(const dit_guest *guest)
{
    guest->kernels->copy(NULL, &(dit_copy_args){.n0 = 1, .n1 = 4096, .n2 = 1, .inner = 3072});
}

static void a_library_around_shared_attention_makes_its_own_copies(void **state)
{
    dit_sim *sim = open_shared(false, 2);
    dit_guest guest = dit_sim_guest(sim);
    (void)state;
    assert_true(added_by(sim, call_copy, &guest) > 0);
    begin_block(&guest);
    dit_guest_at_attention(&guest, true);
    assert_near(added_by(sim, call_copy, &guest), 0, 0);
    double host_s = dit_sim_host_now(sim);
    dit_sim_charge(sim, &(dit_cost_op){.kind = DIT_COST_OP_EXCHANGE, .elements = 1 << 20});
    assert_near(dit_sim_host_now(sim) - host_s, 2e-5 + 6 * 4.5e-6, 1e-12); /* a copy and six views: q's way in */
    assert_true(added_by(sim, call_attention, &guest) > 0);
    host_s = dit_sim_host_now(sim);
    dit_sim_charge(sim, &(dit_cost_op){.kind = DIT_COST_OP_EXCHANGE, .elements = 1 << 20});
    assert_near(dit_sim_host_now(sim) - host_s, 2 * 2e-5 + 8 * 4.5e-6, 1e-12); /* the result's way back */
    assert_true(added_by(sim, end_attention, &guest) > 0);
    assert_true(added_by(sim, call_copy, &guest) == 0); /* the block's own are counted */
    end_piece(&guest);
    close_rank(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_around_shared_attention_makes_its_own_copies),
        cmocka_unit_test(two_forwards_issue_their_messages_each),
        cmocka_unit_test(messages_cost_their_issue_the_librarys_latency_and_the_links),
        cmocka_unit_test(bytes_on_the_links_are_the_simulations),
        cmocka_unit_test(a_counted_piece_is_charged_once_and_its_operators_are_not),
        cmocka_unit_test(a_model_that_no_census_has_is_charged_by_parts),
        cmocka_unit_test(a_collective_lasts_as_long_as_its_ranks_own_ends),
        cmocka_unit_test(gathers_begun_one_after_the_other_take_turns),
        cmocka_unit_test(operators_are_slower_beside_messages_and_not_behind_them),
        cmocka_unit_test(left_out_messages_hold_processors_too),
        cmocka_unit_test(messages_behind_a_busy_device_start_with_the_next_operator),
        cmocka_unit_test(messages_wait_for_the_last_tiles_of_the_next_operator),
        cmocka_unit_test(what_could_not_be_started_is_told_whoever_asks_next),
        cmocka_unit_test(a_library_that_adds_while_it_sends_adds_for_nothing),
        cmocka_unit_test(the_first_entry_of_a_batch_carries_all),
        cmocka_unit_test(cores_pay_for_their_messages_themselves),
        cmocka_unit_test(a_group_has_the_links_between_its_ranks),
        cmocka_unit_test(the_narrowest_route_is_that_of_a_ring),
        cmocka_unit_test(long_rings_are_told_by_their_first_hops),
        cmocka_unit_test(short_rings_are_simulated_whole),
        cmocka_unit_test(hops_that_still_change_are_told_apart),
        cmocka_unit_test(the_engines_clock_is_virtual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
