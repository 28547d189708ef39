/* The emulation of CUDA on the host: threads of a block meet where they should, what a GPU leaves undefined is noticed,
 * and recorded work is done when it is launched. */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include "base/tests/test.h"

#include <sys/wait.h>

#define LAUNCH(kernel, grid, block, shared, ...)                                                                       \
    assert_int_equal(emulated_launch(#kernel, NULL, grid, block, shared, kernel, ##__VA_ARGS__), cudaSuccess)
static const unsigned WHOLE = 0xFFFFFFFFu;

/* ---- threads and blocks ------------------------------------------------------------------------------------------ */

__global__ void write_place(int *out)
{
    int block = (int)((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x);
    int inside = (int)((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x);
    out[block * (int)(blockDim.x * blockDim.y * blockDim.z) + inside] += block * 1000 + inside;
}

static void every_thread_of_every_block_runs_once(void **)
{
    int out[2 * 3 * 4 * 60] = {0};
    LAUNCH(write_place, dim3(2, 3, 4), dim3(5, 4, 3), 0, out);
    for (int i = 0; i < 24 * 60; i++) assert_int_equal(out[i], i / 60 * 1000 + i % 60);
}

/* Each round reads what all the others wrote in the round before. */
__global__ void rotate(const float *in, float *out, int rounds)
{
    __shared__ float row[256];
    int n = (int)blockDim.x, t = (int)threadIdx.x;
    row[t] = in[blockIdx.x * blockDim.x + t];
    for (int i = 0; i < rounds; i++) {
        __syncthreads();
        float next = row[(t + 1) % n];
        __syncthreads();
        row[t] = next;
    }
    out[blockIdx.x * blockDim.x + t] = row[t];
}

static void barriers_hold_until_all_have_come(void **)
{
    static float in[3 * 256], out[3 * 256];
    for (int threads = 1; threads <= 256; threads = threads * 3 + 1) {
        for (int i = 0; i < 3 * threads; i++) in[i] = (float)i;
        LAUNCH(rotate, 3, (unsigned)threads, 0, in, out, 5);
        for (int i = 0; i < 3 * threads; i++)
            assert_true(out[i] == (float)(i / threads * threads + (i % threads + 5) % threads));
    }
}

__global__ void sum_rows(const float *in, float *out, int n)
{
    float *part = (float *)emulated_shared(), x = 0;
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) x += in[(int)blockIdx.x * n + i];
    for (int step = 16; step; step /= 2) x += __shfl_xor_sync(WHOLE, x, step);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    x = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
    for (int step = 16; step; step /= 2) x += __shfl_down_sync(WHOLE, x, (unsigned)step);
    if (threadIdx.x == 0) out[blockIdx.x] = x;
}

static void a_reduction_through_warps_and_shared_memory_is_right(void **)
{
    static float in[4 * 5000], out[4];
    for (int i = 0; i < 4 * 5000; i++) in[i] = (float)(i % 17);
    LAUNCH(sum_rows, 4, 1024, 32 * sizeof(float), in, out, 5000);
    for (int row = 0; row < 4; row++) {
        float expected = 0;
        for (int i = 0; i < 5000; i++) expected += in[row * 5000 + i];
        assert_true(out[row] == expected);
    }
}

__global__ void count_votes(int *out)
{
    int t = (int)threadIdx.x;
    out[t] = __syncthreads_count(t % 3 == 0);
    out[t] += 1000 * __syncthreads_or(t == 77) + 10000 * __syncthreads_and(t < 1000) + 100000 * __syncthreads_and(t);
}

static void barriers_count_votes(void **)
{
    int out[100];
    LAUNCH(count_votes, 1, 100, 0, out);
    for (int t = 0; t < 100; t++) assert_int_equal(out[t], 34 + 1000 + 10000);
}

/* ---- warps ------------------------------------------------------------------------------------------------------- */

__global__ void shuffle(int *out)
{
    int t = (int)threadIdx.x;
    out[t] = __shfl_sync(WHOLE, t * 10, 5);
    out[64 + t] = __shfl_xor_sync(WHOLE, t * 10, 7);
    out[128 + t] = __shfl_down_sync(WHOLE, t * 10, 3);
    out[192 + t] = __shfl_up_sync(WHOLE, t * 10, 4);
    out[256 + t] = __shfl_sync(WHOLE, t * 10, 1, 8);
    out[320 + t] = __shfl_down_sync(WHOLE, t * 10, 3, 8);
    out[384 + t] = (int)__shfl_sync(WHOLE, (double)t, t + 1);
    out[448 + t] = (int)__ballot_sync(WHOLE, t & 1);
    out[512 + t] = __any_sync(WHOLE, t == 40) * 2 + __all_sync(WHOLE, t < 40);
}

static void shuffles_and_votes_follow_the_programming_guide(void **)
{
    int out[576];
    LAUNCH(shuffle, 1, 64, 0, out);
    for (int t = 0; t < 64; t++) {
        int warp = t & ~31, lane = t & 31;
        assert_int_equal(out[t], (warp + 5) * 10);
        assert_int_equal(out[64 + t], (t ^ 7) * 10);
        assert_int_equal(out[128 + t], (lane + 3 < 32 ? t + 3 : t) * 10);
        assert_int_equal(out[192 + t], (lane >= 4 ? t - 4 : t) * 10);
        assert_int_equal(out[256 + t], ((t & ~7) + 1) * 10);
        assert_int_equal(out[320 + t], ((t & 7) + 3 < 8 ? t + 3 : t) * 10);
        assert_int_equal(out[384 + t], warp + (lane + 1) % 32);
        assert_int_equal((unsigned)out[448 + t], 0xAAAAAAAAu);
        assert_int_equal(out[512 + t], t < 32 ? 1 : 2);
    }
}

/* The halves of a warp go different ways, one of them several times. */
__global__ void halves(int *out)
{
    int t = (int)threadIdx.x, x = t;
    if (t < 16) {
        for (int i = 0; i < 5; i++) x = __shfl_sync(0x0000FFFFu, x, (t + 1) % 16);
    } else {
        x += __shfl_xor_sync(0xFFFF0000u, x, 8);
    }
    __syncwarp();
    out[t] = __shfl_sync(WHOLE, x, 31 - t);
}

static void parts_of_a_warp_exchange_apart(void **)
{
    int out[32];
    LAUNCH(halves, 1, 32, 0, out);
    for (int t = 0; t < 32; t++) {
        int from = 31 - t;
        assert_int_equal(out[t], from < 16 ? (from + 5) % 16 : from + (from ^ 8));
    }
}

/* ---- what is undefined ------------------------------------------------------------------------------------------- */

__global__ void forget_barrier(void)
{
    if (threadIdx.x != 3) __syncthreads();
}
__global__ void forget_lane(float *out)
{
    if (threadIdx.x == 9) return;
    out[threadIdx.x] = __shfl_sync(WHOLE, 1.0f, 0);
}
__global__ void mix_barrier_and_shuffle(float *out)
{
    if (threadIdx.x < 8) __syncthreads();
    out[threadIdx.x] = __shfl_sync(WHOLE, 1.0f, 0);
    if (threadIdx.x >= 8) __syncthreads();
}
__global__ void leave_itself_out(void)
{
    __syncwarp(1u << 4);
}
__global__ void write_beyond(int bytes)
{
    ((char *)emulated_shared())[bytes] = 1;
}

static float nowhere[64];
static void death_forget_barrier(void)
{
    LAUNCH(forget_barrier, dim3(1, 2), 64, 0);
}
static void death_forget_lane(void)
{
    LAUNCH(forget_lane, 1, 32, 0, nowhere);
}
static void death_mix(void)
{
    LAUNCH(mix_barrier_and_shuffle, 1, 32, 0, nowhere);
}
static void death_leave_itself_out(void)
{
    LAUNCH(leave_itself_out, 1, 32, 0);
}
static void death_write_beyond(void)
{
    LAUNCH(write_beyond, 1, 1, 100, 100);
}

/* What a child process says before it aborts. */
static void assert_dies(void (*what)(void), const char *saying)
{
    int ends[2], status;
    char text[4096];
    ssize_t size = 0, got;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        what();
        _exit(0);
    }
    close(ends[1]);
    while ((got = read(ends[0], text + size, sizeof text - 1 - (size_t)size)) > 0) size += got;
    text[size] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    if (!strstr(text, saying)) print_error("said: %s\n", text);
    assert_non_null(strstr(text, saying));
}

static void a_barrier_that_a_thread_never_comes_to_is_reported(void **)
{
    assert_dies(death_forget_barrier, "emulated kernel forget_barrier: block (0, 0, 0) of 64 threads: threads wait");
    assert_dies(death_forget_barrier, "thread (0, 0, 0) waits at __syncthreads");
    assert_dies(death_forget_barrier, "thread (3, 0, 0) has ended");
}

static void lanes_that_never_come_are_reported(void **)
{
    assert_dies(death_forget_lane, "thread (9, 0, 0) has ended");
    assert_dies(death_mix, "threads wait for others that never come");
    assert_dies(death_leave_itself_out, "a mask without itself");
}

static void writes_beyond_shared_memory_are_reported(void **)
{
    assert_dies(death_write_beyond, "it writes beyond its dynamic shared memory");
}

__global__ void read_shared(float *out)
{
    float *x = (float *)emulated_shared();
    out[blockIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = 1;
}

static void shared_memory_is_nan_when_a_block_begins(void **)
{
    float out[3] = {0};
    LAUNCH(read_shared, 3, 1, 4, out);
    for (int i = 0; i < 3; i++) assert_true(isnan(out[i]));
}

static void launches_that_a_gpu_refuses_are_refused(void **)
{
    assert_int_equal(emulated_launch("x", NULL, 1, 1025, 0, read_shared, nowhere), cudaErrorInvalidConfiguration);
    assert_int_equal(emulated_launch("x", NULL, 0, 1, 0, read_shared, nowhere), cudaErrorInvalidConfiguration);
    assert_int_equal(emulated_launch("x", NULL, dim3(1, 70000), 1, 0, read_shared, nowhere),
                     cudaErrorInvalidConfiguration);
    assert_int_equal(cudaGetLastError(), cudaErrorInvalidConfiguration);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    assert_int_equal(emulated_launch("x", NULL, 1, 1, 60000, read_shared, nowhere), cudaErrorInvalidValue);
    assert_int_equal(cudaFuncSetAttribute(read_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 300000),
                     cudaErrorInvalidValue);
    assert_int_equal(cudaFuncSetAttribute(read_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000),
                     cudaSuccess);
    assert_int_equal(emulated_launch("x", NULL, 1, 1, 60000, read_shared, nowhere), cudaSuccess);
    cudaGetLastError();
}

/* ---- the runtime library ----------------------------------------------------------------------------------------- */

__global__ void add(float *y, float x)
{
    y[0] += x;
}

static void a_graph_does_later_what_was_recorded_on_all_its_streams(void **)
{
    cudaStream_t first, second;
    cudaEvent_t fork_event, join_event;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    float y = 1, z = 0;
    assert_int_equal(cudaStreamCreate(&first) | cudaStreamCreate(&second), 0);
    assert_int_equal(cudaEventCreate(&fork_event) | cudaEventCreate(&join_event), 0);
    assert_int_equal(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    assert_int_equal(emulated_launch("add", first, 1, 1, 0, add, &y, 2), cudaSuccess);
    cudaEventRecord(fork_event, first);
    cudaStreamWaitEvent(second, fork_event);
    assert_int_equal(cudaMemcpyAsync(&z, &y, sizeof y, cudaMemcpyDeviceToDevice, second), cudaSuccess);
    cudaEventRecord(join_event, second);
    cudaStreamWaitEvent(first, join_event);
    assert_int_equal(cudaStreamEndCapture(first, &graph), cudaSuccess);
    assert_true(y == 1 && z == 0);
    assert_int_equal(cudaGraphInstantiate(&ready, graph, 0), cudaSuccess);
    assert_int_equal(cudaGraphLaunch(ready, first) | cudaGraphLaunch(ready, first), 0);
    assert_true(y == 5 && z == 5);
    assert_int_equal(emulated_launch("add", second, 1, 1, 0, add, &y, 2), cudaSuccess);
    assert_true(y == 7);
    cudaGraphExecDestroy(ready), cudaGraphDestroy(graph);
    cudaEventDestroy(fork_event), cudaEventDestroy(join_event);
    cudaStreamDestroy(first), cudaStreamDestroy(second);
}

static void waiting_and_allocating_spoil_a_recording(void **)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    void *memory;
    cudaStreamCreate(&stream);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
        assert_int_equal(i ? cudaStreamSynchronize(stream) : cudaMalloc(&memory, 8), cudaErrorStreamCaptureUnsupported);
        assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
        assert_null(graph);
        assert_int_equal(cudaMalloc(&memory, 8), cudaSuccess);
        cudaFree(memory);
    }
    cudaStreamDestroy(stream);
    cudaGetLastError();
}

static void memory_is_nan_and_ends_where_the_device_ends(void **)
{
    float *memory, *more;
    int64_t all = emulated_memory_bytes;
    assert_int_equal(cudaMalloc(&memory, 1000), cudaSuccess);
    assert_true(isnan(memory[0]) && isnan(memory[249]));
    emulated_memory_bytes = 1500;
    assert_int_equal(cudaMalloc(&more, 1000), cudaErrorMemoryAllocation);
    assert_int_equal(cudaFree(memory) | cudaMalloc(&more, 1000) | cudaFree(more), cudaSuccess);
    assert_int_equal(cudaFree(nowhere), cudaErrorInvalidValue);
    emulated_memory_bytes = all;
    cudaGetLastError();
}

/* ---- what waits for others --------------------------------------------------------------------------------------- */

/* What a stream is asked for after it, and streams that wait for it, come later; others do not. */
static void what_is_late_holds_up_who_waits_for_it_and_nobody_else(void **)
{
    static bool arrived;
    cudaStream_t late, waiting, other;
    cudaEvent_t end;
    char *memory, one[] = "1", two[] = "2", three[] = "3";
    assert_int_equal(cudaStreamCreate(&late) | cudaStreamCreate(&waiting) | cudaStreamCreate(&other), cudaSuccess);
    assert_int_equal(cudaEventCreate(&end) | cudaMalloc(&memory, 4), cudaSuccess);
    arrived = false;
    memset(memory, 0, 4);
    emulated_submit_late(late, []() { return []() { return arrived; }; });
    cudaMemcpyAsync(memory, one, 1, cudaMemcpyHostToDevice, late);
    cudaEventRecord(end, late);
    cudaStreamWaitEvent(waiting, end);
    cudaMemcpyAsync(memory + 1, two, 1, cudaMemcpyHostToDevice, waiting);
    cudaMemcpyAsync(memory + 2, three, 1, cudaMemcpyHostToDevice, other);
    assert_int_equal(cudaStreamQuery(other), cudaSuccess);
    assert_int_equal(cudaStreamQuery(waiting), cudaErrorNotReady);
    assert_int_equal(cudaEventQuery(end), cudaErrorNotReady);
    assert_true(memory[0] == 0 && memory[1] == 0 && memory[2] == '3');
    arrived = true;
    assert_int_equal(cudaStreamSynchronize(waiting), cudaSuccess);
    assert_int_equal(cudaEventQuery(end), cudaSuccess);
    assert_true(memory[0] == '1' && memory[1] == '2');
    cudaFree(memory), cudaEventDestroy(end);
    cudaStreamDestroy(late), cudaStreamDestroy(waiting), cudaStreamDestroy(other);
    cudaGetLastError();
}

static void late_work_in_a_graph_is_waited_for_at_each_launch(void **)
{
    static int asked, made;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    assert_int_equal(cudaStreamCreate(&stream), cudaSuccess);
    asked = made = 0;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    emulated_submit_late(stream, []() {
        made++;
        int left = 3;
        return [=]() mutable { return asked++, --left == 0; };
    });
    cudaStreamEndCapture(stream, &graph);
    assert_int_equal(made, 0);
    assert_int_equal(cudaGraphInstantiate(&ready, graph, 0), cudaSuccess);
    for (int launch = 1; launch <= 2; launch++) {
        assert_int_equal(cudaGraphLaunch(ready, stream), cudaSuccess);
        assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
        assert_int_equal(made, launch);
        assert_int_equal(asked, 3 * launch);
    }
    cudaGraphExecDestroy(ready), cudaGraphDestroy(graph), cudaStreamDestroy(stream);
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

static void fp8_rounds_to_nearest_even_and_saturates(void **)
{
    static const struct {
        float x;
        int bits;
    } e4m3[] = {{0, 0},          {1, 0x38},         {-1, 0xB8},         {448, 0x7E},   {1000, 0x7E},  {1.0625f, 0x38},
                {1.1875f, 0x3A}, {0.001953125f, 1}, {0.0009765625f, 0}, {0.00293f, 2}, {-1e9f, 0xFE}, {17, 0x58}};
    for (const auto &c : e4m3) assert_int_equal(__nv_cvt_float_to_fp8(c.x, __NV_SATFINITE, __NV_E4M3), c.bits);
    assert_int_equal(__nv_cvt_float_to_fp8(1000, __NV_NOSAT, __NV_E4M3), 0x7F);
    for (int kind = 0; kind < 2; kind++)
        for (int bits = 0; bits < 256; bits++) {
            float x = emulated_fp8_to_float((__nv_fp8_storage_t)bits, (__nv_fp8_interpretation_t)kind);
            if (isfinite(x))
                assert_int_equal(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, (__nv_fp8_interpretation_t)kind), bits);
        }
}

static void half_precision_goes_there_and_back(void **)
{
    float2 f = __bfloat1622float2(__floats2bfloat162_rn(1.00390625f, -3));
    assert_true(f.x == 1.0f && f.y == -3.0f);
    assert_true(__half2float(__float2half_rn(65519.0f)) == 65504.0f && isinf(__half2float(__float2half_rn(65520.0f))));
    assert_int_equal(__bfloat16_as_ushort(__float2bfloat16_rn(1.0f)), 0x3F80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_thread_of_every_block_runs_once),
        cmocka_unit_test(barriers_hold_until_all_have_come),
        cmocka_unit_test(a_reduction_through_warps_and_shared_memory_is_right),
        cmocka_unit_test(barriers_count_votes),
        cmocka_unit_test(shuffles_and_votes_follow_the_programming_guide),
        cmocka_unit_test(parts_of_a_warp_exchange_apart),
        cmocka_unit_test(a_barrier_that_a_thread_never_comes_to_is_reported),
        cmocka_unit_test(lanes_that_never_come_are_reported),
        cmocka_unit_test(writes_beyond_shared_memory_are_reported),
        cmocka_unit_test(shared_memory_is_nan_when_a_block_begins),
        cmocka_unit_test(launches_that_a_gpu_refuses_are_refused),
        cmocka_unit_test(a_graph_does_later_what_was_recorded_on_all_its_streams),
        cmocka_unit_test(waiting_and_allocating_spoil_a_recording),
        cmocka_unit_test(what_is_late_holds_up_who_waits_for_it_and_nobody_else),
        cmocka_unit_test(late_work_in_a_graph_is_waited_for_at_each_launch),
        cmocka_unit_test(memory_is_nan_and_ends_where_the_device_ends),
        cmocka_unit_test(fp8_rounds_to_nearest_even_and_saturates),
        cmocka_unit_test(half_precision_goes_there_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
