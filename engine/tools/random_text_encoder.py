#!/usr/bin/env python3
"""Writes a T5 encoder of random weights in bf16, in shards with an index, as transformers saves one: to time an encoder
of a real size without its download. Needs numpy alone.

    engine/tools/random_text_encoder.py OUT                 # the size of T5 v1.1 XXL: 4.8 billion parameters, 9.5 GB
    engine/tools/random_text_encoder.py OUT --layers 2      # a piece of it

The weights are normal with variance 1/fan_in; equal seeds give equal files.
"""
import argparse
import json
import os
import struct

import numpy


def to_bf16(values):
    """Rounds fp32 to nearest even."""
    bits = values.view(numpy.uint32)
    return ((bits + (0x7FFF + ((bits >> 16) & 1))) >> 16).astype(numpy.uint16)


def normal(generator, shape):
    values = generator.standard_normal(shape, dtype=numpy.float32)
    values *= numpy.float32(shape[-1] ** -0.5)
    return to_bf16(values)


def layer(generator, index, args):
    """Parameters of a block, by name."""
    prefix = f"encoder.block.{index}.layer"
    inner, model = args.heads * args.head_dim, args.width
    shapes = {f"0.SelfAttention.{name}": (inner, model) for name in "qkv"}
    shapes.update({"0.SelfAttention.o": (model, inner), "1.DenseReluDense.wi_0": (args.inner, model),
                   "1.DenseReluDense.wi_1": (args.inner, model), "1.DenseReluDense.wo": (model, args.inner)})
    tensors = {f"{prefix}.{name}.weight": normal(generator, shape) for name, shape in shapes.items()}
    for norm in (0, 1):
        tensors[f"{prefix}.{norm}.layer_norm.weight"] = to_bf16(numpy.ones(model, numpy.float32))
    if index == 0:
        name = f"{prefix}.0.SelfAttention.relative_attention_bias.weight"
        tensors[name] = normal(generator, (32, args.heads))
    return tensors


def write(path, tensors):
    header, offset = {}, 0
    for name, data in tensors.items():
        header[name] = {"dtype": "BF16", "shape": list(data.shape), "data_offsets": [offset, offset + data.nbytes]}
        offset += data.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for data in tensors.values():
            file.write(data.tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    for name, value in (("layers", 24), ("width", 4096), ("heads", 64), ("head_dim", 64), ("inner", 10240),
                        ("vocabulary", 32128), ("seed", 1)):
        parser.add_argument("--" + name, type=int, default=value)
    args = parser.parse_args()
    generator = numpy.random.default_rng(args.seed)
    os.makedirs(args.out, exist_ok=True)
    config = {"architectures": ["T5EncoderModel"], "model_type": "t5", "d_model": args.width, "d_kv": args.head_dim,
              "num_heads": args.heads, "d_ff": args.inner, "num_layers": args.layers, "vocab_size": args.vocabulary,
              "feed_forward_proj": "gated-gelu", "torch_dtype": "bfloat16"}
    with open(os.path.join(args.out, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=2)
    places = {}
    for index in range(args.layers + 1):
        if index < args.layers:
            tensors = layer(generator, index, args)
        else:
            tensors = {"shared.weight": normal(generator, (args.vocabulary, args.width)),
                       "encoder.final_layer_norm.weight": to_bf16(numpy.ones(args.width, numpy.float32))}
        shard = f"model-{index + 1:05d}-of-{args.layers + 1:05d}.safetensors"
        write(os.path.join(args.out, shard), tensors)
        places.update(dict.fromkeys(tensors, shard))
    with open(os.path.join(args.out, "model.safetensors.index.json"), "w", encoding="utf-8") as file:
        json.dump({"metadata": {}, "weight_map": places}, file, indent=2)


if __name__ == "__main__":
    main()
