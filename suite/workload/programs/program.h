/* Program: says what is different about the cells and cases of each program of a workload, in a row per program. The
 * rest of the workload asks the row.
 *
 * A new program is a file here that defines its row, and a line in suite/catalogue/program_list.h, which says more.
 */
#ifndef DIT_SUITE_WORKLOAD_PROGRAMS_PROGRAM_H
#define DIT_SUITE_WORKLOAD_PROGRAMS_PROGRAM_H

#include "base/json_writer.h"
#include "base/volume.h"
#include "suite/catalogue/program_list.h"
#include "suite/layers/layers.h"
#include "suite/platform/cluster.h"
#include "suite/workload/matrix.h"
#include "suite/workload/workload.h"

struct suite_prediction; /* predict.h */

typedef struct suite_program {
    const char *name, *meaning;
    int reads;             /* its SUITE_READS_* of suite/catalogue/parameter.h                       */
    const char *result;    /* a one-rank case leaves RESULT.safetensors for others to compare with   */
    bool needs_vae;        /* it looks up the VAE of its models, whatever the scope                  */
    bool has_half_devices; /* GPUs compute it in bf16 or fp16, too, and in bf16 unless told          */
    bool has_waits;        /* "waits" of "measure" means something to it                             */
    /* The harness computes its cases itself, without engine and SimGrid: leaves record.json in `folder` as
     * suite_plan_leave_record does (suite/layers/plan_record.h). NULL: an engine runs them. */
    dit_status (*plan)(const dit_json *document, const suite_cluster *cluster, const suite_layers_watch *watch,
                       const char *folder, int *exit_code);

    /* ---- a cell, in this order; a status of unsupported or of a broken constraint drops the cell ---- */

    /* Fills the cell's mesh, and sizes or layer, from its values. Its data files and platform are known. */
    dit_status (*resolve)(suite_cell *cell);
    /* Puts what is computed into a case document. */
    void (*document)(dit_json_writer *w, const suite_workload *workload, const suite_cell *cell, cJSON *document);
    /* Fills what has to be read back from the document. NULL: nothing. */
    dit_status (*settle)(suite_cell *cell, const cJSON *document);
    /* Puts the ranks that share the work into a case document. */
    void (*ranks)(dit_json_writer *w, const suite_cell *cell, cJSON *document);
    /* Puts every tag between "program" and "platform". */
    void (*tags)(dit_json_writer *w, const suite_cell *cell, cJSON *tags);
    /* Refuses a mesh that the program cannot run. */
    dit_status (*judge)(const suite_cell *cell, const cJSON *document);
    /* Estimates the peak bytes of a rank by memory class, in fp32 where it is simulated. NULL: there is no estimate. */
    void (*memory)(const suite_cell *cell, int64_t bytes[4]);
    /* Gives the cell that an approximate one is compared with; false when the cell is exact. NULL: all are. */
    bool (*oracle)(const suite_cell *cell, suite_cell *out);
    /* Takes the mesh from a cell: one rank that uses the machine as well as one can. NULL: it makes no pictures. */
    void (*alone)(suite_cell *cell);
    /* Writes what is run, on which mesh: "pixart-alpha-xl-2 256x256 u2". */
    void (*label)(const suite_cell *cell, char *out, size_t size);
    /* Puts the members of a case that decide its result. */
    void (*identity)(dit_json_writer *w, const suite_cell *cell, const cJSON *document, cJSON *out);
    /* Whether the result of one rank is an approximation, which nothing is compared with. NULL: never. */
    bool (*approximates)(const suite_cell *cell);

    /* ---- the closed form of what a rank sends ---- */

    /* Reads a case document, whose mesh out->parallel has, and checks it. */
    dit_status (*read)(const dit_json *document, struct suite_prediction *out);
    void (*volume)(const struct suite_prediction *prediction, int rank, dit_volume_table *out); /* NULL: nothing */
    /* The ranks that tell of all others, one of each kind, by index from 0; -1 behind the last. NULL: rank 0 tells of all. */
    int (*rank_of_kind)(const struct suite_prediction *prediction, int kind);
} suite_program;

#define SUITE_PROGRAM_ROW(constant, name) extern const suite_program suite_program_##name;
SUITE_PROGRAM_LIST(SUITE_PROGRAM_ROW)
#undef SUITE_PROGRAM_ROW

/* Returns all rows, NULL-terminated. The first is the default. */
const suite_program *const *suite_programs(void);
/* Finds a program by name. Errors: DIT_ERR_JSON_VALUE at `pointer` of `doc`, with the nearest name. */
dit_status suite_program_find(const dit_json *doc, const char *pointer, const char *name, const suite_program **out);
/* Returns the program of a case document; the first one when the document names none. */
const suite_program *suite_program_of_case(const cJSON *document);
/* Returns the first program that reads a parameter, whose SUITE_READS_* are `readers`. */
const suite_program *suite_program_reading(int readers);

#endif
