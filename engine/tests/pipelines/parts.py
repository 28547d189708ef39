"""What exporters of tiny pipelines share: tokenizers made small, text encoders, a VAE, a start picture, what a pipeline makes of a
call, and the arguments of an exporter.

Weights are random by PyTorch's global generator, which export.py seeds. Every tokenizer has the files of a real checkpoint
and a few hundred tokens.
"""
import argparse
import io
import json
import os
import pathlib
import shutil

import numpy as np
import torch
from diffusers import AutoencoderKL
from safetensors.torch import save_file
from transformers import (BertConfig, BertModel, BertTokenizer, CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection,
                          CLIPTokenizer, MT5Config, T5Config, T5EncoderModel, T5Tokenizer, T5TokenizerFast)

TEXT = ["a small red fox sits on a green hill", "the old house by the blue sea", "three birds over a quiet lake at dawn",
        "a bowl of fruit on a wooden table", "rain falls on the city at night", "a cat sleeps in the warm sun"] * 30
CHINESE = ["一只红色的狐狸坐在绿色的山上", "蓝色的海边有一座老房子", "雨落在夜晚的城市", "湖上有三只鸟"] * 30
WIDTH = 32


# ---- tokenizers --------------------------------------------------------------------------------------------------------
def sentence_pieces(folder, text, **more):
    import sentencepiece

    made, path = io.BytesIO(), os.path.join(folder, "spiece.model")
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(text), model_writer=made, pad_id=0, eos_id=1, unk_id=2, bos_id=-1,
                                             model_type="unigram", byte_fallback=False, minloglevel=2, **more)
    pathlib.Path(path).write_bytes(made.getvalue())  # a file of the trainer's own would name the folder
    return path


def t5_tokenizer(folder, **more):
    """T5's; with normalization_rule_name="identity" without the map of nmt_nfkc, which takes 240 KB."""
    return T5TokenizerFast(sentence_pieces(folder, TEXT, vocab_size=48, **more), extra_ids=8)


def mt5_tokenizer(folder):
    """HunyuanDiT's second: T5Tokenizer in the slow class."""
    path = sentence_pieces(folder, TEXT + CHINESE, vocab_size=80, normalization_rule_name="identity")
    return T5Tokenizer(path, extra_ids=0, legacy=True)


def bert_tokenizer(folder):
    words = sorted({word for line in TEXT for word in line.split()})
    signs = sorted({sign for line in CHINESE for sign in line} | set("abcdefghijklmnopqrstuvwxyz0123456789.,;!"))
    pieces = ["##" + sign for sign in "abcdefghijklmnopqrstuvwxyz0123456789"]
    path = os.path.join(folder, "vocab.txt")
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *signs, *pieces, *(w for w in words if len(w) > 1)]
    pathlib.Path(path).write_text("\n".join(tokens) + "\n", encoding="utf-8")
    return BertTokenizer(path, model_max_length=77)


def bytes_to_unicode():
    kept = list(range(ord("!"), ord("~") + 1)) + list(range(0xA1, 0xAD)) + list(range(0xAE, 0x100))
    extra, table = 0, {}
    for b in range(256):
        table[b] = chr(b) if b in kept else chr(256 + extra)
        extra += b not in kept
    return table


def without_ftfy(tokens):
    """CLIP's cleans texts by itself, not by ftfy, whatever is installed: so do we."""
    from transformers.models.bert.tokenization_bert import BasicTokenizer  # which later releases have not
    tokens.fix_text, tokens.nlp = None, BasicTokenizer(strip_accents=False, do_split_on_punc=False)
    return tokens


