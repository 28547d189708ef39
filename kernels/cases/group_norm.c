/* Cases for group_norm: with its own moments or those that group_moments takes first, and with fields. */
#include "kernels/cases/cases_impl.h"

typedef struct {
    int64_t frames; /* batch entries; in cases with a field, frames of one entry */
    int64_t height, width, groups, C;
} sizes;

static const sizes *sizes_of(const dit_kernel_case *c)
{
    return (const void *)c->size;
}

/* in: x, weight, bias, scale and shift side by side; own: moments, workspace */
static dit_status prepare(dit_case_run *run)
{
    const sizes *s = sizes_of(run->c);
    int64_t floats = s->frames * s->height * s->width * s->C;
    int64_t bytes = dit_group_norm_workspace_bytes(s->frames, s->height * s->width, s->C, s->groups);
    DIT_TRY(dit_case_fill(run, 0, floats, 1, 2));
    DIT_TRY(dit_case_fill(run, 1, s->C, 0.5f, 1));
    DIT_TRY(dit_case_fill(run, 2, s->C, 0.5f, 1));
    DIT_TRY(dit_case_fill(run, 3, 2 * floats, 0.5f, 1));
    DIT_TRY(dit_arena_array(run->room, bytes / (int64_t)sizeof(double) + 1, DIT_DTYPE_FP64, &run->own[1]));
    DIT_TRY(dit_arena_array(run->room, s->frames * s->groups * 2, DIT_DTYPE_FP64, &run->own[0]));
    return dit_case_outputs(run, floats, 0);
}

static void set_field(const dit_case_run *run, dit_group_norm_args *args)
{
    const sizes *s = sizes_of(run->c);
    args->batch = 1, args->frames = s->frames;
    args->scale = run->in[3], args->shift = run->in[3] + s->C, args->ldf = 2 * s->C;
    args->first_apart = s->frames % 2 == 1;
    args->field_frames = (s->frames + 1) / 2, args->field_height = s->height / 2, args->field_width = s->width / 2;
}

static void call(dit_case_run *run, const dit_case_target *to)
{
    const dit_kernel_case *c = run->c;
    const sizes *s = sizes_of(c);
    dit_group_norm_args args = {.batch = s->frames, .frames = 1, .height = s->height, .width = s->width};
    args.C = s->C, args.groups = s->groups, args.x = run->in[0], args.y = to->out, args.eps = 1e-6f;
    args.activation = dit_case_activation(c);
    args.workspace = run->own[1];
    if (c->flags & BIAS) args.weight = run->in[1], args.bias = run->in[2];
    if (c->flags & MODULATE) set_field(run, &args);
    if (c->flags & BAND) {
        args.moments = run->own[0];
        to->table->group_moments(run->pool, &args);
    }
    to->table->group_norm(run->pool, &args);
}

#define GROUP_NORM(frames, height, width, groups, C, flags)                                                            \
    {                                                                                                                  \
        DIT_OPERATOR_GROUP_NORM, {frames, height, width, groups, C}, flags                                             \
    }

static const dit_kernel_case checked[] = {
    GROUP_NORM(1, 1, 1, 1, 1, BIAS),
    GROUP_NORM(2, 3, 5, 4, 24, BIAS),
    GROUP_NORM(3, 7, 9, 32, 96, BIAS | SILU),
    GROUP_NORM(1, 40, 60, 5, 100, 0),
    GROUP_NORM(1, 100, 70, 32, 64, BIAS | SILU),
    GROUP_NORM(5, 8, 6, 4, 20, BIAS | MODULATE | SILU),
    GROUP_NORM(4, 6, 10, 3, 12, BIAS | MODULATE),
    GROUP_NORM(2, 50, 40, 6, 48, BIAS | SILU | BAND),
    GROUP_NORM(3, 1, 8, 4, 20, BIAS | MODULATE | BAND),
    GROUP_NORM(1, 64, 64, 32, 512, BIAS | SILU | TIMED),
    GROUP_NORM(1, 256, 256, 32, 128, BIAS | SILU | TIMED),
};

const dit_operator_cases dit_cases_group_norm = {
    .name = "group_norm",
    .sizes = {{"frames", NULL}, {"height", NULL}, {"width", NULL}, {"groups", NULL}, {"C", NULL}},
    .tolerance = 5e-7, /* as norm, and an activation */
    .prepare = prepare,
    .call = call,
    .lists =
        {
            [DIT_CASES_CHECKED] = DIT_CASES(checked),
        },
};
