#include "engine/timing/position.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES = 1024, LINE_PEERS = 16 };
static const int64_t repeat_ns = INT64_C(10000000000); /* SIGTERM so soon after SIGUSR1 writes no second line */

dit_position_state dit_position = {.image = -1, .step = -1, .patch = -1, .layer = -1};

/* Set before the handler is installed, and with the mesh. */
static struct {
    int rank;
    char path[4096];
    int degree[DIT_AXIS_COUNT], coordinate[DIT_AXIS_COUNT];
    volatile int64_t told_ns; /* when the line was last written */
} self;

void dit_position_set_mesh(const dit_parallel *parallel, const int coordinates[DIT_AXIS_COUNT])
{
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) {
        self.degree[axis] = parallel->degree[axis];
        self.coordinate[axis] = coordinates[axis];
    }
}

void dit_position_wait_begin(const dit_position_wait *wait)
{
    volatile dit_position_wait *now = &dit_position.wait;
    now->axis = wait->axis;
    now->ranks = wait->ranks;
    now->size = wait->size;
    now->own = wait->own;
    now->from = wait->from;
    now->to = wait->to;
    now->received_bytes = wait->received_bytes;
    now->sent_bytes = wait->sent_bytes;
    now->began_ns = wait->began_ns;
    now->collective = wait->collective; /* set last: it makes the other members valid */
}

/* ---- the line: only what a signal handler may call --------------------------------------------------------------- */

typedef struct {
    char text[LINE_BYTES];
    size_t used;
} line;

static void put(line *l, const char *text)
{
    while (*text && l->used < sizeof l->text - 1) l->text[l->used++] = *text++;
}

static void put_number(line *l, int64_t number)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    digits[at] = '\0';
    do digits[--at] = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (number < 0) digits[--at] = '-';
    put(l, digits + at);
}

/* "1.523 s" */
static void put_seconds(line *l, int64_t ns)
{
    int64_t ms = ns / 1000000;
    char decimals[] = {'.', (char)('0' + ms / 100 % 10), (char)('0' + ms / 10 % 10), (char)('0' + ms % 10), '\0'};
    put_number(l, ms / 1000);
    put(l, decimals);
    put(l, " s");
}

static int world_rank(const dit_position_wait *wait, int member)
{
    return wait->ranks ? wait->ranks[member] : member;
}

static void put_rank(line *l, const dit_position_wait *wait, int member)
{
    put(l, "rank ");
    put_number(l, world_rank(wait, member));
}

/* "rank 1", or "ranks 1 2 3": the whole group but this rank. */
static void put_others(line *l, const dit_position_wait *wait)
{
    int named = 0;
    put(l, wait->size == 2 ? "rank" : "ranks");
    for (int member = 0; member < wait->size; member++) {
        if (member == wait->own) continue;
        if (named++ == LINE_PEERS) {
            put(l, " ...");
            return;
        }
        put(l, " ");
        put_number(l, world_rank(wait, member));
    }
}

static void put_received(line *l, const dit_position_wait *wait)
{
    if (wait->received_bytes > 0) {
        put_number(l, wait->received_bytes);
        put(l, " bytes from ");
    }
    if (wait->from == DIT_POSITION_EVERYBODY)
        put_others(l, wait);
    else
        put_rank(l, wait, wait->from);
}

/* " waits for 12288 bytes from rank 0 and for rank 2 to take 12288 bytes" */
static void put_wait(line *l, const dit_position_wait *wait)
{
    put(l, " waits for ");
    if (wait->from != DIT_POSITION_NOBODY) put_received(l, wait);
    if (wait->to == DIT_POSITION_NOBODY) return;
    if (wait->from != DIT_POSITION_NOBODY) put(l, " and for ");
    put_rank(l, wait, wait->to);
    put(l, " to take ");
    put_number(l, wait->sent_bytes);
    put(l, " bytes");
}

