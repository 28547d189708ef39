/* Tokenizers: ids of transformers (engine/tests/tokenizers/export.py) for a hundred texts and every tokenizer; rows, masks,
 * prompts of pipelines; folders that are damaged. Where the engine was built without the libraries, that is said. */
#include "engine/text/prompt.h"

#include "base/json.h"
#include "base/tests/test.h"

#include <sys/stat.h>

#define FOLDERS DITBENCH_SOURCE_DIR "/engine/tests/tokenizers/"

static const struct {
    const char *folder, *class_name;
} cases[] = {
    {"bert", "BertTokenizer"},
    {"bert_fast", "BertTokenizerFast"},
    {"byt5", "ByT5Tokenizer"},
    {"byt5_glyph", "ByT5Tokenizer"},
    {"clip", "CLIPTokenizer"},
    {"clip_bang", "CLIPTokenizer"},
    {"clip_fast", "CLIPTokenizerFast"},
    {"gemma", "GemmaTokenizerFast"},
    {"llama", "LlamaTokenizerFast"},
    {"mistral", "PreTrainedTokenizerFast"},
    {"mt5", "T5Tokenizer"},
    {"qwen2", "Qwen2Tokenizer"},
    {"qwen2_fast", "Qwen2TokenizerFast"},
    {"t5", "T5Tokenizer"},
    {"t5", "T5TokenizerFast"},
    {"t5_fast", "T5TokenizerFast"},
    {"t5_new", "T5Tokenizer"},
    {"umt5", "T5TokenizerFast"},
};

/* Skips a test where there are no tokenizers. */
static void need_tokenizers(void)
{
    dit_tokenizer *tokenizer;
    dit_status st = dit_tokenizer_open(FOLDERS "bert", NULL, &tokenizer);
    dit_tokenizer_close(tokenizer);
    if (st == DIT_ERR_ENVIRONMENT) skip();
    assert_ok(st);
}

static void open_folder(const char *name, const char *class_name, dit_tokenizer **out)
{
    char path[512];
    snprintf(path, sizeof path, FOLDERS "%s", name);
    assert_ok(dit_tokenizer_open(path, class_name, out));
}

static void what_is_missing_is_said(void **state)
{
    dit_tokenizer *tokenizer;
    (void)state;
    if (dit_tokenizer_open(FOLDERS "bert", NULL, &tokenizer) == DIT_ERR_ENVIRONMENT)
        assert_contains(dit_error_last()->hint, "apt-get install");
    dit_tokenizer_close(tokenizer);
}

/* ---- ids --------------------------------------------------------------------------------------------------------- */

static void assert_ids(const char *folder, const char *text, const cJSON *want, const int32_t *got, int64_t count)
{
    bool same = cJSON_GetArraySize(want) == count;
    int64_t i = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, want) if (i < count && got[i++] != item->valueint) same = false;
    if (same) return;
    for (i = 0; i < count && i < 40; i++) print_error("%d ", got[i]);
    fail_msg("%s: %lld ids, want %d, of \"%.300s\"", folder, (long long)count, cJSON_GetArraySize(want), text);
}

/* `answer` is [all ids, a row of `length`, how many of that are no padding]. */
static void assert_answer(const char *folder, const dit_tokenizer *tokenizer, const char *text, const cJSON *answer,
                          int64_t length)
{
    const dit_token_rule rule = {.length = length};
    int32_t *all, ids[64], mask[64];
    int64_t count;
    assert_ok(dit_tokenize_all(tokenizer, text, &all, &count));
    assert_ids(folder, text, cJSON_GetArrayItem(answer, 0), all, count);
    free(all);
    assert_ok(dit_tokenize(tokenizer, text, &rule, ids, mask, &count));
    assert_ids(folder, text, cJSON_GetArrayItem(answer, 1), ids, length);
    assert_int_equal(count, cJSON_GetArrayItem(answer, 2)->valueint);
    bool left = strcmp(folder, "mistral") == 0 || strcmp(folder, "gemma") == 0; /* they pad on the left */
    int64_t first = left ? length - count : 0;
    for (int64_t i = 0; i < length; i++) assert_int_equal(mask[i], i >= first && i < first + count);
}

