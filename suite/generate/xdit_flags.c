#include "suite/generate/xdit_flags.h"

#include "base/log.h"

#include <string.h>

typedef enum { HARMLESS, REFUSED } foreign_verdict;

static const char no_image[] =
    "it is --image FILE here, for image-to-image; embeddings of a picture (Wan) come with --inputs";
static const char no_teacache[] = "TeaCache is not built; `ditbench list caches` shows what --cache takes";
static const char first_block[] = "it is --cache '{\"policy\": \"fbcache\", \"threshold\": 0.12}' here";
static const char no_fast_attn[] = "DiTFastAttn is not supported: every layer attends in full";
static const char no_quantised[] = "quantised layers are not supported: weights of any type are converted to fp32";
static const char no_sparse[] = "sparse and mixed-precision attention is not supported: it is dense, in one precision";
static const char no_shards[] = "it is --fsdp_degree N here, or --fully_shard_degree N: ranks that hold a part of the "
                                "transformer's weights each; text encoders are whole on every rank";
static const char no_reshard[] = "weights of a block always go after it has run";
static const char no_memory_games[] = "the weights are in this machine's memory already";
static const char no_python[] = "there is no Python, and nothing to compile";
static const char no_text_model[] =
    "text encoders are loaded, run and freed before the transformer, in fp32 or the type of the device";
static const char no_trace[] = "the record has times of every step and phase, and --trace writes a timeline";

