/* Asks the driver's management library (NVML) about a GPU, for records. */
#ifndef DIT_KERNELS_CUDA_NVML_H
#define DIT_KERNELS_CUDA_NVML_H

#include "kernels/device.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cJSON;

/* Describes the GPU at a PCI bus id ("0000:1b:00.0"). Adds driver_version, clocks_mhz, power_w, temperature_c,
 * throttle_reasons (words), ecc, pcie and nvlink to `out`. What the driver does not tell is left out; without the
 * library only "nvml" is added, with the reason. Nothing identifies the machine: no serial number, no UUID, no bus id.
 * The library is libnvidia-ml.so.1, or what DITBENCH_NVML_LIBRARY names. Errors: DIT_ERR_MEMORY. */
dit_status cuda_nvml_describe(const char *pci_bus_id, struct cJSON *out);

/* The meter of a GPU: the library stays open, so that readings are cheap. */
typedef struct cuda_meter cuda_meter;
/* Returns the meter of the GPU at a PCI bus id, which cuda_meter_close frees; NULL without the library, without the
 * device, or without memory. */
cuda_meter *cuda_meter_open(const char *pci_bus_id);
void cuda_meter_close(cuda_meter *meter); /* accepts NULL */
/* Reads it; NAN for what the driver does not tell, and for everything where `meter` is NULL. Energy counts from the
 * start of the driver; power is the driver's own mean, of up to a second on some devices. */
dit_device_reading cuda_meter_read(const cuda_meter *meter);

#ifdef __cplusplus
}
#endif
#endif
