/* A CUDA driver of a machine without a device, for tests: cuDNN compiles kernels for the properties of a device that is
 * not here, but not unless it finds a driver (libcuda.so.1), whose functions it looks up first. This one says that
 * there is no device; what it is asked beyond that fails.
 */
enum { NO_DEVICE = 100 /* CUDA_ERROR_NO_DEVICE */ };

int cuDeviceGetCount(int *count)
{
    *count = 0;
    return 0;
}

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

#define FAILS(function)                                                                                                \
    int function(void)                                                                                                 \
    {                                                                                                                  \
        return NO_DEVICE;                                                                                              \
    }
FAILS(cuInit)
FAILS(cuCtxGetCurrent)
FAILS(cuCtxGetDevice)
FAILS(cuCtxGetLimit)
FAILS(cuCtxPopCurrent)
FAILS(cuCtxPushCurrent)
FAILS(cuDeviceGet)
FAILS(cuDeviceGetAttribute)
FAILS(cuDevicePrimaryCtxRelease)
FAILS(cuDevicePrimaryCtxReset)
FAILS(cuDevicePrimaryCtxRetain)
FAILS(cuFuncGetAttribute)
FAILS(cuFuncSetAttribute)
FAILS(cuGetErrorName)
FAILS(cuGetErrorString)
FAILS(cuKernelGetAttribute)
FAILS(cuKernelSetAttribute)
FAILS(cuLaunchCooperativeKernel)
FAILS(cuLaunchKernel)
FAILS(cuLaunchKernelEx)
FAILS(cuLibraryGetKernel)
FAILS(cuLibraryLoadData)
FAILS(cuLibraryLoadFromFile)
FAILS(cuLibraryUnload)
FAILS(cuLinkAddData)
FAILS(cuLinkAddData_v2)
FAILS(cuLinkAddFile_v2)
FAILS(cuLinkComplete)
FAILS(cuLinkCreate)
FAILS(cuLinkCreate_v2)
FAILS(cuLinkDestroy)
FAILS(cuMemcpyDtoH_v2)
FAILS(cuModuleGetFunction)
FAILS(cuModuleGetGlobal_v2)
FAILS(cuModuleLoadData)
FAILS(cuModuleLoadDataEx)
FAILS(cuModuleLoadFatBinary)
FAILS(cuModuleUnload)
FAILS(cuOccupancyMaxActiveBlocksPerMultiprocessor)
FAILS(cuOccupancyMaxPotentialClusterSize)
FAILS(cuStreamGetCtx)
FAILS(cuStreamSynchronize)
FAILS(cuTensorMapEncodeTiled)
