/* Classes of transformers that read files of their own: the Python ("slow") ones of CLIP, Qwen2, T5, ByT5 and BERT, and T5's
 * fast one, which converts a SentencePiece model. */
#include "engine/subwords/spiece.h"
#include "engine/text/tokenizer_impl.h"

#include "base/file.h"
#include "base/lenient.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 64 << 20 };

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* Takes a line off the front, without its end. */
static dit_span take_line(dit_span *rest)
{
    const char *end = memchr(rest->at, '\n', rest->length);
    dit_span line = {rest->at, end ? (size_t)(end - rest->at) : rest->length};
    size_t took = line.length + (end != NULL);
    rest->at += took, rest->length -= took;
    if (line.length && line.at[line.length - 1] == '\r') line.length--;
    return line;
}

static dit_status read_lines(const char *path, char **text, dit_span *out)
{
    size_t length;
    DIT_TRY(dit_file_read(path, FILE_BYTES_MAX, text, &length));
    *out = (dit_span){*text, length};
    if (dit_utf8_is_valid(*out)) return DIT_OK;
    free(*text);
    return DIT_FAIL(DIT_ERR_INTEGRITY, "%s is not UTF-8", path);
}

/* ---- vocab.json and merges.txt ----------------------------------------------------------------------------------- */

static dit_status read_vocab_json(const char *path, dit_token_model *model)
{
    dit_json doc = {0};
    DIT_TRY(dit_json_read_lenient(path, &doc));
    dit_status st = dit_vocabulary_add_object(&model->vocabulary, &doc, doc.root, "");
    dit_json_release(&doc);
    return st;
}

/* Adds the merges of lines from..to (from 0). Lines are pairs of tokens, the first one is a title. */
static dit_status add_merges(dit_span rest, int64_t most, dit_token_model *model)
{
    int32_t rank = 0;
    take_line(&rest);
    while (rest.length && rank < most) {
        dit_span line = take_line(&rest);
        const char *blank = memchr(line.at, ' ', line.length);
        if (!line.length) continue;
        size_t left = blank ? (size_t)(blank - line.at) : 0;
        if (!left || left + 1 == line.length)
            return DIT_FAIL(DIT_ERR_INTEGRITY, "merge %d is \"%.*s\" and not two tokens", rank,
                            (int)(line.length < 80 ? line.length : 80), line.at);
        DIT_TRY(
            dit_bpe_add_merge(model, (dit_span){line.at, left}, (dit_span){blank + 1, line.length - left - 1}, rank++));
    }
    return DIT_OK;
}

static dit_status read_merges(const dit_tokenizer_source *source, int64_t most, dit_token_model *model)
{
    char path[DIT_TOKENIZER_PATH], *text;
    dit_span lines;
    DIT_TRY(dit_tokenizer_path(source, "merges.txt", path));
    DIT_TRY(read_lines(path, &text, &lines));
    dit_status st = add_merges(lines, most, model);
    free(text);
    return st == DIT_OK ? st : dit_error_note(st, "in %s", path);
}

/* ---- CLIP -------------------------------------------------------------------------------------------------------- */

static dit_status add_frame(const dit_tokenizer_source *source, int32_t front, int32_t back, dit_tokenizer *out)
{
    if (front < 0 || back < 0)
        return DIT_FAIL(DIT_ERR_INTEGRITY, "%s has no tokens to begin and to end a text", source->folder);
    dit_ids_add(&out->front, front);
    dit_ids_add(&out->back, back);
    return DIT_OK;
}

/* transformers cleans the text with ftfy where that package is installed, and else as BERT does. Without it the ids do
 * not depend on what else is installed: so does this. U+0345 is left out, as Python's expression does: it ignores case,
 * and that mark's other case is a letter. */
