/* Platform: the members "parallel", "attention" and "platform" of a case document, which all programs share. */
#ifndef DIT_ENGINE_CASE_PLATFORM_H
#define DIT_ENGINE_CASE_PLATFORM_H

#include "base/dtype.h"
#include "base/json.h"
#include "base/parallel.h"

/* Texts belong to the document. */
typedef struct {
    const char *attention, *backend; /* "auto" and "cpu" where the case names none                        */
    dit_dtype dtype;                 /* of a device's activations and weights; fp32 elsewhere             */
    bool fp8_linear;                 /* a device computes linear layers in fp8, an approximation          */
    bool graphs;                     /* a device may record forwards and launch them; default true        */
    int threads;                     /* per rank; 0: the case names none                                  */
    dit_parallel *parallel;          /* the caller's; filled by dit_case_read_platform                    */
} dit_case_platform;
/* Reads all three members. Errors: DIT_ERR_JSON_*, DIT_ERR_UNSUPPORTED for a dtype or fp8 that the backend lacks. */
dit_status dit_case_read_platform(const dit_json *doc, dit_case_platform *out);

#endif
