/* The inside of the safetensors reader, for base/safetensors*.c only. */
#ifndef DIT_BASE_SAFETENSORS_IMPL_H
#define DIT_BASE_SAFETENSORS_IMPL_H

#include "base/safetensors.h"
#include <stddef.h>

/* A whole file in memory, mapped or given by the caller. */
typedef struct {
    char *path; /* for messages */
    const unsigned char *bytes;
    size_t length;
    void *mapping; /* what to unmap; NULL for the caller's memory and for an empty file */
} st_mapping;

/* Tensors sorted by name. The table owns each view's name, a mapping owns its data. */
typedef struct {
    dit_tensor_view *views;
    int count;
} st_table;

/* Checks a whole file and lists its tensors. *out is zeroed on failure. */
dit_status st_header_read(const st_mapping *file, st_table *out);
void st_table_release(st_table *table);
const dit_tensor_view *st_table_find(const st_table *table, const char *name);
/* Compares views by name, bytewise, for qsort. */
int st_compare_names(const void *left, const void *right);

#endif
