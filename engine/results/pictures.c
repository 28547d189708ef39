#include "engine/results/pictures.h"

#include "base/json_writer.h"
#include "engine/cache/cache.h"
#include "engine/edits/edit.h"
#include "engine/edits/told.h"
#include "engine/files/shipped.h"
#include "engine/quality/accuracy.h"
#include "engine/quality/comparison.h"
#include "engine/results/decode.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char network_name[] = "shapes-features";

/* ---- making ------------------------------------------------------------------------------------------------------ */

static bool are_wanted(const dit_pipeline *p)
{
    bool oracle = p->kase.emulates || p->sampler.emulates_cache || p->kase.emulates_edit;
    return p->caption_count > 0 && p->kase.vae && !oracle;
}

/* A decoder that blurs would be judged with the method, and its memory would be the method's. */
static dit_status open_decoder(dit_pipeline *p, dit_decoder *decoder)
{
    dit_vae_facts facts;
    DIT_TRY(dit_decoder_read(p->kase.doc, p->kase.vae, "/vae", decoder));
    DIT_TRY(dit_vae_read_facts(&decoder->config, &facts));
    if (!facts.weightless)
        return dit_error_hint(
            DIT_FAIL(DIT_ERR_UNSUPPORTED, "pictures of captions are judged through an exact codec only"),
            "leave vae out, or name one of class PixelShuffle");
    return dit_decoder_open(decoder, &p->rt, &p->kase.facts.latent, p->kase.num_frames, p->kase.seed, NULL);
}

/* Rank 0 decodes the images of a batch. */
static dit_status decode_batch(const dit_pipeline *p, dit_decoder *decoder, int64_t batch, dit_pictures *out)
{
    int64_t images = p->kase.facts.num_images;
    int64_t floats = dit_picture_floats(out->size);
    for (int64_t image = 0; image < images && out->pixels; image++) {
        DIT_TRY(dit_decoder_run(decoder, &p->sampler, image));
        memcpy(out->pixels + (batch * images + image) * floats, decoder->image, (size_t)floats * sizeof *out->pixels);
    }
    return DIT_OK;
}

static double flops_of(const dit_runtime *rt)
{
    return rt->flops.linear + rt->flops.attention + rt->flops.convolution + rt->flops.other;
}

/* Adds up what each rank did. Collective. */
static dit_status sum_ranks(double *flops)
{
    dit_comm *world = dit_comm_world();
    char *all = NULL;
    int64_t *offsets = calloc((size_t)dit_comm_size(world) + 1, sizeof *offsets);
    dit_status st = offsets ? DIT_OK : DIT_FAIL(DIT_ERR_MEMORY, "no memory for %d ranks", dit_comm_size(world));
    if (st == DIT_OK) st = dit_comm_collect(world, flops, sizeof *flops, &all, offsets);
    const double *each = (const double *)(const void *)all;
    if (st == DIT_OK) *flops = 0;
    for (int rank = 0; st == DIT_OK && rank < dit_comm_size(world); rank++) *flops += each[rank];
    free(all);
    free(offsets);
    return st;
}

static dit_status make_batch(dit_pipeline *p, dit_decoder *decoder, int64_t batch, dit_pictures *out)
{
    int64_t elapsed_ns;
    DIT_TRY(dit_pipeline_take_batch(p, batch));
    double before = flops_of(&p->rt);
    DIT_TRY(dit_pipeline_run(p, NULL, &elapsed_ns));
    out->elapsed_ns += elapsed_ns;
    out->flops += flops_of(&p->rt) - before;
    if (out->hit_shares) {
        const dit_cache_log *log = dit_cache_log_of(p->sampler.cache);
        out->hit_shares[batch] = log->steps ? (double)log->hits / log->steps : 0;
    }
    if (out->edits) {
        DIT_TRY(dit_edit_count_differing(&p->sampler));
        out->edits[batch] = p->sampler.edit_log;
    }
    return decode_batch(p, decoder, batch, out);
}

static dit_status make_all(dit_pipeline *p, dit_decoder *decoder, dit_pictures *out)
{
    DIT_TRY(open_decoder(p, decoder));
    out->batches = p->batches;
    out->count = p->batches * p->kase.facts.num_images;
    out->size = (dit_picture_size){decoder->frames, decoder->height, decoder->width};
    size_t floats = (size_t)(out->count * dit_picture_floats(out->size));
    bool first = dit_comm_rank(dit_comm_world()) == 0;
    if (first) out->pixels = malloc(floats * sizeof *out->pixels);
    if (p->sampler.cache) out->hit_shares = malloc((size_t)out->batches * sizeof *out->hit_shares);
    if (p->sampler.edit) out->edits = malloc((size_t)out->batches * sizeof *out->edits);
    if ((first && !out->pixels) || (p->sampler.cache && !out->hit_shares) || (p->sampler.edit && !out->edits))
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for %lld pictures", (long long)out->count);
    for (int64_t batch = 0; batch < out->batches; batch++) DIT_TRY(make_batch(p, decoder, batch, out));
    DIT_TRY(sum_ranks(&out->flops));
    return dit_pipeline_take_batch(p, 0);
}

