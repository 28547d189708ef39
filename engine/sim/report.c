#include "engine/sim/report.h"

#include "engine/case/case.h"
#include "engine/sim/account.h"

#include <stdlib.h>

dit_status dit_sim_hash_case(const dit_json *doc, char out[33])
{
    cJSON *simulation = cJSON_DetachItemFromObjectCaseSensitive(doc->root, "simulation");
    dit_status st = dit_case_hash(doc, out);
    cJSON_AddItemToObject(doc->root, "simulation", simulation);
    return st;
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
    int64_t messages = 0;
    *out = cJSON_AddObjectToObject(more, "simulation");
    if (!*out) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the record");
    for (int rank = 0; rank < world_size; rank++) messages += dit_sim_counted_messages(&ranks[rank].iteration[0]);
    DIT_TRY(dit_json_add_string(*out, "accelerator", dit_sim_accelerator(sim)));
    DIT_TRY(dit_json_add_string(*out, "profile", dit_sim_profile(sim)));
    DIT_TRY(dit_json_add_int(*out, "element_bytes", dit_sim_element_bytes(sim)));
    DIT_TRY(dit_json_add_int(*out, "steps_simulated", repeats));
    return dit_json_add_int(*out, "messages", messages);
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