dit_status dit_open_clip(dit_tokenizer_source *source, const char *path, dit_tokenizer *out)
{
    enum { MERGES_MAX = 49152 - 256 - 2 };
    static const char pattern[] = "<\\|startoftext\\|>|<\\|endoftext\\|>|'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|"
                                  "[^\\s\\p{L}\\p{N}\\x{345}]+";
    dit_token_model *model = &out->model;
    model->encode = dit_bpe_encode;
    model->verbatim[0] = "<|startoftext|>", model->verbatim[1] = "<|endoftext|>";
    model->suffix = strdup("</w>");
    if (!model->suffix) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a tokenizer");
    DIT_TRY(read_vocab_json(path, model));
    DIT_TRY(read_merges(source, MERGES_MAX, model));
    DIT_TRY(dit_tokenizer_add_special(source, out));
    model->unk = out->facts.unk;
    DIT_TRY(dit_steps_add_run(&out->normalizer, dit_step_bert_clean, true, true, false));
    DIT_TRY(dit_steps_add_run(&out->normalizer, dit_step_nfc, false, false, false));
    DIT_TRY(dit_steps_add_run(&out->normalizer, dit_step_lower, false, false, false));
    DIT_TRY(dit_steps_add_run(&out->normalizer, dit_step_join_words, false, false, false));
    DIT_TRY(dit_steps_add_pattern(&out->splitter, pattern, true, true));
    DIT_TRY(dit_steps_add_run(&out->splitter, dit_step_bytes, false, false, false));
    return add_frame(source, out->facts.bos, out->facts.eos, out);
}

/* ---- Qwen2 ------------------------------------------------------------------------------------------------------- */

dit_status dit_open_qwen2(dit_tokenizer_source *source, const char *path, dit_tokenizer *out)
{
    static const char pattern[] = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"
                                  " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    out->model.encode = dit_bpe_encode;
    DIT_TRY(read_vocab_json(path, &out->model));
    DIT_TRY(read_merges(source, INT32_MAX, &out->model));
    DIT_TRY(dit_tokenizer_add_special(source, out));
    out->model.unk = out->facts.unk;
    DIT_TRY(dit_steps_add_run(&out->normalizer, dit_step_nfc, false, false, false));
    DIT_TRY(dit_steps_add_pattern(&out->splitter, pattern, false, true));
    return dit_steps_add_run(&out->splitter, dit_step_bytes, false, false, false);
}

/* ---- T5 ---------------------------------------------------------------------------------------------------------- */

static dit_status open_spiece(const dit_tokenizer_source *source, const dit_spiece *spiece, dit_tokenizer *out)
{
    const char *unk = dit_tokenizer_role(source, DIT_ROLE_UNK);
    bool legacy = true;
    const dit_json *doc = &source->config;
    if (doc->root) DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "legacy", &legacy));
    DIT_TRY(dit_spiece_open(spiece, legacy, unk ? unk : "", &out->model));
    out->meta_in_front = !legacy;
    out->end_once = true;
    DIT_TRY(dit_tokenizer_add_special(source, out));
    if (out->facts.eos < 0) return DIT_FAIL(DIT_ERR_INTEGRITY, "%s has no token to end a text", source->folder);
    dit_ids_add(&out->back, out->facts.eos);
    return DIT_OK;
}

dit_status dit_open_t5(dit_tokenizer_source *source, const char *path, dit_tokenizer *out)
{
    dit_spiece spiece;
    DIT_TRY(dit_spiece_read(path, &spiece));
    dit_status st = open_spiece(source, &spiece, out);
    dit_spiece_release(&spiece);
    return st;
}

/* Tokens that are no text for the model to split are looked for first. */
static dit_status add_control_pieces(const dit_spiece *spiece, dit_tokenizer *out)
{
    for (int i = 0; i < spiece->count; i++) {
        const dit_spiece_piece *piece = &spiece->pieces[i];
        const dit_added_token token = {.id = i, .special = piece->type == DIT_PIECE_CONTROL};
        if (piece->type != DIT_PIECE_CONTROL && piece->type != DIT_PIECE_USER_DEFINED) continue;
        char *content = strndup(piece->text.at, piece->text.length);
        if (!content) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a tokenizer");
        dit_status st = dit_added_tokens_put(&out->added, content, &token);
        free(content);
        DIT_TRY(st);
    }
    return DIT_OK;
}

