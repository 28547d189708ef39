#include "suite/workload/members.h"

void suite_member_shared(dit_json_writer *w, cJSON *parent, const cJSON *from, const char *key)
{
    dit_json_put_reference(w, parent, key, dit_json_member(from, key));
}

void suite_member_number(dit_json_writer *w, cJSON *parent, const suite_cell *cell, suite_parameter parameter)
{
    double value = 0;
    if (w->status == DIT_OK) dit_json_put_status(w, suite_cell_number(cell, parameter, &value));
    dit_json_put_number(w, parent, suite_parameter_key(parameter), value);
}
