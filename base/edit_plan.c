#include "base/edit_plan.h"

#include "base/mesh.h"

#include <stdio.h>

static const double usual_share = 0.6;

dit_status dit_edit_plan_read(const dit_json *doc, const cJSON *object, const char *pointer, dit_edit_plan *out)
{
    static const char *const keys[] = {"dense_steps", "threshold", "dense_share", NULL};
    int64_t steps;
    char at[256];
    *out = (dit_edit_plan){.dense_share = usual_share};
    DIT_TRY(dit_json_only_keys(doc, object, pointer, keys));
    DIT_TRY(dit_json_require_int(doc, object, pointer, "dense_steps", 1, 100000, &steps));
    out->dense_steps = (int)steps;
    DIT_TRY(dit_json_require_number(doc, object, pointer, "threshold", 0, 1, &out->threshold));
    DIT_TRY(dit_json_optional_number(doc, object, pointer, "dense_share", 0, 1, &out->dense_share));
    dit_json_pointer_join(at, sizeof at, pointer, "threshold");
    if (out->threshold >= 1)
        return dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "threshold 1: no token moves by more than what moved most");
    dit_json_pointer_join(at, sizeof at, pointer, "dense_share");
    if (out->dense_share > 0) return DIT_OK;
    return dit_error_hint(dit_json_fail(doc, at, DIT_ERR_JSON_VALUE, "dense_share 0 would always compute all rows"),
                          "leave the edit out instead");
}

void dit_edit_plan_to_json(dit_json_writer *w, const dit_edit_plan *plan, cJSON *object)
{
    dit_json_put_int(w, object, "dense_steps", plan->dense_steps);
    dit_json_put_number(w, object, "threshold", plan->threshold);
    dit_json_put_number(w, object, "dense_share", plan->dense_share);
}

void dit_edit_plan_label(const dit_edit_plan *plan, char *out, size_t size)
{
    char dense[32] = "";
    if (plan->dense_share < usual_share || plan->dense_share > usual_share)
        snprintf(dense, sizeof dense, " dense %g", plan->dense_share);
    if (plan->dense_steps)
        snprintf(out, size, "edit(%d %g%s)", plan->dense_steps, plan->threshold, dense);
    else
        snprintf(out, size, "none");
}

dit_status dit_edit_plan_check(const dit_edit_plan *plan, const dit_parallel *parallel, const dit_facts *facts)
{
    int ranks = dit_parallel_world_size(parallel);
    if (!plan->dense_steps) return DIT_OK;
    if (ranks > 1)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "an edit is drawn by one rank, but the mesh has %d", ranks),
            "set all degrees to 1: ranks would have to share the rows of each edit anew");
    if (facts->segments > 1 || facts->latent.frames > 1)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "an edit is of a picture, but there are %lld latent frames",
                        (long long)facts->latent.frames);
    if (facts->reference_tokens)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "an edit of a caption has no reference picture, but there is one");
    if (facts->two_transformers)
        return DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "an edit keeps K and V of one transformer, but the model has two");
    if (plan->dense_steps >= facts->steps)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_METHOD, "dense_steps %d of %lld steps leave none that reuse",
                                       plan->dense_steps, (long long)facts->steps),
                              "lower dense_steps, or leave the edit out");
    return DIT_OK;
}

int64_t dit_edit_plan_kept_bytes(const dit_facts *facts)
{
    int64_t element = facts->element_bytes ? facts->element_bytes : (int64_t)sizeof(float);
    int64_t rows = facts->num_images * facts->image_tokens;
    int64_t kv = 2 * facts->guidance_branches * rows * facts->heads * facts->head_dim * facts->layers * element;
    return facts->steps * kv + (facts->steps + 1) * rows * facts->token_channels * (int64_t)sizeof(float);
}
