/* Reads the data behind the views, every dtype to fp32, and writes fp32. Data may begin at any byte, so elements are
 * fetched with memcpy, which compilers turn into plain unaligned loads. */
#include "base/safetensors.h"

#include "base/file.h"
#include "base/json_writer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the format is little-endian and read in place");

static const struct {
    const char *name;
    int64_t bytes;
} dtypes[DIT_STORED_COUNT] = {
    [DIT_STORED_F32] = {"F32", 4},   [DIT_STORED_F16] = {"F16", 2}, [DIT_STORED_BF16] = {"BF16", 2},
    [DIT_STORED_F64] = {"F64", 8},   [DIT_STORED_I64] = {"I64", 8}, [DIT_STORED_I32] = {"I32", 4},
    [DIT_STORED_I16] = {"I16", 2},   [DIT_STORED_I8] = {"I8", 1},   [DIT_STORED_U8] = {"U8", 1},
    [DIT_STORED_BOOL] = {"BOOL", 1},
};

const char *dit_stored_dtype_name(dit_stored_dtype dtype)
{
    return (unsigned)dtype < DIT_STORED_COUNT ? dtypes[dtype].name : "?";
}
int64_t dit_stored_dtype_bytes(dit_stored_dtype dtype)
{
    return (unsigned)dtype < DIT_STORED_COUNT ? dtypes[dtype].bytes : 0;
}

/* ---- one element ----------------------------------------------------------------------------------------------- */

static inline float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float from_bf16(uint16_t half)
{
    return from_bits((uint32_t)half << 16);
}

/* Converts exactly: every half is a float. Denormal halves come from a subtraction of normal floats, without branches,
 * so that loops over it are vectorised. */
static inline float from_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = (uint32_t)(half & 0x7FFF) << 13;
    uint32_t exponent = magnitude & 0x0F800000u;
    uint32_t normal = magnitude + ((127u - 15u) << 23);
    uint32_t special = magnitude | 0x7F800000u; /* infinity and NaN */
    float denormal = from_bits(magnitude + (113u << 23)) - from_bits(113u << 23);
    uint32_t denormal_bits;
    memcpy(&denormal_bits, &denormal, sizeof denormal_bits);
    uint32_t bits = exponent == 0 ? denormal_bits : exponent == 0x0F800000u ? special : normal;
    return from_bits(bits | sign);
}

#define DEFINE_CONVERT(name, type, expression)                                                                         \
    static void convert_##name(const unsigned char *restrict in, int64_t count, float *restrict out)                   \
    {                                                                                                                  \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            type value;                                                                                                \
            memcpy(&value, in + i * (int64_t)sizeof value, sizeof value);                                              \
            out[i] = expression;                                                                                       \
        }                                                                                                              \
    }
DEFINE_CONVERT(f32, float, value)
DEFINE_CONVERT(f16, uint16_t, from_f16(value))
DEFINE_CONVERT(bf16, uint16_t, from_bf16(value))
DEFINE_CONVERT(f64, double, (float)value)
DEFINE_CONVERT(i64, int64_t, (float)value)
DEFINE_CONVERT(i32, int32_t, (float)value)
DEFINE_CONVERT(i16, int16_t, (float)value)
DEFINE_CONVERT(i8, int8_t, (float)value)
DEFINE_CONVERT(u8, uint8_t, (float)value)
DEFINE_CONVERT(bool, uint8_t, value ? 1.0f : 0.0f)

typedef void (*convert_function)(const unsigned char *in, int64_t count, float *out);
static const convert_function converters[DIT_STORED_COUNT] = {
    [DIT_STORED_F32] = convert_f32,   [DIT_STORED_F16] = convert_f16, [DIT_STORED_BF16] = convert_bf16,
    [DIT_STORED_F64] = convert_f64,   [DIT_STORED_I64] = convert_i64, [DIT_STORED_I32] = convert_i32,
    [DIT_STORED_I16] = convert_i16,   [DIT_STORED_I8] = convert_i8,   [DIT_STORED_U8] = convert_u8,
    [DIT_STORED_BOOL] = convert_bool,
};

/* ---- many elements --------------------------------------------------------------------------------------------- */

/* Returns the index of the first NaN or infinity, or -1. It tests bits, which no compiler flag about finite math can
 * remove. */
