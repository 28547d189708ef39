/* Traffic: what is asked for, in which shares and how soon: classes of requests, and how they arrive.
 *
 * A file is workloads/traffic/NAME.json or one of the buyer's (workloads/schema/traffic.schema.json).
 */
#ifndef DIT_SUITE_MIX_TRAFFIC_H
#define DIT_SUITE_MIX_TRAFFIC_H

#include "base/json.h"
#include "suite/queue/queue.h"

enum { SUITE_TRAFFIC_CLASSES = 8 };

/* Requests that are alike. Zero means the model's default. */
typedef struct {
    const char *name;
    int64_t width_px, height_px, num_frames, steps;
    double weight;  /* of its share; 0: a trace says how often it comes    */
    double bound_s; /* of the 95th percentile of its latency              */
} suite_traffic_class;

/* Texts lie in the document. release accepts a zeroed one. */
typedef struct {
    dit_json source;
    const char *name, *title;
    suite_traffic_class classes[SUITE_TRAFFIC_CLASSES];
    double weights[SUITE_TRAFFIC_CLASSES];
    int count;
    suite_queue_policy policy; /* who is next of those that wait */
    double bounds_s[SUITE_TRAFFIC_CLASSES];
    suite_arrivals arrivals; /* its weights are these, its trace is this one */
    suite_trace trace;
} suite_traffic;

/* Reads a text in memory; messages call it `path`, and a trace lies beside it. Errors: DIT_ERR_JSON_* with file, line and
 * key; those of suite_trace_read. */
dit_status suite_traffic_parse(const char *text, size_t length, const char *path, suite_traffic *out);
/* Reads a file, or workloads/traffic/NAME.json where `name` is no path. Errors: DIT_ERR_IO, DIT_ERR_NOT_FOUND, too. */
dit_status suite_traffic_load(const char *name, suite_traffic *out);
void suite_traffic_release(suite_traffic *traffic);
/* Returns the share of requests that are of a class. */
double suite_traffic_share(const suite_traffic *traffic, int class_index);

#endif
