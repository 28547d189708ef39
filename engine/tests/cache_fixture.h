/* Fixture of the tests of caches on models that are a few lines: settings from text, and a runtime of one rank. */
#ifndef DIT_ENGINE_TESTS_CACHE_FIXTURE_H
#define DIT_ENGINE_TESTS_CACHE_FIXTURE_H

#include "base/cache.h"
#include "engine/runtime/runtime.h"

#include "base/tests/test.h"

/* The settings of a run of so many steps. */
static inline dit_cache cache_of_steps(const char *text, int steps)
{
    dit_cache cache;
    dit_json doc = {0};
    assert_ok(dit_json_parse(text, strlen(text), "t", &doc));
    assert_ok(dit_cache_read(&doc, doc.root, "", steps, &cache));
    dit_json_release(&doc);
    return cache;
}

/* One rank, which sends nothing, for a model of these facts and `layers` equal blocks. */
static inline void open_lone_runtime(dit_runtime *rt, const dit_facts *facts, int layers, const dit_block_run *block)
{
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) rt->parallel.degree[axis] = 1;
    rt->facts = *facts;
    assert_ok(dit_facts_add_blocks(&rt->facts, layers, block));
    dit_arena_init(&rt->run, &rt->ledger, DIT_MEMORY_STATE);
    dit_arena_init(&rt->image, &rt->ledger, DIT_MEMORY_STATE);
    dit_arena_init(&rt->step, &rt->ledger, DIT_MEMORY_ACTIVATIONS);
    dit_arena_init(&rt->comm_arena, &rt->ledger, DIT_MEMORY_COMM);
    assert_ok(dit_kernels_get("cpu", &rt->kernels));
    assert_ok(dit_pool_create(1, false, &rt->pool));
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++)
        assert_ok(dit_comm_create_counting(&rt->parallel, 0, (dit_axis)axis, &rt->counters, &rt->comm[axis]));
}

#endif
