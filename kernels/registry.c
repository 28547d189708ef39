/* All backends, in one list. To add one: a table of operators and a row here. */
#include "kernels/kernels.h"
#include "kernels/ref/ref.h"

#include <string.h>

static const dit_kernels ref_table = {
    .name = "ref",
    .linear_pack = dit_ref_linear_pack,
    .linear = dit_ref_linear,
    .attention = dit_ref_attention,
    .attention_merge = dit_ref_attention_merge,
    .norm = dit_ref_norm,
    .qk_norm_rope = dit_ref_qk_norm_rope,
    .copy = dit_ref_copy,
    .combine = dit_ref_combine,
    .activate = dit_ref_activate,
};

static const char *const backend_names[] = {"ref", "cpu", NULL};

const char *const *dit_kernels_names(void)
{
    return backend_names;
}

const char *dit_kernels_isa(void)
{
    return "plain";
}

dit_status dit_kernels_get(const char *name, const dit_kernels **out)
{
    *out = &ref_table;
    if (!strcmp(name, "ref") || !strcmp(name, "cpu")) return DIT_OK;
    return DIT_FAIL(DIT_ERR_NOT_FOUND, "no kernel backend '%s'; there are ref and cpu", name);
}
