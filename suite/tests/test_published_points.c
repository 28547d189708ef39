/* Published points: what is understood of one, which cases it becomes, and what a prediction for it takes. */
#include "suite/published/contradictions.h"
#include "suite/simulate/point_variables.h"
#include "suite/simulate/point_class.h"
#include "suite/simulate/points_answer.h"

#include "suite/tests/published_fixture.h"

/* ---- understanding ----------------------------------------------------------------------------------------------- */

static suite_published one_file;

/* A point of these members beside its machine, metric and unit; overwrites the one before. */
static suite_point understood_by(const char *profile, const char *members)
{
    suite_point point;
    char text[2048];
    suite_published_release(&one_file);
    snprintf(text, sizeof text, "[{%s}]", members);
    if (parse(text, &one_file) != DIT_OK) fail_msg("%s: %s", text, dit_error_last()->message);
    assert_int_equal(suite_point_understand(&names, &one_file.points[0], profile, &point), DIT_OK);
    return point;
}

static suite_point understood(const char *members)
{
    return understood_by(NULL, members);
}

/* What values may be fitted to, and a fit be judged by. */
static void times_that_are_believed_and_said_once_are_countable(void **state)
{
    static const struct {
        bool countable;
        const char *status, *metric;
    } cases[] = {
        {true, "", "latency"},          {true, "", "latency_vae_decode"}, {false, "doubtful", "latency"},
        {false, "repeated", "latency"}, {false, "", "peak_memory"},       {false, "", "FID"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char members[512];
        bool memory = strcmp(cases[i].metric, "peak_memory") == 0;
        snprintf(
            members, sizeof members,
            "\"model\":\"FLUX.1-dev\",\"resolution\":\"1024x1024\",\"steps\":28,\"hardware\":\"8xA100\",\"gpus\":1,"
            "\"method\":\"baseline\",\"metric\":\"%s\",\"unit\":\"%s\",\"value\":2,\"status\":\"%s\"",
            cases[i].metric, memory ? "GB" : "s", cases[i].status);
        suite_point point = understood(members);
        if (memory || cases[i].countable) assert_int_equal(point.skip, SUITE_SKIP_NONE);
        if (suite_point_is_countable(&point) != cases[i].countable) fail_msg("%s", members);
        suite_point_release(&point);
    }
}

static void every_reason_is_found(void **state)
{
    static const struct {
        suite_skip skip;
        const char *members;
    } cases[] = {
        {SUITE_SKIP_NONE, FLUX ",\"gpus\":4,\"method\":\"ulysses\",\"value\":2,\"method_\":0," CONFIG},
        {SUITE_SKIP_NONE, FLUX ",\"gpus\":4,\"method\":\"ulysses-4\",\"value\":2"},
        {SUITE_SKIP_NONE, FLUX ",\"gpus\":1,\"method\":\"baseline\",\"value\":2,\"runtime\":\"torch.compile\""},
        {SUITE_SKIP_METRIC,
         "\"model\":\"x\",\"hardware\":\"x\",\"gpus\":1,\"method\":\"x\",\"metric\":\"FID\",\"unit\":\"\","
         "\"value\":1"},
        {SUITE_SKIP_METRIC,
         "\"model\":\"x\",\"hardware\":\"x\",\"gpus\":1,\"method\":\"x\",\"metric\":\"latency\",\"unit\":"
         "\"x\",\"value\":1"},
        {SUITE_SKIP_VALUE, FLUX ",\"gpus\":4,\"method\":\"ulysses\",\"value\":null," CONFIG},
        {SUITE_SKIP_NONE, LAYER ",\"seq_len\":8192,\"method\":\"ulysses-8\",\"value\":3"},
        {SUITE_SKIP_VALUE, LAYER ",\"seq_len\":8192,\"method\":\"ulysses-8\",\"value\":null"},
        {SUITE_SKIP_LAYER, LAYER ",\"method\":\"ulysses-8\",\"value\":3"},
        {SUITE_SKIP_METRIC,
         "\"model\":\"attention layer only (causal, forward)\",\"hardware\":\"8xA100\",\"gpus\":8,\"method\":\"usp\","
         "\"metric\":\"throughput_fwd_bwd\",\"unit\":\"iter/s\",\"value\":3"},
        {SUITE_SKIP_SETTING, FLUX ",\"gpus\":4,\"method\":\"ulysses-4 zigzag\",\"value\":2"},
        {SUITE_SKIP_NOT_LEGAL, LAYER ",\"seq_len\":8192,\"kv_groups\":5,\"method\":\"ulysses-8\",\"value\":3"},
        {SUITE_SKIP_VALUE, FLUX ",\"gpus\":4,\"method\":\"ulysses\",\"value\":0," CONFIG},
        {SUITE_SKIP_NONE, FLUX ",\"gpus\":4,\"method\":\"ulysses\",\"value\":1,\"status\":\"doubtful\"," CONFIG},
        {SUITE_SKIP_ENERGY,
         "\"model\":\"FLUX.1-dev\",\"hardware\":\"8xA100\",\"gpus\":1,\"method\":\"single\",\"metric\":\"energy\","
         "\"unit\":\"J\",\"value\":417"},
        {SUITE_SKIP_ENERGY,
         "\"model\":\"FLUX.1-dev\",\"hardware\":\"8xA100\",\"gpus\":1,\"method\":\"single\",\"metric\":\"power\","
         "\"unit\":\"W\",\"value\":526"},
        {SUITE_SKIP_METHOD_OTHER, FLUX ",\"gpus\":1,\"method\":\"TeaCache\",\"value\":1"},
        {SUITE_SKIP_METHOD_UNKNOWN, FLUX ",\"gpus\":1,\"method\":\"wormhole\",\"value\":1"},
        {SUITE_SKIP_MODEL_UNKNOWN, "\"model\":\"GPT\"," SAYS ",\"gpus\":1,\"method\":\"single\",\"value\":1"},
        {SUITE_SKIP_MODEL_NOT_BUILT, "\"model\":\"Allegro\"," SAYS ",\"gpus\":1,\"method\":\"single\",\"value\":1"},
        {SUITE_SKIP_RESOLUTION, "\"model\":\"FLUX.1-dev\"," SAYS ",\"gpus\":1,\"method\":\"single\",\"value\":1"},
        {SUITE_SKIP_RESOLUTION,
         "\"model\":\"FLUX.1-dev\",\"resolution\":\"big\"," SAYS ",\"gpus\":1,\"method\":\"single\",\"value\":1"},
        {SUITE_SKIP_FRAMES, "\"model\":\"HunyuanVideo\",\"resolution\":\"1280x720\",\"steps\":50," SAYS
                            ",\"gpus\":1,\"method\":\"single\",\"value\":1"},
        {SUITE_SKIP_STEPS,
         "\"model\":\"FLUX.1-dev\",\"resolution\":\"1024x1024\"," SAYS ",\"gpus\":1,\"method\":\"single\",\"value\":1"},
        {SUITE_SKIP_RUNTIME, FLUX ",\"gpus\":1,\"method\":\"single\",\"value\":1,\"runtime\":\"onediff\""},
        {SUITE_SKIP_DEVICES, FLUX ",\"gpus\":16,\"method\":\"ulysses-16\",\"value\":1"},
        {SUITE_SKIP_DEGREES, FLUX ",\"gpus\":4,\"method\":\"ulysses\",\"value\":1"},
        {SUITE_SKIP_SETTING, FLUX ",\"gpus\":1,\"method\":\"single\",\"value\":1,\"config\":{\"cache\":\"on\"}"},
        {SUITE_SKIP_NONE, FLUX ",\"gpus\":1,\"method\":\"single\",\"value\":1,\"config\":{\"cache\":0}"},
        {SUITE_SKIP_DISAGREE, FLUX ",\"gpus\":4,\"method\":\"ulysses-2\",\"value\":1," CONFIG},
        {SUITE_SKIP_PRODUCT, FLUX ",\"gpus\":8,\"method\":\"ulysses\",\"value\":1," CONFIG},
        {SUITE_SKIP_NOT_LEGAL, FLUX ",\"gpus\":2,\"method\":\"cfg2\",\"value\":1"},     /* guidance is distilled */
        {SUITE_SKIP_NOT_LEGAL, FLUX ",\"gpus\":5,\"method\":\"ulysses5\",\"value\":1"}, /* 24 heads              */
        {SUITE_SKIP_NOT_LEGAL, FLUX ",\"gpus\":1,\"method\":\"single\",\"value\":1,\"batch\":9999"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        suite_point point = understood(cases[i].members);
        if (point.skip != cases[i].skip)
            fail_msg("%s: \"%s\", not \"%s\" (%s)", cases[i].members, suite_skip_code(point.skip),
                     suite_skip_code(cases[i].skip), point.detail);
        assert_int_equal(point.detail[0] != '\0', point.skip != SUITE_SKIP_NONE);
        suite_point_release(&point);
    }
}

static const cJSON *part_of(const suite_point *point, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(point->cases[0].kase->document, key);
}

#define ULYSSES  "\"ulysses\":4,\"pipefusion\":1"
#define PIPELINE "\"ulysses\":1,\"pipefusion\":4"

/* What a source says of a model on four devices: `method` with these degrees; `runtime`, NULL: it does not say. */
static suite_point said_by(const char *source, const char *model, const char *method, const char *degrees,
                           const char *runtime)
{
    char members[1024], more[64] = "";
    if (runtime) snprintf(more, sizeof more, ",\"runtime\":\"%s\"", runtime);
    snprintf(members, sizeof members,
             "\"source\":\"%s\",\"model\":\"%s\",\"resolution\":\"1024x1024\",\"steps\":20," SAYS
             ",\"gpus\":4,\"method\":\"%s\",\"value\":2,\"config\":{\"cfg\":1,%s,\"ring\":1,\"tp\":1,\"dp\":1}%s",
             source, model, method, degrees, more);
    suite_point point = understood(members);
    if (point.skip) fail_msg("%s: %s", members, point.detail);
    return point;
}

/* Degrees and word of a pipeline, a source, its model: what the case then is. */
static void what_a_source_does_is_known(void **state)
{
    static const struct {
        const char *source, *model, *scope;
        int warmup_steps;
    } cases[] = {
        {"xdit-project/xdit_assets: performance/pixart/a.png", "PixArt-alpha", "latents", 0},
        {"xdit-project/xdit_assets: performance/flux/a.png", "FLUX.1-dev", "pipeline", 1},
        {"xdit-project/xdit_assets: latency-L20.png", "PixArt-alpha", "latents", 1},
        {"xdit-project/xdit_assets: latency-T4.png", "PixArt-alpha", "latents", 2},
        {"github xdit-project/xdit_assets @e051d26e", "PixArt-alpha", "latents", 1},
        {"github xdit-project/xdit_assets @e051d26e", "FLUX.1-dev", "pipeline", 1},
        {"somebody else", "PixArt-alpha", "pipeline", 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        suite_point point = said_by(cases[i].source, cases[i].model, "pipefusion", PIPELINE, NULL);
        assert_true(number_at(part_of(&point, "parallel"), "warmup_steps") == cases[i].warmup_steps);
        assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(part_of(&point, "measure"), "scope")),
                            cases[i].scope);
        suite_point_release(&point);
    }
}

/* Synchronous steps beyond the warm-up steps; `method`, text laid out and profile follow the source's row. */
static void habits_of_a_source_are_those_of_its_code(void **state)
{
    static const struct {
        const char *source, *model, *method, *degrees, *runtime;
        int warmup_steps;
        const char *joint_text, *profile;
    } cases[] = {
        {"PipeFusion/PipeFusion: legacy/scripts/plots/a.py", "PixArt-alpha", "pipefusion (warm-up 1)", PIPELINE,
         "eager", 2, "auto", "pipefusion-legacy"},
        {"PipeFusion/PipeFusion: legacy/scripts/plots/a.py", "PixArt-alpha", "ulysses", ULYSSES, "eager", 0, "auto",
         "pipefusion-legacy"},
        {"xdit-project/xdit_assets: latency-L20.png", "PixArt-alpha", "pipefusion (warm-up 2)", PIPELINE, "eager", 2,
         "auto", "pipefusion-legacy"},
        {"xdit-project/xdit_assets: performance/flux/Flux-1K-A100.png", "FLUX.1-dev", "ulysses", ULYSSES,
         "torch.compile", 0, "replicate", "torch-compile-breaks"},
        {"xdit-project/xdit_assets: performance/flux/Flux-1K-H100.png", "FLUX.1-dev", "ulysses", ULYSSES,
         "torch.compile", 0, "auto", "torch-compile-2024-12"},
        {"xdit-project/xdit_assets: performance/pixart/A100-1k.png", "PixArt-alpha", "ulysses", ULYSSES,
         "torch.compile", 0, "auto", "torch-compile-breaks"},
        {"xdit-project/xdit_assets: performance/hunuyuandit/a.png", "HunyuanDiT-v1.2", "ulysses", ULYSSES,
         "torch.compile", 0, "auto", "torch-compile-2024"},
        {"somebody else", "FLUX.1-dev", "ulysses", ULYSSES, "torch.compile", 0, "auto", "torch-compile-2025"},
        {"ml-energy/leaderboard: public/data/models/a", "FLUX.1-dev", "ulysses", ULYSSES, "eager", 0, "auto",
         "pytorch-eager-2025"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        suite_point point =
            said_by(cases[i].source, cases[i].model, cases[i].method, cases[i].degrees, cases[i].runtime);
        const cJSON *parallel = part_of(&point, "parallel");
        assert_int_equal(dit_json_int_or(parallel, "warmup_steps", 0), cases[i].warmup_steps);
        assert_string_equal(dit_json_text_or(parallel, "joint_text", "auto"), cases[i].joint_text);
        assert_string_equal(point.profile, cases[i].profile);
        suite_point_release(&point);
    }
}

/* Its machine has a host of its own, whatever the number of devices. */
static void a_source_may_have_hosts_of_its_own(void **state)
{
    static const char *const rows[][3] = {
        {"ml-energy/leaderboard: public/data/models/a", "H100", "8xh100-mlenergy"},
        {"ml-energy/leaderboard: public/data/models/Wan-AI", "8xB200", "8xb200-mlenergy"},
        {"ml-energy/leaderboard: public/data/models/a", "A100", "8xa100-sxm"},
        {"somebody else", "H100", "8xh100-sxm"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char members[1024];
        snprintf(members, sizeof members,
                 "\"source\":\"%s\",\"model\":\"FLUX.1-dev\",\"resolution\":\"1024x1024\",\"steps\":20,"
                 "\"hardware\":\"%s\",\"interconnect\":\"NVLink\",\"metric\":\"latency\",\"unit\":\"s\",\"gpus\":1,"
                 "\"method\":\"single\",\"value\":2",
                 rows[i][0], rows[i][1]);
        suite_point point = understood(members);
        if (point.skip) fail_msg("%s: %s", members, point.detail);
        assert_string_equal(point.platform, rows[i][2]);
        suite_point_release(&point);
    }
}

static void a_decode_is_tiled_where_the_source_does_so(void **state)
{
    (void)state;
    for (int ours = 0; ours < 2; ours++) {
        char members[1024];
        snprintf(members, sizeof members,
                 "\"source\":\"%s\",\"model\":\"CogVideoX-5B\",\"resolution\":\"720x480\",\"frames\":49,"
                 "\"steps\":50," SAYS ",\"gpus\":1,\"method\":\"single\",\"value\":2,\"config\":{\"cfg\":1,"
                 "\"ulysses\":1,\"ring\":1,\"pipefusion\":1,\"tp\":1,\"dp\":1}",
                 ours ? "xdit-project/xdit_assets: performance/cogvideo/a.png" : "somebody else");
        suite_point point = understood(members);
        assert_int_equal(point.skip, SUITE_SKIP_NONE);
        assert_int_equal(cJSON_IsTrue(cJSON_GetObjectItem(part_of(&point, "vae"), "tiling")), ours);
        suite_point_release(&point);
    }
}

/* DistriFusion's own code replays graphs; others run it op by op. */
static void a_run_time_is_that_of_the_source(void **state)
{
    static const char *const sources[][2] = {{"mit-han-lab/distrifuser: assets/a.jpg", "pytorch-cuda-graphs"},
                                             {"somebody else", "pytorch-eager-2025"}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char members[1024];
        snprintf(members, sizeof members,
                 "\"source\":\"%s\",\"model\":\"PixArt-alpha\",\"resolution\":\"1024x1024\",\"steps\":20," SAYS
                 ",\"gpus\":4,\"method\":\"distrifusion\",\"value\":2,\"config\":{\"cfg\":1,\"ulysses\":1,"
                 "\"ring\":1,\"pipefusion\":1,\"tp\":1,\"dp\":1,\"distrifusion\":4}",
                 sources[i][0]);
        suite_point point = understood(members);
        assert_int_equal(point.skip, SUITE_SKIP_NONE);
        assert_string_equal(point.profile, sources[i][1]);
        suite_point_release(&point);
    }
}

static void a_point_becomes_one_case(void **state)
{
    suite_point point =
        understood("\"model\":\"PixArt-alpha\",\"resolution\":\"2048x1024\",\"steps\":20," SAYS
                   ",\"gpus\":8,\"method\":\"cfg2 x pipefusion4 (warm-up "
                   "3)\",\"value\":2,\"runtime\":\"torch.compile\",\"config\":"
                   "{\"cfg\":2,\"ulysses\":1,\"ring\":1,\"pipefusion\":4,\"tp\":1,\"dp\":1,\"num_pipeline_patch\":8}");
    (void)state;
    assert_int_equal(point.skip, SUITE_SKIP_NONE);
    assert_int_equal(point.case_count, 1);
    assert_string_equal(point.platform, "8xa100-sxm");
    assert_string_equal(point.profile, "torch-compile-2025");
    assert_string_equal(suite_point_software(&point), "compiled");
    assert_string_equal(suite_point_reach(&point), "one node");
    assert_string_equal(suite_point_kind(&point), "pipeline");
    assert_string_equal(point.method, "pp4 cfg2 M8 W3");
    assert_true(number_at(part_of(&point, "run"), "width_px") == 2048);
    assert_true(number_at(part_of(&point, "run"), "num_inference_steps") == 20);
    assert_true(number_at(part_of(&point, "run"), "num_images") == 1);
    assert_true(number_at(part_of(&point, "parallel"), "pipefusion_degree") == 4);
    assert_true(number_at(part_of(&point, "parallel"), "num_pipeline_patch") == 8);
    assert_true(number_at(part_of(&point, "parallel"), "warmup_steps") == 3);
    assert_true(number_at(part_of(&point, "measure"), "iterations") == 1);
    const cJSON *platform = part_of(&point, "platform");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(platform, "name")), "8xa100-sxm");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(platform, "backend")), "cost");
    suite_point_release(&point);
}

