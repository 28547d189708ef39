#include "suite/search/space.h"

#include "base/case_facts.h"
#include "base/label.h"
#include "base/patches.h"
#include "suite/explain/meshes.h"
#include "suite/search/stages.h"
#include "suite/workload/programs/predict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static dit_status fail_memory(void)
{
    return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a space of meshes");
}

static bool takes_sizes(suite_search_goal goal)
{
    return suite_search_has_replicas(goal) || goal == SUITE_GOAL_FRONT;
}

/* The number of devices on which a replica of so many ranks has the least rent; NULL: none is rented out that it
 * divides. Of equal ones the fewest devices. */
static const suite_search_rent *cheapest(const suite_search_request *request, int ranks)
{
    const suite_search_rent *best = NULL;
    for (int i = 0; i < request->rent_count; i++) {
        const suite_search_rent *one = &request->rents[i];
        if (one->devices % ranks || one->devices > request->devices) continue;
        if (!best || one->per_hour * best->devices < best->per_hour * one->devices) best = one;
    }
    return best;
}

static bool is_size(const suite_search_request *request, int ranks)
{
    const int devices = (int)request->devices;
    if (ranks < devices && (request->mesh || devices % ranks || !takes_sizes(request->goal))) return false;
    return request->goal != SUITE_GOAL_COST || cheapest(request, ranks);
}

/* All meshes of so many ranks, or `mesh` alone. */
static dit_status expand(const suite_search_request *request, int ranks, const dit_parallel *mesh, suite_workload *out)
{
    if (request->meshes) return suite_meshes_expand(request->meshes, "search", out);
    const suite_meshes_params meshes = {.model = request->model,
                                        .platform = request->platform,
                                        .profile = request->profile,
                                        .element = request->element,
                                        .scope = request->scope,
                                        .devices = ranks,
                                        .width_px = request->width_px,
                                        .height_px = request->height_px,
                                        .num_frames = request->num_frames,
                                        .text_tokens = request->text_tokens,
                                        .steps = request->steps,
                                        .num_images = request->num_images,
                                        .warmup_steps = -1,
                                        .halo_frames = -1,
                                        .context_frames = -1,
                                        .global_frames = -1,
                                        .exact = !request->approximate,
                                        .mesh = mesh,
                                        .one_request = true};
    return suite_meshes_expand(&meshes, "search", out);
}

static dit_status expand_sizes(suite_search *s)
{
    const dit_parallel *mesh = s->request.mesh;
    int devices = (int)s->request.devices;
    s->sizes = calloc((size_t)devices, sizeof *s->sizes);
    if (!s->sizes) return fail_memory();
    for (int ranks = 1; ranks <= devices; ranks++) {
        if (!is_size(&s->request, ranks)) continue;
        s->size_count++;
        suite_search_size *size = &s->sizes[s->size_count - 1];
        *size = (suite_search_size){.ranks = ranks, .winner = -1};
        DIT_TRY(expand(&s->request, mesh ? 0 : ranks, mesh, &size->workload));
    }
    return DIT_OK;
}

static dit_status open_candidate(const suite_search *s, int ranks, const suite_case *kase, suite_search_candidate *out)
{
    const dit_json view = {kase->document, NULL, 0, NULL};
    *out = (suite_search_candidate){.kase = kase, .ranks = ranks, .replicas = 1};
    if (s->request.goal == SUITE_GOAL_THROUGHPUT) out->replicas = (int)s->request.devices / ranks;
    if (s->request.goal == SUITE_GOAL_COST) {
        const suite_search_rent *rent = cheapest(&s->request, ranks);
        out->replicas = rent->devices / ranks;
        out->per_hour = rent->per_hour;
    }
    DIT_TRY(dit_parallel_from_json(&view, dit_json_member(kase->document, "parallel"), "/parallel", &out->parallel));
    dit_parallel_label_whole(&out->parallel, out->mesh);
    out->exact = !dit_parallel_is_displaced(&out->parallel);
    return DIT_OK;
}

static void tell_illegal(suite_search *s, int ranks, const suite_dropped *dropped)
{
    suite_search_illegal *one = &s->illegal[s->illegal_count++];
    *one = (suite_search_illegal){.ranks = ranks};
    suite_meshes_label_dropped(dropped, one->mesh);
    snprintf(one->code, sizeof one->code, "%s", dit_status_name(dropped->code));
    snprintf(one->reason, sizeof one->reason, "%.299s", dropped->reason);
}

static dit_status list_candidates(suite_search *s)
{
    size_t cases = 0, dropped = 0;
    for (int i = 0; i < s->size_count; i++)
        cases += (size_t)s->sizes[i].workload.case_count, dropped += (size_t)s->sizes[i].workload.dropped_count;
    s->candidates = calloc(2 * cases + 1, sizeof *s->candidates); /* with uneven stages */
    s->illegal = calloc(dropped + 1, sizeof *s->illegal);
    if (!s->candidates || !s->illegal) return fail_memory();
    for (int i = 0; i < s->size_count; i++) {
        const suite_search_size *size = &s->sizes[i];
        for (int j = 0; j < size->workload.case_count; j++) {
            if (size->workload.cases[j].is_oracle) continue;
            DIT_TRY(open_candidate(s, size->ranks, &size->workload.cases[j], &s->candidates[s->count]));
            s->count += !s->request.displaced || !s->candidates[s->count].exact;
        }
        for (int j = 0; j < size->workload.dropped_count; j++) tell_illegal(s, size->ranks, &size->workload.dropped[j]);
    }
    return DIT_OK;
}

