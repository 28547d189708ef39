/* Shape prune: deletes what the shape cache keeps and nobody has asked for in SUITE_SHAPE_DAYS days.
 *
 * The time of a file's last change is when it was last asked for, to a day. The folder is looked through once a day; the
 * file "pruned" in it says when. Nothing here is an error: what cannot be deleted stays.
 */
#ifndef DIT_SUITE_SIMULATE_SHAPE_PRUNE_H
#define DIT_SUITE_SIMULATE_SHAPE_PRUNE_H

#include <time.h>

enum { SUITE_SHAPE_DAYS = 60 };

/* Notes that the file was asked for, `now`. */
void suite_shape_used(const char *path, time_t now);
/* Deletes old files of the cache folder, unless that was done less than a day before `now`. Returns how many. */
int suite_shape_prune(const char *folder, time_t now);

#endif
