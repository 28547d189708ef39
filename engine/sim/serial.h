/* Serial: what a pipeline does once per request around its denoising, on every device alone: text encoders before, the
 * VAE's decode after. Published times count both.
 *
 * Text encoders are not built by the engine; their layers are charged by the same cost model from the few numbers that
 * their configs state. The decode is the engine's own.
 */
#ifndef DIT_ENGINE_SIM_SERIAL_H
#define DIT_ENGINE_SIM_SERIAL_H

#include "engine/case/case.h"
#include "engine/sim/sim.h"

typedef struct {
    double text_encoder_s, vae_decode_s;   /* virtual; 0: the case names none             */
    int64_t text_encoder_bytes, vae_bytes; /* of weights, in fp32                         */
    int64_t vae_peak_bytes;                /* of a decode, weights included, in fp32      */
} dit_sim_serial;

/* Charges this rank for the case's "text_encoders" and "vae", all images one after the other. Not collective; does
 * nothing where the case's measure.scope is not "pipeline". `text_encoders`: [{"name", "layers", "width", "heads",
 * "head_dim", "feed_forward", "gated", "tokens", "runs"}]: runs is how many texts are encoded one after the other.
 * Errors: DIT_ERR_JSON_*; what making and running the VAE gives. */
dit_status dit_sim_serial_run(dit_sim *sim, const dit_json *doc, const dit_case *kase, dit_sim_serial *out);

#endif
