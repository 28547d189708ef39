#include "suite/procure/menu.h"

#include "base/list.h"

#include <math.h>
#include <stdlib.h>

void suite_menu_release(suite_menu *menu)
{
    for (int i = 0; i < menu->search_count; i++) suite_search_release(&menu->searches[i]);
    free(menu->searches);
    *menu = (suite_menu){.count = 0};
}

/* Another search for one mesh on this machine: of `times` as many images. */
static suite_search_request asked_again(const suite_procure_request *request, const suite_search *found,
                                        const dit_parallel *mesh, int times)
{
    suite_search_request asked = found->request;
    int64_t images = request->search.num_images > 1 ? request->search.num_images : 1;
    asked.goal = SUITE_GOAL_LATENCY;
    asked.mesh = mesh;
    asked.devices = 0;
    asked.approximate = true; /* the mesh says itself what it is */
    asked.displaced = false;
    asked.num_images = images * times;
    asked.what_if = 0;
    return asked;
}

static void count(const suite_search *again, suite_menu *out)
{
    out->simulated += again->simulated;
    out->kept += again->kept;
}

/* ---- replicas beside each other --------------------------------------------------------------------------------------- */

/* All replicas of `devices` devices at once, as ranks of one run that share nothing but links. *factor 0: it cannot be
 * simulated. */
static dit_status crowd(const suite_procure_request *request, const suite_search *found, const suite_menu_item *item,
                        int devices, suite_menu *out, double *factor)
{
    dit_parallel beside = item->one->parallel;
    int replicas = devices / item->one->ranks;
    suite_search again = {.count = 0};
    beside.degree[DIT_AXIS_DATA] = replicas;
    const suite_search_request asked = asked_again(request, found, &beside, replicas);
    dit_status st = suite_search_run(&asked, &again);
    *factor = st == DIT_OK && again.winner >= 0 ? again.candidates[again.winner].seconds / item->one->seconds : 0;
    if (*factor > 0) *factor = fmax(*factor, 1);
    count(&again, out);
    suite_search_release(&again);
    return st;
}

static dit_status fill_crowds(const suite_procure_request *request, const suite_search *found, bool share,
                              suite_menu *out, suite_menu_item *item)
{
    for (int i = 0; i < out->device_count; i++) {
        int devices = out->devices[i], ranks = item->one->ranks;
        item->crowded[i] = 1;
        if (!share || request->scenario == SUITE_SCENARIO_SINGLE || devices <= ranks || devices % ranks) continue;
        DIT_TRY(crowd(request, found, item, devices, out, &item->crowded[i]));
        item->crowd_unknown[i] = item->crowded[i] <= 0;
        if (item->crowd_unknown[i]) item->crowded[i] = 1;
    }
    return DIT_OK;
}

/* ---- batches ------------------------------------------------------------------------------------------------------------ */

/* Between two sizes that were simulated the time is on a line. */
static void fill_between(suite_batch_shape *shape, int from, int to)
{
    for (int size = from + 1; size < to; size++) {
        double part = (double)(size - from) / (to - from);
        shape->times[size - 1] = shape->times[from - 1] + part * (shape->times[to - 1] - shape->times[from - 1]);
    }
}

static dit_status fill_batches(const suite_procure_request *request, const suite_search *found, suite_menu *out,
                               suite_menu_item *item)
{
    suite_batch_shape *shape = &item->batch;
    *shape = (suite_batch_shape){.most = 1, .times = {1}};
    item->batched[0] = item->one;
    for (int i = 1, size = 2; size <= request->batch_most && i <= SUITE_MENU_DOUBLINGS; i++, size *= 2) {
        const suite_search_request asked = asked_again(request, found, &item->one->parallel, size);
        DIT_TRY(dit_list_grow((void **)&out->searches, out->search_count, sizeof *out->searches));
        suite_search *again = &out->searches[out->search_count];
        DIT_TRY(suite_search_run(&asked, again));
        out->search_count++;
        count(again, out);
        if (again->winner < 0) return DIT_OK; /* so many do not fit */
        item->batched[i] = &again->candidates[again->winner];
        shape->times[size - 1] = fmax(item->batched[i]->seconds / item->one->seconds, shape->times[size / 2 - 1]);
        fill_between(shape, size / 2, size);
        shape->most = size;
    }
    return DIT_OK;
}

/* ---- all of it ------------------------------------------------------------------------------------------------------------ */

dit_status suite_menu_make(const suite_procure_request *request, const suite_search *found, const int *devices,
                           int device_count, suite_menu *out)
{
    *out = (suite_menu){.device_count = device_count};
    for (int i = 0; i < device_count; i++) out->devices[i] = devices[i];
    for (int i = 0; i < found->size_count && out->count < SUITE_MENU_SIZES; i++) {
        const suite_search_size *size = &found->sizes[i];
        if (size->winner < 0) continue;
        suite_menu_item *item = &out->items[out->count++];
        *item = (suite_menu_item){.one = &found->candidates[size->winner]};
        DIT_TRY(fill_crowds(request, found, size->replicas_share_links, out, item));
        DIT_TRY(fill_batches(request, found, out, item));
    }
    return DIT_OK;
}

static int place_of(const suite_menu *menu, int devices)
{
    for (int i = 0; i < menu->device_count; i++)
        if (menu->devices[i] == devices) return i;
    return 0;
}

double suite_menu_seconds(const suite_menu *menu, const suite_menu_item *item, int devices)
{
    return item->one->seconds * item->crowded[place_of(menu, devices)];
}

bool suite_menu_is_unknown(const suite_menu *menu, const suite_menu_item *item, int devices)
{
    return item->crowd_unknown[place_of(menu, devices)];
}

suite_service suite_menu_service(const suite_menu *menu, const suite_menu_item *item, int devices)
{
    return (suite_service){suite_menu_seconds(menu, item, devices), devices / item->one->ranks, &item->batch};
}
