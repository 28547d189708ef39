/* Program vae_decode: the decoder of a model's VAE. Ranks share the rows of its pictures; there is no other mesh.
 * Models that share a VAE give one case, so the VAE is what the case is named after. */
#include "base/shared_decode.h"
#include "suite/workload/members.h"
#include "suite/workload/programs/cell_mesh.h"
#include "suite/workload/programs/cell_model.h"
#include "suite/workload/programs/predict.h"
#include "suite/workload/programs/program.h"

#include <stdio.h>

enum { NAME = 160 };

static dit_status resolve(suite_cell *cell)
{
    if (cell->simulated)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s is simulated, and nothing simulates program %s", cell->platform->name,
                        cell->program->name);
    if (cell->vae && !cell->vae->built)
        return DIT_FAIL(DIT_ERR_UNSUPPORTED, "the VAE of %s is not built: %s", cell->model->name, cell->vae->title);
    if (!cell->vae) return DIT_FAIL(DIT_ERR_UNSUPPORTED, "%s: its file names no VAE", cell->model->name);
    DIT_TRY(suite_cell_resolve_size(cell));
    return suite_cell_resolve_mesh(cell);
}

static bool is_tiled(const suite_cell *cell)
{
    return suite_cell_is_on(cell, SUITE_PARAMETER_TILING);
}

/* "vae:flux": no model has such a name. */
static void write_name(const suite_cell *cell, char out[NAME])
{
    snprintf(out, NAME, "vae:%s", cell->vae->name);
}

/* ---- documents --------------------------------------------------------------------------------------------------- */

static void put_document(dit_json_writer *w, const suite_workload *workload, const suite_cell *cell, cJSON *document)
{
    (void)workload;
    suite_cell_put_vae(w, cell, document);
    suite_cell_put_run(w, cell, document);
}

/* One rank needs no word. */
static void put_ranks(dit_json_writer *w, const suite_cell *cell, cJSON *document)
{
    if (cell->parallel.rows_degree <= 1) return;
    cJSON *parallel = dit_json_put_object(w, document, "parallel");
    dit_json_put_int(w, parallel, dit_axis_key(DIT_AXIS_WORLD), cell->parallel.rows_degree);
}

static void put_tags(dit_json_writer *w, const suite_cell *cell, cJSON *tags)
{
    char name[NAME];
    write_name(cell, name);
    dit_json_put_string(w, tags, "model", name);
    dit_json_put_string(w, tags, "base_model", cell->vae->name);
    if (cell->parallel.rows_degree <= 1) dit_json_put_int(w, tags, dit_axis_key(DIT_AXIS_WORLD), 1);
    dit_json_put_string(w, tags, "tiling", is_tiled(cell) ? "on" : "off");
    dit_json_put_string(w, tags, "vae_split", suite_cell_splits_frames(cell) ? "frames" : "rows");
    suite_cell_put_size_tags(w, cell, tags);
    suite_cell_put_mesh_tags(w, cell, tags);
}

static void write_label(const suite_cell *cell, char *out, size_t size)
{
    char name[NAME], subject[NAME + 96];
    write_name(cell, name);
    suite_cell_write_subject(cell, name, subject, sizeof subject);
    snprintf(out, size, "%s %s%s", subject, cell->mesh, suite_cell_splits_frames(cell) ? " by frames" : "");
}

static void put_identity(dit_json_writer *w, const suite_cell *cell, const cJSON *document, cJSON *out)
{
    (void)cell;
    cJSON *vae = cJSON_Duplicate(dit_json_member(document, "vae"), true);
    if (vae) cJSON_DeleteItemFromObjectCaseSensitive(vae, "split"); /* either way gives one picture */
    dit_json_put_item(w, out, "vae", vae);
    suite_member_shared(w, out, document, "run");
}

static dit_status judge(const suite_cell *cell, const cJSON *document)
{
    const dit_json view = {.root = (cJSON *)(uintptr_t)document, .path = (char *)"<case>"};
    dit_rows_facts rows;
    if (cell->world_size == 1) return DIT_OK;
    if (cell->parallel.rows_degree != cell->world_size)
        return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "vae_decode has no mesh, %s asks for one", cell->mesh),
                              "the ranks that share a decode are rows_degree");
    DIT_TRY(dit_rows_from_case(&view, document, "", &rows));
    return dit_shared_decode_check(cell->world_size, &rows);
}

/* ---- the closed form --------------------------------------------------------------------------------------------- */

static dit_status read_case(const dit_json *document, suite_prediction *out)
{
    int ranks = dit_parallel_world_size(&out->parallel);
    if (ranks == 1) return DIT_OK;
    DIT_TRY(dit_rows_from_case(document, document->root, "", &out->rows));
    return dit_shared_decode_check(ranks, &out->rows);
}

static void predict_volume(const suite_prediction *prediction, int rank, dit_volume_table *out)
{
    int ranks = dit_parallel_world_size(&prediction->parallel);
    if (ranks > 1) dit_shared_decode_predict(&prediction->rows, ranks, rank, out);
}

/* Every rank has rows of its own. */
static int rank_of_kind(const suite_prediction *prediction, int kind)
{
    return kind < dit_parallel_world_size(&prediction->parallel) ? kind : -1;
}

const suite_program suite_program_vae_decode = {
    .name = "vae_decode",
    .meaning = "the decoder of a model's VAE, from latents to pixels",
    .reads = SUITE_READS_DECODE,
    .result = "images",
    .needs_vae = true,
    .resolve = resolve,
    .document = put_document,
    .ranks = put_ranks,
    .tags = put_tags,
    .judge = judge,
    .label = write_label,
    .identity = put_identity,
    .approximates = is_tiled,
    .read = read_case,
    .volume = predict_volume,
    .rank_of_kind = rank_of_kind,
};