static int64_t first_nonfinite(const float *values, int64_t count)
{
    uint32_t bits, bad = 0;
    for (int64_t i = 0; i < count; i++) {
        memcpy(&bits, &values[i], sizeof bits);
        bad |= (bits & 0x7F800000u) == 0x7F800000u;
    }
    for (int64_t i = 0; bad && i < count; i++) {
        memcpy(&bits, &values[i], sizeof bits);
        if ((bits & 0x7F800000u) == 0x7F800000u) return i;
    }
    return -1;
}

static dit_status complain_nonfinite(const dit_tensor_view *view, int64_t index, float value)
{
    const char *word = value != value ? "NaN" : value > 0 ? "infinity" : "-infinity";
    bool narrowed = view->dtype == DIT_STORED_F64;
    return DIT_FAIL(DIT_ERR_NONFINITE, "tensor \"%s\": element %lld is %s%s", view->name, (long long)index, word,
                    narrowed ? " (after rounding F64 to fp32)" : "");
}

dit_status dit_tensor_read(const dit_tensor_view *view, int64_t first, int64_t count, float *out)
{
    enum { CHUNK = 8192 }; /* checked while it is in the cache */
    if (first < 0 || count < 0 || first > view->elements || count > view->elements - first)
        return DIT_FAIL(DIT_ERR_SHAPE, "tensor \"%s\": %lld elements from %lld on are asked for, but it has %lld",
                        view->name, (long long)count, (long long)first, (long long)view->elements);
    const unsigned char *in = (const unsigned char *)view->data + first * dit_stored_dtype_bytes(view->dtype);
    for (int64_t done = 0; done < count; done += CHUNK) {
        int64_t part = count - done < CHUNK ? count - done : CHUNK;
        converters[view->dtype](in + done * dit_stored_dtype_bytes(view->dtype), part, out + done);
        int64_t bad = first_nonfinite(out + done, part);
        if (bad >= 0) return complain_nonfinite(view, first + done + bad, out[done + bad]);
    }
    return DIT_OK;
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

static int64_t tensor_bytes(const dit_tensor_out *tensor)
{
    int64_t elements = 1;
    for (int i = 0; i < tensor->rank; i++) elements *= tensor->shape[i];
    return elements * (int64_t)sizeof(float);
}

/* Adds {"dtype":"F32","shape":[...],"data_offsets":[begin,end]} under the tensor's name. */
static void describe(dit_json_writer *w, cJSON *header, const dit_tensor_out *tensor, int64_t begin)
{
    cJSON *entry = dit_json_put_object(w, header, tensor->name), *shape = dit_json_put_array(w, entry, "shape");
    dit_json_put_string(w, entry, "dtype", dit_stored_dtype_name(DIT_STORED_F32));
    for (int i = 0; i < tensor->rank; i++) dit_json_put_int(w, shape, NULL, tensor->shape[i]);
    cJSON *offsets = dit_json_put_array(w, entry, "data_offsets");
    dit_json_put_int(w, offsets, NULL, begin);
    dit_json_put_int(w, offsets, NULL, begin + tensor_bytes(tensor));
}

static dit_status make_header(const dit_tensor_out *tensors, int count, char **out)
{
    dit_json_writer w = {0};
    cJSON *header = dit_json_new_object(&w);
    int64_t begin = 0;
    for (int i = 0; i < count; i++) {
        describe(&w, header, &tensors[i], begin);
        begin += tensor_bytes(&tensors[i]);
    }
    if (w.status == DIT_OK) dit_json_put_status(&w, dit_json_canonical(header, out));
    cJSON_Delete(header);
    return w.status;
}

dit_status dit_safetensors_write(const char *path, const dit_tensor_out *tensors, int count)
{
    char *header, padding[8] = "        ";
    dit_file_piece *pieces = calloc((size_t)count + 3, sizeof *pieces);
    if (!pieces) return DIT_FAIL(DIT_ERR_MEMORY, "%s: no memory to write it", path);
    dit_status st = make_header(tensors, count, &header);
    if (st != DIT_OK) {
        free(pieces);
        return dit_error_note(st, "writing %s", path);
    }
    size_t length = strlen(header), padded = (length + 7) / 8 * 8; /* so that the data is aligned */
    uint64_t prefix = padded;
    pieces[0] = (dit_file_piece){&prefix, sizeof prefix};
    pieces[1] = (dit_file_piece){header, length};
    pieces[2] = (dit_file_piece){padding, padded - length};
    for (int i = 0; i < count; i++)
        pieces[3 + i] = (dit_file_piece){tensors[i].data, (size_t)tensor_bytes(&tensors[i])};
    st = dit_file_write(path, pieces, count + 3);
    free(header);
    free(pieces);
    return st;
}
