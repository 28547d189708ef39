#include "cuda_runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if !defined(__x86_64__) || defined(DIT_EMULATED_UCONTEXT)
#define USE_UCONTEXT 1
#include <ucontext.h>
#endif

enum { STACK_BYTES = 512 << 10, MOST_THREADS = 1024, GUARD_BYTES = 128 };
static const unsigned char GUARD = 0xA5;

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;
extern "C" {
int64_t emulated_launches;
}

/* ---- fibers ------------------------------------------------------------------------------------------------------ */

struct thread;
struct fiber {
    thread *runs;
    fiber *next_free;
    const void *stack; /* its lowest byte; the launcher's is what the sanitizer says */
    size_t stack_bytes;
    void *fake_stack; /* the sanitizer's */
#ifdef USE_UCONTEXT
    ucontext_t context;
#else
    void *stack_pointer;
#endif
};

static fiber launcher, *current = &launcher, *left; /* left: the fiber that switched to the current one */
static fiber *free_fibers;
static void fiber_main(void);

#ifdef USE_UCONTEXT
static void fiber_prepare(fiber *f)
{
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = (void *)f->stack;
    f->context.uc_stack.ss_size = f->stack_bytes;
    f->context.uc_link = NULL;
    makecontext(&f->context, fiber_main, 0);
}

static void fiber_swap(fiber *from, fiber *to)
{
    swapcontext(&from->context, &to->context);
}
#else
/* Saves the registers that a call preserves, and returns on the other stack. */
extern "C" void emulated_swap_stacks(void **from, void *to);
asm(".text\n"
    ".type emulated_swap_stacks, @function\n"
    "emulated_swap_stacks:\n"
    "    pushq %rbp\n"
    "    pushq %rbx\n"
    "    pushq %r12\n"
    "    pushq %r13\n"
    "    pushq %r14\n"
    "    pushq %r15\n"
    "    movq %rsp, (%rdi)\n"
    "    movq %rsi, %rsp\n"
    "    popq %r15\n"
    "    popq %r14\n"
    "    popq %r13\n"
    "    popq %r12\n"
    "    popq %rbx\n"
    "    popq %rbp\n"
    "    ret\n"
    ".size emulated_swap_stacks, . - emulated_swap_stacks\n");

/* Prepares a fiber's stack: six registers, the address to return to, and the return address of fiber_main's supposed
 * caller, which aligns the stack as at any function's entry. */
static void fiber_prepare(fiber *f)
{
    void **top = (void **)((char *)f->stack + f->stack_bytes);
    top[-1] = NULL;
    top[-2] = (void *)fiber_main;
    for (int i = 3; i <= 8; i++) top[-i] = NULL;
    f->stack_pointer = top - 8;
}

static void fiber_swap(fiber *from, fiber *to)
{
    emulated_swap_stacks(&from->stack_pointer, to->stack_pointer);
}
#endif

/* Tells the sanitizer that `current` runs now, and learns the stack of the one before. */
static void fiber_arrived(void)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(current->fake_stack, &left->stack, &left->stack_bytes);
#endif
}

static void fiber_switch(fiber *to)
{
    fiber *from = current;
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_bytes);
#endif
    left = from;
    current = to;
    fiber_swap(from, to);
    fiber_arrived();
}

static fiber *fiber_get(void)
{
    fiber *f = free_fibers;
    if (f) {
        free_fibers = f->next_free;
        return f;
    }
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = (char *)mmap(NULL, STACK_BYTES + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    f = new fiber();
    if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0) {
        fprintf(stderr, "emulated kernel: no memory for a thread's stack\n");
        abort();
    }
    f->stack = memory + page;
    f->stack_bytes = STACK_BYTES;
    fiber_prepare(f);
    return f;
}

/* ---- the block --------------------------------------------------------------------------------------------------- */

enum thread_state { NOT_BEGUN, RUNS, AT_BARRIER, AT_LANES, ENDED };
struct thread {
    thread_state state;
    uint3 index;
    int number;
    fiber *on;
    unsigned mask; /* AT_LANES */
    emulated_lanes_work *work;
    void *mine;
};

