#include "reports/trend_page.h"

#include "base/file.h"
#include "reports/page/html.h"
#include "reports/page/html_pieces.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWN = 200 /* newest values that a line shows */, WIDTH = 320, HEIGHT = 56, EDGE = 5 };

static const char style[] =
    ".tools{display:flex;flex-wrap:wrap;gap:8px;margin:14px 0}.tools input,.tools select{font:inherit;padding:5px 8px;"
    "border:1px solid var(--line);border-radius:6px;background:var(--card);color:var(--ink);min-width:0;max-width:100%}"
    ".tools input{flex:1 1 220px}\n"
    ".trends{list-style:none;margin:0;padding:0}.trend{display:grid;grid-template-columns:minmax(0,1fr) "
    "minmax(0,320px) minmax(0,230px);gap:4px 16px;align-items:center;padding:8px 12px;margin:0 0 6px;background:"
    "var(--card);border:1px solid var(--line);border-radius:8px}.trend[hidden]{display:none}\n"
    ".trend svg{display:block;width:100%;height:auto}.trend .ribbon{fill:var(--link);opacity:.18}"
    ".trend .line{fill:none;stroke:var(--link);stroke-width:1.5}.trend .change{stroke:var(--bad);stroke-width:1.2;"
    "stroke-dasharray:3 2}.trend .accepted{stroke:var(--good);stroke-width:1.2}.trend .out{fill:var(--bad)}.trend "
    ".only{fill:var(--link)}"
    ".trend .said{fill:var(--wait)}.trend .name{overflow-wrap:anywhere}.trend ul{margin:2px 0 0;padding-left:18px;"
    "font-size:12.5px}\n"
    "@media(max-width:700px){.trend{grid-template-columns:minmax(0,1fr)}}\n";

/* Hides lines that do not contain the words, and puts them into another order. */
static const char script[] =
    "const list=document.getElementById('trends'),rows=[...list.children],words=document.getElementById('words'),"
    "verdict=document.getElementById('verdict'),order=document.getElementById('order');\n"
    "function show(){const w=words.value.toLowerCase().split(/\\s+/);let n=0;for(const r of rows){"
    "r.hidden=!(w.every(x=>r.dataset.words.includes(x))&&(!verdict.value||r.dataset.verdict===verdict.value));"
    "n+=!r.hidden}document.getElementById('count').textContent=n+' of '+rows.length+' shown'}\n"
    "function sort(){const k=order.value;rows.sort((a,b)=>k==='name'?a.dataset.place-b.dataset.place:"
    "b.dataset[k]-a.dataset[k]||a.dataset.place-b.dataset.place);list.append(...rows)}\n"
    "words.oninput=show;verdict.onchange=show;order.onchange=sort;show();\n";

const char *report_trend_word(report_trend_verdict verdict)
{
    static const char *const words[] = {
        [REPORT_TREND_SHORT] = "short",   [REPORT_TREND_STEADY] = "steady", [REPORT_TREND_SUSPECT] = "suspect",
        [REPORT_TREND_BETTER] = "better", [REPORT_TREND_WORSE] = "worse",   [REPORT_TREND_CHANGED] = "changed"};
    return words[verdict];
}

double report_trend_creep(const report_trend *trend)
{
    if (!isfinite(trend->release) || trend->release == 0) return NAN;
    return trend->points[trend->point_count - 1].value / trend->release - 1;
}

/* ---- the line ---------------------------------------------------------------------------------------------------- */

/* How values become places of the picture. */
typedef struct {
    const report_trend *trend;
    int first, count; /* the points that are drawn */
    double least, most;
} drawing;

static drawing look_at(const report_trend *trend)
{
    int count = trend->point_count < DRAWN ? trend->point_count : DRAWN;
    drawing d = {trend, trend->point_count - count, count, INFINITY, -INFINITY};
    for (int i = d.first; i < trend->point_count; i++) {
        d.least = fmin(d.least, trend->points[i].low);
        d.most = fmax(d.most, trend->points[i].high);
    }
    if (d.most <= d.least) d.least -= fabs(d.least) * 0.01 + 1e-12, d.most += fabs(d.most) * 0.01 + 1e-12;
    return d;
}

static double x_of(const drawing *d, int i)
{
    return d->count < 2 ? WIDTH / 2.0 : EDGE + (double)(i - d->first) * (WIDTH - 2 * EDGE) / (d->count - 1);
}

static double y_of(const drawing *d, double value)
{
    return EDGE + (d->most - value) / (d->most - d->least) * (HEIGHT - 2 * EDGE);
}

