#include "engine/subwords/added_tokens.h"

#include "base/list.h"

#include <stdlib.h>
#include <string.h>

dit_status dit_added_tokens_put(dit_added_tokens *tokens, const char *content, const dit_added_token *like)
{
    size_t length = strlen(content);
    dit_added_token *place = (dit_added_token *)dit_added_tokens_find(tokens, content, length);
    if (!length) return DIT_FAIL(DIT_ERR_INTEGRITY, "an added token is empty");
    if (!place) {
        if (tokens->count >= DIT_ADDED_MAX)
            return DIT_FAIL(DIT_ERR_INTEGRITY, "more than %d added tokens", DIT_ADDED_MAX);
        DIT_TRY(dit_list_grow((void **)&tokens->at, tokens->count, sizeof *tokens->at));
        char *copy = strdup(content);
        if (!copy) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for added tokens");
        place = &tokens->at[tokens->count++];
        place->content = copy;
    }
    char *kept = place->content;
    *place = *like;
    place->content = kept;
    place->length = length;
    return DIT_OK;
}

const dit_added_token *dit_added_tokens_find(const dit_added_tokens *tokens, const char *content, size_t length)
{
    for (int i = 0; i < tokens->count; i++)
        if (tokens->at[i].length == length && memcmp(tokens->at[i].content, content, length) == 0)
            return &tokens->at[i];
    return NULL;
}

static int compare_order(const void *left, const void *right, void *list)
{
    const dit_added_token *tokens = list, *a = &tokens[*(const int *)left], *b = &tokens[*(const int *)right];
    unsigned char first_a = (unsigned char)a->content[0], first_b = (unsigned char)b->content[0];
    if (first_a != first_b) return first_a < first_b ? -1 : 1;
    if (a->length != b->length) return a->length > b->length ? -1 : 1;
    return *(const int *)left - *(const int *)right;
}

dit_status dit_added_tokens_sort(dit_added_tokens *tokens)
{
    free(tokens->order);
    tokens->order = malloc(((size_t)tokens->count + 1) * sizeof *tokens->order);
    if (!tokens->order) return DIT_FAIL(DIT_ERR_MEMORY, "no memory for added tokens");
    for (int i = 0; i < tokens->count; i++) tokens->order[i] = i;
    if (tokens->count) qsort_r(tokens->order, (size_t)tokens->count, sizeof *tokens->order, compare_order, tokens->at);
    for (int byte = 0, i = 0; byte <= 256; byte++) {
        while (i < tokens->count && (unsigned char)tokens->at[tokens->order[i]].content[0] < byte) i++;
        tokens->begin[byte] = i;
    }
    return DIT_OK;
}

void dit_added_tokens_release(dit_added_tokens *tokens)
{
    for (int i = 0; i < tokens->count; i++) free(tokens->at[i].content);
    free(tokens->at);
    free(tokens->order);
    *tokens = (dit_added_tokens){0};
}

/* ---- cutting ----------------------------------------------------------------------------------------------------- */

static void add(dit_stretches *out, dit_span text, const dit_added_token *token)
{
    if (out->failed || dit_list_grow((void **)&out->at, out->count, sizeof *out->at) != DIT_OK)
        out->failed = true;
    else
        out->at[out->count++] = (dit_stretch){text, token};
}

void dit_stretches_release(dit_stretches *stretches)
{
    free(stretches->at);
    *stretches = (dit_stretches){0};
}

/* The longest token that text[at..] begins with. */
static const dit_added_token *find_at(const dit_added_tokens *tokens, dit_added_which which, dit_span text, size_t at)
{
    unsigned char byte = (unsigned char)text.at[at];
    for (int i = tokens->begin[byte]; i < tokens->begin[byte + 1]; i++) {
        const dit_added_token *token = &tokens->at[tokens->order[i]];
        if (which != DIT_ADDED_ALL && token->normalized != (which == DIT_ADDED_NORMALIZED)) continue;
        if (token->length <= text.length - at && memcmp(token->content, text.at + at, token->length) == 0) return token;
    }
    return NULL;
}

