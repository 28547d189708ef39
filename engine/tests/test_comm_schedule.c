/* Tables of messages: the rows of all ranks beside each other. */
#include "engine/comm/schedule.h"

#include "base/tests/test.h"

enum { MOST = 9 };

typedef struct {
    dit_transfer transfer[MOST];
    int count;
} row;

/* Every send has its receive on the peer, of as many bytes, in the same order between the two; nobody sends itself. */
static void assert_matched(const row *rows, int size)
{
    for (int from = 0; from < size; from++)
        for (int to = 0; to < size; to++) {
            int64_t sent[MOST], received[MOST];
            int sends = 0, receives = 0;
            for (int i = 0; i < rows[from].count; i++) {
                const dit_transfer *t = &rows[from].transfer[i];
                if (t->send_bytes && t->to == to) sent[sends++] = t->send_bytes;
            }
            for (int i = 0; i < rows[to].count; i++) {
                const dit_transfer *t = &rows[to].transfer[i];
                if (t->recv_bytes && t->from == from) received[receives++] = t->recv_bytes;
            }
            assert_int_equal(sends, receives);
            if (from == to) assert_int_equal(sends, 0);
            if (sends) assert_memory_equal(sent, received, (size_t)sends * sizeof *sent);
        }
}

/* Does what the table says: `recv` of rank r from `send` of the others, all ranks in one buffer each. */
static void carry_out(const row *rows, int size, const char *send, int64_t send_room, char *recv, int64_t recv_room)
{
    for (int to = 0; to < size; to++)
        for (int i = 0; i < rows[to].count; i++) {
            const dit_transfer *in = &rows[to].transfer[i];
            if (!in->recv_bytes) continue;
            for (int j = 0; j < rows[in->from].count; j++) {
                const dit_transfer *out = &rows[in->from].transfer[j];
                if (out->send_bytes && out->to == to)
                    memcpy(recv + to * recv_room + in->recv, send + in->from * send_room + out->send,
                           (size_t)out->send_bytes);
            }
        }
}

static void all_to_all_gives_every_rank_its_blocks(void **state)
{
    (void)state;
    enum { BLOCK = 3 };
    for (int size = 1; size < MOST; size++) {
        row rows[MOST];
        char send[MOST * MOST * BLOCK], recv[MOST * MOST * BLOCK];
        memset(recv, 0, sizeof recv);
        for (int rank = 0; rank < size; rank++) {
            rows[rank].count = dit_schedule_all_to_all(rank, size, BLOCK, rows[rank].transfer);
            assert_int_equal(rows[rank].count, size - 1);
            for (int to = 0; to < size; to++) memset(send + (rank * size + to) * BLOCK, 1 + rank * 10 + to, BLOCK);
        }
        assert_matched(rows, size);
        carry_out(rows, size, send, size * BLOCK, recv, size * BLOCK);
        for (int rank = 0; rank < size; rank++)
            for (int from = 0; from < size; from++)
                assert_int_equal(recv[(rank * size + from) * BLOCK + BLOCK - 1],
                                 from == rank ? 0 : 1 + from * 10 + rank);
    }
}

static void an_all_to_all_of_nothing_is_no_message(void **state)
{
    (void)state;
    dit_transfer transfers[MOST];
    assert_int_equal(dit_schedule_all_to_all(1, 4, 0, transfers), 0);
}

static void pieces_reach_all_ranks_and_empty_ones_nobody(void **state)
{
    (void)state;
    for (int size = 1; size < MOST; size++) {
        row rows[MOST];
        int64_t offsets[MOST + 1] = {0};
        char send[MOST * 128], recv[MOST * 128];
        for (int i = 0; i < size; i++) offsets[i + 1] = offsets[i] + (i % 3) * (i + 1);
        memset(recv, 0, sizeof recv);
        memset(send, 0, sizeof send);
        for (int rank = 0; rank < size; rank++) {
            rows[rank].count = dit_schedule_gather_pieces(rank, size, offsets, rows[rank].transfer);
            memset(send + rank * 128 + offsets[rank], 1 + rank, (size_t)(offsets[rank + 1] - offsets[rank]));
        }
        assert_matched(rows, size);
        carry_out(rows, size, send, 128, recv, 128);
        for (int rank = 0; rank < size; rank++)
            for (int from = 0; from < size; from++)
                for (int64_t i = offsets[from]; i < offsets[from + 1]; i++)
                    assert_int_equal(recv[rank * 128 + i], from == rank ? 0 : 1 + from);
    }
}

