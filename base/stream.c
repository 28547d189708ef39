#include "base/stream.h"

dit_stream dit_stream_of(const dit_parallel *parallel, const dit_facts *facts, int64_t stage)
{
    int64_t frames = dit_facts_frames(facts), rows = facts->image_tokens / frames;
    int64_t stages = dit_parallel_degree(parallel, DIT_AXIS_PIPEFUSION);
    bool of_steps = parallel->stage_method == DIT_STAGE_TPP;
    return (dit_stream){.method = parallel->stage_method,
                        .blocks = frames / parallel->block_frames,
                        .block_rows = parallel->block_frames * rows,
                        .context_rows = parallel->context_frames * rows,
                        .all_steps = facts->steps,
                        .steps = dit_range_cut(facts->steps, of_steps ? stages : 1, of_steps ? stage : 0)};
}

dit_stream_task dit_stream_first(const dit_stream *stream)
{
    return (dit_stream_task){.step = stream->steps.first};
}

/* The newest block of a turn, which takes step 0 where there are more to come. */
static dit_stream_task newest(const dit_stream *stream, int64_t turn)
{
    int64_t block = turn < stream->blocks ? turn : stream->blocks - 1;
    return (dit_stream_task){.step = turn - block, .block = block};
}

static bool next_in_queue(const dit_stream *stream, dit_stream_task *task)
{
    int64_t turn = task->step + task->block;
    if (task->block > 0 && task->step + 1 < stream->all_steps) {
        task->block--, task->step++;
        return true;
    }
    *task = newest(stream, turn + 1);
    return turn + 2 < stream->all_steps + stream->blocks;
}

bool dit_stream_next(const dit_stream *stream, dit_stream_task *task)
{
    if (stream->method == DIT_STAGE_DUALPARAL) return next_in_queue(stream, task);
    if (++task->step < stream->steps.first + stream->steps.count) return true;
    task->step = stream->steps.first;
    return ++task->block < stream->blocks;
}

dit_range dit_stream_window(const dit_stream *stream, int64_t block)
{
    int64_t again = stream->method == DIT_STAGE_DUALPARAL && block > 0 ? stream->context_rows : 0;
    return (dit_range){block * stream->block_rows - again, stream->block_rows + again};
}

int64_t dit_stream_window_most(const dit_stream *stream)
{
    return dit_stream_window(stream, stream->blocks - 1).count;
}

int64_t dit_stream_context(const dit_stream *stream, dit_stream_task task)
{
    int64_t before = task.block * stream->block_rows;
    if (stream->method == DIT_STAGE_DUALPARAL)
        return task.step > 0 && task.block + 1 < stream->blocks ? stream->context_rows : 0;
    return before < stream->context_rows ? before : stream->context_rows;
}

bool dit_stream_hands_on(const dit_stream *stream, dit_stream_task task, bool last)
{
    if (stream->method == DIT_STAGE_TPP) return !last && task.step + 1 == stream->steps.first + stream->steps.count;
    bool seen = stream->context_rows > 0 && task.block + 1 < stream->blocks; /* by the block behind, at its last step */
    return task.step + 1 < stream->all_steps || seen;
}
