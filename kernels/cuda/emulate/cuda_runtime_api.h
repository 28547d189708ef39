/* What cuDNN's headers include. */
#include "cuda_runtime.h"
