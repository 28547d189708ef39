/* Power: what accelerators draw while they work, in three scopes that are three types, so that nothing adds or compares
 * watts of one scope with watts of another.
 *
 *     device   all accelerators                                          suite_device_watts
 *     server   + hosts, fans, losses of the supplies                     suite_server_watts
 *     site     x PUE (power usage effectiveness): cooling, distribution  suite_site_watts
 *
 * An accelerator draws idle_w + slope_w x busy. Its busy share is its rate over the best rate of that model on one
 * device. A power limit sizes the supply and is not what is drawn.
 */
#ifndef DIT_SUITE_PRICES_POWER_H
#define DIT_SUITE_PRICES_POWER_H

#include "suite/prices/fact.h"

typedef struct {
    double w;
} suite_device_watts;
typedef struct {
    double w;
} suite_server_watts;
typedef struct {
    double w;
} suite_site_watts;

/* The draw of one accelerator. */
typedef struct {
    double idle_w, slope_w;
    double limit_w;     /* its power limit; 0: unknown                                                   */
    double error;       /* relative: fitted: 90th percentile with a model left out; else what is assumed */
    bool fitted;        /* on published points of this accelerator; else shares of its limit, assumed    */
    int points, models; /* of the fit */
    suite_fact evidence;
} suite_power_model;

/* A file of workloads/power. release accepts a zeroed one. */
typedef struct {
    dit_json source;
    suite_power_model *fitted;      /* [fitted_count] */
    const char **fitted_names;      /* accelerators of them */
    double idle_share, slope_share; /* of the limit of any other accelerator */
    double other_error;             /* of those, relative */
    suite_fact others, server_over_accelerators, draw_share;
    int fitted_count;
} suite_power_table;

/* Reads a text in memory; messages call it `path`. Errors: DIT_ERR_JSON_* with file, line and key. */
dit_status suite_power_parse(const char *text, size_t length, const char *path, suite_power_table *out);
/* Reads workloads/power/accelerators.json. Errors: DIT_ERR_NOT_FOUND, too. */
dit_status suite_power_load(suite_power_table *out);
void suite_power_release(suite_power_table *table);

/* Finds the draw of an accelerator. `limit_w`: its power limit as the catalogue has it, 0: the catalogue has none, and
 * the table's counts. Errors: DIT_ERR_NOT_FOUND where neither a fit nor a limit is known. */
dit_status suite_power_model_of(const suite_power_table *table, const char *accelerator, double limit_w,
                                suite_power_model *out);

/* What `devices` accelerators draw together. Errors: DIT_ERR_USAGE for a busy share outside [0, 1] or no device. */
dit_status suite_power_devices(const suite_power_model *model, int devices, double busy, suite_device_watts *out);

/* Rated power of a server's part that holds `devices` of its accelerators: what its supply is sized for. *assumed: the
 * server is not known, or its evidence is an assumption. Errors: DIT_ERR_NOT_FOUND without a limit. */
dit_status suite_power_rated(const suite_power_table *table, const char *accelerator, double limit_w, int devices,
                             suite_server_watts *out, bool *assumed);

/* What the servers of those accelerators draw: the accelerators, and of the rest of the rated power the share that a
 * source assumes. Errors: as suite_power_rated. */
dit_status suite_power_server(const suite_power_table *table, const char *accelerator, double limit_w, int devices,
                              suite_device_watts drawn, suite_server_watts *out);

/* What the site draws for a server. `pue` is at least 1. */
suite_site_watts suite_power_site(suite_server_watts server, double pue);

/* All three of a machine. */
typedef struct {
    suite_device_watts device;
    suite_server_watts server;
    suite_site_watts site;
    suite_power_model model;
} suite_power_draw;

/* Errors: as the functions above. */
dit_status suite_power_of(const suite_power_table *table, const char *accelerator, double limit_w, int devices,
                          double busy, double pue, suite_power_draw *out);

#endif
