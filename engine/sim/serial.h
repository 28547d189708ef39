/* Serial: what a pipeline does once a request around its denoising, on every device alone: text encoders before it, the
 * VAE's decode after it. Published times count both.
 *
 * Where the profile's census has the text encoder or the VAE, it is charged as counted. Otherwise the cost model charges
 * the layers of a text encoder from the few numbers that its config states, for the engine has none, and the decode is
 * the engine's own. A VAE that neither has takes no time.
 */
#ifndef DIT_ENGINE_SIM_SERIAL_H
#define DIT_ENGINE_SIM_SERIAL_H

#include "engine/case/case.h"
#include "engine/sim/sim.h"

typedef struct {
    double text_encoder_s, vae_decode_s;   /* virtual time; 0 where the case has none               */
    double pictures_s;                     /* of the host, for what becomes of decoded pictures      */
    int64_t text_encoder_bytes, vae_bytes; /* of the weights, in fp32                               */
    int64_t vae_peak_bytes;                /* the most memory of a decode, weights included, in fp32 */
} dit_sim_serial;

/* Charges this rank for the case's "text_encoders" and "vae", one image after the other, where the case's measure.scope
 * is "pipeline"; for "latents" the VAE's weights count and its time does not; for other scopes nothing does. Not
 * collective. base/request.h says what "text_encoders" holds. Errors: DIT_ERR_JSON_*; what creating and running the VAE
 * gives. */
dit_status dit_sim_serial_run(dit_sim *sim, const dit_json *doc, const dit_case *kase, dit_sim_serial *out);

/* Sends what the text encoders send where the case's ranks share them, and gives this rank's seconds of it and the closed
 * form of its messages, in fp32. Collective; before dit_sim_serial_run, whose times leave messages out. Errors: those of
 * base/request.h and of communication. */
dit_status dit_sim_serial_exchange(dit_sim *sim, const dit_json *doc, dit_volume_table *sent, double *seconds);

/* Returns the bytes of the weights that every rank holds beside the transformer, in the simulated element. */
int64_t dit_sim_serial_weights(const dit_sim *sim, const dit_sim_serial *serial);
/* Returns the most memory of a rank whose denoising has `weights` bytes of weights and peaks at `peak`, both in the
 * simulated element: with those other weights, and on rank 0, which decodes, with the decode. */
int64_t dit_sim_serial_peak(const dit_sim *sim, const dit_sim_serial *serial, int rank, int64_t weights, int64_t peak);

#endif
