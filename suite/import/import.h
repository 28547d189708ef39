/* Import: results that another program left, as a session: shown, reported, exported and verified like our own.
 *
 * A format is one file of this folder, and one row of the list in import.c. Evidence is `measured`, by an engine that
 * is not ours: every case has the tag `engine`, and the session's first line names format, file and digest of the file.
 */
#ifndef DIT_SUITE_IMPORT_IMPORT_H
#define DIT_SUITE_IMPORT_IMPORT_H

#include "base/hash.h"
#include "base/json.h"
#include "suite/session/session.h"

enum { SUITE_IMPORT_ENGINE = 96, SUITE_IMPORT_LABEL = 160 };

/* One case with what each of its processes gave: a record, or an error. */
typedef struct {
    cJSON *document, *tags; /* the case, and its flat tags */
    char case_id[DIT_HASH_HEX], label[SUITE_IMPORT_LABEL];
    int world_size;
    cJSON *processes; /* array of {"record"} or {"error"} */
} suite_imported_case;

/* release accepts a zeroed one. */
typedef struct {
    char name[SUITE_IMPORT_ENGINE], version[SUITE_IMPORT_ENGINE]; /* of the engine                       */
    char title[160], started[40];
    bool on_gpus;
    cJSON *hardware, *environment; /* objects */
    suite_imported_case *cases;
    int case_count, capacity;
} suite_imported;

typedef struct {
    const char *name, *meaning;
    /* Errors: DIT_ERR_JSON_* with the place. */
    dit_status (*read)(const dit_json *doc, suite_imported *out);
} suite_import_format;

const suite_import_format *const *suite_import_formats(void); /* NULL-terminated */
const suite_import_format *suite_import_find(const char *name);

/* Adds a case of flat `tags` (taken; "engine" and "world_size" are added). Names, tags and title of the engine must be
 * set. Errors: DIT_ERR_MEMORY; DIT_ERR_JSON_VALUE when an equal case is there. */
dit_status suite_imported_add(suite_imported *imported, cJSON *tags, int world_size, const char *label,
                              suite_imported_case **out);
/* Adds a process with the seconds of its iterations, and with the members of `more` (may be NULL) as members of its
 * record. Errors: DIT_ERR_MEMORY; DIT_ERR_JSON_VALUE for a time of less than a nanosecond. */
dit_status suite_imported_add_process(suite_imported *imported, suite_imported_case *one, const double *seconds,
                                      int count, const cJSON *more);
dit_status suite_imported_add_failure(suite_imported_case *one, const char *message);
void suite_imported_release(suite_imported *imported);

/* What a session is made of. */
typedef struct {
    const char *format, *path, *hash; /* of the file that was read */
    const char *const *words;         /* the command line, NULL-terminated */
    const suite_session *beside;      /* a session whose results stand in the new one, too; NULL: none */
} suite_import_source;

/* Writes a new session that `session` names. Errors: DIT_ERR_IO, DIT_ERR_MEMORY; those of reading the other session. */
dit_status suite_import_write(const suite_imported *imported, const suite_import_source *source,
                              const suite_session *session);

extern const suite_import_format suite_import_external, suite_import_nccl_tests;

#endif
