/* What the driver's management library (NVML) knows of a GPU now, for records. */
#ifndef DIT_KERNELS_CUDA_NVML_H
#define DIT_KERNELS_CUDA_NVML_H

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cJSON;

/* Adds to `out`, of the GPU at a PCI bus id ("0000:1b:00.0"): driver_version, clocks_mhz, power_w, temperature_c,
 * throttle_reasons (words), ecc, pcie, nvlink; what a driver does not tell is left out, and without the library only
 * "nvml" is there, with the reason. Identifies no machine: no serial number, no UUID, no bus ids.
 * The library is libnvidia-ml.so.1, or what DITBENCH_NVML_LIBRARY says. Errors: DIT_ERR_MEMORY. */
dit_status cuda_nvml_describe(const char *pci_bus_id, struct cJSON *out);

#ifdef __cplusplus
}
#endif
#endif
