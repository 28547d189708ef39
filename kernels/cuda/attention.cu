/* Attention: calls the library (attention_cudnn.cu) where it is present and takes the call, else our own kernels. */
#include "kernels/cuda/cuda.h"

void cuda_attention(dit_pool *pool, const dit_attention_args *args)
{
    dit_cuda *cuda = cuda_of(pool);
    if (!args->B || !args->H || !args->Sq || !args->D) return;
    if (cuda->attention && cuda_attention_library_run(cuda, args)) return;
    cuda_attention_own(cuda, args);
}