static struct {
    const emulated_kernel *kernel;
    const std::function<void()> *body;
    thread threads[MOST_THREADS];
    int count, begun, ended;
    int ready[MOST_THREADS], ready_first, ready_count; /* threads whose wait is over, in order */
    int arrived, votes, votes_counted;
    unsigned char *shared;
} block;

static const char *state_text(const thread *t)
{
    static const char *const texts[] = {"has not begun", "runs", "waits at __syncthreads",
                                        "waits for lanes of its warp", "has ended"};
    return texts[t->state];
}

/* Reports one thread of each state, and ends the process. */
__attribute__((noreturn)) static void report(const char *what)
{
    bool shown[ENDED + 1] = {false};
    fprintf(stderr, "emulated kernel %s: block (%u, %u, %u) of %d threads: %s\n", block.kernel->name, blockIdx.x,
            blockIdx.y, blockIdx.z, block.count, what);
    for (int i = 0; i < block.count; i++) {
        const thread *t = &block.threads[i];
        if (shown[t->state]) continue;
        shown[t->state] = true;
        fprintf(stderr, "  thread (%u, %u, %u) %s", t->index.x, t->index.y, t->index.z, state_text(t));
        if (t->state == AT_LANES) fprintf(stderr, ", mask %08x", t->mask);
        fprintf(stderr, "\n");
    }
    abort();
}

static thread *running(void)
{
    return current->runs;
}

static void make_ready(thread *t)
{
    t->state = RUNS;
    block.ready[(block.ready_first + block.ready_count++) % MOST_THREADS] = t->number;
}

static fiber *take_ready(void)
{
    thread *t = &block.threads[block.ready[block.ready_first]];
    block.ready_first = (block.ready_first + 1) % MOST_THREADS;
    block.ready_count--;
    return t->on;
}

static void begin_next(fiber *on)
{
    thread *t = &block.threads[block.begun++];
    t->state = RUNS;
    t->on = on;
    on->runs = t;
}

/* Waits until someone makes the thread ready. Ready threads run before others begin, so that warps stay together. */
static void wait_turn(void)
{
    fiber *to;
    if (block.ready_count) {
        to = take_ready();
    } else if (block.begun < block.count) {
        to = fiber_get();
        begin_next(to);
    } else {
        report("threads wait for others that never come");
    }
    fiber_switch(to);
    threadIdx = running()->index;
}

static void leave(fiber *to)
{
    current->next_free = free_fibers;
    free_fibers = current;
    fiber_switch(to);
}

/* A fiber runs thread after thread. */
static void fiber_main(void)
{
    fiber_arrived();
    for (;;) {
        threadIdx = running()->index;
        (*block.body)();
        running()->state = ENDED;
        block.ended++;
        if (block.ready_count)
            leave(take_ready());
        else if (block.begun < block.count)
            begin_next(current);
        else if (block.ended == block.count)
            leave(&launcher);
        else
            report("threads wait for others that never come");
    }
}

/* ---- waiting for each other -------------------------------------------------------------------------------------- */

void *emulated_shared(void)
{
    return block.shared;
}

int emulated_lane(void)
{
    return running()->number % EMULATED_WARP;
}

int __syncthreads_count(int predicate)
{
    thread *self = running();
    block.votes += predicate != 0;
    if (++block.arrived < block.count) {
        self->state = AT_BARRIER;
        wait_turn();
        return block.votes_counted;
    }
    block.arrived = 0;
    block.votes_counted = block.votes;
    block.votes = 0;
    for (int i = 0; i < block.count; i++)
        if (block.threads[i].state == AT_BARRIER) make_ready(&block.threads[i]);
    return block.votes_counted;
}

void __syncthreads(void)
{
    __syncthreads_count(0);
}

static bool lane_has_come(const thread *t, const thread *self)
{
    return t == self || (t->state == AT_LANES && t->mask == self->mask && t->work == self->work);
}