static dit_status quarter_of_a_second(const suite_point_case *one, double *seconds, void *context)
{
    (void)one, (void)context;
    *seconds = 0.25;
    return DIT_OK;
}

/* Three gigabytes, or three seconds. */
static dit_status three_units(const suite_point_case *one, double *out, void *context)
{
    (void)context;
    *out = one->ask == SUITE_ASK_MEMORY_BYTES ? 3e9 : 3;
    return DIT_OK;
}

/* All rows of a batch are denoised together on one replica. */
static void a_batch_is_one_case(void **state)
{
    suite_point point = understood(FLUX ",\"gpus\":4,\"method\":\"ulysses-4\",\"value\":2,\"batch\":16");
    (void)state;
    assert_int_equal(point.skip, SUITE_SKIP_NONE);
    assert_int_equal(point.case_count, 1);
    assert_true(number_at(part_of(&point, "run"), "num_images") == 16);
    assert_true(number_at(part_of(&point, "parallel"), "data_degree") == 1);
    suite_point_release(&point);
}

/* What the engine is built for is decoded, also where no census of the profile has it. */
static void a_decode_that_is_left_out_is_said(void **state)
{
    (void)state;
    suite_point point = understood_by(
        "pytorch-eager", "\"model\":\"HunyuanVideo\",\"resolution\":\"1280x720\",\"steps\":50,\"frames\":129," SAYS
                         ",\"gpus\":8,\"method\":\"ulysses-8\",\"value\":2");
    assert_false(point.no_decode);
    suite_point_release(&point);
    point = understood(FLUX ",\"gpus\":4,\"method\":\"ulysses-4\",\"value\":2");
    assert_false(point.no_decode);
    suite_point_release(&point);
    point = understood_by("pytorch-eager-2025",
                          "\"model\":\"HunyuanVideo\",\"resolution\":\"1280x720\",\"steps\":50,\"frames\":129," SAYS
                          ",\"gpus\":8,\"method\":\"ulysses-8\",\"value\":2");
    assert_false(point.no_decode); /* its census has the decode */
    suite_point_release(&point);
}

