/* Settings: values laid over a workload file from the command line (--set KEY=VALUE).
 *
 * A key is a parameter of workloads (suite/catalogue/parameter.h), or measure.KEY or repeat.KEY. A value is JSON, or a word that
 * needs no quotes; several values with commas between them make an axis: --set world_size=1,2,4. What is set takes the
 * place of whatever the file says of that key, under "defaults", "axes" or "zip".
 */
#ifndef DIT_SUITE_WORKLOAD_SETTINGS_H
#define DIT_SUITE_WORKLOAD_SETTINGS_H

#include "suite/console/cli.h"
#include "suite/text.h"

/* The option, for the table of a verb that reads workloads; `out` is a suite_strings *. */
#define SUITE_OPTION_SET(out)                                                                                          \
    {                                                                                                                  \
        "set", 's', SUITE_OPTION_STRINGS, "KEY=VALUE",                                                                 \
            "in place of what the file says; VALUE,VALUE makes an axis; may be repeated", out, 0, 0                    \
    }

/* Changes a parsed workload, whose text stays what the file says. *told, when anything was set, becomes an object of
 * what was: {"num_inference_steps": 50, "world_size": [1, 2]}; the caller deletes it.
 * Errors: DIT_ERR_USAGE for what is no KEY=VALUE; for a wrong key or value those of a workload file, with "--set
 * KEY=VALUE" for the place; DIT_ERR_MEMORY. */
dit_status suite_settings_apply(const suite_strings *settings, dit_json *workload, cJSON **told);

#endif
