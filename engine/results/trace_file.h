/* Trace file: writes the traces of all ranks on one clock, as a timeline that Perfetto reads. results/schema/trace.md
 * has the format. */
#ifndef DIT_ENGINE_TRACE_FILE_H
#define DIT_ENGINE_TRACE_FILE_H

#include "engine/timing/trace.h"

/* Agrees on rank 0's clock and fills trace->clock. Collective over the world. It allocates, so call it before the loop.
 * Errors: DIT_ERR_MEMORY. */
dit_status dit_trace_synchronise(dit_trace *trace);

/* Writes sorted traces: trace-rank-N.json on every rank, and trace.json with all ranks on rank 0. Collective over the
 * world. On rank 0 digest is that of trace.json, "xxh3:...". Errors: DIT_ERR_IO, DIT_ERR_MEMORY. */
dit_status dit_trace_write(const dit_trace *trace, const char *case_id, const char *out_folder, char digest[48]);

#endif