static void displaced_patches_and_clips_are_cases_too(void **state)
{
    suite_point point =
        understood("\"model\":\"PixArt-alpha\",\"resolution\":\"1024x1024\",\"steps\":20," SAYS
                   ",\"gpus\":8,\"method\":\"distrifusion\",\"value\":2,\"config\":{\"cfg\":1,\"ulysses\":1,"
                   "\"ring\":1,\"pipefusion\":1,\"tp\":1,\"dp\":1,\"distrifusion\":8}");
    (void)state;
    assert_string_equal(point.method, "patch8 W1");
    assert_true(number_at(part_of(&point, "parallel"), "patch_degree") == 8);
    suite_point_release(&point);
    point = understood("\"model\":\"HunyuanVideo\",\"resolution\":\"1280x720\",\"steps\":50,\"frames\":129," SAYS
                       ",\"gpus\":8,\"method\":\"ulysses-8\",\"value\":2");
    assert_int_equal(point.skip, SUITE_SKIP_NONE);
    assert_true(number_at(part_of(&point, "run"), "num_frames") == 129);
    suite_point_release(&point);
}

static void a_layer_is_a_case_of_its_own_program(void **state)
{
    suite_point point =
        understood(LAYER ",\"seq_len\":8192,\"batch\":2,\"kv_groups\":4,\"method\":\"usp zigzag/no_packed\","
                         "\"value\":300,\"config\":{\"cfg\":1,\"ulysses\":2,\"ring\":4,\"pipefusion\":1}");
    (void)state;
    assert_int_equal(point.skip, SUITE_SKIP_NONE);
    assert_int_equal(point.case_count, 1);
    assert_string_equal(point.method, "u2 r4 zigzag");
    const cJSON *layer = part_of(&point, "layer");
    assert_string_equal(cJSON_GetStringValue(part_of(&point, "program")), "attention");
    assert_true(number_at(layer, "tokens") == 8192 && number_at(layer, "batch") == 2);
    assert_true(number_at(layer, "heads") == 32 && number_at(layer, "kv_heads") == 8);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(layer, "causal")));
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(layer, "packed")));
    suite_point_release(&point);
    point = understood(LAYER ",\"seq_len\":8192,\"method\":\"ulysses-8 stripe/qkvpack\",\"value\":300");
    assert_string_equal(point.method, "u8 packed"); /* without a ring there is no layout */
    suite_point_release(&point);
}