/* ---- links ------------------------------------------------------------------------------------------------------- */

typedef struct {
    dit_link link[MOST * MOST];
    int count, at;
} linked;

static void add_link(linked *ranks, int from, int to)
{
    ranks[from].link[ranks[from].count++] = (dit_link){from, to};
    ranks[to].link[ranks[to].count++] = (dit_link){from, to};
}

/* Opens what both ends have come to, until nothing moves. */
static void open_all(linked *ranks, int size)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (int a = 0; a < size; a++)
            for (int b = 0; b < size; b++) {
                linked *x = &ranks[a], *y = &ranks[b];
                if (a == b || x->at == x->count || y->at == y->count) continue;
                dit_link mine = x->link[x->at], theirs = y->link[y->at];
                if (mine.from != theirs.from || mine.to != theirs.to) continue;
                x->at++, y->at++, moved = true;
            }
    }
}

/* Stages in a ring, the last gives latents to the first, and mirrored skips both ways; the lists in any order. */
static void links_of_any_pipeline_are_all_opened(void **state)
{
    (void)state;
    srand(7);
    for (int size = 2; size < MOST; size++)
        for (int round = 0; round < 20; round++) {
            linked ranks[MOST] = {0};
            for (int rank = 0; rank < size; rank++) add_link(ranks, rank, (rank + 1) % size);
            for (int rank = 0; rank < size / 2; rank++)
                if (size - 1 - rank != rank) add_link(ranks, rank, size - 1 - rank);
            for (int rank = 0; rank < size; rank++) {
                for (int i = ranks[rank].count - 1; i > 0; i--) {
                    int other = rand() % (i + 1);
                    dit_link swapped = ranks[rank].link[i];
                    ranks[rank].link[i] = ranks[rank].link[other], ranks[rank].link[other] = swapped;
                }
                ranks[rank].count = dit_schedule_links(ranks[rank].link, ranks[rank].count);
            }
            open_all(ranks, size);
            for (int rank = 0; rank < size; rank++) assert_int_equal(ranks[rank].at, ranks[rank].count);
        }
}

static void a_pipeline_of_two_has_a_link_for_each_way(void **state)
{
    (void)state;
    dit_link links[] = {{1, 0}, {0, 1}, {0, 1}}; /* the stream and skips go one way */
    int count = dit_schedule_links(links, 3);
    assert_int_equal(count, 2);
    int out = dit_schedule_link_of(links, count, 0, 1, -1), in = dit_schedule_link_of(links, count, 0, -1, 1);
    assert_true(out >= 0 && in >= 0);
    assert_int_not_equal(out, in);
    assert_int_equal(dit_schedule_link_of(links, count, 1, -1, 0), out); /* the other end of the same */
    assert_int_equal(dit_schedule_link_of(links, count, 1, 0, -1), in);
}

static void other_messages_go_by_the_common_communicator(void **state)
{
    (void)state;
    dit_link links[] = {{0, 1}, {2, 0}};
    assert_int_equal(dit_schedule_link_of(links, 2, 0, 1, 2), -1);   /* a ring: both at once */
    assert_int_equal(dit_schedule_link_of(links, 2, 0, 3, -1), -1);  /* no link was opened   */
    assert_int_equal(dit_schedule_link_of(links, 2, 0, -1, -1), -1); /* nothing              */
    assert_int_equal(dit_schedule_link_of(links, 0, 0, 1, -1), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_to_all_gives_every_rank_its_blocks),
        cmocka_unit_test(an_all_to_all_of_nothing_is_no_message),
        cmocka_unit_test(pieces_reach_all_ranks_and_empty_ones_nobody),
        cmocka_unit_test(links_of_any_pipeline_are_all_opened),
        cmocka_unit_test(a_pipeline_of_two_has_a_link_for_each_way),
        cmocka_unit_test(other_messages_go_by_the_common_communicator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
