/* Shared decode: whether ranks may share a decode, and what they send, whatever they divide: its rows (base/rows.h) or its
 * frames (base/chunks.h). */
#ifndef DIT_BASE_SHARED_DECODE_H
#define DIT_BASE_SHARED_DECODE_H

#include "base/rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As dit_rows_check or dit_chunks_check, by facts->split. */
dit_status dit_shared_decode_check(int degree, const dit_rows_facts *facts);
/* As dit_rows_predict or dit_chunks_predict. */
void dit_shared_decode_predict(const dit_rows_facts *facts, int degree, int rank, dit_volume_table *out);

#ifdef __cplusplus
}
#endif
#endif