/* Memory is that of any machine and any number of steps; a decode is what a clip's decode takes of a whole pipeline. */
static void memory_and_decodes_are_predicted_too(void **state)
{
    suite_point_result result;
    (void)state;
    suite_point point =
        understood("\"model\":\"FLUX.1-dev\",\"resolution\":\"1024x1024\",\"hardware\":\"not stated\",\"gpus\":8,"
                   "\"method\":\"pipefusion-8\",\"metric\":\"peak_memory\",\"unit\":\"GB\",\"value\":2.5");
    assert_int_equal(point.skip, SUITE_SKIP_NONE);
    assert_int_equal(point.cases[0].ask, SUITE_ASK_MEMORY_BYTES);
    assert_int_equal(suite_point_predict(&point, three_units, NULL, &result), DIT_OK);
    assert_float_equal(result.predicted, 3, 1e-12);
    suite_point_release(&point);
    point = understood("\"model\":\"CogVideoX1.5-5B\",\"resolution\":\"1360x768\",\"frames\":81,\"steps\":50,"
                       "\"hardware\":\"H20\",\"interconnect\":\"NVLink\",\"gpus\":1,\"method\":\"single\","
                       "\"metric\":\"latency_vae_decode\",\"unit\":\"s\",\"value\":38");
    assert_int_equal(point.skip, SUITE_SKIP_NONE);
    assert_int_equal(point.cases[0].ask, SUITE_ASK_DECODE_SECONDS);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(part_of(&point, "measure"), "scope")), "pipeline");
    assert_int_equal(suite_point_predict(&point, three_units, NULL, &result), DIT_OK);
    assert_float_equal(result.predicted, 3, 1e-12);
    suite_point_release(&point);
}