dit_status dit_pictures_make(dit_pipeline *pipeline, dit_pictures *out)
{
    dit_decoder decoder = {0};
    *out = (dit_pictures){0};
    if (!are_wanted(pipeline)) return DIT_OK;
    DIT_TRY(dit_runtime_use_cores(&pipeline->rt, true));
    dit_status st = make_all(pipeline, &decoder, out);
    if (st == DIT_OK) st = dit_runtime_use_cores(&pipeline->rt, false);
    dit_decoder_close(&decoder);
    return st == DIT_OK ? st : dit_error_note(st, "making the pictures of the captions");
}

void dit_pictures_release(dit_pictures *pictures)
{
    free(pictures->pixels);
    free(pictures->hit_shares);
    free(pictures->edits);
    *pictures = (dit_pictures){0};
}

void dit_pictures_tensor(const dit_pictures *pictures, dit_tensor_out *out)
{
    const dit_picture_size size = pictures->size;
    *out = (dit_tensor_out){
        "pixels", 5, {pictures->count, DIT_RGB, size.frames, size.height, size.width}, pictures->pixels};
}

/* ---- judging ----------------------------------------------------------------------------------------------------- */

/* Opens the network whose features compare sets; NULL where it is not shipped. */
static dit_status open_network(dit_features **out)
{
    char folder[DIT_SHIPPED_PATH];
    *out = NULL;
    if (dit_shipped_folder(network_name, folder) == DIT_OK) return dit_features_open(folder, out);
    dit_error_clear();
    return DIT_OK;
}

/* Fills `object` with the distance to the pictures that another run made of these captions. */
static dit_status put_distance(dit_json_writer *w, const char *path, const char *name, dit_judged_set *own,
                               cJSON *object)
{
    dit_judged_set right;
    dit_json_put_string(w, object, "reference", name);
    if (w->status != DIT_OK) return w->status;
    DIT_TRY(dit_judged_set_read(path, true, NULL, &right));
    dit_status st = dit_judged_set_pairs(own, &right, object);
    dit_judged_set_release(&right);
    return st;
}

/* Puts "fidelity", which says why where there is none. */
static dit_status put_fidelity(dit_json_writer *w, const char *reference, dit_judged_set *own, cJSON *quality)
{
    cJSON *fidelity = dit_json_put_object(w, quality, "fidelity");
    if (reference) return put_distance(w, reference, "one rank, without a cache", own, fidelity);
    dit_json_put_string(w, fidelity, "reason", "this is the reference, or none was given");
    return w->status;
}

/* Puts "converged" where the case was given such pictures. */
static dit_status put_converged(dit_json_writer *w, const char *converged, dit_judged_set *own, cJSON *quality)
{
    if (!converged) return w->status;
    cJSON *object = dit_json_put_object(w, quality, "converged");
    return put_distance(w, converged, "one rank, without a cache, many times the steps", own, object);
}

/* Puts "shown", what the rule reads in the first pictures by number, as their pixels lie, and returns it. */
static cJSON *put_shown(dit_json_writer *w, const dit_judged_set *own, cJSON *quality)
{
    cJSON *shown = dit_json_put_array(w, quality, "shown");
    for (int number = 0; number < DIT_PICTURES_SHOWN && w->status == DIT_OK; number++) {
        dit_read_words words;
        int i = dit_picture_set_numbered(&own->pictures, number);
        if (i < 0) break;
        cJSON *row = dit_json_put_object(w, shown, NULL);
        dit_json_put_string(w, row, "caption", own->pictures.labels[i].caption);
        if (dit_accuracy_words(&own->pictures, i, &words) != DIT_OK) { /* "accuracy" has the reason */
            dit_error_clear();
            continue;
        }
        cJSON *read = dit_json_put_array(w, row, "read"), *wrong = dit_json_put_array(w, row, "wrong");
        for (int k = 0; k < words.count; k++) {
            dit_json_put_string(w, read, NULL, words.word[k]);
            if (words.wrong[k]) dit_json_put_int(w, wrong, NULL, k);
        }
    }
    return shown;
}

/* Puts what the set was last compared by, picture by picture, under `key`. */
static void put_each(dit_json_writer *w, const dit_judged_set *own, const char *key, cJSON *shown)
{
    cJSON *row;
    int number = 0;
    if (!own->psnr || w->status != DIT_OK) return;
    cJSON_ArrayForEach(row, shown)
        dit_json_put_number(w, row, key, own->psnr[dit_picture_set_numbered(&own->pictures, number++)]);
}

