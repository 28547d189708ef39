#include "engine/unicode/steps.h"

#include "base/list.h"

#include <stdlib.h>

void dit_pieces_add(dit_pieces *pieces, dit_span text, bool first)
{
    if (!text.length || pieces->failed) return;
    if (dit_list_grow((void **)&pieces->at, pieces->count, sizeof *pieces->at) != DIT_OK) {
        pieces->failed = true;
        return;
    }
    pieces->at[pieces->count++] = (dit_piece){.start = pieces->text.used, .length = text.length, .first = first};
    dit_buffer_append(&pieces->text, text.at, text.length);
    if (pieces->text.failed) pieces->failed = true;
}

dit_status dit_pieces_take(dit_buffer *made, bool first, dit_pieces *pieces, dit_status st)
{
    if (st == DIT_OK && made->failed) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for a piece of text");
    if (st == DIT_OK) dit_pieces_add(pieces, (dit_span){made->data, made->used}, first);
    dit_buffer_release(made);
    return st;
}

dit_span dit_pieces_get(const dit_pieces *pieces, int index)
{
    const dit_piece *piece = &pieces->at[index];
    return (dit_span){pieces->text.data + piece->start, piece->length};
}

void dit_pieces_release(dit_pieces *pieces)
{
    dit_buffer_release(&pieces->text);
    free(pieces->at);
    *pieces = (dit_pieces){0};
}

static void release_step(dit_step *step)
{
    dit_pattern_release(step->pattern);
    free(step->content);
    dit_charsmap_release(&step->charsmap);
    *step = (dit_step){0};
}

dit_status dit_steps_add(dit_steps *steps, dit_step *step)
{
    dit_status st = dit_list_grow((void **)&steps->at, steps->count, sizeof *steps->at);
    if (st != DIT_OK) {
        release_step(step);
        return st;
    }
    steps->at[steps->count++] = *step;
    *step = (dit_step){0};
    return DIT_OK;
}

void dit_steps_release(dit_steps *steps)
{
    for (int i = 0; i < steps->count; i++) release_step(&steps->at[i]);
    free(steps->at);
    *steps = (dit_steps){0};
}

dit_status dit_steps_add_pattern(dit_steps *steps, const char *expression, bool ignore_case, bool drop_rest)
{
    dit_step step = {.run = dit_step_split_pattern, .flags = {[DIT_SPLIT_DROP_REST] = drop_rest}};
    DIT_TRY(dit_pattern_compile(expression, ignore_case, &step.pattern));
    return dit_steps_add(steps, &step);
}

dit_status dit_steps_add_run(dit_steps *steps, dit_step_run *run, bool flag0, bool flag1, bool flag2)
{
    dit_step step = {.run = run, .flags = {flag0, flag1, flag2}};
    return dit_steps_add(steps, &step);
}

static dit_status run_step(const dit_step *step, const dit_pieces *in, dit_pieces *out)
{
    for (int i = 0; i < in->count; i++) DIT_TRY(step->run(step, dit_pieces_get(in, i), in->at[i].first, out));
    return out->failed ? DIT_FAIL(DIT_ERR_MEMORY, "no memory for pieces of a text") : DIT_OK;
}

dit_status dit_steps_run(const dit_steps *steps, dit_span text, bool first, dit_pieces *out)
{
    dit_pieces now = {0}, next = {0};
    dit_status st = DIT_OK;
    dit_pieces_add(&now, text, first);
    for (int i = 0; i < steps->count && st == DIT_OK; i++) {
        st = run_step(&steps->at[i], &now, &next);
        dit_pieces_release(&now);
        now = next;
        next = (dit_pieces){0};
    }
    for (int i = 0; i < now.count && st == DIT_OK; i++) dit_pieces_add(out, dit_pieces_get(&now, i), now.at[i].first);
    if (st == DIT_OK && (now.failed || out->failed)) st = DIT_FAIL(DIT_ERR_MEMORY, "no memory for pieces of a text");
    dit_pieces_release(&now);
    dit_pieces_release(&next);
    return st;
}