def clip_tokenizer(folder, **more):
    merges = [("a", "t</w>"), ("t", "h"), ("th", "e</w>"), ("i", "n"), ("r", "e"), ("re", "d</w>"), ("f", "o"), ("fo", "x</w>"), ("o", "n</w>")]
    letters = list(bytes_to_unicode().values())
    vocabulary = letters + [c + "</w>" for c in letters] + ["".join(m) for m in merges] + ["<|startoftext|>", "<|endoftext|>"]
    ids = {token: i for i, token in enumerate(dict.fromkeys(vocabulary))}
    pathlib.Path(folder, "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
    pathlib.Path(folder, "merges.txt").write_text("#version: 0.2\n" + "\n".join(" ".join(m) for m in merges) + "\n", encoding="utf-8")
    return without_ftfy(CLIPTokenizer(os.path.join(folder, "vocab.json"), os.path.join(folder, "merges.txt"), model_max_length=77, **more))


# ---- models ------------------------------------------------------------------------------------------------------------
def t5(tokenizer, width=WIDTH, config=T5Config, model=T5EncoderModel, **more):
    sizes = {"vocab_size": len(tokenizer) + 8, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "feed_forward_proj": "gated-gelu"}
    return model(config(d_model=width, **{**sizes, **more})).eval()


def mt5(tokenizer, width=WIDTH):
    return t5(tokenizer, width, MT5Config)


def clip(tokenizer, model=CLIPTextModel, width=WIDTH, **more):
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    sizes = {"intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    return model(CLIPTextConfig(vocab_size=len(tokenizer), hidden_size=width, **{**ends, **sizes, **more})).eval()


def projected_clip(tokenizer, width, **more):
    return clip(tokenizer, CLIPTextModelWithProjection, width, **{"projection_dim": width, **more})


def bert(tokenizer, width=WIDTH):
    return BertModel(BertConfig(vocab_size=len(tokenizer), hidden_size=width, num_hidden_layers=2, num_attention_heads=4,
                                intermediate_size=48, max_position_embeddings=77)).eval()


def vae(levels=2, **more):
    config = {"latent_channels": 4, "sample_size": 32, "norm_num_groups": 4, **more}
    return AutoencoderKL(down_block_types=["DownEncoderBlock2D"] * levels, up_block_types=["UpDecoderBlock2D"] * levels,
                         **{"block_out_channels": [8, 16] if levels == 2 else [8] * levels, **config}).eval()


def shake(model, seed):
    """Makes norms, biases and gates non-trivial."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim < 2:
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return model


# ---- runs --------------------------------------------------------------------------------------------------------------
def start_picture():
    y, x = np.mgrid[0:40, 0:56]
    return np.stack([x * 4, y * 6, (x + y) * 2], axis=-1).astype(np.uint8)


def run(pipe, call, seed, **more):
    """Latents as planes, and the picture, of one call each."""
    pipe.set_progress_bar_config(disable=True)

    def once(output):
        with torch.no_grad():
            return pipe(**call, **more, generator=torch.Generator("cpu").manual_seed(seed), output_type=output)[0]

    latents = once("latent")
    if hasattr(pipe, "_unpack_latents"):
        latents = pipe._unpack_latents(latents, call["height"], call["width"], pipe.vae_scale_factor)
    picture = np.stack([np.asarray(p) for p in once("pil")])
    return {"latents": latents if latents.ndim == 5 else latents[:, :, None], "image_u8": torch.from_numpy(picture)}


def save(tensors, *path, **dtypes):
    """As float32, but those whose dtype is named."""
    kept = {k: v.detach().to(dtypes.get(k, torch.float32)).contiguous() for k, v in tensors.items()}
    save_file(kept, os.path.join(*path))


def ids(tokenizer, text, length):
    return tokenizer(text, padding="max_length", max_length=length, truncation=True, return_tensors="pt").input_ids


def link(part, folder):
    """The tokenizer's files are those of its `home`: links to them beside this script, else copies."""
    shutil.rmtree(folder)
    if pathlib.Path(__file__).resolve().parent in folder.resolve().parents:
        folder.symlink_to(os.path.relpath(part.home, folder.parent.resolve()))
    else:
        shutil.copytree(part.home, folder)


def watch_ids(pipe, seen):
    """Keeps the ids that the text encoders first get: pipelines clean and wrap prompts. Returns what ends it."""
    def hook(part, key):
        def note(_, args, kwargs):
            seen.setdefault(key, kwargs.get("input_ids", args[0] if args else None))
        return part.register_forward_pre_hook(note, with_kwargs=True)

    names = [name for name in pipe.components if name.startswith("text_encoder") and getattr(pipe, name) is not None]
    hooks = [hook(getattr(pipe, name), name.replace("text_encoder", "input_ids")) for name in names]
    return lambda: [h.remove() for h in hooks]


def pairs(items):
    """KEY=VALUE, the values as JSON."""
    return {key: json.loads(value) for key, _, value in (item.partition("=") for item in items)}


def parser(doc, kinds, prompt):
    """Takes the arguments that every exporter of one pipeline has. Weights are those of seed 0, by one thread."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    made = argparse.ArgumentParser(description=doc.partition("\n\n")[0])
    made.add_argument("kind", choices=kinds)
    made.add_argument("out")
    made.add_argument("--seed", type=int, default=42)
    made.add_argument("--prompt", default=prompt)
    made.add_argument("--set", action="append", default=[], help="KEY=VALUE of the call, as JSON")
    return made


def call_of(options, calls, width):
    """The arguments of the run: the usual ones, those of the kind, those that were set."""
    usual = {"prompt": options.prompt, "height": 32, "width": width, "num_inference_steps": 4}
    return {**usual, **calls[options.kind], **pairs(options.set), "seed": options.seed}


def save_run(made, call, out):
    """expected.safetensors, whose pictures hold all levels, and call.json."""
    save(made, out, "expected.safetensors", image_u8=torch.float16)
    pathlib.Path(out, "call.json").write_text(json.dumps(call, indent=1) + "\n", encoding="utf-8")


def clips(made):
    return torch.from_numpy(np.stack([np.stack([np.asarray(frame) for frame in clip]) for clip in made]))
