/* Probing a wire: children that enter its two namespaces send and count. */
#include "suite/launch/wire.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PORT = 5213, CHUNK = 1 << 18, ROUND_TRIPS = 100, PATIENCE_S = 20 };
static const double WARM_S = 0.05, PROBED_S = 0.15; /* at the declared rate */

/* In a child: from here on its sockets and its /proc/self/net are those of the host. */
static bool enter(const char *host)
{
    char path[128];
    snprintf(path, sizeof path, "/run/netns/%s", host);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool entered = file >= 0 && setns(file, CLONE_NEWNET) == 0;
    if (file >= 0) close(file);
    return entered;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* The ninth number of the line "  link0: ..." of /proc/self/net/dev; -1 where there is none. */
static int64_t transmitted(void)
{
    char line[512];
    int64_t sent = -1;
    FILE *file = fopen("/proc/self/net/dev", "re");
    while (file && fgets(line, sizeof line, file))
        if (strstr(line, SUITE_WIRE_INTERFACE ":"))
            sscanf(strchr(line, ':') + 1, "%*d %*d %*d %*d %*d %*d %*d %*d %" SCNd64, &sent);
    if (file) fclose(file);
    return sent;
}

/* Runs `work` in a child; what it returns of `size` bytes comes back through a pipe. */
static dit_status in_child(bool (*work)(const suite_wire *wire, int end, void *result), const suite_wire *wire, int end,
                           void *result, size_t size)
{
    char buffer[64];
    int gate[2], status = 0;
    if (pipe2(gate, O_CLOEXEC) != 0) return DIT_FAIL(DIT_ERR_ENVIRONMENT, "no pipe: %s", strerror(errno));
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(PATIENCE_S);
        memset(buffer, 0, sizeof buffer);
        bool right = enter(wire->host[end]) && work(wire, end, buffer);
        _exit(right && write(gate[1], buffer, size) == (ssize_t)size ? 0 : 1);
    }
    close(gate[1]);
    bool told = child > 0 && read(gate[0], result, size) == (ssize_t)size;
    close(gate[0]);
    if (child > 0) waitpid(child, &status, 0);
    if (told && status == 0) return DIT_OK;
    return DIT_FAIL(DIT_ERR_ENVIRONMENT, "the emulated link %s does not answer", wire->host[end]);
}

static bool count_sent(const suite_wire *wire, int end, void *result)
{
    (void)wire;
    (void)end;
    int64_t sent = transmitted();
    memcpy(result, &sent, sizeof sent);
    return sent >= 0;
}

dit_status suite_wire_sent(const suite_wire *wire, int64_t bytes[SUITE_WIRE_ENDS])
{
    for (int end = 0; end < SUITE_WIRE_ENDS; end++)
        DIT_TRY(in_child(count_sent, wire, end, &bytes[end], sizeof *bytes));
    return DIT_OK;
}

/* ---- rate -------------------------------------------------------------------------------------------------------- */

static struct sockaddr_in address_of(int end)
{
    struct sockaddr_in out = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    out.sin_addr.s_addr = htonl(0xc0a8d500u + (uint32_t)end + 1); /* 192.168.213.1 and .2 */
    return out;
}

/* Answers each of ROUND_TRIPS bytes, then swallows what comes until the peer closes. */
static bool answer(int peer, char *chunk)
{
    int one = 1;
    setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    for (int i = 0; i < ROUND_TRIPS; i++)
        if (read(peer, chunk, 1) != 1 || write(peer, chunk, 1) != 1) return false;
    return true;
}

static bool swallow(int peer, char *chunk, const suite_wire *wire, double *bits_per_s)
{
    const double bytes_per_s = wire->shape.rate_bits_per_s / 8;
    int64_t got = 0, from = 0, began = 0, ended = 0;
    for (ssize_t more; (more = read(peer, chunk, CHUNK)) > 0;) {
        got += more;
        ended = dit_clock_ns();
        if (began || (double)got < bytes_per_s * WARM_S) continue;
        began = ended;
        from = got;
    }
    if (ended <= began) return false;
    *bits_per_s = (double)(got - from) * 8e9 / (double)(ended - began);
    return true;
}

static bool receive(const suite_wire *wire, int listener, double *bits_per_s)
{
    char *chunk = malloc(CHUNK);
    int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    bool right = chunk && peer >= 0 && answer(peer, chunk) && swallow(peer, chunk, wire, bits_per_s);
    if (peer >= 0) close(peer);
    free(chunk);
    return right;
}

static int listen_at(int end)
{
    const struct sockaddr_in address = address_of(end);
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (const struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 1) == 0)
        return listener;
    close(listener);
    return -1;
}

static bool ping(int peer, char *chunk, double *round_trip_s)
{
    int one = 1;
    setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    const int64_t began = dit_clock_ns();
    for (int i = 0; i < ROUND_TRIPS; i++)
        if (write(peer, chunk, 1) != 1 || read(peer, chunk, 1) != 1) return false;
    *round_trip_s = (double)(dit_clock_ns() - began) * 1e-9 / ROUND_TRIPS;
    return true;
}

static bool flood(int peer, const char *chunk, double bytes)
{
    for (ssize_t sent; bytes > 0; bytes -= (double)sent)
        if ((sent = write(peer, chunk, CHUNK)) <= 0) return false;
    return true;
}

/* In end 0, with a child of its own that listens in end 1. */
static bool send_all(const suite_wire *wire, double *round_trip_s)
{
    const struct sockaddr_in address = address_of(1);
    const double bytes = wire->shape.rate_bits_per_s / 8 * (WARM_S + PROBED_S);
    char *chunk = calloc(1, CHUNK);
    int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool right = chunk && peer >= 0 && connect(peer, (const struct sockaddr *)&address, sizeof address) == 0 &&
                 ping(peer, chunk, round_trip_s) && flood(peer, chunk, bytes);
    if (peer >= 0) close(peer);
    free(chunk);
    return right;
}

/* Starts the sender once somebody listens, so that nothing has to wait and try again. */
static bool probe_from_receiver(const suite_wire *wire, int end, void *result)
{
    suite_wire_rate rate = {0};
    int gate[2], status = 1, listener = listen_at(end);
    if (listener < 0 || pipe2(gate, O_CLOEXEC) != 0) return false;
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(PATIENCE_S);
        bool right = enter(wire->host[0]) && send_all(wire, &rate.round_trip_s) &&
                     write(gate[1], &rate.round_trip_s, sizeof(double)) == (ssize_t)sizeof(double);
        _exit(right ? 0 : 1);
    }
    close(gate[1]);
    bool right = child > 0 && receive(wire, listener, &rate.bits_per_s) &&
                 read(gate[0], &rate.round_trip_s, sizeof(double)) == (ssize_t)sizeof(double);
    close(gate[0]);
    close(listener);
    if (child > 0) waitpid(child, &status, 0);
    memcpy(result, &rate, sizeof rate);
    return right && status == 0;
}

dit_status suite_wire_probe(const suite_wire *wire, suite_wire_rate *out)
{
    *out = (suite_wire_rate){0};
    return in_child(probe_from_receiver, wire, 1, out, sizeof *out);
}