/* "ulysses all_to_all for 1.523 s" */
static void put_collective(line *l, const dit_position_wait *wait, int64_t now_ns)
{
    put(l, wait->axis);
    put(l, " ");
    put(l, wait->collective);
    put(l, " for ");
    put_seconds(l, now_ns - wait->began_ns);
}

static void put_numbered(line *l, const char **separator, const char *word, int number)
{
    if (number < 0) return;
    put(l, *separator);
    put(l, word);
    put(l, " ");
    put_number(l, number);
    *separator = ", ";
}

/* "image 0, step 3, patch 2, block 4", "image 0, step 3, scheduler" */
static void put_place(line *l, const char **separator)
{
    const char *phase = dit_position.phase;
    put_numbered(l, separator, "image", dit_position.image);
    put_numbered(l, separator, "step", dit_position.step);
    put_numbered(l, separator, "patch", dit_position.patch);
    put_numbered(l, separator, "block", dit_position.layer);
    if (!phase || dit_position.layer >= 0) return; /* a block is in the phase of blocks */
    put(l, *separator);
    put(l, phase);
    *separator = ", ";
}

/* "ulysses 1 of 2, cfg 0 of 2" */
static void put_coordinates(line *l, const char **separator)
{
    for (int axis = 0; axis < DIT_AXIS_COUNT; axis++) {
        if (self.degree[axis] < 2) continue;
        put(l, *separator);
        put(l, dit_axis_name((dit_axis)axis));
        put(l, " ");
        put_number(l, self.coordinate[axis]);
        put(l, " of ");
        put_number(l, self.degree[axis]);
        *separator = ", ";
    }
}

/* "rank 1 waits for 12288 bytes from rank 0 (pipefusion send_recv for 1.523 s, step 3, patch 2; pipefusion 1 of 2)" */
static void compose(line *l, int64_t now_ns)
{
    const dit_position_wait wait = dit_position.wait;
    const char *separator = " (";
    put(l, "rank ");
    put_number(l, self.rank);
    if (wait.collective) {
        put_wait(l, &wait);
        put(l, separator);
        put_collective(l, &wait, now_ns);
        separator = ", ";
    } else {
        put(l, " waits for nothing");
    }
    put_place(l, &separator);
    if (separator[0] == ',') separator = "; ";
    put_coordinates(l, &separator);
    put(l, separator[0] == ' ' ? "\n" : ")\n");
}

/* ---- the handler ------------------------------------------------------------------------------------------------- */

static void write_all(int fd, const char *text, size_t length)
{
    for (ssize_t written; length > 0; text += written, length -= (size_t)written) {
        written = write(fd, text, length);
        if (written < 0 && errno != EINTR) return;
        if (written < 0) written = 0;
    }
}

static void tell(int64_t now_ns)
{
    line l = {.used = 0};
    compose(&l, now_ns);
    write_all(STDERR_FILENO, l.text, l.used);
    int fd = open(self.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return;
    write_all(fd, l.text, l.used);
    close(fd);
}

static void answer(int number)
{
    int error = errno;
    int64_t now_ns = dit_clock_ns();
    if (number == SIGUSR1 || !self.told_ns || now_ns - self.told_ns > repeat_ns) tell(now_ns);
    self.told_ns = now_ns;
    errno = error;
    if (number != SIGTERM) return;
    signal(SIGTERM, SIG_DFL); /* ends the process as SIGTERM asks: the raised signal is held until we return */
    raise(SIGTERM);
}

dit_status dit_position_install(int rank, const char *out_folder)
{
    struct sigaction action = {.sa_handler = answer, .sa_flags = SA_RESTART};
    self.rank = rank;
    snprintf(self.path, sizeof self.path, "%s/position-%d.txt", out_folder, rank);
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaddset(&action.sa_mask, SIGTERM);
    if (sigaction(SIGUSR1, &action, NULL) == 0 && sigaction(SIGTERM, &action, NULL) == 0) return DIT_OK;
    return DIT_FAIL(DIT_ERR_ENVIRONMENT, "cannot install the signal handlers: %s", strerror(errno));
}
