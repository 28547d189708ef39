#include "suite/audit/audit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TRIES = 3 };

/* Flops are whole numbers; their sums are rounded where they pass 2^53. */
static const double ROUNDING = 1e-12;

/* The runs of an audit. `steps` is the case's own number, `first` the first step that is like all later ones. */
typedef enum { BASE, AGAIN, COLD, SEED, TWICE, SHORT, LONGER, TALL, TALLER, ALONE, RUNS } audit_run;

typedef struct {
    const suite_case *one;
    const suite_audit_params *params;
    suite_variant variant[RUNS];
    suite_work work[RUNS];
    suite_audit_row *rows;
    int count;
} auditor;

const char *suite_audit_verdict_name(suite_audit_verdict verdict)
{
    static const char *const names[SUITE_AUDIT_VERDICT_COUNT] = {"ok", "failed", "left out"};
    return names[verdict];
}

bool suite_audit_takes(const suite_case *one)
{
    const char *program = dit_json_text_or(one->document, "program", "");
    return !one->is_simulated && !one->is_oracle && strcmp(program, "denoise") == 0;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 5, 6))) static void add_row(auditor *a, const char *check, const char *claim,
                                                          suite_audit_verdict verdict, const char *format, ...)
{
    suite_audit_row *row = &a->rows[a->count++];
    va_list args;
    *row = (suite_audit_row){.check = check, .claim = claim, .verdict = verdict};
    va_start(args, format);
    vsnprintf(row->found, sizeof row->found, format, args);
    va_end(args);
}

static void judge(auditor *a, const char *check, const char *claim, bool holds, const char *found)
{
    add_row(a, check, claim, holds ? SUITE_AUDIT_OK : SUITE_AUDIT_FAILED, "%s", found);
}

/* True if all these runs were made; else the row says which was not, and why. RUNS ends the list. */
static bool have(auditor *a, const char *check, const char *claim, const audit_run *runs)
{
    for (; *runs != RUNS; runs++) {
        const suite_work *work = &a->work[*runs];
        if (work->ran) continue;
        add_row(a, check, claim, SUITE_AUDIT_LEFT_OUT, "%s", work->reason);
        return false;
    }
    return true;
}

