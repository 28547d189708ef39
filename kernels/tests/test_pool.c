/* The thread pool: every index once, whatever the number of threads and pieces. */
#include "kernels/pool.h"

#include "base/tests/test.h"

enum { LARGEST = 5000 };

typedef struct {
    unsigned char hits[LARGEST];
    int threads, wrong;
} coverage;

static void count_hits(void *context, int64_t begin, int64_t end, int worker)
{
    coverage *c = context;
    if (worker < 0 || worker >= c->threads || begin >= end) c->wrong = 1;
    for (int64_t i = begin; i < end; i++) c->hits[i]++;
}

static void check_coverage(dit_pool *pool, int64_t count, int64_t grain)
{
    static coverage c;
    memset(&c, 0, sizeof c);
    c.threads = dit_pool_threads(pool);
    dit_pool_run(pool, count, grain, count_hits, &c);
    assert_int_equal(c.wrong, 0);
    for (int64_t i = 0; i < LARGEST; i++) assert_int_equal(c.hits[i], i < count);
}

static void pool_ranges_cover_every_index_exactly_once(void **state)
{
    static const int64_t counts[] = {0, 1, 2, 7, 100, LARGEST}, grains[] = {0, 1, 3, 64, LARGEST};
    (void)state;
    for (int threads = 1; threads <= 4; threads++)
        for (int spin = 0; spin < 2; spin++) {
            dit_pool *pool;
            assert_int_equal(dit_pool_create(threads, spin, &pool), DIT_OK);
            assert_int_equal(dit_pool_threads(pool), threads);
            for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
                for (size_t j = 0; j < sizeof grains / sizeof grains[0]; j++)
                    check_coverage(pool, counts[i], grains[j]);
            dit_pool_free(pool);
        }
}

static void pool_survives_many_short_jobs(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 4; threads *= 2) {
        dit_pool *pool;
        assert_int_equal(dit_pool_create(threads, threads <= 2, &pool), DIT_OK);
        for (int i = 0; i < 2000; i++) check_coverage(pool, i % 16, 1);
        dit_pool_free(pool);
    }
}

static void write_scratch(void *context, int64_t begin, int64_t end, int worker)
{
    dit_pool *pool = context;
    float *scratch = dit_pool_scratch(pool, worker);
    (void)begin, (void)end;
    memset(scratch, worker, DIT_POOL_SCRATCH_BYTES);
    assert_int_equal((uintptr_t)scratch % 64, 0);
}

static void pool_scratch_of_each_worker_is_its_own(void **state)
{
    dit_pool *pool;
    (void)state;
    assert_int_equal(dit_pool_create(3, false, &pool), DIT_OK);
    dit_pool_run(pool, 64, 1, write_scratch, pool);
    assert_ptr_equal((char *)dit_pool_scratch(pool, 1), (char *)dit_pool_scratch(pool, 0) + DIT_POOL_SCRATCH_BYTES);
    dit_pool_free(pool);
}

static void pool_refuses_impossible_thread_counts(void **state)
{
    dit_pool *pool;
    (void)state;
    assert_int_equal(dit_pool_create(0, true, &pool), DIT_ERR_ENVIRONMENT);
    assert_null(pool);
    assert_int_equal(dit_pool_create(-3, true, &pool), DIT_ERR_ENVIRONMENT);
    dit_pool_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool_ranges_cover_every_index_exactly_once),
        cmocka_unit_test(pool_survives_many_short_jobs),
        cmocka_unit_test(pool_scratch_of_each_worker_is_its_own),
        cmocka_unit_test(pool_refuses_impossible_thread_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
