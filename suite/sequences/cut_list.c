#include "suite/sequences/cut_list.h"

#include "base/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool suite_cut_is_equal(const suite_cut *cut)
{
    return cut->count == 1;
}

bool suite_cut_is_same(const suite_cut *a, const suite_cut *b)
{
    return a->count == b->count && memcmp(a->sizes, b->sizes, (size_t)a->count * sizeof *a->sizes) == 0 &&
           memcmp(a->groups, b->groups, (size_t)a->count * sizeof *a->groups) == 0;
}

void suite_cut_text(const suite_cut *cut, char out[SUITE_CUT_TEXT])
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < cut->count && used < SUITE_CUT_TEXT; i++)
        used += (size_t)snprintf(out + used, SUITE_CUT_TEXT - used, "%s%d x %d", i ? " + " : "", cut->groups[i],
                                 cut->sizes[i]);
}

/* What has been listed, and the cut that is being made. */
typedef struct {
    suite_cut_rule rule;
    suite_cut *list, now;
    int count;
} enumeration;

static bool is_size(const enumeration *all, int size)
{
    return all->rule == SUITE_CUT_ANY || (size & (size - 1)) == 0;
}

static dit_status keep(enumeration *all)
{
    DIT_TRY(dit_list_grow((void **)&all->list, all->count, sizeof *all->list));
    all->list[all->count++] = all->now;
    return DIT_OK;
}

/* Cuts `left` devices into groups of `size` and smaller. */
static dit_status cut(enumeration *all, int left, int size)
{
    suite_cut *now = &all->now;
    if (left == 0) return keep(all);
    while (size > 0 && (size > left || !is_size(all, size))) size--;
    if (size == 0 || now->count == SUITE_CUT_SIZES) return DIT_OK;
    for (int groups = left / size; groups > 0; groups--) {
        now->sizes[now->count] = size;
        now->groups[now->count++] = groups;
        dit_status st = cut(all, left - groups * size, size - 1);
        now->count--;
        DIT_TRY(st);
    }
    return cut(all, left, size - 1);
}

dit_status suite_cuts_list(suite_cut_rule rule, int devices, suite_cut **out, int *count)
{
    enumeration all = {.rule = rule};
    dit_status st = DIT_OK;
    if (rule >= SUITE_CUT_GROUPS) {
        st = cut(&all, devices, devices);
    } else {
        for (int size = SUITE_PARTITION_DEVICES; size > 0 && st == DIT_OK; size /= 2) { /* a power of two */
            if (devices % size) continue;
            all.now = (suite_cut){.sizes = {size}, .groups = {devices / size}, .count = 1};
            st = keep(&all);
        }
    }
    if (st != DIT_OK) free(all.list), all.list = NULL, all.count = 0;
    *out = all.list;
    *count = all.count;
    return st;
}