static bool is_word_beside(dit_span before, dit_span after)
{
    size_t bytes;
    return (before.length && dit_is_word(dit_utf8_last(before, &bytes))) ||
           (after.length && dit_is_word(dit_utf8_first(after, &bytes)));
}

static dit_span part_of(dit_span text, size_t start, size_t end)
{
    return (dit_span){text.at + start, end - start};
}

static void cut_fast(const dit_added_tokens *tokens, dit_added_which which, dit_span text, dit_stretches *out)
{
    size_t done = 0; /* what lies before has been given */
    for (size_t at = 0; at < text.length;) {
        const dit_added_token *token = find_at(tokens, which, text, at);
        if (!token) {
            at++;
            continue;
        }
        size_t start = at, end = at + token->length;
        at = end;
        if (token->single_word && is_word_beside(part_of(text, 0, start), part_of(text, end, text.length))) continue;
        if (token->lstrip) {
            size_t kept = dit_span_strip(part_of(text, 0, start), false, true, dit_is_space).length;
            start = kept > done ? kept : done;
        }
        if (token->rstrip)
            end = text.length - dit_span_strip(part_of(text, end, text.length), true, false, dit_is_space).length;
        if (done < start) add(out, part_of(text, done, start), NULL);
        add(out, part_of(text, start, end), token);
        done = end;
    }
    if (done < text.length) add(out, part_of(text, done, text.length), NULL);
}

/* Python cuts first and then takes white space off what lies between. */
static void strip_slowly(dit_stretches *out)
{
    for (int i = 0; i < out->count; i++) {
        const dit_added_token *token = out->at[i].token;
        dit_stretch *left = i > 0 ? &out->at[i - 1] : NULL, *right = i + 1 < out->count ? &out->at[i + 1] : NULL;
        if (!token) continue;
        if (token->rstrip && right && !right->token)
            right->text = dit_span_strip(right->text, true, false, dit_is_space_of_python);
        if (token->lstrip && left && !left->token)
            left->text = dit_span_strip(left->text, false, true, dit_is_space_of_python);
    }
}

/* A token inside a word becomes part of the text before it, or else after it. */
static bool joins_left(const dit_stretches *s, int i)
{
    const dit_stretch *left = i > 0 ? &s->at[i - 1] : NULL;
    return left && !left->token && left->text.length && left->text.at[left->text.length - 1] != ' ';
}

static bool joins_right(const dit_stretches *s, int i)
{
    const dit_stretch *right = i + 1 < s->count ? &s->at[i + 1] : NULL;
    return right && !right->token && right->text.length && right->text.at[0] != ' ';
}

static void join_slowly(dit_stretches *s)
{
    for (int i = 0; i < s->count; i++) {
        dit_stretch *now = &s->at[i];
        if (!now->token || !now->token->single_word) continue;
        if (joins_left(s, i)) {
            s->at[i - 1].text.length = (size_t)(now->text.at + now->text.length - s->at[i - 1].text.at);
            *now = (dit_stretch){{now->text.at, 0}, NULL};
        } else if (joins_right(s, i)) {
            dit_stretch *right = &s->at[i + 1];
            right->text.length += (size_t)(right->text.at - now->text.at);
            right->text.at = now->text.at;
            *now = (dit_stretch){{now->text.at, 0}, NULL};
        }
    }
}

static void cut_slowly(const dit_added_tokens *tokens, dit_added_which which, dit_span text, dit_stretches *out)
{
    size_t done = 0;
    for (size_t at = 0; at < text.length;) {
        const dit_added_token *token = find_at(tokens, which, text, at);
        if (!token) {
            at++;
            continue;
        }
        if (done < at) add(out, part_of(text, done, at), NULL);
        add(out, part_of(text, at, at + token->length), token);
        done = at += token->length;
    }
    if (done < text.length) add(out, part_of(text, done, text.length), NULL);
    strip_slowly(out);
    join_slowly(out);
}

dit_status dit_added_tokens_cut(const dit_added_tokens *tokens, dit_added_which which, bool slow, dit_span text,
                                dit_stretches *out)
{
    (slow ? cut_slowly : cut_fast)(tokens, which, text, out);
    return out->failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for the stretches of a text") : DIT_OK;
}
