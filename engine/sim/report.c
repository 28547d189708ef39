#include "engine/sim/report.h"

#include "base/json_writer.h"

#include "engine/case/case.h"
#include "engine/sim/account.h"

#include <stdlib.h>

dit_status dit_sim_hash_case(const dit_json *doc, char out[33])
{
    dit_json_writer w = {0};
    cJSON *simulation = cJSON_DetachItemFromObjectCaseSensitive(doc->root, "simulation");
    dit_status st = dit_case_hash(doc, out);
    dit_json_put_item(&w, doc->root, "simulation", simulation);
    return st == DIT_OK ? w.status : st;
}

dit_status dit_sim_meet(const dit_measurement *own, dit_measurement **out)
{
    const dit_measurement **all;
    int size = dit_comm_size(dit_comm_world());
    int64_t *offsets = calloc((size_t)size + 1, sizeof *offsets);
    *out = own->head.rank == 0 ? calloc((size_t)size, sizeof **out) : NULL;
    if (!offsets || (own->head.rank == 0 && !*out)) {
        free(offsets);
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d ranks", size);
    }
    dit_status st = dit_comm_collect(dit_comm_world(), &own, (int64_t)sizeof own, (char **)(void *)&all, offsets);
    for (int rank = 0; rank < size && st == DIT_OK && *out; rank++) (*out)[rank] = *all[rank];
    if (st == DIT_OK) free(all);
    free(offsets);
    return st;
}

dit_status dit_sim_describe(const dit_sim *sim, const dit_measurement *ranks, int world_size, int repeats, cJSON *more,
                            cJSON **out)
{
    dit_json_writer w = {0};
    int64_t messages = 0;
    *out = dit_json_put_object(&w, more, "simulation");
    for (int rank = 0; rank < world_size; rank++) messages += dit_sim_counted_messages(&ranks[rank].iteration[0]);
    dit_json_put_string(&w, *out, "accelerator", dit_sim_accelerator(sim));
    dit_json_put_string(&w, *out, "profile", dit_sim_profile(sim));
    dit_json_put_int(&w, *out, "element_bytes", dit_sim_element_bytes(sim));
    dit_json_put_int(&w, *out, "steps_simulated", repeats);
    dit_json_put_int(&w, *out, "messages", messages);
    return w.status;
}

dit_status dit_sim_check_memory(const dit_sim *sim, const dit_measurement *ranks, int world_size)
{
    const double gib = 1024.0 * 1024 * 1024;
    int64_t there = dit_sim_memory_bytes(sim);
    for (int rank = 0; rank < world_size; rank++)
        if (there && ranks[rank].head.total_peak > there)
            return dit_error_hint(DIT_FAIL(DIT_ERR_MEMORY, "rank %d needs %.2f GiB, %s has %.2f GiB", rank,
                                           (double)ranks[rank].head.total_peak / gib, dit_sim_accelerator(sim),
                                           (double)there / gib),
                                  "methods that cut the weights or the picture need less: see ditbench explain");
    return DIT_OK;
}
