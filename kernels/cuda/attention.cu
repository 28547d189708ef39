/* Attention: calls the library (attention_cudnn.cu) where it is present and takes the call, else our own kernels. A bias
 * of distances, a mask of slices and a cap of logits are not offered to the library. */
#include "kernels/cuda/cuda.h"

void cuda_attention(dit_pool *pool, const dit_attention_args *args)
{
    dit_cuda *cuda = cuda_of(pool);
    if (!args->B || !args->H || !args->Sq || !args->D) return;
    if (cuda->attention && !args->relative && !args->mask && !(args->cap > 0) && cuda_attention_library_run(cuda, args))
        return;
    cuda_attention_own(cuda, args);
}