/* xDiT's flags that are none of generate's own. `nothing` is the value that asks for nothing; NULL argument: a flag. */
static const struct {
    const char *name, *argument;
    foreign_verdict verdict;
    const char *why, *nothing;
} rows[] = {
    {"dataset_path", "FILE", REFUSED, "prompts, one a line, are given with --prompt_file FILE here", NULL},
    {"img_file_path", "FILE", REFUSED, no_image, NULL},
    {"input_images", "FILE", REFUSED, no_image, NULL},
    {"resize_input_images", NULL, REFUSED, no_image, NULL},
    {"task", "NAME", REFUSED, "the model and its inputs decide the task", NULL},
    {"batch_size", "N", REFUSED, "it batches prompts of a data set; --num_images is how many images are made", "1"},
    {"num_iterations", "N", REFUSED, "generate runs once; repetition is the business of `ditbench run`", "1"},
    {"distilled_transformer_path", "DIR", REFUSED, "give the folder with --transformer", NULL},
    {"distilled_transformer_2_path", "DIR", REFUSED,
     "the second transformer is that of the checkpoint: put a folder with both in its place", NULL},
    {"output_directory", "DIR", REFUSED, "it is --output DIR here", NULL},
    {"vae_parallel_size", "N", REFUSED,
     "a VAE has no ranks of its own: with --use_parallel_vae all ranks of the run decode", "0"},
    {"dit_parallel_size", "N", REFUSED, "the degrees decide the number of ranks", "0"},
    {"split_scheme", "NAME", HARMLESS, "there is only one scheme: heads are shared by rows and columns of the weights",
     NULL},
    {"shard_dit", NULL, REFUSED, no_shards, NULL},
    {"use_fsdp", NULL, REFUSED, no_shards, NULL},
    {"no_reshard_after_forward", NULL, HARMLESS, no_reshard, NULL},
    {"memory_efficient_sharding", NULL, REFUSED, no_shards, NULL},
    {"use_teacache", NULL, REFUSED, no_teacache, NULL},
    {"use_fbcache", NULL, REFUSED, first_block, NULL},
    {"use_cache", NULL, REFUSED, no_fast_attn, NULL},
    {"use_fast_attn", NULL, REFUSED, no_fast_attn, NULL},
    {"n_calib", "N", HARMLESS, no_fast_attn, NULL},
    {"threshold", "X", HARMLESS, no_fast_attn, NULL},
    {"window_size", "N", HARMLESS, no_fast_attn, NULL},
    {"coco_path", "FILE", HARMLESS, no_fast_attn, NULL},
    {"use_fp8_gemms", NULL, REFUSED, no_quantised, NULL},
    {"use_fp4_gemms", NULL, REFUSED, no_quantised, NULL},
    {"use_int8_gemms", NULL, REFUSED, no_quantised, NULL},
    {"fp8_precision_override_prefix_patterns", "TEXT", HARMLESS, no_quantised, NULL},
    {"fp8_precision_override_suffix_patterns", "TEXT", HARMLESS, no_quantised, NULL},
    {"use_hybrid_gemm_schedule", NULL, REFUSED, no_quantised, NULL},
    {"num_hybrid_gemm_high_precision_steps", "N", HARMLESS, no_quantised, NULL},
    {"use_hybrid_attn_schedule", NULL, REFUSED, no_sparse, NULL},
    {"hybrid_attn_schedule", "TEXT", HARMLESS, no_sparse, NULL},
    {"hybrid_attn_low_precision_backend", "NAME", HARMLESS, no_sparse, NULL},
    {"hybrid_attn_high_precision_backend", "NAME", HARMLESS, no_sparse, NULL},
    {"num_hybrid_attn_high_precision_steps", "N", HARMLESS, no_sparse, NULL},
    {"use_ssta_sparse_text_to_image", NULL, REFUSED, no_sparse, NULL},
    {"spargeattn_simthreshold", "X", HARMLESS, no_sparse, NULL},
    {"spargeattn_cdfthreshold", "X", HARMLESS, no_sparse, NULL},
    {"spargeattn_reorder_sequence", NULL, HARMLESS, no_sparse, NULL},
    {"no_spargeattn_reorder_sequence", NULL, HARMLESS, no_sparse, NULL},
    {"use_spargeattn_static_block_mask", NULL, HARMLESS, no_sparse, NULL},
    {"no_use_spargeattn_static_block_mask", NULL, HARMLESS, no_sparse, NULL},
    {"use_spargeattn_head_balance", NULL, HARMLESS, no_sparse, NULL},
    {"attention_backend", "NAME", HARMLESS, "there is one kernel for attention", NULL},
    {"cross_attention_backend", "NAME", HARMLESS, "there is one kernel for attention", NULL},
    {"use_vae_channels_last_format", NULL, HARMLESS, "the VAE is channels-last anyway", NULL},
    {"enable_slicing", NULL, HARMLESS, "images are decoded one after the other anyway", NULL},
    {"enable_model_cpu_offload", NULL, HARMLESS, no_memory_games, NULL},
    {"enable_sequential_cpu_offload", NULL, HARMLESS, no_memory_games, NULL},
    {"download_dir", "DIR", HARMLESS, "nothing is downloaded", NULL},
    {"trust_remote_code", NULL, HARMLESS, no_python, NULL},
    {"use_torch_compile", NULL, HARMLESS, no_python, NULL},
    {"use_onediff", NULL, HARMLESS, no_python, NULL},
    {"use_cuda_graph", NULL, HARMLESS, no_python, NULL},
    {"use_ray", NULL, HARMLESS, "ranks are started by --launcher", NULL},
    {"ray_world_size", "N", HARMLESS, "the degrees decide the number of ranks", NULL},
    {"use_fp8_t5_encoder", NULL, HARMLESS, no_text_model, NULL},
    {"shard_t5_encoder", NULL, HARMLESS, no_text_model, NULL},
    {"warmup_calls", "N", HARMLESS, "one run by hand needs no warm-up; the harness measures with `ditbench run`", "0"},
    {"profile", NULL, HARMLESS, no_trace, NULL},
    {"use_profiler", NULL, HARMLESS, no_trace, NULL},
    {"profile_wait", "N", HARMLESS, no_trace, NULL},
    {"profile_warmup", "N", HARMLESS, no_trace, NULL},
    {"profile_active", "N", HARMLESS, no_trace, NULL},
};
enum { ROWS = sizeof rows / sizeof *rows };
_Static_assert((int)ROWS <= (int)SUITE_FOREIGN_MOST, "a place for every flag");

void suite_foreign_options(suite_foreign *foreign, suite_option *options)
{
    for (int i = 0; i < ROWS; i++) {
        bool flag = !rows[i].argument;
        options[i] = (suite_option){.name = rows[i].name,
                                    .kind = flag ? SUITE_OPTION_FLAG : SUITE_OPTION_STRING,
                                    .argument = rows[i].argument,
                                    .out = flag ? (void *)&foreign->given[i] : (void *)&foreign->value[i]};
    }
    options[ROWS] = (suite_option){0};
}

dit_status suite_foreign_judge(const suite_foreign *foreign)
{
    for (int i = 0; i < ROWS; i++) {
        const char *value = foreign->value[i];
        if (!foreign->given[i] && !value) continue;
        if (value && rows[i].nothing && strcmp(value, rows[i].nothing) == 0) continue;
        if (rows[i].verdict == REFUSED)
            return dit_error_hint(DIT_FAIL(DIT_ERR_UNSUPPORTED, "--%s: %s", rows[i].name, rows[i].why),
                                  "leave --%s out; `ditbench help generate` has the flags with a meaning here",
                                  rows[i].name);
        dit_log_info("--%s changes nothing: %s", rows[i].name, rows[i].why);
    }
    return DIT_OK;
}