/* How near a mesh is to what one runs without a search: as much CFG as there is, then as much Ulysses; nothing else but a
 * ring. */
static int untuned_score(const suite_search_candidate *one)
{
    const int plain = dit_parallel_degree(&one->parallel, DIT_AXIS_CFG) *
                      dit_parallel_degree(&one->parallel, DIT_AXIS_ULYSSES) *
                      dit_parallel_degree(&one->parallel, DIT_AXIS_RING);
    if (plain != one->ranks) return 0;
    return 1 + 4096 * dit_parallel_degree(&one->parallel, DIT_AXIS_CFG) +
           dit_parallel_degree(&one->parallel, DIT_AXIS_ULYSSES);
}

static void keep_untuned(suite_search *s)
{
    int kept = 0;
    for (int i = 0; i < s->size_count; i++) {
        int best = -1;
        for (int j = 0; j < s->count; j++)
            if (s->candidates[j].ranks == s->sizes[i].ranks && untuned_score(&s->candidates[j]) > 0 &&
                (best < 0 || untuned_score(&s->candidates[j]) > untuned_score(&s->candidates[best])))
                best = j;
        /* candidates stand in the order of sizes, so none is overwritten before it is looked at */
        if (best >= 0) s->candidates[kept++] = s->candidates[best];
    }
    s->count = kept;
}

dit_status suite_search_expand(suite_search *search)
{
    DIT_TRY(expand_sizes(search));
    DIT_TRY(list_candidates(search));
    if (search->request.untuned) keep_untuned(search);
    return DIT_OK;
}

/* ---- stages that are cut by what blocks take --------------------------------------------------------------------- */

/* Less than this share of a stage is not worth another mesh. */
static const double WORTH = 1e-3;

static void fill_blocks(const suite_search *s, const suite_search_candidate *one, const dit_facts *facts,
                        suite_stage_block *blocks)
{
    const int bytes = suite_predict_element_bytes(suite_search_word(s, "element"));
    const int tensor = dit_parallel_degree(&one->parallel, DIT_AXIS_TENSOR);
    for (int i = 0; i < (int)facts->layers; i++) {
        dit_block_run run = dit_facts_blocks(facts, i, 1);
        blocks[i].seconds = one->bounds.block_s[i];
        int64_t shared = dit_facts_shared_parameters(facts, &run);
        blocks[i].bytes = (double)(dit_facts_block_parameters(facts, &run) - shared + shared / tensor) * bytes;
    }
}

/* *better: `out` is the mesh with stages whose slowest one is faster than that of even ones. */
static dit_status cut_anew(const suite_search *s, const suite_platform *platform, const suite_search_candidate *one,
                           dit_parallel *out, bool *better)
{
    const dit_json view = {one->kase->document, NULL, 0, NULL};
    suite_stage_block blocks[SUITE_BOUND_BLOCKS];
    int even[DIT_MAX_STAGES], cut[DIT_MAX_STAGES], stages = dit_parallel_degree(&one->parallel, DIT_AXIS_PIPEFUSION);
    double most = platform->memory_per_device ? (double)platform->memory_bytes : INFINITY;
    dit_facts facts;
    *better = false, *out = one->parallel;
    DIT_TRY(dit_facts_from_case(&view, one->kase->document, "", &facts));
    if (stages < 2 || one->bounds.block_count != facts.layers) return DIT_OK;
    fill_blocks(s, one, &facts, blocks);
    if (!suite_stages_cut(blocks, (int)facts.layers, stages, most, cut)) return DIT_OK;
    for (int i = 0; i < stages; i++) even[i] = (int)dit_parallel_stage(&one->parallel, &facts, i).count;
    *better = suite_stages_cost(blocks, cut, stages).slowest_s <
              (1 - WORTH) * suite_stages_cost(blocks, even, stages).slowest_s;
    memcpy(out->stage_blocks, cut, (size_t)stages * sizeof *cut);
    return DIT_OK;
}

static dit_status add_cut(suite_search *s, int index, const dit_parallel *mesh)
{
    int ranks = s->candidates[index].ranks;
    suite_workload *workload = &s->uneven[s->uneven_count++];
    *workload = (suite_workload){0};
    DIT_TRY(expand(&s->request, 0, mesh, workload));
    for (int i = 0; i < workload->case_count; i++) {
        if (workload->cases[i].is_oracle) continue;
        DIT_TRY(open_candidate(s, ranks, &workload->cases[i], &s->candidates[s->count]));
        s->count++;
        return DIT_OK;
    }
    return DIT_OK;
}

dit_status suite_search_add_uneven(suite_search *search, const suite_platform *platform)
{
    int even = search->count;
    dit_parallel mesh;
    bool better;
    if (!search->request.approximate || search->request.mesh || search->request.meshes) return DIT_OK;
    search->uneven = calloc((size_t)even + 1, sizeof *search->uneven);
    if (!search->uneven) return fail_memory();
    for (int i = 0; i < even; i++) {
        DIT_TRY(cut_anew(search, platform, &search->candidates[i], &mesh, &better));
        if (better) DIT_TRY(add_cut(search, i, &mesh));
    }
    return DIT_OK;
}
