/* Fixture of the tests of published points in reports: journals with simulated, measured and published lines. */
#ifndef DIT_REPORTS_TESTS_PUBLISHED_FIXTURE_H
#define DIT_REPORTS_TESTS_PUBLISHED_FIXTURE_H

#include "reports/tests/fixture.h"

typedef struct {
    const char *method, *mesh, *resolution;
    int ranks;
    double seconds; /* 0: out of memory */
} made_case;

static inline void add_tags(dit_buffer *out, const made_case *made, const char *platform)
{
    dit_buffer_printf(out, "\"tags\":{\"model\":\"toy\",\"resolution\":\"%s\",\"method\":\"%s\",\"world_size\":%d,",
                      made->resolution, made->method, made->ranks);
    if (made->mesh) dit_buffer_printf(out, "\"mesh\":\"%s\",", made->mesh);
    if (strcmp(made->method, "tensor") == 0) dit_buffer_printf(out, "\"tensor_degree\":%d,", made->ranks);
    dit_buffer_printf(out, "\"steps\":20,\"platform\":\"%s\",\"profile\":\"%s\"}", platform,
                      strcmp(platform, "here") == 0 ? "none" : "pytorch-eager");
}

/* A line of a case on a simulated platform; its id is its mesh and size. */
static inline void add_simulated(dit_buffer *out, const made_case *made)
{
    dit_buffer_printf(out, "{\"kind\":\"result\",\"case_id\":\"%s %s\",\"label\":\"toy %s %s\",\"process\":0,",
                      made->mesh, made->resolution, made->resolution, made->mesh);
    add_tags(out, made, "far");
    dit_buffer_text(out, ",\"case\":{\"platform\":{\"name\":\"far\",\"backend\":\"cost\"}},");
    if (made->seconds > 0) {
        dit_buffer_printf(
            out,
            "\"status\":\"ok\",\"record\":{\"evidence\":\"simulated\",\"samples\":{\"latency_ns\":[%.0f]},"
            "\"simulation\":{\"text_encoder_ns\":1e7,\"denoise_ns\":%.0f,\"vae_decode_ns\":2e7},"
            "\"time_split\":{\"compute_ns\":1e9,\"exposed_communication_ns\":2e8,\"other_ns\":1e7},"
            "\"communication\":[{\"axis\":\"ring\",\"bytes\":1000,\"messages\":1}],"
            "\"memory\":{\"weights_bytes\":1e9,\"state_bytes\":1e9,\"activations_bytes\":2e9,"
            "\"communication_bytes\":1e8,\"total_bytes\":4e9}}}\n",
            made->seconds * 1e9, made->seconds * 1e9 - 3e7);
        return;
    }
    dit_buffer_text(out, "\"status\":\"oom\",\"error\":{\"code\":\"E_MEMORY\",\"message\":\"100 GB of 80\"}}\n");
}

static inline void add_measured(dit_buffer *out, const made_case *made, int processes)
{
    for (int i = 0; i < processes; i++) {
        dit_buffer_printf(out,
                          "{\"kind\":\"result\",\"case_id\":\"%s %s here\",\"label\":\"toy %s %s\",\"process\":%d,",
                          made->mesh, made->resolution, made->resolution, made->mesh, i);
        add_tags(out, made, "here");
        dit_buffer_printf(out,
                          ",\"case\":{\"platform\":{\"name\":\"here\",\"backend\":\"cpu\"}},\"status\":\"ok\","
                          "\"record\":{\"evidence\":\"measured\",\"samples\":{\"latency_ns\":[%.0f]},"
                          "\"time_split\":{\"compute_ns\":1e9,\"exposed_communication_ns\":2e8,\"other_ns\":1e7},"
                          "\"communication\":[{\"axis\":\"ring\",\"bytes\":1000,\"messages\":1}],"
                          "\"memory\":{\"weights_bytes\":1e9,\"state_bytes\":1e9,\"activations_bytes\":2e9,"
                          "\"communication_bytes\":1e8,\"total_bytes\":4e9,\"rss_bytes\":5e9}}}\n",
                          made->seconds * 1e9 + i);
    }
}

