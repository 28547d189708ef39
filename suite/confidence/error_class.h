/* Error class: which kind of prediction an error is of. Predictions of one class err alike; where a class has too few
 * errors, its parent speaks for it.
 */
#ifndef DIT_SUITE_CONFIDENCE_ERROR_CLASS_H
#define DIT_SUITE_CONFIDENCE_ERROR_CLASS_H

#include <stdbool.h>
#include <stddef.h>

/* In the words of suite/simulate/point_class.h. */
typedef enum { SUITE_REACH_DEVICE, SUITE_REACH_NODE, SUITE_REACH_NODES, SUITE_REACH_COUNT } suite_error_reach;
typedef enum {
    SUITE_KIND_EXACT,
    SUITE_KIND_PIPELINE,
    SUITE_KIND_DISPLACED,
    SUITE_KIND_LAYER, /* of attention alone; no class of whole pictures has its errors */
    SUITE_KIND_COUNT
} suite_error_kind;
typedef enum {
    SUITE_SOFTWARE_EAGER,
    SUITE_SOFTWARE_COMPILED,
    SUITE_SOFTWARE_GRAPHS,
    SUITE_SOFTWARE_OTHER,
    SUITE_SOFTWARE_COUNT
} suite_error_software;

/* The words, NULL-terminated, in the order of the constants: "one device", "exact", "eager". */
const char *const *suite_error_reach_names(void);
const char *const *suite_error_kind_names(void);
const char *const *suite_error_software_names(void);

enum { SUITE_CLASS_ANY = -1 };

/* fitted: points of a machine that values were fitted on, which are not in the fit themselves. Otherwise points of a
 * machine that the fit had none of. Each of the others is a constant above, or SUITE_CLASS_ANY. */
typedef struct {
    bool fitted;
    int reach, kind, software;
} suite_error_class;

/* True if an error of class `one`, which has no SUITE_CLASS_ANY, belongs to `of`. */
bool suite_error_class_has(const suite_error_class *of, const suite_error_class *one);
/* Writes the parent: without software, then without the kind, then without the reach. A machine that was fitted and one
 * that was left out never speak for each other, nor does a layer for a picture. Returns false at the top. */
bool suite_error_class_parent(const suite_error_class *of, suite_error_class *out);
/* Writes "machine left out, one node, exact, eager"; what is any is not named. */
void suite_error_class_text(const suite_error_class *of, char *out, size_t size);

#endif
