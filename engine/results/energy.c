#include "engine/results/energy.h"

#include "base/clock.h"

#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_PACKAGES = 64, PATH_BYTES = 512, REST_READINGS = 5 };
static const double device_period_s = 0.1, powercap_period_s = 2; /* counters of packages run over after minutes */
static const double shortest_window_s = 2;                        /* counters of GPUs move about every 0.1 s     */
static const double widest_gap = 0.1, widest_difference = 0.1;

/* A counter of microjoules, which starts again at 0 after `range_j`. */
typedef struct {
    char path[PATH_BYTES];
    double range_j, last_j;
} package_counter;

struct dit_energy_meter {
    dit_device *device; /* NULL: packages */
    package_counter package[MOST_PACKAGES];
    int packages;
    double rest_w, counter_j, integral_j; /* NAN once a reading failed */
    double last_j, last_w;                /* of the device             */
    int64_t began_ns, last_ns;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool ending;
};

/* ---- packages ---------------------------------------------------------------------------------------------------- */

/* Returns the number in a file; NAN where it cannot be read. */
static double number_in(const char *path)
{
    double value = NAN;
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%lf", &value) != 1) value = NAN;
    if (file) fclose(file);
    return value;
}

/* Adds the zone of a package, "intel-rapl:0"; zones inside it ("intel-rapl:0:1") are parts of it, and counted there. */
static void add_package(dit_energy_meter *meter, const char *folder, const char *zone)
{
    package_counter *p = &meter->package[meter->packages];
    char path[PATH_BYTES];
    const char *colon = strchr(zone, ':');
    if (!colon || strchr(colon + 1, ':') || meter->packages == MOST_PACKAGES) return;
    if (snprintf(path, sizeof path, "%s/%s/max_energy_range_uj", folder, zone) >= PATH_BYTES) return;
    if (snprintf(p->path, sizeof p->path, "%s/%s/energy_uj", folder, zone) >= PATH_BYTES) return;
    p->range_j = number_in(path) * 1e-6;
    if (isfinite(number_in(p->path)) && p->range_j > 0) meter->packages++;
}

static void find_packages(dit_energy_meter *meter)
{
    const char *sysfs = getenv("DITBENCH_SYSFS");
    char folder[PATH_BYTES / 2];
    if (snprintf(folder, sizeof folder, "%s/class/powercap", sysfs ? sysfs : "/sys") >= (int)sizeof folder) return;
    DIR *list = opendir(folder);
    if (!list) return;
    for (const struct dirent *entry; (entry = readdir(list));) add_package(meter, folder, entry->d_name);
    closedir(list);
}

/* Returns the joules since the last look. */
static double package_joules(package_counter *p)
{
    const double now = number_in(p->path) * 1e-6, since = now - p->last_j;
    p->last_j = now;
    return since < 0 ? since + p->range_j : since;
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

static void look_at_device(dit_energy_meter *meter, double seconds)
{
    const dit_device_reading now = dit_device_read_meter(meter->device);
    meter->counter_j += now.energy_j - meter->last_j;
    meter->integral_j += (now.power_w + meter->last_w) / 2 * seconds;
    meter->last_j = now.energy_j, meter->last_w = now.power_w;
}

static void look(dit_energy_meter *meter)
{
    const int64_t now_ns = dit_clock_ns();
    if (meter->device) look_at_device(meter, (double)(now_ns - meter->last_ns) * 1e-9);
    for (int i = 0; i < meter->packages; i++) meter->counter_j += package_joules(&meter->package[i]);
    meter->last_ns = now_ns;
}

static struct timespec after(double seconds)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_nsec += (long)(fmod(seconds, 1) * 1e9);
    at.tv_sec += (time_t)seconds + at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

static void *sample(void *context)
{
    dit_energy_meter *meter = context;
    pthread_mutex_lock(&meter->lock);
    while (!meter->ending) {
        const struct timespec next = after(meter->device ? device_period_s : powercap_period_s);
        if (pthread_cond_timedwait(&meter->over, &meter->lock, &next) != 0 && !meter->ending) look(meter);
    }
    pthread_mutex_unlock(&meter->lock);
    return NULL;
}

/* ---- the meter --------------------------------------------------------------------------------------------------- */

static bool has_something(const dit_energy_meter *meter)
{
    if (!meter->device) return meter->packages > 0;
    const dit_device_reading now = dit_device_read_meter(meter->device);
    return isfinite(now.energy_j) || isfinite(now.power_w);
}

dit_status dit_energy_open(const dit_runtime *rt, dit_energy_meter **out)
{
    /* The ranks of a machine take its devices in turn, so the first of each device is one of the first ranks. */
    const bool reads = rt->local_rank < (rt->device ? rt->devices : 1);
    pthread_condattr_t monotonic;
    *out = NULL;
    if (!reads) return DIT_OK;
    dit_energy_meter *meter = calloc(1, sizeof *meter);
    if (!meter) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for an energy meter");
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&meter->over, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&meter->lock, NULL);
    meter->device = rt->device;
    meter->rest_w = NAN;
    if (!rt->device) find_packages(meter);
    if (has_something(meter))
        *out = meter;
    else
        dit_energy_close(meter);
    return DIT_OK;
}