/* Puts "renders": how alike true pictures of as many captions of this split the set is. */
static dit_status put_renders(dit_json_writer *w, const dit_case *kase, const dit_features *network,
                              const dit_judged_set *own, cJSON *quality)
{
    dit_judged_set right;
    char path[64];
    cJSON *renders = dit_json_put_object(w, quality, "renders");
    if (!kase->split_count) {
        dit_json_put_string(w, renders, "reason", "captions that are given have no renders");
        return w->status;
    }
    snprintf(path, sizeof path, "%s:%s:%d", kase->num_frames > 1 ? "shapes-clips" : "shapes",
             dit_split_names[kase->split], own->pictures.count);
    dit_json_put_string(w, renders, "set", path);
    if (w->status != DIT_OK) return w->status;
    DIT_TRY(dit_judged_set_read(path, true, network, &right));
    dit_status st = dit_judged_set_whole(own, &right, renders);
    dit_judged_set_release(&right);
    return st;
}

/* Puts "edits", of captions that were edited. */
static dit_status put_edits(dit_json_writer *w, const dit_pictures *p, const dit_case *kase, const char *reference,
                            const dit_judged_set *own, cJSON *quality)
{
    dit_judged_set right = {0};
    if (!kase->edits || w->status != DIT_OK) return w->status;
    if (reference) DIT_TRY(dit_judged_set_read(reference, true, NULL, &right));
    dit_status st = dit_edits_put_pictures(w,
                                           &(dit_edited){.split = kase->split,
                                                         .facts = &kase->facts,
                                                         .logs = p->edits,
                                                         .batches = p->batches,
                                                         .own = own,
                                                         .reference = reference ? &right : NULL},
                                           quality);
    dit_judged_set_release(&right);
    return st;
}

/* Puts "hit_share": of a cache, over batches. */
static void put_hit_share(dit_json_writer *w, const dit_pictures *p, cJSON *quality)
{
    double sum = 0, least = INFINITY, most = 0;
    if (!p->hit_shares) return;
    for (int64_t i = 0; i < p->batches; i++) {
        sum += p->hit_shares[i];
        least = fmin(least, p->hit_shares[i]), most = fmax(most, p->hit_shares[i]);
    }
    cJSON *share = dit_json_put_object(w, quality, "hit_share");
    dit_json_put_number(w, share, "mean", sum / (double)p->batches);
    dit_json_put_number(w, share, "least", least);
    dit_json_put_number(w, share, "most", most);
}

static dit_status judge(const dit_pictures *p, const dit_pipeline *pipeline, const dit_picture_references *references,
                        const dit_features *network, dit_judged_set *own, cJSON *record)
{
    dit_json_writer w = {0};
    const dit_case *kase = &pipeline->kase;
    cJSON *quality = dit_json_put_object(&w, record, "quality");
    dit_json_put_string(&w, quality, "split", kase->split_count ? dit_split_names[kase->split] : "given");
    dit_json_put_int(&w, quality, "batches", p->batches);
    dit_json_put_int(&w, quality, "elapsed_ns", p->elapsed_ns);
    dit_json_put_number(&w, quality, "flops", p->flops / (double)p->count);
    if (network) dit_json_put_string(&w, quality, "features", dit_features_digest(network));
    dit_picture_set_tell(&own->pictures, pipeline->captions, pipeline->caption_count);
    dit_json_put_status(&w, dit_judged_set_describe(own, quality));
    cJSON *shown = put_shown(&w, own, quality);
    dit_json_put_status(&w, put_fidelity(&w, references->one_rank, own, quality));
    put_each(&w, own, "psnr_db", shown);
    dit_json_put_status(&w, put_converged(&w, references->converged, own, quality));
    if (references->converged) put_each(&w, own, "converged_psnr_db", shown);
    dit_json_put_status(&w, put_renders(&w, kase, network, own, quality));
    put_hit_share(&w, p, quality);
    dit_json_put_status(&w, put_edits(&w, p, kase, references->one_rank, own, quality));
    return w.status;
}

dit_status dit_pictures_judge(const dit_pictures *pictures, const dit_pipeline *pipeline, const char *path,
                              const dit_picture_references *references, cJSON *record)
{
    dit_features *network;
    dit_judged_set own;
    DIT_TRY(open_network(&network));
    dit_status st = dit_judged_set_read(path, true, network, &own);
    if (st == DIT_OK) {
        st = judge(pictures, pipeline, references, network, &own, record);
        dit_judged_set_release(&own);
    }
    dit_features_close(network);
    return st;
}