static void assert_folder(const char *folder, const char *class_name, const dit_json *texts)
{
    dit_tokenizer *tokenizer;
    dit_json answers;
    char path[512];
    int64_t length;
    snprintf(path, sizeof path, FOLDERS "%s/ids.%s.json", folder, class_name);
    assert_ok(dit_json_read_file(path, &answers));
    open_folder(folder, class_name, &tokenizer);
    assert_ok(dit_json_require_int(&answers, answers.root, "", "length", 1, 64, &length));
    const cJSON *text = texts->root->child, *answer = dit_json_member(answers.root, "texts")->child;
    int count = 0;
    for (; text && answer; text = text->next, answer = answer->next, count++)
        assert_answer(folder, tokenizer, text->valuestring, answer, length);
    assert_int_equal(count, 100);
    dit_json_release(&answers);
    dit_tokenizer_close(tokenizer);
}

static void ids_are_those_of_transformers(void **state)
{
    dit_json texts;
    (void)state;
    need_tokenizers();
    assert_ok(dit_json_read_file(FOLDERS "texts.json", &texts));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_folder(cases[i].folder, cases[i].class_name, &texts);
    dit_json_release(&texts);
}

static void a_tokenizer_says_what_it_is(void **state)
{
    dit_tokenizer *tokenizer;
    dit_tokenizer_facts facts;
    (void)state;
    need_tokenizers();
    open_folder("clip", NULL, &tokenizer);
    dit_tokenizer_describe(tokenizer, &facts);
    assert_string_equal(facts.class_name, "CLIPTokenizer");
    assert_int_equal(facts.model_max_length, 77);
    assert_int_equal(facts.eos, facts.ids - 1);
    assert_int_equal(facts.bos, facts.ids - 2);
    assert_int_equal(facts.pad, facts.eos);
    dit_tokenizer_close(tokenizer);
    open_folder("mt5", NULL, &tokenizer); /* its limit is 1000000000000000019884624838656 */
    dit_tokenizer_describe(tokenizer, &facts);
    assert_int_equal(facts.model_max_length, 0);
    assert_int_equal(facts.bos, -1);
    assert_int_equal(facts.pad, 0);
    dit_tokenizer_close(tokenizer);
}

static void rows_that_cannot_be_are_refused(void **state)
{
    dit_tokenizer *tokenizer;
    int32_t ids[8];
    const dit_token_rule none = {.length = 0}, one = {.length = 1}, bare = {.length = 1, .no_special_tokens = true};
    int64_t count;
    (void)state;
    need_tokenizers();
    open_folder("clip", NULL, &tokenizer);
    assert_fails(dit_tokenize(tokenizer, "fox", &none, ids, NULL, NULL), DIT_ERR_SHAPE, "0 ids");
    assert_fails(dit_tokenize(tokenizer, "fox", &one, ids, NULL, NULL), DIT_ERR_SHAPE, "no room for 2 special tokens");
    assert_fails(dit_tokenize(tokenizer, "a\xFFz", &bare, ids, NULL, NULL), DIT_ERR_JSON_ENCODING, "not UTF-8");
    assert_ok(dit_tokenize(tokenizer, "a b", &bare, ids, NULL, &count));
    assert_int_equal(count, 1);
    dit_tokenizer_close(tokenizer);
}

/* ---- prompts ----------------------------------------------------------------------------------------------------- */

static void assert_clean(const char *pipeline, const char *prompt, const char *want)
{
    int count;
    char *got;
    const dit_prompt_rule *rule = dit_prompt_rules(pipeline, &count);
    assert_true(count > 0);
    assert_ok(dit_prompt_clean(rule, prompt, &got));
    assert_string_equal(got, want);
    free(got);
}

static void prompts_are_cleaned_as_pipelines_do(void **state)
{
    char *got;
    int count;
    (void)state;
    need_tokenizers();
    assert_clean("FluxPipeline", " A Fox\n", " A Fox\n");
    assert_clean("PixArtSigmaPipeline", " A Fox in \xC4\xB0Z \xCE\xA3\xCE\x91\xCE\xA3\n",
                 "a fox in i\xCC\x87z \xCF\x83\xCE\xB1\xCF\x82");
    assert_clean("WanPipeline",
                 "  a \xE2\x80\x9C"
                 "fox\xE2\x80\x9D\t&amp;amp;  &#233;\xEF\xBC\x8C\xEF\xAC\x81n\n",
                 "a \"fox\" & \xC3\xA9,fin");
    assert_clean("WanPipeline", "", "");
    assert_fails(dit_prompt_clean(dit_prompt_rules("WanPipeline", &count), "&beth;", &got), DIT_ERR_UNSUPPORTED,
                 "&beth;");
    assert_null(dit_prompt_rules("NoPipeline", &count));
    assert_int_equal(count, 0);
}

