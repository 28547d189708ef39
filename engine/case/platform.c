#include "engine/case/platform.h"

#include "kernels/device.h"

#include <string.h>

/* Reads the dtype that a device computes in, by default bf16. Other backends have only fp32 and refuse others. */
static dit_status read_dtype(const dit_json *doc, const cJSON *platform, const char *backend, dit_dtype *out)
{
    bool is_device = dit_device_is_one(backend), simulated = strcmp(backend, "cost") == 0;
    const char *name = strcmp(backend, "cuda") == 0 ? "bf16" : "fp32";
    DIT_TRY(dit_json_optional_string(doc, platform, "/platform", "element", &name));
    *out = DIT_DTYPE_FP32;
    if (simulated) return DIT_OK; /* the simulator reads its own dtype */
    if (!dit_dtype_from_name(name, out) || dit_dtype_bytes(*out) > 4 || *out == DIT_DTYPE_INT32)
        return dit_json_fail(doc, "/platform/element", DIT_ERR_JSON_VALUE, "\"%s\" is not fp32, bf16 or fp16", name);
    if (*out != DIT_DTYPE_FP32 && !is_device)
        return dit_error_hint(dit_json_fail(doc, "/platform/element", DIT_ERR_UNSUPPORTED,
                                            "backend %s computes in fp32, not in %s", backend, name),
                              "leave the element out");
    return DIT_OK;
}

/* Reads fp8_linear, which devices in bf16 or fp16 can do: fp8 replaces these types in linear layers alone. */
static dit_status read_fp8(const dit_json *doc, const cJSON *platform, dit_case_platform *out)
{
    DIT_TRY(dit_json_optional_bool(doc, platform, "/platform", "fp8_linear", &out->fp8_linear));
    if (!out->fp8_linear || (dit_device_is_one(out->backend) && dit_dtype_bytes(out->dtype) == 2)) return DIT_OK;
    return dit_error_hint(dit_json_fail(doc, "/platform/fp8_linear", DIT_ERR_UNSUPPORTED,
                                        "backend %s in %s cannot compute linear layers in fp8", out->backend,
                                        dit_dtype_name(out->dtype)),
                          "fp8_linear needs backend cuda with element bf16 or fp16");
}

dit_status dit_case_read_platform(const dit_json *doc, dit_case_platform *out)
{
    static const char *const keys[] = {"name",    "backend",    "threads_per_rank", "launcher", "profile",
                                       "element", "fp8_linear", "graphs",           "link",     NULL};
    const cJSON *parallel = NULL, *platform = NULL;
    int64_t threads = 0;
    out->attention = "auto";
    out->backend = "cpu";
    out->dtype = DIT_DTYPE_FP32;
    out->fp8_linear = false;
    out->graphs = true;
    *out->parallel = (dit_parallel){0};
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "parallel", &parallel));
    if (parallel) DIT_TRY(dit_parallel_from_json(doc, parallel, "/parallel", out->parallel));
    DIT_TRY(dit_json_optional_string(doc, doc->root, "", "attention", &out->attention));
    DIT_TRY(dit_json_optional_object(doc, doc->root, "", "platform", &platform));
    if (!platform) return DIT_OK;
    DIT_TRY(dit_json_only_keys(doc, platform, "/platform", keys));
    DIT_TRY(dit_json_optional_string(doc, platform, "/platform", "backend", &out->backend));
    DIT_TRY(dit_json_optional_int(doc, platform, "/platform", "threads_per_rank", 0, 1024, &threads));
    out->threads = (int)threads;
    DIT_TRY(dit_json_optional_bool(doc, platform, "/platform", "graphs", &out->graphs));
    DIT_TRY(read_dtype(doc, platform, out->backend, &out->dtype));
    return read_fp8(doc, platform, out);
}