static void put_curves(const drawing *d, dit_buffer *out)
{
    const report_trend_point *points = d->trend->points;
    int end = d->first + d->count;
    put(out, "<polygon class=\"ribbon\" points=\"");
    for (int i = d->first; i < end; i++) dit_buffer_printf(out, "%.1f,%.1f ", x_of(d, i), y_of(d, points[i].high));
    for (int i = end - 1; i >= d->first; i--) dit_buffer_printf(out, "%.1f,%.1f ", x_of(d, i), y_of(d, points[i].low));
    put(out, "\"/><polyline class=\"line\" points=\"");
    for (int i = d->first; i < end; i++) dit_buffer_printf(out, "%.1f,%.1f ", x_of(d, i), y_of(d, points[i].value));
    put(out, "\"/>");
}

static void put_upright(const drawing *d, const char *class, int place, dit_buffer *out)
{
    double x = x_of(d, place);
    dit_buffer_printf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"0\" x2=\"%.1f\" y2=\"%d\"/>", class, x, x, HEIGHT);
}

static void put_marks(const drawing *d, dit_buffer *out)
{
    const report_trend *trend = d->trend;
    for (int i = 0; i < trend->change_count; i++)
        if (trend->changes[i].place >= d->first) put_upright(d, "change", trend->changes[i].place, out);
    for (int i = d->first; i < trend->point_count; i++) {
        const report_trend_point *point = &trend->points[i];
        if (point->accepted) put_upright(d, "accepted", i, out);
        if (point->note)
            dit_buffer_printf(out, "<circle class=\"said\" cx=\"%.1f\" cy=\"%d\" r=\"3\"/>", x_of(d, i), EDGE);
        if (point->sticks_out || d->count == 1) /* one value alone makes no line */
            dit_buffer_printf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>",
                              point->sticks_out ? "out" : "only", x_of(d, i), y_of(d, point->value));
    }
}

/* What the picture shows, in words. */
static void put_alternative(const drawing *d, dit_buffer *out)
{
    const report_trend *trend = d->trend;
    const report_trend_point *newest = &trend->points[trend->point_count - 1];
    char first[REPORT_NUMBER_TEXT], last[REPORT_NUMBER_TEXT], least[REPORT_NUMBER_TEXT], most[REPORT_NUMBER_TEXT];
    report_unit unit = report_metric_get(trend->metric)->unit;
    report_format(unit, trend->points[d->first].value, first);
    report_format(unit, newest->value, last);
    report_format(unit, fmax(d->least, 0), least);
    report_format(unit, d->most, most);
    dit_buffer_printf(out, "%d of %d session%s, from %s to %s, between %s and %s; %d change%s of level", d->count,
                      trend->point_count, trend->point_count == 1 ? "" : "s", first, last, least, most,
                      trend->change_count, trend->change_count == 1 ? "" : "s");
    for (int i = 0; i < trend->change_count; i++) {
        const report_trend_change *change = &trend->changes[i];
        put(out, i ? ", at " : ": at ");
        put_text(out, trend->points[change->place].commit);
        dit_buffer_printf(out, " %+.3g %%", 100 * (change->after / change->before - 1));
    }
}

static void put_picture(const report_trend *trend, dit_buffer *out)
{
    drawing d = look_at(trend);
    dit_buffer_printf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH, HEIGHT);
    put_alternative(&d, out);
    put(out, "\">");
    put_curves(&d, out);
    put_marks(&d, out);
    put(out, "</svg>\n");
}

/* ---- one case ---------------------------------------------------------------------------------------------------- */

static const char *class_of(report_trend_verdict verdict)
{
    static const char *const classes[] = {
        [REPORT_TREND_SHORT] = "skipped", [REPORT_TREND_STEADY] = "ok",    [REPORT_TREND_SUSPECT] = "undecided",
        [REPORT_TREND_BETTER] = "holds",  [REPORT_TREND_WORSE] = "failed", [REPORT_TREND_CHANGED] = "undecided"};
    return classes[verdict];
}

static double change_of(const report_trend *trend)
{
    double value = trend->points[trend->point_count - 1].value;
    return isfinite(trend->before) && trend->before != 0 ? value / trend->before - 1 : 0;
}

static void put_words(const report_trend *trend, dit_buffer *out)
{
    dit_buffer words = {0};
    put_text(&words, trend->label);
    dit_buffer_printf(&words, " %s %s %s", trend->case_id, trend->context, trend->simulated ? "simulated" : "measured");
    for (size_t i = 0; i < words.used; i++)
        if (words.data[i] >= 'A' && words.data[i] <= 'Z') words.data[i] = (char)(words.data[i] - 'A' + 'a');
    put(out, words.data ? words.data : "");
    out->failed = out->failed || words.failed;
    dit_buffer_release(&words);
}