static bool same(double a, double b)
{
    return fabs(a - b) <= ROUNDING * fmax(fabs(a), fabs(b));
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static dit_status run_one(auditor *a, audit_run run)
{
    return suite_variant_run(a->one, &a->variant[run], a->params, &a->work[run]);
}

/* Runs it again and keeps the fastest time. */
static dit_status run_faster(auditor *a, audit_run run)
{
    const double before = a->work[run].steps_ns;
    suite_work work;
    DIT_TRY(suite_variant_run(a->one, &a->variant[run], a->params, &work));
    if (work.ran) a->work[run].steps_ns = fmin(before, work.steps_ns);
    return DIT_OK;
}

/* A run that takes `work` times the work of another takes as many times its time, but for the margin. A machine that was
 * busy during the lesser run makes the greater one look too fast, so both are run again. */
static dit_status judge_time(auditor *a, const char *check, const char *claim, audit_run lesser, audit_run greater,
                             double work)
{
    const double least = work * (1 - a->params->margin);
    char found[128];
    for (int tries = 1; tries < TRIES && a->work[greater].steps_ns < least * a->work[lesser].steps_ns; tries++) {
        DIT_TRY(run_faster(a, lesser));
        DIT_TRY(run_faster(a, greater));
    }
    double ratio = a->work[greater].steps_ns / a->work[lesser].steps_ns;
    snprintf(found, sizeof found, "work x%.3f, time x%.3f (at least x%.3f)", work, ratio, least);
    judge(a, check, claim, ratio >= least, found);
    return DIT_OK;
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static dit_status check_repeat(auditor *a)
{
    static const char check[] = "repeat", claim[] = "the same case again gives the same latents with the same flops";
    static const audit_run needed[] = {AGAIN, COLD, RUNS};
    const suite_work *base = &a->work[BASE], *again = &a->work[AGAIN], *cold = &a->work[COLD];
    char found[256];
    if (!have(a, check, claim, needed)) return DIT_OK;
    bool latents = strcmp(base->digest, again->digest) == 0 && strcmp(base->digest, cold->digest) == 0;
    bool flops = same(base->total, again->total) && same(base->total, cold->total);
    snprintf(found, sizeof found, "latents %s; %.6g flops, again %.6g, in a cold process %.6g",
             latents ? "equal" : "differ", base->total, again->total, cold->total);
    judge(a, check, claim, latents && flops, found);
    if (a->params->exact_only) return DIT_OK;
    return judge_time(a, "repeat-time", "the same case again takes the same time: nothing was kept", BASE, AGAIN, 1);
}

static void check_seed(auditor *a)
{
    static const char check[] = "seed", claim[] = "another seed gives other latents with the same flops";
    static const audit_run needed[] = {SEED, RUNS};
    char found[256];
    if (!have(a, check, claim, needed)) return;
    bool differ = strcmp(a->work[BASE].digest, a->work[SEED].digest) != 0;
    snprintf(found, sizeof found, "latents %s; %.6g flops and %.6g", differ ? "differ" : "equal", a->work[BASE].total,
             a->work[SEED].total);
    judge(a, check, claim, differ && same(a->work[BASE].total, a->work[SEED].total), found);
}

/* Two short schedules say what one more step costs; the case, and twice its steps, must cost so many of these. */
static dit_status check_steps(auditor *a)
{
    static const char check[] = "steps", claim[] = "every step does the work of a step: flops grow with steps, exactly";
    static const audit_run needed[] = {SHORT, LONGER, TWICE, RUNS};
    const suite_work *work = a->work;
    const double step = work[LONGER].total - work[SHORT].total;
    char found[256];
    if (!have(a, check, claim, needed)) return DIT_OK;
    double expected[2];
    for (int i = 0; i < 2; i++)
        expected[i] = work[SHORT].total + step * (a->variant[i ? TWICE : BASE].steps - a->variant[SHORT].steps);
    bool holds = step > 0 && same(work[BASE].total, expected[0]) && same(work[TWICE].total, expected[1]);
    snprintf(found, sizeof found, "a step has %.6g flops; %d steps %.6g of %.6g, %d steps %.6g of %.6g", step,
             a->variant[BASE].steps, work[BASE].total, expected[0], a->variant[TWICE].steps, work[TWICE].total,
             expected[1]);
    judge(a, check, claim, holds, found);
    if (a->params->exact_only) return DIT_OK;
    return judge_time(a, "steps-time", "twice the steps take twice the time of steps", BASE, TWICE,
                      (double)a->variant[TWICE].steps / a->variant[BASE].steps);
}

/* Linear layers cost in proportion to tokens, above what text costs; attention at most with their square. */
static void check_resolution(auditor *a)
{
    static const char check[] = "resolution",
                      claim[] = "linear flops grow with the image's height, exactly; attention more";
    static const audit_run needed[] = {SHORT, TALL, TALLER, RUNS};
    const suite_work *one = &a->work[SHORT], *two = &a->work[TALL], *three = &a->work[TALLER];
    char found[256];
    if (!have(a, check, claim, needed)) return;
    double more = two->linear - one->linear, attention = two->attention / one->attention;
    bool linear = more > 0 && same(three->linear - two->linear, more);
    bool pairs = attention > 1 && attention <= 4 * (1 + ROUNDING) && three->attention > two->attention;
    snprintf(found, sizeof found, "linear x%.4f and x%.4f at heights x2 and x3; attention x%.4f and x%.4f",
             two->linear / one->linear, three->linear / one->linear, attention, three->attention / one->attention);
    judge(a, check, claim, linear && pairs, found);
}

/* What stale steps leave out is attention; an exact method leaves out nothing. */
static void check_work(auditor *a)
{
    static const char check[] = "work", claim[] = "all ranks together do no less than one rank alone";
    static const audit_run needed[] = {SHORT, ALONE, RUNS};
    const suite_work *all = &a->work[SHORT], *alone = &a->work[ALONE];
    char found[256];
    if (a->one->world_size == 1 || !have(a, check, claim, needed)) return;
    bool linear = all->linear >= alone->linear * (1 - ROUNDING);
    bool attention = !all->exact || all->attention >= alone->attention * (1 - ROUNDING);
    snprintf(found, sizeof found, "linear x%.4f, attention x%.4f of one rank%s", all->linear / alone->linear,
             all->attention / alone->attention, all->exact ? "" : " (stale: attention may be less)");
    judge(a, check, claim, linear && attention, found);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void plan(auditor *a)
{
    const cJSON *run = dit_json_member(a->one->document, "run");
    const cJSON *parallel = dit_json_member(a->one->document, "parallel");
    const int steps = (int)dit_json_int_or(run, "num_inference_steps", 1);
    const int first = (int)dit_json_int_or(parallel, "warmup_steps", 0) + 1; /* stale where the method has such steps */
    const suite_variant variants[RUNS] = {
        [BASE] = {.steps = steps},
        [AGAIN] = {.steps = steps},
        [COLD] = {.steps = steps, .cold = true},
        [SEED] = {.steps = steps, .seed = 1, .cold = true},
        [TWICE] = {.steps = 2 * steps},
        [SHORT] = {.steps = first, .cold = true},
        [LONGER] = {.steps = first + 1, .cold = true},
        [TALL] = {.steps = first, .height = 2, .cold = true},
        [TALLER] = {.steps = first, .height = 3, .cold = true},
        [ALONE] = {.steps = first, .cold = true, .alone = true},
    };
    memcpy(a->variant, variants, sizeof variants);
}

static dit_status run_all(auditor *a)
{
    for (audit_run run = BASE; run < RUNS && (run == BASE || a->work[BASE].ran); run++) {
        if (run == ALONE && a->one->world_size == 1) continue;
        DIT_TRY(run_one(a, run));
    }
    return DIT_OK;
}

dit_status suite_audit_case(const suite_case *one, const suite_audit_params *params,
                            suite_audit_row rows[SUITE_AUDIT_MOST_ROWS], int *count)
{
    auditor a = {.one = one, .params = params, .rows = rows};
    plan(&a);
    DIT_TRY(run_all(&a));
    if (a.work[BASE].ran) {
        DIT_TRY(check_repeat(&a));
        check_seed(&a);
        DIT_TRY(check_steps(&a));
        check_resolution(&a);
        check_work(&a);
    } else {
        add_row(&a, "run", "the case runs", SUITE_AUDIT_FAILED, "%s", a.work[BASE].reason);
    }
    *count = a.count;
    return DIT_OK;
}