static void a_rate_is_compared_as_a_rate(void **state)
{
    suite_point point = understood(LAYER ",\"seq_len\":8192,\"method\":\"ulysses-8\",\"value\":5");
    suite_point_result result;
    (void)state;
    assert_int_equal(suite_point_predict(&point, quarter_of_a_second, NULL, &result), DIT_OK);
    assert_true(result.predicted == 4);
    assert_float_equal(suite_point_error(&result), -0.2, 1e-12);
    suite_point_release(&point);
}

static void filters_see_what_a_point_says(void **state)
{
    suite_point point = understood(FLUX ",\"gpus\":4,\"method\":\"ulysses-4\",\"value\":2.5");
    bool holds = false;
    (void)state;
    assert_int_equal(
        suite_point_test(&point, "model == 'flux.1-dev' && gpus == 4 && mesh == 'u4' && value > 2", &holds), DIT_OK);
    assert_true(holds);
    assert_int_equal(suite_point_test(&point, "status == 'skipped' || reason != '' || frames > 0", &holds), DIT_OK);
    assert_false(holds);
    assert_int_equal(suite_point_test(&point, "colour == 'red'", &holds), DIT_ERR_EXPRESSION);
    assert_true(suite_point_ruled_out(point.published, "gpus == 3") &&
                suite_point_ruled_out(point.published, "gpus == 3 && model == 'flux.1-dev'"));
    assert_false(
        suite_point_ruled_out(point.published, "gpus == 4") ||
        suite_point_ruled_out(point.published, "model == 'sd3-medium'") || /* not known before it is understood */
        suite_point_ruled_out(point.published, "gpus == 4 && mesh == ''") ||
        suite_point_ruled_out(point.published, "colour == 'red'"));
    suite_point_release(&point);
}

