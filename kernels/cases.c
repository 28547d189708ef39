/* The one list of cases. The first of each operator are awkward on purpose: sizes around the tile (8 x 48 and 6 x 16),
 * odd strides, every epilogue; the last are the shapes of real models and are timed. */
#include "kernels/cases.h"

#include <stddef.h>

#define LINEAR(rows_, n_, k_, flags_)                                                                                  \
    {                                                                                                                  \
        .op = DIT_OPERATOR_LINEAR, .rows = rows_, .n = n_, .k = k_, .flags = flags_                                    \
    }
#define ATTENTION(B_, H_, Sq_, Sk_, D_, flags_)                                                                        \
    {                                                                                                                  \
        .op = DIT_OPERATOR_ATTENTION, .B = B_, .H = H_, .Sq = Sq_, .Sk = Sk_, .D = D_, .flags = flags_                 \
    }
#define GROUPED(B_, H_, group_, Sq_, Sk_, D_, flags_)                                                                  \
    {                                                                                                                  \
        .op = DIT_OPERATOR_ATTENTION, .B = B_, .H = H_, .k = group_, .Sq = Sq_, .Sk = Sk_, .D = D_, .flags = flags_    \
    }
#define MERGE(B_, H_, S_, D_, flags_)                                                                                  \
    {                                                                                                                  \
        .op = DIT_OPERATOR_ATTENTION_MERGE, .B = B_, .H = H_, .Sq = S_, .D = D_, .flags = flags_                       \
    }
#define NORM(rows_, C_, flags_)                                                                                        \
    {                                                                                                                  \
        .op = DIT_OPERATOR_NORM, .rows = rows_, .n = C_, .flags = flags_                                               \
    }
#define QK(rows_, H_, D_, flags_)                                                                                      \
    {                                                                                                                  \
        .op = DIT_OPERATOR_QK_NORM_ROPE, .rows = rows_, .H = H_, .D = D_, .flags = flags_                              \
    }
#define COPY(n0, n1, n2, inner, flags_)                                                                                \
    {                                                                                                                  \
        .op = DIT_OPERATOR_COPY, .B = n0, .H = n1, .Sq = n2, .D = inner, .flags = flags_                               \
    }
#define COMBINE(n_, count, flags_)                                                                                     \
    {                                                                                                                  \
        .op = DIT_OPERATOR_COMBINE, .n = n_, .k = count, .flags = flags_                                               \
    }
#define ACTIVATE(n_, flags_)                                                                                           \
    {                                                                                                                  \
        .op = DIT_OPERATOR_ACTIVATE, .n = n_, .flags = flags_                                                          \
    }
#define CONV(frames_, height_, width_, k_, n_, taps_, flags_)                                                          \
    {                                                                                                                  \
        .op = DIT_OPERATOR_CONV, .B = frames_, .H = height_, .Sq = width_, .k = k_, .n = n_, .D = taps_,               \
        .flags = flags_                                                                                                \
    }
#define GROUP_NORM(frames_, height_, width_, C_, groups_, flags_)                                                      \
    {                                                                                                                  \
        .op = DIT_OPERATOR_GROUP_NORM, .B = frames_, .H = height_, .Sq = width_, .n = C_, .k = groups_,                \
        .flags = flags_                                                                                                \
    }
#define TIMESTEP(count, dim, flags_)                                                                                   \
    {                                                                                                                  \
        .op = DIT_OPERATOR_TIMESTEP, .rows = count, .n = dim, .flags = flags_                                          \
    }
#define GATED_ADD(rows_, C_, flags_)                                                                                   \
    {                                                                                                                  \
        .op = DIT_OPERATOR_GATED_ADD, .rows = rows_, .n = C_, .flags = flags_                                          \
    }
#define ROW_NORM(B_, rows_, C_, ranks, flags_)                                                                         \
    {                                                                                                                  \
        .op = DIT_OPERATOR_ROW_NORM, .B = B_, .rows = rows_, .n = C_, .k = ranks, .flags = flags_                      \
    }