/* A published latency of that case; `more` are further members, each with a comma before it. */
static inline void add_published(dit_buffer *out, int index, const made_case *made, const char *more)
{
    dit_buffer_printf(out, "{\"kind\":\"published\",\"file\":\"f.json\",\"index\":%d,\"source\":\"paper\",", index);
    dit_buffer_printf(out, "\"label\":\"toy %s %s\",\"metric\":\"latency_s\",", made->resolution, made->method);
    if (made->seconds > 0)
        dit_buffer_printf(out, "\"value\":%g,\"rounding\":0.01,", made->seconds);
    else
        dit_buffer_text(out, "\"out_of_memory\":true,");
    if (made->mesh) dit_buffer_printf(out, "\"case_id\":\"%s %s\",", made->mesh, made->resolution);
    dit_buffer_text(out, "\"provenance\":\"figure-label\",");
    add_tags(out, made, "far");
    dit_buffer_printf(out, "%s}\n", more);
}

static const made_case cases[] = {
    {"single", "1", "1024x1024", 1, 2.0},   {"ulysses", "u2", "1024x1024", 2, 1.2},
    {"ring", "r2", "1024x1024", 2, 1.4},    {"ulysses", "u4", "1024x1024", 4, 0.8},
    {"usp", "u2 r2", "1024x1024", 4, 0.7},  {"ring", "r4", "1024x1024", 4, 0},
    {"ring", "r8", "1024x1024", 8, 1.1},    {"ulysses", "u8", "1024x1024", 8, 0.6},
    {"tensor", "tp8", "1024x1024", 8, 0.5}, /* no search tries it */
};
enum { CASES = (int)(sizeof cases / sizeof *cases) };

/* Nine cases; published: five of them, one of which ran out of memory, and two searches. */
static inline void make_session(dit_buffer *out)
{
    static const made_case printed[] = {
        {"single", "1", "1024x1024", 1, 2.0},   {"ulysses", "u2", "1024x1024", 2, 1.0},
        {"ring", "r2", "1024x1024", 2, 1.3},    {"ulysses", "u4", "1024x1024", 4, 1.0},
        {"ring", "r4", "1024x1024", 4, 0},      {"hybrid", NULL, "1024x1024", 4, 0.5},
        {"hybrid", NULL, "1024x1024", 8, 0.75},
    };
    for (int i = 0; i < CASES; i++) add_simulated(out, &cases[i]);
    for (int i = 0; i < 7; i++) {
        add_published(out, i, &printed[i],
                      i == 0   ? ",\"in_fit\":true"
                      : i == 3 ? ",\"warnings\":[\"the label contradicts the <axis>\"]"
                               : "");
    }
    dit_buffer_text(out, "{\"kind\":\"end\",\"complete\":true,\"end_reason\":\"finished\"}\n");
}

static inline void make_table(report_table *table)
{
    dit_buffer lines = {0};
    make_session(&lines);
    if (fixture_parse("{}", lines.data, table) != DIT_OK) fail_msg("%s", dit_error_last()->message);
    dit_buffer_release(&lines);
}

#define POINT(rest)   "{\"kind\":\"published\",\"file\":\"f\",\"index\":1,\"source\":\"s\"," rest "}\n"
#define LATENCY(rest) POINT("\"metric\":\"latency_s\",\"tags\":{\"world_size\":2}," rest)

#define ON(backend) "\"case\":{\"platform\":{\"name\":\"p\",\"backend\":\"" backend "\"}}"
#define RESULT(process, status, rest)                                                                                  \
    "{\"kind\":\"result\",\"case_id\":\"c\",\"label\":\"c\",\"process\":" process ",\"status\":\"" status "\"," rest   \
    "}\n"
#define SAMPLES   "\"samples\":{\"latency_ns\":[5]}"
#define MEASURED  "\"record\":{\"evidence\":\"measured\"," SAMPLES "}"
#define SIMULATED "\"record\":{\"evidence\":\"simulated\"," SAMPLES "}"

#endif
