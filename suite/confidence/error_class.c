#include "suite/confidence/error_class.h"

#include <stdio.h>

static const char *const reaches[] = {"one device", "one node", "several nodes", NULL};
static const char *const kinds[] = {"exact", "pipeline", "displaced", "layer", NULL};
static const char *const software[] = {"eager", "compiled", "graphs", "other", NULL};

const char *const *suite_error_reach_names(void)
{
    return reaches;
}

const char *const *suite_error_kind_names(void)
{
    return kinds;
}

const char *const *suite_error_software_names(void)
{
    return software;
}

static bool matches(int wanted, int is)
{
    return wanted == SUITE_CLASS_ANY || wanted == is;
}

bool suite_error_class_has(const suite_error_class *of, const suite_error_class *one)
{
    bool layers = of->kind == SUITE_KIND_LAYER, is_layer = one->kind == SUITE_KIND_LAYER;
    return of->fitted == one->fitted && layers == is_layer && matches(of->reach, one->reach) &&
           matches(of->kind, one->kind) && matches(of->software, one->software);
}

bool suite_error_class_parent(const suite_error_class *of, suite_error_class *out)
{
    *out = *of;
    bool kind_goes = of->kind != SUITE_CLASS_ANY && of->kind != SUITE_KIND_LAYER;
    if (of->software != SUITE_CLASS_ANY)
        out->software = SUITE_CLASS_ANY;
    else if (kind_goes)
        out->kind = SUITE_CLASS_ANY;
    else if (of->reach != SUITE_CLASS_ANY)
        out->reach = SUITE_CLASS_ANY;
    else
        return false;
    return true;
}

static const char *word(const char *const *names, int index)
{
    return index == SUITE_CLASS_ANY ? "" : names[index];
}

void suite_error_class_text(const suite_error_class *of, char *out, size_t size)
{
    const char *reach = word(reaches, of->reach), *kind = word(kinds, of->kind), *run = word(software, of->software);
    snprintf(out, size, "machine %s%s%s%s%s%s%s", of->fitted ? "fitted" : "left out", *reach ? ", " : "", reach,
             *kind ? ", " : "", kind, *run ? ", " : "", run);
}
