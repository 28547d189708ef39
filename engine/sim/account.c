#include "engine/sim/account.h"

#include <string.h>

dit_iteration dit_sim_counted(const dit_runtime *rt)
{
    dit_iteration it = {.counters = rt->counters, .flops = rt->flops};
    memcpy(it.time_ns, rt->time_ns, sizeof it.time_ns);
    return it;
}

int64_t dit_sim_counted_messages(const dit_iteration *counted)
{
    const dit_comm_counter *counter = &counted->counters.at[0][0][0];
    int64_t messages = 0;
    for (int i = 0; i < DIT_VOLUME_PLACES; i++) messages += counter[i].messages;
    return messages;
}

void dit_sim_counted_grow(dit_iteration *to, int64_t times, const dit_iteration *more, const dit_iteration *less)
{
    dit_comm_counter *counter = &to->counters.at[0][0][0];
    const dit_comm_counter *a = &more->counters.at[0][0][0], *b = &less->counters.at[0][0][0];
    to->latency_ns += times * (more->latency_ns - less->latency_ns);
    for (int time = 0; time < DIT_TIME_COUNT; time++)
        to->time_ns[time] += times * (more->time_ns[time] - less->time_ns[time]);
    for (int i = 0; i < DIT_VOLUME_PLACES; i++) {
        counter[i].bytes += times * (a[i].bytes - b[i].bytes);
        counter[i].messages += times * (a[i].messages - b[i].messages);
        counter[i].time_ns += times * (a[i].time_ns - b[i].time_ns);
        counter[i].span_ns += times * (a[i].span_ns - b[i].span_ns);
    }
    to->flops.linear += (double)times * (more->flops.linear - less->flops.linear);
    to->flops.attention += (double)times * (more->flops.attention - less->flops.attention);
    to->flops.convolution += (double)times * (more->flops.convolution - less->flops.convolution);
    to->flops.other += (double)times * (more->flops.other - less->flops.other);
    for (int op = 0; op < DIT_OPERATOR_COUNT; op++)
        to->flops.calls[op] += times * (more->flops.calls[op] - less->flops.calls[op]);
}

void dit_sim_account_grow(dit_sim_account *to, int64_t times, const dit_sim_account *more, const dit_sim_account *less)
{
    to->seconds += (double)times * (more->seconds - less->seconds);
    dit_sim_counted_grow(&to->counted, times, &more->counted, &less->counted);
    for (int i = 0; i < DIT_MEMORY_CLASS_COUNT; i++) to->peak[i] += times * (more->peak[i] - less->peak[i]);
    to->total_peak += times * (more->total_peak - less->total_peak);
}

static int64_t resized(int64_t bytes, int element_bytes)
{
    return bytes / (int64_t)sizeof(float) * element_bytes;
}

void dit_sim_account_resize(dit_sim_account *account, int element_bytes)
{
    dit_comm_counter *counter = &account->counted.counters.at[0][0][0];
    for (int i = 0; i < DIT_VOLUME_PLACES; i++) counter[i].bytes = resized(counter[i].bytes, element_bytes);
    for (int i = 0; i < DIT_MEMORY_CLASS_COUNT; i++) account->peak[i] = resized(account->peak[i], element_bytes);
    account->total_peak = resized(account->total_peak, element_bytes);
}
