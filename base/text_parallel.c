#include "base/text_parallel.h"

#include "base/words.h"

#include <string.h>

enum { EMBEDDING_BYTES = 4, SUMS_PER_BLOCK = 2 };

static const char *const names[DIT_TEXT_PARALLEL_COUNT + 1] = {"replicated", "broadcast", "tensor", "cfg", NULL};

const char *const *dit_text_parallel_names(void)
{
    return names;
}

const char *dit_text_parallel_name(dit_text_parallel way)
{
    return names[way];
}

bool dit_text_parallel_from_name(const char *name, dit_text_parallel *out)
{
    int found = dit_words_find(names, name);
    if (found >= 0) *out = (dit_text_parallel)found;
    return found >= 0;
}

static dit_status check_tensor(int ranks, const dit_text_facts *facts)
{
    int64_t elements = facts->prompts * facts->tokens * facts->width;
    if (facts->heads % ranks || facts->key_heads % ranks)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_HEADS,
                                       "text_encoder_parallel tensor: %d ranks do not divide the encoder's %lld heads "
                                       "with %lld key heads",
                                       ranks, (long long)facts->heads, (long long)facts->key_heads),
                              "replicated and broadcast run on any number of ranks");
    if (elements % ranks)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_TOKENS,
                                       "text_encoder_parallel tensor: %d ranks do not divide a sum of %lld elements",
                                       ranks, (long long)elements),
                              "replicated and broadcast run on any number of ranks");
    return DIT_OK;
}

static dit_status check_cfg(int ranks, const dit_text_facts *facts)
{
    if (ranks % 2)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_CONSTRAINT_CFG, "text_encoder_parallel cfg: %d ranks cannot be halved", ranks),
            "replicated and broadcast run on any number of ranks");
    if (facts->prompts % 2)
        return dit_error_hint(DIT_FAIL(DIT_ERR_CONSTRAINT_BATCH,
                                       "text_encoder_parallel cfg: %lld prompts cannot be halved",
                                       (long long)facts->prompts),
                              "it divides negative from positive prompts; without guidance take another way");
    return DIT_OK;
}

dit_status dit_text_parallel_check(dit_text_parallel way, int ranks, const dit_text_facts *facts)
{
    if (ranks == 1) return DIT_OK;
    if (way == DIT_TEXT_TENSOR) return check_tensor(ranks, facts);
    return way == DIT_TEXT_CFG ? check_cfg(ranks, facts) : DIT_OK;
}

dit_parallel dit_text_parallel_mesh(dit_text_parallel way, int ranks)
{
    dit_parallel mesh = {.rows_degree = 1};
    if (ranks == 1) return mesh;
    switch (way) {
    case DIT_TEXT_TENSOR: mesh.degree[DIT_AXIS_TENSOR] = ranks; break;
    case DIT_TEXT_CFG: mesh.degree[DIT_AXIS_CFG] = 2, mesh.degree[DIT_AXIS_DATA] = ranks / 2; break;
    default: mesh.rows_degree = ranks; break;
    }
    return mesh;
}

int64_t dit_text_embedding_floats(const dit_text_facts *f)
{
    return f->kept_tokens * (f->out_width ? f->out_width : f->width) * (f->states ? f->states : 1);
}

void dit_text_volume_predict(dit_text_parallel way, int ranks, int rank, const dit_text_facts *f, dit_volume_table *out)
{
    int64_t embeddings = f->prompts * (dit_text_embedding_floats(f) + f->pooled) * EMBEDDING_BYTES, others = ranks - 1;
    memset(out, 0, sizeof *out);
    if (ranks == 1) return;
    if (way == DIT_TEXT_BROADCAST && rank == 0)
        out->at[DIT_AXIS_WORLD][DIT_COLLECTIVE_SEND_RECV][DIT_PHASE_TEXT] = (dit_volume){others * embeddings, others};
    if (way == DIT_TEXT_CFG)
        out->at[DIT_AXIS_CFG][DIT_COLLECTIVE_ALL_GATHER][DIT_PHASE_TEXT] = (dit_volume){embeddings / 2, 1};
    if (way != DIT_TEXT_TENSOR) return;
    int64_t messages = 2 * SUMS_PER_BLOCK * f->blocks * others;
    int64_t part = f->prompts * f->tokens * f->width / ranks * f->element_bytes;
    out->at[DIT_AXIS_TENSOR][DIT_COLLECTIVE_ALL_REDUCE][DIT_PHASE_TEXT] = (dit_volume){messages * part, messages};
}
