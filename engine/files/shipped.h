/* Shipped: finds a folder of weights that the project ships with its workloads, by its name. */
#ifndef DIT_ENGINE_SHIPPED_H
#define DIT_ENGINE_SHIPPED_H

#include "base/status.h"

enum { DIT_SHIPPED_PATH = 4096 };

/* Writes the path of $DITBENCH_WORKLOADS/weights/NAME. Errors: DIT_ERR_USAGE for a name that is none of a folder there;
 * DIT_ERR_ENVIRONMENT where the variable is not set, which the harness does; DIT_ERR_NOT_FOUND. */
dit_status dit_shipped_folder(const char *name, char out[DIT_SHIPPED_PATH]);

/* Returns `path`; one that begins with "$DITBENCH_WORKLOADS/" with the variable's value, in `out`. Cases name so what lies in
 * or beside the project's workloads, whatever the machine. Errors: DIT_ERR_ENVIRONMENT, as above. */
dit_status dit_shipped_expand(const char *path, char out[DIT_SHIPPED_PATH], const char **expanded);

#endif
