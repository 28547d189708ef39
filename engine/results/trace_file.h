/* Trace file: the traces of all ranks on one clock, as a timeline that Perfetto reads. Format: results/schema/README.md. */
#ifndef DIT_ENGINE_TRACE_FILE_H
#define DIT_ENGINE_TRACE_FILE_H

#include "engine/timing/trace.h"

/* Agrees on rank 0's clock and fills trace->clock. Collective over the world; allocates, so it belongs before the loop.
 * Errors: DIT_ERR_MEMORY. */
dit_status dit_trace_synchronise(dit_trace *trace);

/* Writes trace-rank-N.json on every rank and trace.json, of all, on rank 0, of sorted traces. Collective over the
 * world. digest: on rank 0 of trace.json, "xxh3:...". Errors: DIT_ERR_IO, DIT_ERR_MEMORY. */
dit_status dit_trace_write(const dit_trace *trace, const char *case_id, const char *out_folder, char digest[48]);

#endif