/* What extract_glyph_texts of diffusers 0.42.1 makes of each. */
static void texts_in_quotes_are_named(void **state)
{
    static const char *const texts[][2] = {
        {"a fox", ""},
        {"", ""},
        {"a \"fox", ""},
        {"\"a\" fox \"b\"", "Text \"a\". Text \"b\". "},
        {"\"a\" \"b\" \"a\" \xE2\x80\x9C"
         "b\xE2\x80\x9D",
         "Text \"a\". Text \"b\". "},
        {"\"\" \xE2\x80\x9D\xE2\x80\x9Cx \"y\" z\xE2\x80\x9D", "Text \"\". Text \"x \"y\" z\". "},
        {"\"open\nline \"a\" \xE2\x80\x9Cno\nend\xE2\x80\x9D", "Text \"a\". "},
        {"\xE2\x80\x9C\xE2\x80\x9C\xF0\x9F\xA6\x8A\xE2\x80\x9D\xE2\x80\x9D", "Text \"\xE2\x80\x9C\xF0\x9F\xA6\x8A\". "},
    };
    int count;
    char *got;
    (void)state;
    need_tokenizers();
    const dit_prompt_rule *rules = dit_prompt_rules("HunyuanVideo15Pipeline", &count);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_ok(dit_prompt_clean(&rules[1], texts[i][0], &got));
        assert_string_equal(got, texts[i][1]);
        free(got);
    }
    assert_ok(dit_prompt_clean(&rules[0], "", &got));
    assert_contains(got, "user\n <|im_end|>\n<|im_start|>assistant\n");
    free(got);
}

/* captions.py: what diffusers makes of each, where a text is not alone. */
static void captions_are_cleaned_as_diffusers_does(void **state)
{
    dit_prompt_rule rule = {.cleaning = DIT_PROMPT_CAPTION, .before = "", .after = ""};
    dit_json rows;
    const cJSON *row;
    char *got;
    (void)state;
    need_tokenizers();
    assert_ok(dit_json_read_file(FOLDERS "captions.json", &rows));
    cJSON_ArrayForEach(row, rows.root)
    {
        const char *text = cJSON_GetArrayItem(row, 0)->valuestring;
        const cJSON *expected = cJSON_GetArrayItem(row, 1);
        dit_status st = dit_prompt_clean(&rule, text, &got);
        if (!expected) {
            assert_int_equal(st, DIT_ERR_UNSUPPORTED);
            continue;
        }
        assert_ok(st);
        if (strcmp(got, expected->valuestring) != 0) print_message("# of %s\n", text);
        assert_string_equal(got, expected->valuestring);
        free(got);
    }
    dit_json_release(&rows);
    assert_fails(dit_prompt_clean(&rule, "a %ff", &got), DIT_ERR_JSON_ENCODING, "percent");
    assert_fails(dit_prompt_clean(&rule, "a <b>fox</b>", &got), DIT_ERR_UNSUPPORTED, "tag of HTML");
}

static void a_template_stands_around_a_prompt(void **state)
{
    int count;
    char *got;
    (void)state;
    need_tokenizers();
    const dit_prompt_rule *rules = dit_prompt_rules("HunyuanVideoPipeline", &count);
    assert_int_equal(count, 2);
    int64_t row;
    assert_ok(dit_prompt_row(&rules[0], NULL, 0, &row));
    assert_int_equal(row, 256 + 95);
    assert_ok(dit_prompt_row(&rules[1], NULL, 0, &row));
    assert_int_equal(row, 77);
    assert_ok(dit_prompt_clean(&rules[0], "{a} fox", &got));
    assert_contains(got, "<|end_header_id|>\n\n{a} fox<|eot_id|>");
    free(got);
    int32_t ids[600];
    dit_tokenizer *tokenizer;
    open_folder("t5", NULL, &tokenizer);
    const dit_prompt_rule *flux = dit_prompt_rules("FluxPipeline", &count);
    assert_int_equal(dit_prompt_length(&flux[0], tokenizer), 512); /* its model_max_length */
    assert_int_equal(dit_prompt_length(&rules[1], tokenizer), 77);
    assert_fails(
        dit_prompt_tokenize(dit_prompt_rules("FluxPipeline", &count) + 1, tokenizer, "fox", 513, ids, NULL, NULL),
        DIT_ERR_SHAPE, "at most 512");
    dit_tokenizer_close(tokenizer);
}

