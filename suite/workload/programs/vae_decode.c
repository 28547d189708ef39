/* Program vae_decode: the decoder of a model's VAE. Ranks share the rows of its pictures; there is no other mesh. Models
 * that share a VAE give one case, so the VAE is what the case is named after. */
#include "base/rows.h"
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

static dit_status add_document(const suite_workload *workload, const suite_cell *cell, cJSON *document)
{
    cJSON *run;
    (void)workload;
    DIT_TRY(suite_cell_add_vae(cell, document));
    return suite_cell_add_run(cell, document, &run);
}

/* One rank needs no word. */
static dit_status add_ranks(const suite_cell *cell, cJSON *document)
{
    cJSON *parallel;
    if (cell->parallel.rows_degree <= 1) return DIT_OK;
    DIT_TRY(suite_member_object(document, "parallel", &parallel));
    return dit_json_add_int(parallel, dit_axis_key(DIT_AXIS_WORLD), cell->parallel.rows_degree);
}

static dit_status add_tags(const suite_cell *cell, cJSON *tags)
{
    char name[NAME];
    write_name(cell, name);
    DIT_TRY(dit_json_add_string(tags, "model", name));
    DIT_TRY(dit_json_add_string(tags, "base_model", cell->vae->name));
    if (cell->parallel.rows_degree <= 1) DIT_TRY(dit_json_add_int(tags, dit_axis_key(DIT_AXIS_WORLD), 1));
    DIT_TRY(dit_json_add_string(tags, "tiling", is_tiled(cell) ? "on" : "off"));
    DIT_TRY(suite_cell_add_size_tags(cell, tags));
    return suite_cell_add_mesh_tags(cell, tags);
}

static void write_label(const suite_cell *cell, char *out, size_t size)
{
    char name[NAME], subject[NAME + 96];
    write_name(cell, name);
    suite_cell_write_subject(cell, name, subject, sizeof subject);
    snprintf(out, size, "%s %s", subject, cell->mesh);
}

static dit_status add_identity(const suite_cell *cell, const cJSON *document, cJSON *out)
{
    (void)cell;
    DIT_TRY(suite_member_shared(out, document, "vae"));
    return suite_member_shared(out, document, "run");
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
    return dit_rows_check(cell->world_size, &rows);
}

/* ---- the closed form --------------------------------------------------------------------------------------------- */

static dit_status read_case(const dit_json *document, suite_prediction *out)
{
    int ranks = dit_parallel_world_size(&out->parallel);
    if (ranks == 1) return DIT_OK;
    DIT_TRY(dit_rows_from_case(document, document->root, "", &out->rows));
    return dit_rows_check(ranks, &out->rows);
}

static void predict_volume(const suite_prediction *prediction, int rank, dit_volume_table *out)
{
    int ranks = dit_parallel_world_size(&prediction->parallel);
    if (ranks > 1) dit_rows_predict(&prediction->rows, ranks, rank, out);
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
    .document = add_document,
    .ranks = add_ranks,
    .tags = add_tags,
    .judge = judge,
    .label = write_label,
    .identity = add_identity,
    .approximates = is_tiled,
    .read = read_case,
    .volume = predict_volume,
    .rank_of_kind = rank_of_kind,
};
