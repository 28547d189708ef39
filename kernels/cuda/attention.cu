/* Attention: calls the library (attention_cudnn.cu) where it is present and takes the call, else our own kernels. A bias
 * of distances and a cap of logits are not offered to the library. */
#include "kernels/cuda/cuda.h"

void cuda_attention(dit_pool *pool, const dit_attention_args *args)
{
    dit_cuda *cuda = cuda_of(pool);
    if (!args->B || !args->H || !args->Sq || !args->D) return;
    if (args->mask) {
        cuda_fail(cuda, "attention with a mask of slices is built for the host's kernels alone");
        return;
    }
    if (cuda->attention && !args->relative && !(args->cap > 0) && cuda_attention_library_run(cuda, args)) return;
    cuda_attention_own(cuda, args);
}