/* Sana: the row is longer by the instruction's tokens, whose start token and last one stand in the first two places that are asked
 * for. A negative prompt has none. */
static void an_instruction_makes_the_row_longer(void **state)
{
    enum { ASKED = 5 };
    int count;
    int64_t row, tokens, used;
    int32_t *instruction, ids[4096], mask[4096];
    dit_tokenizer *tokenizer;
    (void)state;
    need_tokenizers();
    dit_prompt_rule rule = *dit_prompt_rules("SanaPipeline", &count);
    open_folder("gemma", NULL, &tokenizer);
    assert_ok(dit_tokenize_all(tokenizer, rule.before, &instruction, &tokens));
    assert_ok(dit_prompt_row(&rule, tokenizer, ASKED, &row));
    assert_int_equal(row, tokens + ASKED - 2);
    assert_true(row < (int64_t)(sizeof ids / sizeof *ids));
    assert_ok(dit_prompt_tokenize(&rule, tokenizer, " A Fox ", ASKED, ids, mask, &used));
    assert_memory_equal(ids, instruction, (size_t)(tokens - 1) * sizeof *ids); /* the last one may join the prompt */
    assert_true(used >= tokens && used <= row);
    for (int64_t t = 0; t < row; t++) assert_int_equal(mask[t], t < used);
    free(instruction);
    rule.before = "";
    assert_ok(dit_prompt_row(&rule, tokenizer, ASKED, &row));
    assert_int_equal(row, ASKED);
    dit_tokenizer_close(tokenizer);
}

/* ---- damaged folders --------------------------------------------------------------------------------------------- */

static char work[TEST_FOLDER];

static int make_work(void **state)
{
    (void)state;
    return test_folder_make(work);
}

static int remove_work(void **state)
{
    (void)state;
    return test_folder_remove(work);
}

static void put(const char *name, const char *text, size_t length)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", work, name);
    const dit_file_piece piece = {text, length};
    assert_ok(dit_file_write(path, &piece, 1));
}

static void copy(const char *folder, const char *name)
{
    char path[512], *text;
    size_t length;
    snprintf(path, sizeof path, FOLDERS "%s/%s", folder, name);
    assert_ok(dit_file_read(path, 64 << 20, &text, &length));
    put(name, text, length);
    free(text);
}

static void drop(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", work, name);
    unlink(path);
}

static void assert_refuses(const char *class_name, dit_status status, const char *words)
{
    dit_tokenizer *tokenizer;
    assert_fails(dit_tokenizer_open(work, class_name, &tokenizer), status, words);
    assert_null(tokenizer);
}

static void folders_that_lack_something_are_named(void **state)
{
    (void)state;
    need_tokenizers();
    assert_refuses(NULL, DIT_ERR_NOT_FOUND, "names no tokenizer class");
    assert_refuses("GPT9Tokenizer", DIT_ERR_NOT_FOUND, "GPT9Tokenizer");
    assert_contains(dit_error_last()->hint, "T5TokenizerFast");
    assert_refuses("T5Tokenizer", DIT_ERR_IO, "no tokenizer.json and no spiece.model");
    assert_refuses("ByT5Tokenizer", DIT_ERR_IO, "no tokenizer_config.json");
    copy("clip", "vocab.json");
    assert_refuses("CLIPTokenizer", DIT_ERR_IO, "merges.txt");
    put("merges.txt", "#version\nqq zz\n", 15);
    assert_refuses("CLIPTokenizer", DIT_ERR_INTEGRITY, "\"qq\"");
    put("merges.txt", "#version\nqq\n", 12);
    assert_refuses("CLIPTokenizer", DIT_ERR_INTEGRITY, "not two tokens");
    drop("vocab.json"), drop("merges.txt");
}

