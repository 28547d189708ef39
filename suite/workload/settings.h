/* Settings: lays values of the command line (--set KEY=VALUE) over a workload file.
 *
 * A key is a parameter of workloads (suite/catalogue/parameter.h), or measure.KEY or repeat.KEY. A value is JSON, or a
 * word that needs no quotes; several values with commas between them make an axis: --set world_size=1,2,4. A setting
 * replaces whatever the file says about its key, under "defaults", "axes" or "zip".
 */
#ifndef DIT_SUITE_WORKLOAD_SETTINGS_H
#define DIT_SUITE_WORKLOAD_SETTINGS_H

#include "suite/console/cli.h"
#include "suite/text.h"

/* The row of the option, for verbs that read workloads; `out` is a suite_strings *. */
#define SUITE_OPTION_SET(out)                                                                                          \
    {                                                                                                                  \
        "set", 's', SUITE_OPTION_STRINGS, "KEY=VALUE",                                                                 \
            "in place of what the file says; VALUE,VALUE makes an axis; may be repeated", out, 0, 0                    \
    }

/* Changes a parsed workload; its text stays that of the file. If anything was set, *told becomes an object of the
 * settings: {"num_inference_steps": 50, "world_size": [1, 2]}; the caller deletes it. Errors: DIT_ERR_USAGE for a word
 * that is not KEY=VALUE; for a wrong key or value those of a workload file, with "--set KEY=VALUE" for the place;
 * DIT_ERR_MEMORY. */
dit_status suite_settings_apply(const suite_strings *settings, dit_json *workload, cJSON **told);

#endif
