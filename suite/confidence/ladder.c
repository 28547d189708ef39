#include "suite/confidence/ladder.h"

static bool speaks(const suite_ladder_rung *rung, double level)
{
    return rung->points >= SUITE_LADDER_POINTS && rung->groups >= suite_error_groups_needed(level);
}

static int choose(const suite_ladder *ladder, double level)
{
    int best = -1;
    for (int i = 0; i < ladder->count; i++) {
        const suite_ladder_rung *rung = &ladder->rungs[i];
        if (speaks(rung, level)) return i;
        if (rung->points >= SUITE_LADDER_POINTS && (best < 0 || rung->groups > ladder->rungs[best].groups)) best = i;
    }
    return best;
}

static dit_status look(const suite_held_out *held, const suite_left_aside *without, suite_ladder_rung *rung)
{
    suite_error_sample sample;
    DIT_TRY(suite_error_sample_take(held, &rung->of, without, &sample));
    rung->points = sample.count;
    rung->groups = sample.group_count;
    suite_error_sample_release(&sample);
    return DIT_OK;
}

dit_status suite_ladder_climb(const suite_held_out *held, const suite_error_class *finest, double level,
                              const suite_left_aside *without, suite_ladder *out, suite_error_sample *sample)
{
    suite_error_class of = *finest;
    bool more = true;
    *out = (suite_ladder){0};
    *sample = (suite_error_sample){0};
    for (; more && out->count < SUITE_LADDER_MOST; more = suite_error_class_parent(&of, &of)) {
        suite_ladder_rung *rung = &out->rungs[out->count++];
        rung->of = of;
        DIT_TRY(look(held, without, rung));
    }
    out->chosen = choose(out, level);
    if (out->chosen < 0) return DIT_OK;
    return suite_error_sample_take(held, &out->rungs[out->chosen].of, without, sample);
}