/* ---- predicting -------------------------------------------------------------------------------------------------- */

/* Seconds by mesh: what one is told to answer. */
typedef struct {
    const char *mesh;
    double seconds;
    dit_status otherwise; /* of every other mesh; DIT_OK: 100 s */
    int calls;
} oracle;

static dit_status ask_oracle(const suite_point_case *one, double *seconds, void *context)
{
    oracle *told = context;
    told->calls++;
    assert_string_equal(one->platform, "8xa100-sxm");
    assert_int_equal(one->kase->world_size, (int)one->published->gpus);
    *seconds = strcmp(one->mesh, told->mesh) == 0 ? told->seconds : 100;
    if (strcmp(one->mesh, told->mesh) == 0 || told->otherwise == DIT_OK) return DIT_OK;
    return DIT_FAIL(told->otherwise, "mesh %s is not simulated", one->mesh);
}

#define HYBRID                                                                                                         \
    FLUX ",\"gpus\":8,\"method\":\"hybrid\",\"value\":8,\"config\":{\"cfg\":null,\"hybrid\":\"best of sweep\"}"

static void a_hybrid_is_the_best_of_all_legal_meshes(void **state)
{
    oracle told = {"u4 pp2", 4, DIT_OK, 0};
    suite_point_result result;
    suite_point point = understood(HYBRID);
    (void)state;
    /* 8 over pipefusion, ring, ulysses; distilled guidance has no cfg */
    assert_int_equal(point.case_count, 10);
    assert_int_equal(suite_point_predict(&point, ask_oracle, &told, &result), DIT_OK);
    assert_int_equal(told.calls, 10);
    assert_string_equal(result.mesh, "u4 pp2");
    assert_string_equal(result.method, "hybrid");
    assert_float_equal(suite_point_error(&result), -0.5, 1e-12);
    suite_point_release(&point);
}