enum {
    BIAS = DIT_CASE_BIAS,
    GELU = DIT_CASE_GELU,
    SILU = DIT_CASE_SILU,
    RESIDUAL = DIT_CASE_RESIDUAL,
    GATED = DIT_CASE_RESIDUAL | DIT_CASE_GATE,
    STRIDED = DIT_CASE_STRIDED,
    LSE = DIT_CASE_LSE,
    MODULATE = DIT_CASE_MODULATE,
    NORMED = DIT_CASE_NORM,
    RMS = DIT_CASE_RMS,
    ERF = DIT_CASE_ERF,
    HIDDEN = DIT_CASE_BIAS | DIT_CASE_HIDDEN,
    ROPE = DIT_CASE_ROPE,
    CAUSAL = DIT_CASE_CAUSAL,
    BAND = DIT_CASE_BAND,
    DOWN = DIT_CASE_DOWN,
    UP = DIT_CASE_UP,
    TIMED = DIT_CASE_TIMED,
    LARGE = DIT_CASE_TIMED | DIT_CASE_LARGE,
    DEVICE = DIT_CASE_TIMED | DIT_CASE_DEVICE,
    HUGE = DIT_CASE_TIMED | DIT_CASE_LARGE | DIT_CASE_DEVICE,
};

const dit_kernel_case dit_kernel_cases[] = {
    LINEAR(1, 1, 1, 0),
    LINEAR(1, 216, 40, BIAS),
    LINEAR(3, 47, 5, BIAS | GELU),
    LINEAR(7, 48, 17, BIAS | SILU | STRIDED),
    LINEAR(8, 49, 64, RESIDUAL),
    LINEAR(9, 96, 100, BIAS | GATED | STRIDED),
    LINEAR(13, 97, 33, BIAS | GELU),
    LINEAR(17, 130, 513, BIAS | SILU | GATED),
    LINEAR(145, 144, 511, BIAS | GELU | GATED),
    LINEAR(290, 50, 1025, BIAS),
    LINEAR(64, 432, 144, BIAS | GELU | STRIDED),
    LINEAR(31, 16, 4608, BIAS | RESIDUAL),
    LINEAR(2, 700, 256, BIAS | SILU),
    LINEAR(11, 70, 96, BIAS | ERF | GATED),
    LINEAR(1, 6912, 1152, BIAS | TIMED),
    LINEAR(120, 2304, 1152, BIAS | LARGE),
    LINEAR(256, 3456, 1152, BIAS | LARGE),
    LINEAR(256, 1152, 1152, BIAS | GATED | LARGE),
    LINEAR(256, 4608, 1152, BIAS | GELU | LARGE),
    LINEAR(256, 1152, 4608, BIAS | GATED | LARGE),
    LINEAR(1024, 3456, 1152, BIAS | LARGE),
    LINEAR(1024, 1152, 1152, BIAS | GATED | LARGE),
    LINEAR(1024, 4608, 1152, BIAS | GELU | LARGE),
    LINEAR(1024, 1152, 4608, BIAS | GATED | LARGE),
    LINEAR(4096, 3456, 1152, BIAS | LARGE),
    LINEAR(4096, 1152, 1152, BIAS | GATED | LARGE),
    LINEAR(4096, 4608, 1152, BIAS | GELU | LARGE),
    LINEAR(4096, 1152, 4608, BIAS | GATED | LARGE),
    LINEAR(1536, 9216, 3072, BIAS | LARGE),
    LINEAR(1024, 3072, 3072, BIAS | GATED | LARGE),
    LINEAR(512, 3072, 15360, BIAS | GATED | LARGE),
    LINEAR(4608, 9216, 3072, BIAS | HUGE),
    LINEAR(4608, 3072, 3072, BIAS | GATED | HUGE),
    LINEAR(4608, 12288, 3072, BIAS | GELU | HUGE),
    LINEAR(4608, 3072, 12288, BIAS | GATED | HUGE),
    LINEAR(4608, 3072, 15360, BIAS | GATED | HUGE),

    ATTENTION(1, 1, 1, 1, 8, LSE),
    ATTENTION(1, 2, 3, 5, 12, LSE | STRIDED),
    ATTENTION(2, 3, 47, 33, 18, LSE | BIAS),
    ATTENTION(1, 2, 48, 191, 64, LSE),
    ATTENTION(1, 2, 49, 192, 72, LSE | STRIDED),
    ATTENTION(2, 2, 65, 193, 72, LSE | BIAS | STRIDED),
    ATTENTION(1, 1, 100, 400, 128, LSE),
    ATTENTION(1, 3, 7, 120, 88, BIAS),
    ATTENTION(1, 1, 33, 50, 512, LSE),
    ATTENTION(1, 2, 500, 77, 13, LSE | STRIDED),
    ATTENTION(2, 2, 50, 201, 24, LSE | HIDDEN),
    ATTENTION(1, 2, 49, 400, 64, LSE | HIDDEN | STRIDED),
    ATTENTION(1, 1, 1, 1, 8, LSE | CAUSAL),
    ATTENTION(2, 2, 47, 33, 18, LSE | CAUSAL | STRIDED),
    ATTENTION(1, 2, 49, 400, 64, LSE | CAUSAL | STRIDED),
    ATTENTION(2, 1, 500, 77, 13, LSE | CAUSAL | BIAS),
    ATTENTION(1, 2, 401, 401, 40, LSE | CAUSAL),
    ATTENTION(1, 1, 700, 700, 24, LSE | CAUSAL | HIDDEN),
    GROUPED(2, 6, 3, 50, 70, 24, LSE),
    GROUPED(1, 8, 8, 96, 200, 40, LSE | CAUSAL | STRIDED),
    ATTENTION(1, 16, 256, 256, 72, STRIDED | LARGE),
    ATTENTION(1, 16, 1024, 1024, 72, STRIDED | LARGE),
    ATTENTION(1, 16, 4096, 4096, 72, STRIDED | LARGE),
    ATTENTION(1, 16, 1024, 120, 72, BIAS | LARGE),
    ATTENTION(1, 24, 1024, 1024, 64, STRIDED | LARGE),
    ATTENTION(1, 24, 1024, 1024, 128, STRIDED | LARGE),
    ATTENTION(1, 24, 4608, 4608, 128, STRIDED | LARGE),
    ATTENTION(1, 24, 8704, 8704, 128, STRIDED | HUGE),
    ATTENTION(1, 24, 16896, 16896, 128, STRIDED | HUGE),
    ATTENTION(1, 48, 17776, 17776, 64, STRIDED | HUGE),
    ATTENTION(1, 24, 4608, 4608, 128, HUGE),
    ATTENTION(2, 16, 4096, 4096, 72, STRIDED | HUGE),
    ATTENTION(1, 16, 1024, 1024, 64, CAUSAL | LARGE),
    ATTENTION(1, 8, 4096, 4096, 64, CAUSAL | LARGE),

    MERGE(1, 1, 1, 5, 0),
    MERGE(2, 3, 17, 18, STRIDED),
    MERGE(1, 16, 200, 72, STRIDED),
    MERGE(1, 16, 1024, 72, TIMED),
    MERGE(1, 24, 4608, 128, DEVICE),

    NORM(1, 1, 0),
    NORM(3, 63, BIAS),
    NORM(5, 65, MODULATE | STRIDED),
    NORM(100, 1152, BIAS | MODULATE),
    NORM(7, 3072, MODULATE | STRIDED),
    NORM(1, 1, RMS),
    NORM(3, 63, BIAS | RMS),
    NORM(5, 65, BIAS | MODULATE | STRIDED | RMS),
    NORM(3, 16384, MODULATE | RMS),
    NORM(2, 16384, BIAS),
    NORM(4096, 1152, MODULATE | TIMED),
    NORM(1536, 3072, MODULATE | TIMED),
    NORM(1536, 3072, MODULATE | RMS | TIMED),
    NORM(4608, 3072, MODULATE | DEVICE),

    QK(1, 1, 2, NORMED | RMS | ROPE),
    QK(5, 3, 18, NORMED | RMS | ROPE | STRIDED),
    QK(9, 2, 72, NORMED | RMS),
    QK(200, 4, 88, ROPE | STRIDED),
    QK(3, 2, 1, NORMED | BIAS),
    QK(7, 3, 40, NORMED),
    QK(33, 2, 88, NORMED | BIAS | ROPE | STRIDED),
    QK(1536, 24, 128, NORMED | RMS | ROPE | STRIDED | TIMED),
    QK(4608, 24, 128, NORMED | RMS | ROPE | DEVICE),

    COPY(1, 1, 1, 1, 0),
    COPY(2, 3, 5, 7, STRIDED),
    COPY(4, 64, 8, 72, STRIDED),
    COPY(2, 1024, 8, 72, STRIDED | TIMED),
    COPY(4, 1152, 6, 128, DEVICE),
    COPY(1, 4608, 24, 128, DEVICE),

    COMBINE(1, 1, 0),
    COMBINE(1001, 4, 0),
    COMBINE(70000, 3, 0),
    COMBINE(4 * 128 * 128, 3, TIMED),
    COMBINE(4 << 20, 3, TIMED),

    ACTIVATE(1, GELU),
    ACTIVATE(1003, GELU),
    ACTIVATE(70001, SILU),
    ACTIVATE(50, 0),
    ACTIVATE(1, ERF),
    ACTIVATE(70003, ERF),
    ACTIVATE(1 << 20, GELU | TIMED),
    ACTIVATE(1 << 20, ERF | TIMED),
    ACTIVATE(1 << 20, SILU | TIMED),

    CONV(1, 1, 1, 1, 1, 1, 0),
    CONV(1, 1, 1, 5, 7, 3, BIAS),
    CONV(2, 5, 7, 4, 49, 3, BIAS | SILU),
    CONV(1, 9, 11, 33, 16, 3, BIAS | RESIDUAL),
    CONV(1, 17, 13, 100, 3, 3, BIAS),
    CONV(3, 7, 10, 12, 20, 3, BIAS | DOWN),
    CONV(1, 8, 8, 600, 50, 3, BIAS | DOWN),
    CONV(1, 5, 6, 40, 24, 3, BIAS | UP),
    CONV(4, 6, 5, 10, 11, 3, BIAS | CAUSAL),
    CONV(1, 6, 5, 64, 48, 3, BIAS | CAUSAL | RESIDUAL),
    CONV(2, 3, 4, 16, 800, 3, BIAS | CAUSAL),
    CONV(1, 40, 30, 16, 100, 5, BIAS | RESIDUAL),
    CONV(2, 5, 7, 20, 9, 3, BIAS | BAND | RESIDUAL),
    CONV(3, 1, 6, 30, 11, 3, BIAS | BAND | UP),
    CONV(4, 3, 5, 10, 7, 3, BIAS | BAND | CAUSAL),
    CONV(1, 4, 3, 8, 5, 5, BIAS | BAND),
    CONV(1, 64, 64, 512, 512, 3, BIAS | LARGE),
    CONV(1, 64, 64, 512, 512, 3, BIAS | RESIDUAL | LARGE),
    CONV(1, 64, 64, 512, 512, 3, BIAS | UP | LARGE),
    CONV(1, 60, 90, 512, 512, 3, BIAS | LARGE),
    CONV(1, 128, 128, 512, 256, 3, BIAS | LARGE),
    CONV(1, 256, 256, 256, 256, 3, BIAS | LARGE),
    CONV(1, 256, 256, 256, 128, 3, BIAS | LARGE),
    CONV(1, 512, 512, 128, 128, 3, BIAS | RESIDUAL | LARGE),
    CONV(1, 512, 512, 128, 3, 3, BIAS | LARGE),

    GROUP_NORM(1, 1, 1, 1, 1, BIAS),
    GROUP_NORM(2, 3, 5, 24, 4, BIAS),
    GROUP_NORM(3, 7, 9, 96, 32, BIAS | SILU),
    GROUP_NORM(1, 40, 60, 100, 5, 0),
    GROUP_NORM(1, 100, 70, 64, 32, BIAS | SILU),
    GROUP_NORM(5, 8, 6, 20, 4, BIAS | MODULATE | SILU),
    GROUP_NORM(4, 6, 10, 12, 3, BIAS | MODULATE),
    GROUP_NORM(2, 50, 40, 48, 6, BIAS | SILU | BAND),
    GROUP_NORM(3, 1, 8, 20, 4, BIAS | MODULATE | BAND),
    GROUP_NORM(1, 64, 64, 512, 32, BIAS | SILU | TIMED),
    GROUP_NORM(1, 256, 256, 128, 32, BIAS | SILU | TIMED),

    TIMESTEP(1, 256, 0),
    TIMESTEP(3, 7, 0),
    TIMESTEP(4, 256, MODULATE),

    GATED_ADD(1, 1, 0),
    GATED_ADD(5, 65, BIAS | STRIDED),
    GATED_ADD(17, 130, DIT_CASE_GATE),
    GATED_ADD(40, 1152, BIAS | DIT_CASE_GATE | STRIDED),
    GATED_ADD(1536, 3072, BIAS | DIT_CASE_GATE | TIMED),

    ROW_NORM(1, 1, 1, 1, 0),
    ROW_NORM(2, 17, 65, 3, STRIDED),
    ROW_NORM(3, 5, 768, 2, 0),
    ROW_NORM(1, 4096, 1536, 2, TIMED),
};
const int dit_kernel_case_count = sizeof dit_kernel_cases / sizeof dit_kernel_cases[0];
