/* Menu: what replicas a machine can be cut into: of each number of devices the fastest mesh, what batches of requests take
 * on it, and what replicas lose to each other where they share links.
 */
#ifndef DIT_SUITE_PROCURE_MENU_H
#define DIT_SUITE_PROCURE_MENU_H

#include "suite/procure/serve.h"

enum { SUITE_MENU_SIZES = 16, SUITE_MENU_DOUBLINGS = 6 /* 2 to SUITE_BATCH_MOST requests in a batch */ };

/* Replicas of so many devices. */
typedef struct {
    const suite_search_candidate *one;    /* a request alone                                                */
    double crowded[SUITE_MENU_SIZES];     /* at the menu's devices[i]: by what factor it takes longer while all
                                                   replicas work; 1 where they share no link                       */
    bool crowd_unknown[SUITE_MENU_SIZES]; /* they share links, and nothing could be simulated               */
    suite_batch_shape batch;              /* batch.most 1: no batches                                       */
    const suite_search_candidate *batched[SUITE_MENU_DOUBLINGS + 1]; /* [i]: a batch of 2^i; NULL: none          */
} suite_menu_item;

/* release accepts a zeroed one. */
typedef struct {
    int devices[SUITE_MENU_SIZES], device_count; /* of the machine that are asked about */
    suite_menu_item items[SUITE_MENU_SIZES];
    int count;
    suite_search *searches; /* [search_count] owners of `batched` */
    int search_count, simulated, kept;
} suite_menu;
void suite_menu_release(suite_menu *menu);

/* Makes the menu of a machine from the front of its search; `devices` are those that are asked about. Simulates replicas
 * beside each other where they share links, and batches where the request has them: of 2, 4, ... requests to its
 * batch_most, on the mesh that is fastest for one. Errors: those of suite_search_run. */
dit_status suite_menu_make(const suite_procure_request *request, const suite_search *found, const int *devices,
                           int device_count, suite_menu *out);

/* Returns the seconds of one request on one of the replicas that `devices` devices hold, all of them at work. */
double suite_menu_seconds(const suite_menu *menu, const suite_menu_item *item, int devices);
/* Whether what they do to each other is not known. */
bool suite_menu_is_unknown(const suite_menu *menu, const suite_menu_item *item, int devices);
/* How so many devices serve with this item. */
suite_service suite_menu_service(const suite_menu *menu, const suite_menu_item *item, int devices);

#endif