static void a_hybrid_splits_guidance_where_there_is_any(void **state)
{
    suite_point point = understood("\"model\":\"PixArt-alpha\",\"resolution\":\"1024x1024\",\"steps\":20," SAYS
                                   ",\"gpus\":4,\"method\":\"hybrid\",\"value\":2");
    int split = 0;
    (void)state;
    for (int i = 0; i < point.case_count; i++) split += strstr(point.cases[i].mesh, "cfg2") != NULL;
    assert_int_equal(point.case_count, 9); /* 6 ways to write 4 as a product of three, and 3 to write 2 */
    assert_int_equal(split, 3);
    suite_point_release(&point);
}

static void meshes_that_fail_are_left_out(void **state)
{
    oracle told = {"r8", 9, DIT_ERR_CRASH, 0};
    suite_point_result result;
    suite_point point = understood(HYBRID);
    (void)state;
    assert_int_equal(suite_point_predict(&point, ask_oracle, &told, &result), DIT_OK);
    assert_int_equal(result.skip, SUITE_SKIP_NONE);
    assert_string_equal(result.mesh, "r8");
    assert_string_equal(result.detail, "");
    told.mesh = "nothing";
    assert_int_equal(suite_point_predict(&point, ask_oracle, &told, &result), DIT_OK);
    assert_int_equal(result.skip, SUITE_SKIP_PREDICTION);
    assert_non_null(strstr(result.detail, "E_CRASH"));
    told.otherwise = DIT_ERR_INTERRUPTED;
    assert_int_equal(suite_point_predict(&point, ask_oracle, &told, &result), DIT_ERR_INTERRUPTED);
    suite_point_release(&point);
}

static void a_time_of_zero_is_no_prediction(void **state)
{
    oracle told = {"u4", 0, DIT_OK, 0};
    suite_point_result result;
    suite_point point = understood(FLUX ",\"gpus\":4,\"method\":\"ulysses-4\",\"value\":2.5");
    (void)state;
    assert_int_equal(suite_point_predict(&point, ask_oracle, &told, &result), DIT_OK);
    assert_int_equal(result.skip, SUITE_SKIP_PREDICTION);
    suite_point_release(&point);
}

static void a_step_is_a_part_of_the_loop(void **state)
{
    oracle told = {"u2", 30, DIT_OK, 0};
    suite_point_result result;
    suite_point point = understood("\"model\":\"CogVideoX-5B\",\"resolution\":\"720x480\",\"steps\":50,\"frames\":49,"
                                   "\"hardware\":\"A100\",\"interconnect\":\"NVLink\",\"metric\":\"latency_per_step\","
                                   "\"unit\":\"s\",\"gpus\":2,\"method\":\"ulysses-2\",\"value\":0.5");
    (void)state;
    assert_int_equal(point.skip, SUITE_SKIP_NONE);
    assert_int_equal(suite_point_predict(&point, ask_oracle, &told, &result), DIT_OK);
    assert_float_equal(result.predicted, 0.6, 1e-12);
    suite_point_release(&point);
}

