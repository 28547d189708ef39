/* Stands in for libraries that this build lacks: their operators run our own kernels. */
#include "kernels/cuda/cuda.h"

#ifndef DIT_CUDA_CUBLASLT
dit_status cuda_linear_library_open(dit_cuda *, dit_cuda_linear_library **out)
{
    *out = NULL;
    return DIT_OK;
}
void cuda_linear_library_close(dit_cuda_linear_library *) {}
bool cuda_linear_library_run(dit_cuda *, const cuda_matmul_args *)
{
    return false;
}
#endif

#ifndef DIT_CUDA_CUDNN
dit_status cuda_attention_library_open(dit_cuda *, dit_cuda_attention_library **out)
{
    *out = NULL;
    return DIT_OK;
}
void cuda_attention_library_close(dit_cuda_attention_library *) {}
bool cuda_attention_library_run(dit_cuda *, const dit_attention_args *)
{
    return false;
}

dit_status cuda_conv_library_open(dit_cuda *, dit_cuda_conv_library **out)
{
    *out = NULL;
    return DIT_OK;
}
void cuda_conv_library_close(dit_cuda_conv_library *) {}
bool cuda_conv_library_run(dit_cuda *, const dit_conv_args *)
{
    return false;
}
#endif
