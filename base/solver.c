#include "base/solver.h"

#include "base/json.h"
#include "base/words.h"

#include <string.h>

static const char *class_of(const cJSON *config)
{
    return dit_json_text_or(config, "_class_name", "");
}

bool dit_solver_draws_noise(const cJSON *config)
{
    static const char *const classes[] = {"DDPMScheduler", "CogVideoXDPMScheduler", NULL};
    return dit_words_find(classes, class_of(config)) >= 0;
}

dit_status dit_solver_check_steps(const cJSON *config, int64_t steps)
{
    const int64_t train = (int64_t)dit_json_number_or(config, "num_train_timesteps", 1000);
    bool flow =
        strncmp(class_of(config), "FlowMatch", 9) == 0 || cJSON_IsTrue(dit_json_member(config, "use_flow_sigmas"));
    if (flow || steps < train) return DIT_OK; /* solvers of several steps need a grid point more */
    return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%lld steps do not fit on the %lld training timesteps of %s", (long long)steps,
                    (long long)train, class_of(config));
}
