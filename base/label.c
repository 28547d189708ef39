#include "base/label.h"

#include <stdio.h>

static const dit_label_info labels[DIT_LABEL_COUNT] = {
    [DIT_LABEL_ULYSSES] = {"u", "ulysses_degree", "u2", "Ulysses: 2 ranks share the attention heads."},
    [DIT_LABEL_RING] = {"r", "ring_degree", "r2", "Ring attention: 2 ranks pass keys and values around a ring."},
    [DIT_LABEL_PATCH] = {"patch", "patch_degree", "patch4",
                         "Displaced patches: 4 ranks share the rows of the image. The patch method follows: pcpp."},
    [DIT_LABEL_PIPEFUSION] = {"pp", "pipefusion_degree", "pp4", "A pipeline: 4 stages share the transformer's blocks."},
    [DIT_LABEL_TENSOR] = {"tp", "tensor_degree", "tp2", "Tensor parallelism: 2 ranks share every weight matrix."},
    [DIT_LABEL_CFG] = {"cfg", "cfg_degree", "cfg2", "CFG parallelism: 2 ranks compute one guidance branch each."},
    [DIT_LABEL_DATA] = {"dp", "data_degree", "dp2", "Data parallelism: 2 groups of ranks make different images."},
    [DIT_LABEL_ROWS] = {"rows", "rows_degree", "rows4", "A shared VAE decode: 4 ranks share the rows of the image."},
    [DIT_LABEL_STAGES] = {"", "attn_layer_num_for_pp", "7,7,6",
                          "Uneven stages: the first stage has 7 blocks, the last has 6. Even stages are not written."},
    [DIT_LABEL_BANDS] = {"M", "num_pipeline_patch", "M4",
                         "The pipeline cuts the image into 4 bands, which follow each other through the stages."},
    [DIT_LABEL_FRACTION] = {"f", "patch_fraction", "f0.5",
                            "Partial patches (pcpp): half of each neighbour's keys and values are exchanged."},
    [DIT_LABEL_WARMUP] = {"W", "warmup_steps", "W1",
                          "The first diffusion step is synchronous; the steps after it use stale activations."},
};

const dit_label_info *dit_label_get(dit_label_part part)
{
    return &labels[part];
}

void dit_parallel_label(const dit_parallel *parallel, char out[64])
{
    static const dit_axis axes[] = {
        [DIT_LABEL_ULYSSES] = DIT_AXIS_ULYSSES, [DIT_LABEL_RING] = DIT_AXIS_RING,
        [DIT_LABEL_PATCH] = DIT_AXIS_PATCH,     [DIT_LABEL_PIPEFUSION] = DIT_AXIS_PIPEFUSION,
        [DIT_LABEL_TENSOR] = DIT_AXIS_TENSOR,   [DIT_LABEL_CFG] = DIT_AXIS_CFG,
        [DIT_LABEL_DATA] = DIT_AXIS_DATA};
    int used = 0;
    for (int part = 0; part <= DIT_LABEL_ROWS && used < 50; part++) {
        int degree = part == DIT_LABEL_ROWS ? parallel->rows_degree : dit_parallel_degree(parallel, axes[part]);
        if (degree > 1)
            used += snprintf(out + used, 64 - (size_t)used, "%s%s%d", used ? " " : "", labels[part].prefix, degree);
    }
    if (!used) snprintf(out, 64, "1");
}