/* Adds what transformers' conversion of a SentencePiece model writes as "normalizer" and "pre_tokenizer". */
static dit_status add_converted_steps(const dit_tokenizer_source *source, const dit_spiece *spiece, dit_tokenizer *out)
{
    bool legacy = true, in_front = true;
    const dit_json *doc = &source->config;
    dit_step map = {.run = dit_step_replace_charsmap}, blanks = {.run = dit_step_replace};
    if (doc->root) DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "legacy", &legacy));
    if (doc->root) DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "add_prefix_space", &in_front));
    DIT_TRY(dit_charsmap_read(spiece->charsmap.at, spiece->charsmap.length, &map.charsmap));
    DIT_TRY(dit_steps_add(&out->normalizer, &map));
    DIT_TRY(dit_steps_add_run(&out->normalizer, dit_step_strip, false, true, false));
    DIT_TRY(dit_pattern_compile(" {2,}", false, &blanks.pattern));
    blanks.content = strdup("\xE2\x96\x81");
    DIT_TRY(dit_steps_add(&out->normalizer, &blanks));
    return dit_steps_add_run(&out->splitter, dit_step_metaspace, in_front && legacy, in_front && !legacy, true);
}

static dit_status convert_spiece(const dit_tokenizer_source *source, const dit_spiece *spiece, dit_tokenizer *out)
{
    dit_token_model *model = &out->model;
    char content[48];
    int64_t id = 0;
    model->encode = dit_unigram_encode;
    model->lowest = INFINITY;
    model->fuse_unk = true;
    model->unk = spiece->unk;
    for (; id < spiece->count; id++)
        DIT_TRY(dit_unigram_add(model, spiece->pieces[id].text, id, spiece->pieces[id].score));
    for (int64_t i = source->extra_ids - 1; i >= 0; i--) {
        int length = snprintf(content, sizeof content, "<extra_id_%lld>", (long long)i);
        DIT_TRY(dit_unigram_add(model, (dit_span){content, (size_t)length}, id++, 0));
    }
    DIT_TRY(add_control_pieces(spiece, out));
    DIT_TRY(add_converted_steps(source, spiece, out));
    DIT_TRY(dit_tokenizer_add_special(source, out));
    if (out->facts.eos < 0) return DIT_FAIL(DIT_ERR_INTEGRITY, "%s has no token to end a text", source->folder);
    dit_ids_add(&out->back, out->facts.eos);
    return DIT_OK;
}

dit_status dit_open_t5_fast(dit_tokenizer_source *source, const char *path, dit_tokenizer *out)
{
    dit_spiece spiece;
    DIT_TRY(dit_spiece_read(path, &spiece));
    dit_status st = convert_spiece(source, &spiece, out);
    dit_spiece_release(&spiece);
    return st;
}

/* ---- ByT5 -------------------------------------------------------------------------------------------------------- */

/* Three tokens with a role, then one for each byte. A byte's token is the code point of that number. */
static dit_status add_byte_vocabulary(const dit_tokenizer_source *source, dit_tokenizer *out)
{
    static const dit_token_role first[DIT_BYTE_OFFSET] = {DIT_ROLE_PAD, DIT_ROLE_EOS, DIT_ROLE_UNK};
    for (int id = 0; id < DIT_BYTE_OFFSET; id++) {
        const char *content = dit_tokenizer_role(source, first[id]);
        const dit_added_token token = {.id = id, .lstrip = true, .rstrip = true, .special = true};
        if (!content) return DIT_FAIL(DIT_ERR_INTEGRITY, "%s has no token for the id %d", source->folder, id);
        DIT_TRY(dit_vocabulary_add(&out->model.vocabulary, (dit_span){content, strlen(content)}, id));
        DIT_TRY(dit_added_tokens_put(&out->added, content, &token));
    }
    for (int byte = 0; byte < 256; byte++) {
        const char text[2] = {(char)(byte < 0x80 ? byte : 0xC0 | byte >> 6), (char)(0x80 | (byte & 0x3F))};
        DIT_TRY(
            dit_vocabulary_add(&out->model.vocabulary, (dit_span){text, byte < 0x80 ? 1 : 2}, byte + DIT_BYTE_OFFSET));
    }
    return DIT_OK;
}