static void damaged_models_are_refused(void **state)
{
    static const char unknown_type[] = "\x0A\x05\x0A\x03<u>\x12\x02\x18\x02";
    (void)state;
    need_tokenizers();
    put("spiece.model", "not protobuf", 12);
    assert_refuses("T5Tokenizer", DIT_ERR_INTEGRITY, "damaged");
    put("spiece.model", unknown_type, sizeof unknown_type - 1);
    assert_refuses("T5Tokenizer", DIT_ERR_UNSUPPORTED, "model type");
    put("spiece.model", "", 0);
    assert_refuses("T5Tokenizer", DIT_ERR_INTEGRITY, "no piece for what is unknown");
    drop("spiece.model");
}

/* Every front of a real file, and real files with bytes changed, open or are refused. */
static void assert_survives(const char *folder, const char *name, const char *class_name)
{
    char path[512], *text;
    size_t length;
    uint32_t random = 1;
    dit_tokenizer *tokenizer;
    snprintf(path, sizeof path, FOLDERS "%s/%s", folder, name);
    assert_ok(dit_file_read(path, 64 << 20, &text, &length));
    for (int i = 0; i < 40; i++) {
        random = random * 1664525 + 1013904223;
        size_t at = random % length;
        char kept = text[at];
        text[at] = (char)(random >> 24);
        put(name, text, i % 2 ? length : at);
        if (dit_tokenizer_open(work, class_name, &tokenizer) == DIT_OK) {
            int32_t *ids;
            int64_t count;
            if (dit_tokenize_all(tokenizer, "a red fox \xE5\xA5\xBD </s>", &ids, &count) == DIT_OK) free(ids);
        }
        dit_tokenizer_close(tokenizer);
        text[at] = kept;
    }
    free(text);
    drop(name);
}

static void changed_files_do_no_harm(void **state)
{
    (void)state;
    need_tokenizers();
    assert_survives("t5", "spiece.model", "T5Tokenizer");
    assert_survives("mt5", "spiece.model", "T5TokenizerFast");
    assert_survives("t5_fast", "tokenizer.json", "T5TokenizerFast");
    assert_survives("llama", "tokenizer.json", "LlamaTokenizerFast");
    assert_survives("bert", "vocab.txt", "BertTokenizer");
    assert_survives("byt5_glyph", "tokenizer_config.json", "ByT5Tokenizer");
}

static void a_pipeline_names_the_class(void **state)
{
    static const char index[] =
        "{\"_class_name\": \"X\", \"part\": [\"transformers\", \"BertTokenizer\"], \"none\": [null]}";
    char path[256];
    dit_tokenizer *tokenizer;
    dit_tokenizer_facts facts;
    (void)state;
    need_tokenizers();
    put("model_index.json", index, sizeof index - 1);
    snprintf(path, sizeof path, "%s/part", work);
    mkdir(path, 0777);
    copy("bert", "vocab.txt");
    char from[256], to[256];
    snprintf(from, sizeof from, "%s/vocab.txt", work);
    snprintf(to, sizeof to, "%s/part/vocab.txt", work);
    assert_int_equal(rename(from, to), 0);
    assert_ok(dit_tokenizer_open_part(work, "part", &tokenizer));
    dit_tokenizer_describe(tokenizer, &facts);
    assert_string_equal(facts.class_name, "BertTokenizer");
    dit_tokenizer_close(tokenizer);
    assert_fails(dit_tokenizer_open_part(work, "none", &tokenizer), DIT_ERR_JSON_MISSING, "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(ids_are_those_of_transformers),
        cmocka_unit_test(a_tokenizer_says_what_it_is),
        cmocka_unit_test(rows_that_cannot_be_are_refused),
        cmocka_unit_test(prompts_are_cleaned_as_pipelines_do),
        cmocka_unit_test(texts_in_quotes_are_named),
        cmocka_unit_test(captions_are_cleaned_as_diffusers_does),
        cmocka_unit_test(a_template_stands_around_a_prompt),
        cmocka_unit_test(an_instruction_makes_the_row_longer),
        cmocka_unit_test(folders_that_lack_something_are_named),
        cmocka_unit_test(damaged_models_are_refused),
        cmocka_unit_test(changed_files_do_no_harm),
        cmocka_unit_test(a_pipeline_names_the_class),
    };
    return cmocka_run_group_tests(tests, make_work, remove_work);
}
