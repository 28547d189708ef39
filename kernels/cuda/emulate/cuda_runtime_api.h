/* Exists because cuDNN's headers include it. */
#include "cuda_runtime.h"