dit_status dit_open_byt5(dit_tokenizer_source *source, const char *path, dit_tokenizer *out)
{
    (void)path;
    if (!source->config.root)
        return DIT_FAIL(DIT_ERR_IO, "%s has no tokenizer_config.json, which ByT5Tokenizer reads", source->folder);
    out->model.encode = dit_byte_encode;
    out->end_once = true;
    DIT_TRY(add_byte_vocabulary(source, out));
    DIT_TRY(dit_tokenizer_add_special(source, out));
    dit_ids_add(&out->back, out->facts.eos);
    return DIT_OK;
}

/* ---- BERT -------------------------------------------------------------------------------------------------------- */

static dit_status read_vocab_txt(const char *path, dit_token_model *model)
{
    char *text;
    dit_span rest;
    dit_status st = DIT_OK;
    DIT_TRY(read_lines(path, &text, &rest));
    for (int64_t id = 0; rest.length && st == DIT_OK; id++)
        st = dit_vocabulary_add(&model->vocabulary, take_line(&rest), id);
    free(text);
    return st;
}

dit_status dit_open_bert(dit_tokenizer_source *source, const char *path, dit_tokenizer *out)
{
    bool lower = true, basic = true, ideographs = true, accents;
    const dit_json *doc = &source->config;
    dit_token_model *model = &out->model;
    model->encode = dit_word_piece_encode;
    model->max_input_chars = 100;
    model->prefix = strdup("##");
    if (!model->prefix) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for a tokenizer");
    if (doc->root) DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "do_lower_case", &lower));
    if (doc->root) DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "do_basic_tokenize", &basic));
    if (doc->root) DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "tokenize_chinese_chars", &ideographs));
    accents = lower; /* when nothing is said */
    if (doc->root) DIT_TRY(dit_json_optional_bool(doc, doc->root, "", "strip_accents", &accents));
    if (!basic) return DIT_FAIL(DIT_ERR_UNSUPPORTED, "do_basic_tokenize is false, but only true is implemented");
    DIT_TRY(read_vocab_txt(path, model));
    DIT_TRY(dit_tokenizer_add_special(source, out));
    model->unk = out->facts.unk;
    if (lower) DIT_TRY(dit_steps_add_run(&out->normalizer, dit_step_lower_each, false, false, false));
    DIT_TRY(dit_steps_add_run(&out->normalizer, dit_step_bert_clean, true, ideographs, false));
    DIT_TRY(dit_steps_add_run(&out->normalizer, dit_step_nfc, false, false, false));
    if (lower) DIT_TRY(dit_steps_add_run(&out->normalizer, dit_step_lower, false, false, false));
    if (accents) DIT_TRY(dit_steps_add_run(&out->normalizer, dit_step_drop_nonspacing, false, false, false));
    DIT_TRY(dit_steps_add_run(&out->splitter, dit_step_split_words, false, false, false));
    DIT_TRY(dit_steps_add_run(&out->splitter, dit_step_split_punctuation, false, false, false));
    return add_frame(source, dit_tokenizer_id(out, dit_tokenizer_role(source, DIT_ROLE_CLS)),
                     dit_tokenizer_id(out, dit_tokenizer_role(source, DIT_ROLE_SEP)), out);
}
