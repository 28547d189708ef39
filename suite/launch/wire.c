#include "suite/launch/wire.h"

#include "suite/launch/process.h"
#include "suite/text.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char namespaces[] = "/run/netns";

bool suite_wire_shape_of(const cJSON *document, suite_wire_shape *out)
{
    const cJSON *link = dit_json_member(dit_json_member(document, "platform"), "link");
    *out = (suite_wire_shape){dit_json_number_or(link, "rate_bits_per_s", 0), dit_json_number_or(link, "delay_s", 0)};
    return out->rate_bits_per_s > 0;
}

/* The bucket holds what a big segment needs, or a millisecond of the rate; the queue 20 ms. A bucket much larger would
 * let short messages pass unshaped. */
static void write_shaping(const suite_wire_shape *shape, char out[160])
{
    double burst_bytes = shape->rate_bits_per_s / 8 * 1e-3;
    int used = 0;
    if (burst_bytes < 128 << 10) burst_bytes = 128 << 10;
    if (shape->delay_s > 0) used = snprintf(out, 160, "netem delay %.0fus, ", shape->delay_s * 1e6);
    snprintf(out + used, 160 - (size_t)used, "tbf rate %.0fbit burst %.0f latency 20ms, congctl cubic",
             shape->rate_bits_per_s, burst_bytes);
}

void suite_wire_plan(const suite_wire_shape *shape, suite_wire *out)
{
    *out = (suite_wire){.shape = *shape};
    for (int end = 0; end < SUITE_WIRE_ENDS; end++)
        snprintf(out->host[end], sizeof out->host[end], "ditbench.%d.%" PRIu64 ".%d", (int)getpid(),
                 suite_process_start_time(getpid()), end);
    write_shaping(shape, out->shaping);
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

/* Runs a line of the shell. Words are our own names and numbers. Errors: DIT_ERR_UNSUPPORTED with its last words. */
__attribute__((format(printf, 1, 2))) static dit_status tell(const char *format, ...)
{
    char line[512], said[256] = "", next[256];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line - 8, format, args);
    va_end(args);
    strcpy(line + length, " 2>&1");
    FILE *pipe = popen(line, "re");
    if (!pipe) return DIT_FAIL(DIT_ERR_UNSUPPORTED, "no shell to start `ip` and `tc`: %s", strerror(errno));
    while (fgets(next, sizeof next, pipe)) strcpy(said, next);
    said[strcspn(said, "\n")] = '\0';
    suite_text_clean(said);
    int status = pclose(pipe);
    line[length] = '\0';
    if (status == 0) return DIT_OK;
    return DIT_FAIL(DIT_ERR_UNSUPPORTED, "an emulated link cannot be made here: `%.200s`: %.200s", line, said);
}

/* The token bucket shapes; netem, which delays, has the bucket as its child's place in the queue. */
static dit_status shape_end(const suite_wire *wire, int end)
{
    const char *tbf = strstr(wire->shaping, "tbf ");
    int length = (int)strcspn(tbf, ",");
    const char *place = "root";
    if (wire->shape.delay_s > 0) {
        DIT_TRY(tell("tc -n %s qdisc add dev " SUITE_WIRE_INTERFACE " root handle 1: netem delay %.0fus limit 100000",
                     wire->host[end], wire->shape.delay_s * 1e6));
        place = "parent 1:";
    }
    return tell("tc -n %s qdisc add dev " SUITE_WIRE_INTERFACE " %s %.*s", wire->host[end], place, length, tbf);
}

static dit_status join_end(const suite_wire *wire, int end)
{
    const char *host = wire->host[end];
    DIT_TRY(tell("ip -n %s addr add 192.168.213.%d/30 dev " SUITE_WIRE_INTERFACE, host, end + 1));
    DIT_TRY(tell("ip -n %s link set lo up", host));
    DIT_TRY(tell("ip -n %s link set " SUITE_WIRE_INTERFACE " up", host));
    DIT_TRY(tell("ip -n %s route replace " SUITE_WIRE_SUBNET " dev " SUITE_WIRE_INTERFACE
                 " src 192.168.213.%d congctl lock cubic",
                 host, end + 1));
    return shape_end(wire, end);
}

static dit_status make(const suite_wire *wire)
{
    for (int end = 0; end < SUITE_WIRE_ENDS; end++) DIT_TRY(tell("ip netns add %s", wire->host[end]));
    DIT_TRY(tell("ip -n %s link add " SUITE_WIRE_INTERFACE " type veth peer name " SUITE_WIRE_INTERFACE " netns %s",
                 wire->host[0], wire->host[1]));
    for (int end = 0; end < SUITE_WIRE_ENDS; end++) DIT_TRY(join_end(wire, end));
    return DIT_OK;
}

dit_status suite_wire_open(const suite_wire *wire)
{
    if (geteuid() != 0)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "an emulated link needs root: only root makes network namespaces");
    suite_wire_sweep();
    dit_status st = make(wire);
    if (st != DIT_OK) suite_wire_close(wire);
    return st;
}

/* ---- removal ----------------------------------------------------------------------------------------------------- */

/* Goes on after a failure, and leaves the last error as it was. */
__attribute__((format(printf, 1, 2))) static void try_to(const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line - 20, format, args);
    va_end(args);
    strcpy(line + length, " >/dev/null 2>&1");
    if (system(line) == -1) return;
}

/* The interface goes first: a namespace lives on while a process of it does. */
static void remove_host(const char *name)
{
    try_to("ip -n %s link del " SUITE_WIRE_INTERFACE, name);
    try_to("ip netns del %s", name);
}

void suite_wire_close(const suite_wire *wire)
{
    char path[128];
    for (int end = 0; end < SUITE_WIRE_ENDS; end++) {
        snprintf(path, sizeof path, "%s/%s", namespaces, wire->host[end]);
        if (wire->host[end][0] && access(path, F_OK) == 0) remove_host(wire->host[end]);
    }
}

static bool is_stale(const char *name)
{
    uint64_t start_time;
    int pid, end, used = 0;
    if (sscanf(name, "ditbench.%d.%" SCNu64 ".%d%n", &pid, &start_time, &end, &used) != 3 || name[used]) return false;
    return suite_process_start_time(pid) != start_time;
}

void suite_wire_sweep(void)
{
    DIR *folder = geteuid() == 0 ? opendir(namespaces) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (is_stale(entry->d_name)) remove_host(entry->d_name);
    if (folder) closedir(folder);
}
