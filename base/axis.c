#include "base/axis.h"

#include <string.h>

static const char *const names[DIT_GROUP_COUNT] = {
#define AXIS_NAME(unused, axis, name, needs) [DIT_AXIS_##axis] = name,
    DIT_AXIS_LIST(AXIS_NAME, )
#undef AXIS_NAME
        [DIT_AXIS_WORLD] = "world",
    [DIT_AXIS_FSDP] = "fsdp",
};
static const char *const keys[DIT_GROUP_COUNT] = {
#define AXIS_KEY(unused, axis, name, needs) [DIT_AXIS_##axis] = name "_degree",
    DIT_AXIS_LIST(AXIS_KEY, )
#undef AXIS_KEY
        [DIT_AXIS_WORLD] = "rows_degree",
    [DIT_AXIS_FSDP] = "fsdp_degree",
};

static const dit_axis_info axes[DIT_GROUP_COUNT] = {
    [DIT_AXIS_TENSOR] = {.xdit = "tensor_parallel_degree",
                         .printed = "tp",
                         .help = "ranks that share every weight matrix",
                         .prefix = "tp",
                         .example = "tp2",
                         .meaning = "Tensor parallelism: 2 ranks share every weight matrix.",
                         .label_place = 4,
                         .deal_place = 5,
                         .greatest = DIT_MAX_DEGREE},
    [DIT_AXIS_ULYSSES] = {.printed = "ulysses",
                          .help = "ranks in head-parallel attention",
                          .prefix = "u",
                          .example = "u2",
                          .meaning = "Ulysses: 2 ranks share the attention heads.",
                          .label_place = 0,
                          .deal_place = 3,
                          .greatest = DIT_MAX_DEGREE,
                          .searched = true,
                          .sequence = true},
    [DIT_AXIS_RING] = {.printed = "ring",
                       .help = "ranks in ring attention",
                       .prefix = "r",
                       .example = "r2",
                       .meaning = "Ring attention: 2 ranks pass keys and values around a ring.",
                       .label_place = 1,
                       .deal_place = 4,
                       .greatest = DIT_MAX_DEGREE,
                       .searched = true,
                       .sequence = true},
    [DIT_AXIS_PATCH] = {.printed = "distrifusion",
                        .help = "ranks of displaced patches",
                        .prefix = "patch",
                        .example = "patch4",
                        .meaning =
                            "Displaced patches: 4 ranks share the rows of the image. The patch method follows: pcpp.",
                        .label_place = 2,
                        .deal_place = 2,
                        .greatest = DIT_MAX_DEGREE,
                        .sequence = true,
                        .unsaid = true},
    [DIT_AXIS_PIPEFUSION] = {.xdit = "pipefusion_parallel_degree",
                             .printed = "pipefusion",
                             .help = "pipeline stages",
                             .prefix = "pp",
                             .example = "pp4",
                             .meaning = "A pipeline: 4 stages share the transformer's blocks.",
                             .label_place = 3,
                             .deal_place = 1,
                             .greatest = DIT_MAX_DEGREE,
                             .searched = true},
    [DIT_AXIS_CFG] = {.printed = "cfg",
                      .help = "guidance branches apart (1 or 2)",
                      .prefix = "cfg",
                      .example = "cfg2",
                      .meaning = "CFG parallelism: 2 ranks compute one guidance branch each.",
                      .label_place = 5,
                      .deal_place = 0,
                      .greatest = 2,
                      .searched = true},
    [DIT_AXIS_DATA] = {.xdit = "data_parallel_degree",
                       .printed = "dp",
                       .help = "groups of ranks that make different images",
                       .prefix = "dp",
                       .example = "dp2",
                       .meaning = "Data parallelism: 2 groups of ranks make different images.",
                       .label_place = 6,
                       .deal_place = 6,
                       .greatest = DIT_MAX_DEGREE},
    [DIT_AXIS_WORLD] =
        {.help = "ranks that share the rows of a decode",
         .prefix = "rows",
         .example = "rows4",
         .meaning = "A shared VAE decode: 4 ranks share the rows of the image, or the frames of a clip (vae_split).",
         .label_place = 7,
         .deal_place = 7,
         .greatest = DIT_MAX_DEGREE},
    [DIT_AXIS_FSDP] = {.xdit = "fully_shard_degree",
                       .printed = "fsdp",
                       .help = "ranks of other axes that each hold a part of the blocks' weights",
                       .prefix = "fsdp",
                       .example = "fsdp8",
                       .meaning = "Weights in shards: 8 ranks of the other axes each hold an eighth of the blocks' "
                                  "weights, and gather a block's before it runs.",
                       .label_place = 8,
                       .deal_place = 8,
                       .greatest = DIT_MAX_DEGREE,
                       .unsaid = true},
};

const dit_axis_info *dit_axis_get(dit_axis axis)
{
    return &axes[axis];
}
const char *dit_axis_name(dit_axis axis)
{
    return names[axis];
}
const char *dit_axis_key(dit_axis axis)
{
    return keys[axis];
}

bool dit_axis_from_name(const char *name, dit_axis *out)
{
    for (int axis = 0; axis < DIT_GROUP_COUNT; axis++) {
        if (strcmp(name, names[axis]) != 0) continue;
        *out = (dit_axis)axis;
        return true;
    }
    return false;
}

dit_axis dit_axis_at_label(int place)
{
    int axis = 0;
    while (axis < DIT_GROUP_COUNT - 1 && axes[axis].label_place != place) axis++;
    return (dit_axis)axis;
}

dit_axis dit_axis_at_deal(int place)
{
    int axis = 0;
    while (axis < DIT_GROUP_COUNT - 1 && axes[axis].deal_place != place) axis++;
    return (dit_axis)axis;
}