static void put_name(const report_trend *trend, dit_buffer *out)
{
    put(out, "<div class=\"name\"><strong>");
    put_text(out, trend->label);
    put(out, "</strong> <span class=\"soft small\">");
    dit_buffer_printf(out, "%s, %s <code>%.8s</code>, case <code>%.8s</code></span>",
                      trend->simulated ? "simulated" : "measured", trend->simulated ? "software" : "hardware",
                      trend->context, trend->case_id);
    bool any = false;
    for (int i = 0; i < trend->point_count; i++) {
        if (!trend->points[i].note) continue;
        put(out, any ? "<li>" : "<ul><li>");
        put_element(out, "code", "code", trend->points[i].commit);
        put(out, " ");
        put_text(out, trend->points[i].note);
        put(out, "</li>");
        any = true;
    }
    put(out, any ? "</ul></div>\n" : "</div>\n");
}

static void put_newest(const report_trend *trend, dit_buffer *out)
{
    const report_trend_point *newest = &trend->points[trend->point_count - 1];
    char number[REPORT_NUMBER_TEXT];
    double creep = report_trend_creep(trend);
    report_format(report_metric_get(trend->metric)->unit, newest->value, number);
    put(out, "<div>");
    put_badge(out, class_of(trend->verdict), report_trend_word(trend->verdict));
    put_element(out, "strong", "strong", number);
    if (change_of(trend) != 0) dit_buffer_printf(out, " %+.2f %%", 100 * change_of(trend));
    put(out, "<span class=\"range\">");
    put_text(out, newest->commit);
    dit_buffer_printf(out, ", %.10s", newest->started);
    if (isfinite(creep)) {
        dit_buffer_printf(out, "; %+.2f %% since ", 100 * creep);
        put_text(out, trend->release_name);
    }
    put(out, "</span></div>");
}

static void put_trend(const report_trend *trend, int place, dit_buffer *out)
{
    double creep = report_trend_creep(trend);
    dit_buffer_printf(out,
                      "<li class=\"trend\" data-place=\"%d\" data-verdict=\"%s\" data-change=\"%.6g\" "
                      "data-creep=\"%.6g\" data-words=\"",
                      place, report_trend_word(trend->verdict), fabs(change_of(trend)),
                      isfinite(creep) ? fabs(creep) : 0);
    put_words(trend, out);
    put(out, "\">\n");
    put_name(trend, out);
    put_picture(trend, out);
    put_newest(trend, out);
    put(out, "</li>\n");
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static void put_lead(const report_trend *trends, int count, dit_buffer *out)
{
    int verdicts[REPORT_TREND_CHANGED + 1] = {0};
    const report_metric_info *info = report_metric_get(trends[0].metric);
    for (int i = 0; i < count; i++) verdicts[trends[i].verdict]++;
    dit_buffer_printf(out, "<p class=\"lead\"><code>%s</code> (%s; better %s) of %d case%s by commit:", info->name,
                      info->meaning, report_better_name(info->better), count, count == 1 ? "" : "s");
    for (int v = REPORT_TREND_CHANGED, any = 0; v >= 0; v--)
        if (verdicts[v])
            dit_buffer_printf(out, "%s %d %s", any++ ? "," : "", verdicts[v],
                              report_trend_word((report_trend_verdict)v));
    put(out, ".</p>\n<p class=\"small soft\">A line is the median of each session, its shade the interval over "
             "processes. Dashed: the level changes. Solid upright: somebody accepted a new level. Red dots stick out; "
             "<em>suspect</em> means once, and the case must run again. Simulated and measured lines are "
             "kept apart.</p>\n");
}

static void put_tools(dit_buffer *out)
{
    put(out, "<div class=\"tools\"><input id=\"words\" type=\"search\" placeholder=\"filter\" aria-label=\"Show cases "
             "with these words\">\n<select id=\"verdict\" aria-label=\"Show one verdict\"><option value=\"\">all "
             "verdicts</option>");
    for (int v = 0; v <= REPORT_TREND_CHANGED; v++)
        dit_buffer_printf(out, "<option>%s</option>", report_trend_word((report_trend_verdict)v));
    put(out, "</select>\n<select id=\"order\" aria-label=\"Order\"><option value=\"name\">by name</option><option "
             "value=\"change\">largest change first</option><option value=\"creep\">largest creep first</option>"
             "</select>\n<span id=\"count\" class=\"soft small\" role=\"status\"></span></div>\n");
}

dit_status report_trend_page_write(const report_trend *trends, int count, const char *path)
{
    dit_buffer html = {0};
    html_put_opening_with("history", style, &html);
    put(&html, "<header>\n<h1>History of cases</h1>\n");
    if (count) put_lead(trends, count, &html);
    put(&html, "</header>\n<main>\n");
    put_tools(&html);
    put(&html, "<ol class=\"trends\" id=\"trends\">\n");
    for (int i = 0; i < count; i++) put_trend(&trends[i], i, &html);
    put(&html, "</ol>\n</main>\n<script>\n");
    put(&html, script);
    put(&html, "</script>\n</body>\n</html>\n");
    const dit_file_piece piece = {html.data, html.used};
    dit_status st = html.failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for %s", path) : dit_file_write(path, &piece, 1);
    dit_buffer_release(&html);
    return st;
}