void emulated_lanes(unsigned mask, emulated_lanes_work *work, void *mine)
{
    thread *self = running(), *warp = self - self->number % EMULATED_WARP;
    int first = warp->number, size = block.count - first < EMULATED_WARP ? block.count - first : EMULATED_WARP;
    self->mask = size < EMULATED_WARP ? mask & ((1u << size) - 1) : mask;
    self->work = work;
    self->mine = mine;
    self->state = AT_LANES;
    if (!(mask >> (self - warp) & 1)) report("a lane calls a collective of its warp with a mask without itself");
    for (int i = size - 1; i >= 0; i--) /* lanes come in order: one that has not is found at once */
        if (self->mask >> i & 1 && !lane_has_come(&warp[i], self)) return wait_turn();
    void *lanes[EMULATED_WARP] = {NULL};
    for (int i = 0; i < size; i++)
        if (self->mask >> i & 1) lanes[i] = warp[i].mine;
    work(lanes);
    self->state = RUNS;
    for (int i = 0; i < size; i++)
        if (self->mask >> i & 1 && &warp[i] != self) make_ready(&warp[i]);
}

/* Exchanges values between lanes; a lane that reads from one that takes no part gets NaN. */
void emulated_exchange_lanes(void *const lanes[EMULATED_WARP])
{
    for (int i = 0; i < EMULATED_WARP; i++) {
        emulated_exchange *mine = (emulated_exchange *)lanes[i];
        if (!mine) continue;
        const emulated_exchange *from = (const emulated_exchange *)lanes[mine->source & (EMULATED_WARP - 1)];
        mine->result = from ? from->value : UINT64_MAX;
    }
}

void emulated_vote_lanes(void *const lanes[EMULATED_WARP])
{
    uint64_t ballot = 0;
    for (int i = 0; i < EMULATED_WARP; i++)
        if (lanes[i] && *(const uint64_t *)lanes[i]) ballot |= (uint64_t)1 << i;
    for (int i = 0; i < EMULATED_WARP; i++)
        if (lanes[i]) *(uint64_t *)lanes[i] = ballot;
}

void emulated_nothing(void *const[EMULATED_WARP]) {}

/* ---- the grid ---------------------------------------------------------------------------------------------------- */

static void number_threads(dim3 size)
{
    block.count = (int)(size.x * size.y * size.z);
    for (int i = 0; i < block.count; i++) {
        unsigned n = (unsigned)i;
        block.threads[i].number = i;
        block.threads[i].index = {n % size.x, n / size.x % size.y, n / (size.x * size.y)};
    }
}

static void run_block(size_t shared_bytes)
{
    for (int i = 0; i < block.count; i++) block.threads[i].state = NOT_BEGUN;
    block.begun = block.ended = block.ready_count = block.arrived = block.votes = 0;
    memset(block.shared, 0xFF, shared_bytes);
    memset(block.shared + shared_bytes, GUARD, GUARD_BYTES);
    fiber *first = fiber_get();
    begin_next(first);
    fiber_switch(first);
    for (int i = 0; i < GUARD_BYTES; i++)
        if (block.shared[shared_bytes + (size_t)i] != GUARD) report("it writes beyond its dynamic shared memory");
}

void emulated_run(const emulated_kernel &kernel, const std::function<void()> &thread)
{
    size_t shared_bytes = (kernel.shared_bytes + 127) / 128 * 128;
    block.kernel = &kernel;
    block.body = &thread;
    block.shared = (unsigned char *)aligned_alloc(128, shared_bytes + GUARD_BYTES);
    if (!block.shared) abort();
    gridDim = kernel.grid;
    blockDim = kernel.block;
    number_threads(kernel.block);
    emulated_launches++;
    for (unsigned z = 0; z < gridDim.z; z++)
        for (unsigned y = 0; y < gridDim.y; y++)
            for (unsigned x = 0; x < gridDim.x; x++) {
                blockIdx = {x, y, z};
                run_block(kernel.shared_bytes);
            }
    free(block.shared);
}
