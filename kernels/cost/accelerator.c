#include "kernels/cost/accelerator.h"

static const int64_t most_memory_bytes = INT64_C(1) << 50, most_processors = 65536;
static const double most_flops_per_s = 1e18;

const char *dit_accelerator_type_name(dit_accelerator_type type)
{
    static const char *const names[] = {
#define TYPE_NAME(name, key, bytes) key,
        DIT_ACCELERATOR_TYPE_LIST(TYPE_NAME)
#undef TYPE_NAME
    };
    return type < DIT_ACCELERATOR_TYPE_COUNT ? names[type] : "unknown";
}

int dit_accelerator_type_bytes(dit_accelerator_type type)
{
    static const int sizes[] = {
#define TYPE_BYTES(name, key, bytes) bytes,
        DIT_ACCELERATOR_TYPE_LIST(TYPE_BYTES)
#undef TYPE_BYTES
    };
    return type < DIT_ACCELERATOR_TYPE_COUNT ? sizes[type] : 0;
}

static dit_status read_peaks(const dit_json *doc, dit_accelerator *out)
{
    static const char key[] = "peak_flops_per_s", at[] = "/peak_flops_per_s";
    const cJSON *peaks;
    DIT_TRY(dit_json_require_object(doc, doc->root, "", key, &peaks));
    for (int i = 0; i < DIT_ACCELERATOR_TYPE_COUNT; i++)
        DIT_TRY(dit_json_optional_number(doc, peaks, at, dit_accelerator_type_name((dit_accelerator_type)i), 1,
                                         most_flops_per_s, &out->peak_flops_per_s[i]));
    return DIT_OK;
}

dit_status dit_accelerator_read(const dit_json *doc, dit_accelerator *out)
{
    const cJSON *root = doc->root;
    int64_t processors = 0;
    *out = (dit_accelerator){0};
    DIT_TRY(dit_json_require_string(doc, root, "", "name", &out->name));
    DIT_TRY(dit_json_optional_int(doc, root, "", "memory_bytes", 1, most_memory_bytes, &out->memory_bytes));
    DIT_TRY(dit_json_optional_number(doc, root, "", "memory_bandwidth_bytes_per_s", 1, DIT_ACCELERATOR_MOST_BYTES_PER_S,
                                     &out->memory_bandwidth_bytes_per_s));
    DIT_TRY(dit_json_optional_int(doc, root, "", "streaming_multiprocessors", 1, most_processors, &processors));
    out->streaming_multiprocessors = (int)processors;
    DIT_TRY(dit_json_optional_int(doc, root, "", "l2_bytes", 1, most_memory_bytes, &out->l2_bytes));
    DIT_TRY(dit_json_optional_object(doc, root, "", "cost", &out->cost));
    return read_peaks(doc, out);
}