static void skipped_points_are_not_asked_about(void **state)
{
    oracle told = {"u4", 1, DIT_OK, 0};
    suite_point_result result;
    suite_point point = understood(FLUX ",\"gpus\":4,\"method\":\"TeaCache\\u001b[31m\",\"value\":2.5");
    (void)state;
    assert_int_equal(suite_point_predict(&point, ask_oracle, &told, &result), DIT_OK);
    assert_int_equal(told.calls, 0);
    assert_int_equal(result.skip, SUITE_SKIP_METHOD_OTHER);
    assert_null(strchr(result.label, '\x1b')); /* nothing of others reaches a terminal */
    assert_null(strchr(result.detail, '\x1b'));
    suite_point_release(&point);
    suite_published_release(&one_file);
}

/* ---- what is shipped --------------------------------------------------------------------------------------------- */

static int count_understood(const char *path, int *total, int *unknown_keys)
{
    suite_published published;
    dit_json contradictions;
    int understood_count = 0;
    assert_int_equal(suite_contradictions_read(&contradictions), DIT_OK);
    assert_int_equal(suite_contradictions_points(&contradictions, path, &published), DIT_OK);
    for (int i = 0; i < published.count; i++) {
        suite_point point;
        assert_int_equal(suite_point_understand(&names, &published.points[i], NULL, &point), DIT_OK);
        understood_count += point.skip == SUITE_SKIP_NONE;
        suite_point_release(&point);
    }
    *total = published.count;
    *unknown_keys = published.unknown_keys;
    suite_published_release(&published);
    dit_json_release(&contradictions);
    return understood_count;
}

static void most_printed_latencies_are_understood(void **state)
{
    int total, unknown_keys;
    (void)state;
    assert_true(count_understood(PUBLISHED "paper_numbers.json", &total, &unknown_keys) >= 496 + 227);
    assert_int_equal(total, 1105);
    assert_int_equal(unknown_keys, 0);
    assert_true(count_understood(PUBLISHED "single_gpu_latency.json", &total, &unknown_keys) >= 114);
    assert_int_equal(total, 180);
    assert_int_equal(unknown_keys, 0);
    assert_int_equal(count_understood(PUBLISHED "mlenergy.json", &total, &unknown_keys), 439); /* 77 are of Sana */
    assert_int_equal(total, 3 * 516);
    assert_int_equal(unknown_keys, 0);
    assert_int_equal(count_understood(PUBLISHED "cache_numbers.json", &total, &unknown_keys), 29);
    assert_int_equal(total, 29);
    assert_int_equal(unknown_keys, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_that_are_believed_and_said_once_are_countable),
        cmocka_unit_test(every_reason_is_found),
        cmocka_unit_test(a_point_becomes_one_case),
        cmocka_unit_test(what_a_source_does_is_known),
        cmocka_unit_test(habits_of_a_source_are_those_of_its_code),
        cmocka_unit_test(a_source_may_have_hosts_of_its_own),
        cmocka_unit_test(a_decode_is_tiled_where_the_source_does_so),
        cmocka_unit_test(a_run_time_is_that_of_the_source),
        cmocka_unit_test(a_batch_is_one_case),
        cmocka_unit_test(a_decode_that_is_left_out_is_said),
        cmocka_unit_test(displaced_patches_and_clips_are_cases_too),
        cmocka_unit_test(a_layer_is_a_case_of_its_own_program),
        cmocka_unit_test(memory_and_decodes_are_predicted_too),
        cmocka_unit_test(a_rate_is_compared_as_a_rate),
        cmocka_unit_test(filters_see_what_a_point_says),
        cmocka_unit_test(a_hybrid_is_the_best_of_all_legal_meshes),
        cmocka_unit_test(a_hybrid_splits_guidance_where_there_is_any),
        cmocka_unit_test(meshes_that_fail_are_left_out),
        cmocka_unit_test(a_time_of_zero_is_no_prediction),
        cmocka_unit_test(a_step_is_a_part_of_the_loop),
        cmocka_unit_test(skipped_points_are_not_asked_about),
        cmocka_unit_test(most_printed_latencies_are_understood),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