void dit_energy_close(dit_energy_meter *meter)
{
    if (!meter) return;
    pthread_cond_destroy(&meter->over);
    pthread_mutex_destroy(&meter->lock);
    free(meter);
}

void dit_energy_rest(dit_energy_meter *meter)
{
    const struct timespec period = {.tv_nsec = (long)(device_period_s * 1e9)};
    double sum = 0;
    if (!meter || !meter->device) return;
    for (int i = 0; i < REST_READINGS; i++) {
        nanosleep(&period, NULL);
        sum += dit_device_read_meter(meter->device).power_w;
    }
    meter->rest_w = sum / REST_READINGS;
}

dit_status dit_energy_begin(dit_energy_meter *meter)
{
    if (!meter) return DIT_OK;
    look(meter);
    meter->counter_j = 0;
    meter->integral_j = meter->device ? 0 : NAN;
    meter->ending = false;
    meter->began_ns = meter->last_ns;
    if (pthread_create(&meter->thread, NULL, sample, meter) == 0) return DIT_OK;
    return DIT_FAIL(DIT_ERR_INTERNAL, "no thread for the energy meter");
}

void dit_energy_end(dit_energy_meter *meter, dit_energy *out)
{
    *out = (dit_energy){0};
    if (!meter) return;
    pthread_mutex_lock(&meter->lock);
    meter->ending = true;
    pthread_cond_signal(&meter->over);
    pthread_mutex_unlock(&meter->lock);
    pthread_join(meter->thread, NULL);
    look(meter);
    *out = (dit_energy){.meters = meter->device ? 1 : meter->packages,
                        .packages = !meter->device,
                        .counter_j = meter->counter_j,
                        .integral_j = meter->integral_j,
                        .rest_w = meter->rest_w,
                        .window_s = (double)(meter->last_ns - meter->began_ns) * 1e-9};
}

/* ---- the record -------------------------------------------------------------------------------------------------- */

void dit_energy_add(dit_energy *all, const dit_energy *one)
{
    if (!one->meters) return;
    if (!all->meters) {
        *all = *one;
        return;
    }
    all->meters += one->meters;
    all->counter_j += one->counter_j;
    all->integral_j += one->integral_j;
    all->rest_w += one->rest_w;
    if (one->window_s > all->window_s) all->window_s = one->window_s;
}

const char *dit_energy_doubt(const dit_energy *e, double busy_s)
{
    if (!isfinite(e->counter_j) && !isfinite(e->integral_j)) return "the meters fell silent";
    if (!e->packages && e->window_s < shortest_window_s) return "the window is shorter than 2 s: run more iterations";
    if (busy_s < (1 - widest_gap) * e->window_s) return "iterations fill less than 90 % of the window";
    if (fabs(e->integral_j - e->counter_j) > widest_difference * e->counter_j)
        return "the counter and the integral of power differ by more than 10 %";
    return NULL;
}

static void put_known(dit_json_writer *w, cJSON *object, const char *key, double value)
{
    if (isfinite(value)) dit_json_put_number(w, object, key, value);
}

void dit_energy_put(dit_json_writer *w, cJSON *record, const dit_energy *e, int iterations, double busy_s)
{
    if (!e->meters) return;
    const double joules = isfinite(e->counter_j) ? e->counter_j : e->integral_j;
    const char *doubt = dit_energy_doubt(e, busy_s);
    cJSON *energy = dit_json_put_object(w, record, "energy");
    dit_json_put_string(w, energy, "scope", e->packages ? "packages" : "gpus");
    dit_json_put_int(w, energy, "meters", e->meters);
    dit_json_put_number(w, energy, "window_s", e->window_s);
    put_known(w, energy, "counter_j", e->counter_j);
    put_known(w, energy, "integral_j", e->integral_j);
    put_known(w, energy, "rest_w", e->rest_w);
    if (doubt) dit_json_put_string(w, energy, "doubt", doubt);
    if (doubt) return;
    dit_json_put_number(w, energy, "iteration_j", joules / iterations);
    dit_json_put_number(w, energy, "mean_w", joules / e->window_s);
}
