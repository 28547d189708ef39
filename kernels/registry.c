/* Lists all backends and the names of operators. A new backend is a table of operators, its name in backend_names and
 * its line in backend_table(). */
#include "kernels/cpu/cpu.h"
#include "base/words.h"
#include "kernels/kernels.h"
#include "kernels/ref/ref.h"

#include <stdlib.h>
#include <string.h>

static const dit_kernels ref_table = {.name = "ref",
                                      .linear_pack = dit_ref_linear_pack,
#define REF_ENTRY(ID, name, ...) .name = dit_ref_##name,
                                      DIT_OPERATOR_LIST(REF_ENTRY)
#undef REF_ENTRY
};

const char *dit_operator_name(dit_operator op)
{
    static const char *const names[DIT_OPERATOR_COUNT] = {
#define OPERATOR_NAME(ID, name, ...) #name,
        DIT_OPERATOR_LIST(OPERATOR_NAME)
#undef OPERATOR_NAME
    };
    return op >= 0 && op < DIT_OPERATOR_COUNT ? names[op] : "unknown";
}

/* Instruction sets, best first. Every machine has the last one. */
static const dit_cpu_isa *const isas[] = {
#if DIT_CPU_X86
    &dit_cpu_avx512, &dit_cpu_avx2,
#endif
    &dit_cpu_plain};
enum { ISA_COUNT = sizeof isas / sizeof isas[0] };

static bool machine_has(const dit_cpu_isa *isa)
{
#if DIT_CPU_X86
    if (isa == &dit_cpu_avx512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    if (isa == &dit_cpu_avx2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return isa == &dit_cpu_plain;
}

static int isa_index(const char *name)
{
    for (int i = 0; i < ISA_COUNT; i++)
        if (!strcmp(name, isas[i]->isa)) return i;
    return -1;
}

/* Returns the index of the best instruction set that DITBENCH_ISA allows. An unknown name there changes nothing. */
static int first_allowed(void)
{
    const char *wanted = getenv("DITBENCH_ISA");
    int index = wanted ? isa_index(wanted) : 0;
    return index < 0 ? 0 : index;
}

const dit_cpu_isa *dit_cpu_current(void)
{
    for (int i = first_allowed(); i < ISA_COUNT; i++)
        if (machine_has(isas[i])) return isas[i];
    return &dit_cpu_plain;
}

const char *dit_kernels_isa(void)
{
    return dit_cpu_current()->isa;
}

const char *dit_kernels_isa_at(int index)
{
    return index >= 0 && index < ISA_COUNT ? isas[index]->isa : NULL;
}

bool dit_kernels_has_isa(const char *name)
{
    int index = isa_index(name);
    return index >= 0 && index >= first_allowed() && machine_has(isas[index]);
}

static const char *const backend_names[] = {"ref", "cpu", NULL};

const char *const *dit_kernels_names(void)
{
    return backend_names;
}

static const dit_kernels *backend_table(const char *name)
{
    if (!strcmp(name, "ref")) return &ref_table;
    if (!strcmp(name, "cpu")) return &dit_cpu_current()->kernels;
    return NULL;
}

dit_status dit_kernels_get(const char *name, const dit_kernels **out)
{
    *out = backend_table(name);
    return *out ? DIT_OK : dit_fail_word(DIT_ERR_NOT_FOUND, "kernel backend", name, backend_names);
}
