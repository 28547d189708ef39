/* Device report: writes lines for people about the machine's GPUs and adapters, from the engine's list and from sysfs.
 * A line has a piece for each device that differs from the one before, so that equal devices share a piece. */
#ifndef DIT_SUITE_MACHINE_DEVICE_REPORT_H
#define DIT_SUITE_MACHINE_DEVICE_REPORT_H

#include "base/buffer.h"
#include "suite/machine/devices.h"

/* "2 x NVIDIA H200, 139.8 GiB, sm_90, driver 580.65" */
void suite_device_line_models(const suite_devices *devices, dit_buffer *out);
/* "SM 1980 of 1980 MHz, memory 3201 MHz, 75 of 700 W, 31 C, ECC on; throttled: power_cap" */
void suite_device_line_state(const suite_devices *devices, dit_buffer *out);
/* "PCIe 5 x16, NVLink 18 of 18 to 4 peers, reaches the memory of 1" */
void suite_device_line_links(const suite_devices *devices, dit_buffer *out);
/* "CUDA 13.0 (driver 13.0), cuBLASLt 13.1.0, cuDNN 9.19.0, NCCL 2.28.3; linear used, ..." */
void suite_device_line_libraries(const suite_devices *devices, dit_buffer *out);
/* True if a device's clocks are held below their highest rate by a limit, not because it idles or was told to. */
bool suite_devices_throttled(const suite_devices *devices);
/* "eth0 25000 Mbit/s (mlx5_core), mlx5_0 400 Gb/sec (4X NDR) active (mlx5_core)" */
void suite_network_line(const cJSON *adapters, dit_buffer *out);

#endif
