/* Habits: where another software runs a method differently from this engine, so that it sends, keeps or computes
 * something else. All false: this engine's own ways, which are all that a real run has.
 *
 * A profile says which habits its software has (workloads/profiles/). The simulator runs the engine with them to
 * predict that software's times; closed forms need them to predict its messages.
 */
#ifndef DIT_BASE_HABITS_H
#define DIT_BASE_HABITS_H

#include "base/json_writer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    bool text_with_every_band;  /* a pipeline computes joint text with every band; else once a step, with the first */
    bool exchange_alone;        /* a ring without Ulysses also makes Ulysses' all-to-alls, each rank with itself    */
    bool stores_filled;         /* a pipeline without warm-up steps begins with the K and V that the request before
                                  left in its stores; else a synchronous forward, the fill, computes them */
    bool cross_attention_whole; /* tensor ranks share self-attentions and MLPs; each computes cross-attention whole */
    bool gathers_copied;        /* what DistriFusion gathers is copied twice before a call attends to it            */
    bool stages_wait;           /* before each message a pipeline's stage waits for its device and for what it has sent,
                                  and it receives for a task only when the one before is done; the messages are equal */
} dit_habits;

/* Their keys in a profile. */
#define DIT_HABIT_KEYS                                                                                                 \
    "text_with_every_band", "exchange_alone", "stores_filled", "cross_attention_whole", "gathers_copied", "stages_wait"
/* Reads those keys of `object`; what it lacks is false. Errors: DIT_ERR_JSON_TYPE. */
dit_status dit_habits_read(const dit_json *doc, const cJSON *object, const char *pointer, dit_habits *out);
/* Puts all of those keys into `object`. */
void dit_habits_put(dit_json_writer *w, cJSON *object, const dit_habits *habits);

#ifdef __cplusplus
}
#endif
#endif
