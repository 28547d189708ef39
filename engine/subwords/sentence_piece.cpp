#include "engine/subwords/sentence_piece.h"

#include <exception>
#include <new>
#include <sentencepiece_processor.h>
#include <string>
#include <vector>

struct dit_sentence_piece {
    sentencepiece::SentencePieceProcessor processor;
};

/* No exception leaves this file. */
template <typename Body> static dit_status guard(Body body)
{
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return DIT_FAIL(DIT_ERR_MEMORY, "no memory for the sentencepiece library");
    } catch (const std::exception &error) {
        return DIT_FAIL(DIT_ERR_INTEGRITY, "the sentencepiece library failed: %s", error.what());
    } catch (...) {
        return DIT_FAIL(DIT_ERR_INTEGRITY, "the sentencepiece library failed");
    }
}

dit_status dit_sentence_piece_open(const char *bytes, size_t length, dit_sentence_piece **out)
{
    *out = nullptr;
    dit_sentence_piece *model = nullptr;
    dit_status st = guard([&]() {
        model = new dit_sentence_piece;
        const auto status = model->processor.LoadFromSerializedProto(std::string(bytes, length));
        if (!status.ok())
            return DIT_FAIL(DIT_ERR_INTEGRITY, "the sentencepiece library refuses the model: %s",
                            status.ToString().c_str());
        return DIT_OK;
    });
    if (st == DIT_OK)
        *out = model;
    else
        delete model;
    return st;
}

void dit_sentence_piece_close(dit_sentence_piece *model)
{
    delete model;
}

dit_status dit_sentence_piece_encode(const dit_sentence_piece *model, const char *text, size_t length,
                                     void (*take)(void *context, int32_t id), void *context)
{
    return guard([&]() {
        std::vector<std::string> pieces;
        const auto status = model->processor.Encode(std::string(text, length), &pieces);
        if (!status.ok())
            return DIT_FAIL(DIT_ERR_INTEGRITY, "the sentencepiece library refuses a text: %s",
                            status.ToString().c_str());
        /* By their text, as transformers does: what was unknown may be a piece as a whole. */
        for (const std::string &piece : pieces) take(context, model->processor.PieceToId(piece));
        return DIT_OK;
    });
}
