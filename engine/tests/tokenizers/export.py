#!/usr/bin/env python3
"""Makes the small tokenizers of this folder, what transformers makes of texts, and compares the engine with it.

    export.py make                       trains all tokenizers again and writes their folders
    export.py golden                     writes texts.json, and ids.CLASS.json of every folder
    export.py compare ENGINE [--count 2000] [--seed 1] [--folders FOLDER...]
                                         generates texts and compares ids, rows and masks of `ENGINE --tokenize`
    export.py parts ENGINE [--count 2000] [--seed 1]
                                         compares kinds of normalizers, pre_tokenizers and models that no folder has
    export.py prompts ENGINE [--count 2000] [--seed 1]
                                         compares rows and masks of pipelines: their lengths, templates and cleaning

The folders have the files and the tokens of real checkpoints, with a few hundred to a few thousand tokens of their own.
Made with transformers 4.51.3, tokenizers 0.21.1, sentencepiece 0.2.0, protobuf 5.29.4; ftfy 6.3.1 is hidden from CLIP's
tokenizer, and cleans the prompts of Wan. `ci/deps.sh tokenizers` makes that environment.
"""
import argparse
import collections
import html
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unicodedata

HERE = os.path.dirname(os.path.abspath(__file__))
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# (folder, class as model_index.json names it): length of the rows that are compared
CASES = {
    ("clip", "CLIPTokenizer"): 77,
    ("clip_bang", "CLIPTokenizer"): 77,
    ("clip_fast", "CLIPTokenizerFast"): 77,
    ("t5", "T5Tokenizer"): 120,
    ("t5", "T5TokenizerFast"): 256,
    ("t5_new", "T5Tokenizer"): 120,
    ("t5_fast", "T5TokenizerFast"): 256,
    ("umt5", "T5TokenizerFast"): 512,
    ("mt5", "T5Tokenizer"): 256,
    ("bert", "BertTokenizer"): 77,
    ("bert_fast", "BertTokenizerFast"): 77,
    ("byt5", "ByT5Tokenizer"): 256,
    ("byt5_glyph", "ByT5Tokenizer"): 256,
    ("gemma", "GemmaTokenizerFast"): 256,
    ("llama", "LlamaTokenizerFast"): 351,
    ("mistral", "PreTrainedTokenizerFast"): 128,
    ("qwen2", "Qwen2Tokenizer"): 128,
    ("qwen2_fast", "Qwen2TokenizerFast"): 128,
}

# ---- text to train on --------------------------------------------------------------------------------------------------
NOUNS = """fox river mountain lantern city street child dog cat forest ocean castle bridge portrait painting photograph
astronaut robot dragon garden window mirror train station harbor desert storm sunrise sunset moon star cloud snow rain
flower tree leaf bird horse boat car bicycle village temple tower library kitchen table chair cup bottle book letter
camera lens light shadow color texture pattern glass metal wood stone water fire smoke dust""".split()
ADJECTIVES = """red golden ancient quiet bright dark misty vivid soft sharp detailed cinematic photorealistic abstract
surreal wooden frozen burning floating tiny enormous elegant rusty broken glowing transparent colorful monochrome""".split()
VERBS = """walking running standing holding watching crossing painting building reading flying swimming dreaming waiting
looking turning rising falling shining drifting resting""".split()
OTHERS = """der schnelle braune Fuchs springt über den faulen Hund
le renard brun saute par-dessus le chien paresseux dans la forêt enchantée
el zorro marrón salta sobre el perro perezoso mañana por la tarde
быстрая лиса прыгает через ленивую собаку на закате
η γρήγορη αλεπού πηδάει πάνω από το τεμπέλικο σκυλί ΣΟΦΟΣ
الثعلب السريع يقفز فوق الكلب الكسول
השועל המהיר קופץ מעל הכלב העצלן
तेज़ लोमड़ी आलसी कुत्ते के ऊपर कूदती है
สุนัขจิ้งจอกกระโดดข้ามสุนัขขี้เกียจ
一只红色的狐狸在雪地里奔跑，远处是群山和落日。
城市的夜景，霓虹灯倒映在湿漉漉的街道上，电影质感，高清。
赤い狐が雪の中を走っている。夕日がとても美しいです。
눈 속을 달리는 붉은 여우와 아름다운 저녁노을
con cáo nâu nhanh nhẹn nhảy qua con chó lười biếng
İstanbul'da güneş batarken ışıklar şehri aydınlatıyor""".split("\n")


def corpus(seed, lines):
    """Lines of text, by seed."""
    r = random.Random(seed)
    out = []
    for _ in range(lines):
        words = []
        for _ in range(r.randint(3, 14)):
            words.append(r.choice(r.choice([NOUNS, NOUNS, ADJECTIVES, VERBS, ["a", "the", "of", "in", "with", "and"]])))
        line = " ".join(words)
        line = line.capitalize() + r.choice([".", ",", "!", "", "; 4k, 8k", " (f/1.8, 35mm)", "'s", " -- it's 2024"])
        out.append(line if r.random() < 0.6 else r.choice(OTHERS))
    return out


# ---- texts to try ------------------------------------------------------------------------------------------------------
SCRIPTS = [(0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x24F), (0x370, 0x3FF), (0x400, 0x4FF), (0x531, 0x586), (0x5D0, 0x5EA),
           (0x621, 0x64A), (0x904, 0x939), (0xE01, 0xE30), (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1E00, 0x1EFF),
           (0x2C60, 0x2C7F), (0x3041, 0x3096), (0x30A1, 0x30FA), (0x4E00, 0x9FA5), (0xAC00, 0xD7A3), (0xFF01, 0xFF5E),
           (0x1D400, 0x1D7FF), (0x20000, 0x2A6D6)]
MARKS = [(0x300, 0x36F), (0x591, 0x5BD), (0x64B, 0x652), (0x93E, 0x94D), (0x20D0, 0x20DC), (0xFE00, 0xFE0F)]
SIGNS = [(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E), (0xA1, 0xBF), (0x2010, 0x2027), (0x2030, 0x205E),
         (0x20A0, 0x20BF), (0x2100, 0x214F), (0x2150, 0x218B), (0x2190, 0x21FF), (0x2200, 0x22FF), (0x2460, 0x24FF),
         (0x2500, 0x25FF), (0x3001, 0x301F), (0x1F100, 0x1F16F)]
EMOJI = [(0x1F300, 0x1F5FF), (0x1F600, 0x1F64F), (0x1F680, 0x1F6C5), (0x1F900, 0x1F9FF), (0x2600, 0x27BF)]
SEQUENCES = ["👨‍👩‍👧‍👦", "👩🏽‍🚀", "🏳️‍🌈", "🇩🇪", "🇯🇵🇫🇷", "❤️", "☃︎", "👍🏿", "1️⃣", "ﬁne ﬀ ﬃ", "ǅ Ǆ ǆ", "İİ ıI", "ΣΑΣ ΣΟΦΟΣ Σ",
             "ſtraße ẞ ß", "Å Å Å", "e\u0301 é", "Z̸̡̛̗͉̽a͓l̷g̶̈́o", "K Ω ℵ", "½ ² ³ ₂ Ⅷ ⅷ", "㎏ ㌔ ℡ ﷺ", "ｈｅｌｌｏ　ｗｏｒｌｄ", "한국어",
             "각", "नमस्ते", "صَبَاح", "שָׁלוֹם", "\u202eabc\u202c", "a\u00adb", "a\u200bb\u200cc\u200dd\u2060e\ufefff",
             "\ufffd", "￼", "don't it's WE'LL I'd they've you're 'tis 'S 'ſ", "don’t ‘quoted’ “double”", "AT&T R&D &amp; &lt;b&gt;",
             "http://example.org/a_b?c=d&e=%20f#g", "foo_bar-baz@qux.com", "C:\\path\\file.txt", "x=1;y=[2,3];z={'a':4}",
             "3.14159 1,000,000 12345678901234567890 0x1F", "(((nested))) ((weights:1.3))", "---===___***", "....", "!!!!!",
             "\u2581\u2581a \u2581b", "\u2581", "<0x41>", "##ing", "</w>", "Ġhello", "[UNK][CLS]", "<s></s>"]
BLANKS = [" ", "  ", "\t", "\n", "\r\n", "\n\n", "\u00a0", "\u2003", "\u3000", "\u2028", "\u2029", "\u0085", "\u180e", "\u200b",
          "\u1680", "\u205f", "\x0b", "\x0c", "\x1c", "\x1f"]
SPECIAL = ["<|startoftext|>", "<|endoftext|>", "<|STARTOFTEXT|>", "<pad>", "</s>", "<unk>", "<extra_id_0>", "<extra_id_99>",
           "<extra_id_299>", "[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]", "[mask]", "<|begin_of_text|>", "<|eot_id|>",
           "<|start_header_id|>", "<|end_header_id|>", "<|im_start|>", "<|im_end|>", "<|vision_pad|>", "<image>", "!", "<s>"]


def point(r, ranges):
    """A code point that Unicode 9 already had: every library knows it."""
    while True:
        low, high = r.choice(ranges)
        c = chr(r.randint(low, high))
        if unicodedata.category(c) not in ("Cn", "Cs") and is_old(c):
            return c


def is_old(c):
    newer = 0x1F900 <= ord(c) <= 0x1FAFF or 0x10C0 <= ord(c) <= 0x10FF or 0x1F16C <= ord(c) <= 0x1F16F
    return not newer or unicodedata.ucd_3_2_0.category(c) != "Cn"


def some(r, ranges, most):
    return "".join(point(r, ranges) for _ in range(r.randint(1, most)))


def part(r):
    kind = r.randrange(15)
    if kind < 5:
        return " ".join(r.choice(r.choice([NOUNS, ADJECTIVES, VERBS])) for _ in range(r.randint(1, 8)))
    if kind == 5:
        return r.choice(OTHERS)
    if kind == 6:
        return some(r, SCRIPTS, 12)
    if kind == 7:
        script = r.choice(SCRIPTS)
        return " ".join(some(r, [script], 8) for _ in range(r.randint(1, 4)))
    if kind == 8:
        return "".join(c + point(r, MARKS) if r.random() < 0.5 else c for c in some(r, SCRIPTS, 8))
    if kind == 9:
        return some(r, SIGNS, 6)
    if kind == 10:
        return some(r, EMOJI, 4)
    if kind == 11:
        return r.choice(SEQUENCES)
    if kind == 12:
        return r.choice(SPECIAL)
    if kind == 13:
        return "".join(chr(r.choice([*range(1, 32), 127, *range(128, 160), 0xAD, 0x200E, 0xFEFF, 0xE000])) for _ in range(r.randint(1, 3)))
    return "".join(r.choice("0123456789") for _ in range(r.randint(1, 12)))


def text(r):
    kind = r.randrange(40)
    if kind == 0:
        return r.choice(["", " ", "   ", "\n", "\t \n", "\u3000"])
    if kind == 1:
        return r.choice(["a", "ab", "é", "好", "x1", "!?", "fox", "\u0301"]) * r.randint(200, 1500)
    if kind == 2:
        return "".join(r.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(r.randint(100, 600)))
    if kind == 3:
        return some(r, r.choice([SCRIPTS, EMOJI, SIGNS]), 300)
    pieces = []
    for _ in range(r.randint(1, 10)):
        pieces.append(part(r))
        if r.random() < 0.8:
            pieces.append(r.choice(BLANKS) if r.random() < 0.25 else " ")
    joined = "".join(pieces)
    return joined.upper() if r.random() < 0.08 else joined


def texts(seed, count):
    r = random.Random(seed)
    return [text(r) for _ in range(count)]


# ---- making tokenizers -------------------------------------------------------------------------------------------------
def write(folder, name, value, pretty=True):
    os.makedirs(os.path.join(HERE, folder), exist_ok=True)
    path = os.path.join(HERE, folder, name)
    with open(path, "w", encoding="utf-8", newline="\n") as f:
        if isinstance(value, str):
            f.write(value)
        else:
            json.dump(value, f, ensure_ascii=False, indent=2 if pretty else None)
            f.write("\n")


def token(content, **flags):
    base = {"content": content, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
    return {**base, **flags}


def bytes_to_unicode():
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {b: chr(b) for b in kept}
    for n, b in enumerate(b for b in range(256) if b not in table):
        table[b] = chr(256 + n)
    return table


def train_clip(lines, count):
    """Merges of words with </w>, the most frequent pair first, ties by the pair itself."""
    import regex
    table = bytes_to_unicode()
    words = collections.Counter()
    for line in lines:
        for word in regex.findall(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+", line.lower()):
            spelled = [table[b] for b in word.encode()]
            spelled[-1] += "</w>"
            words[tuple(spelled)] += 1
    merges = []
    for _ in range(count):
        pairs = collections.Counter()
        for word, times in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += times
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p))
        merges.append(best)
        after = collections.Counter()
        for word, times in words.items():
            out, i = [], 0
            while i < len(word):
                joined = i + 1 < len(word) and (word[i], word[i + 1]) == best
                out.append(word[i] + word[i + 1] if joined else word[i])
                i += 2 if joined else 1
            after[tuple(out)] += times
        words = after
    alphabet = list(table.values())
    tokens = alphabet + [c + "</w>" for c in alphabet] + ["".join(m) for m in merges] + ["<|startoftext|>", "<|endoftext|>"]
    return {t: i for i, t in enumerate(tokens)}, merges


def make_clip(folder, count, pad):
    vocab, merges = train_clip(corpus(1, 3000), count)
    start, end = token("<|startoftext|>", normalized=True), token("<|endoftext|>", normalized=True)
    added = {str(vocab["<|startoftext|>"]): start, str(vocab["<|endoftext|>"]): token("<|endoftext|>")}
    if pad == "!":
        added = {str(vocab["!"]): token("!"), **added}
    write(folder, "vocab.json", vocab, pretty=False)
    write(folder, "merges.txt", "#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges))
    write(folder, "special_tokens_map.json", {
        "bos_token": {k: v for k, v in start.items() if k != "special"},
        "eos_token": {k: v for k, v in end.items() if k != "special"}, "pad_token": pad,
        "unk_token": {k: v for k, v in end.items() if k != "special"}})
    write(folder, "tokenizer_config.json", {
        "add_prefix_space": False, "added_tokens_decoder": added, "bos_token": "<|startoftext|>",
        "clean_up_tokenization_spaces": True, "do_lower_case": True, "eos_token": "<|endoftext|>", "errors": "replace",
        "model_max_length": 77, "pad_token": pad, "tokenizer_class": "CLIPTokenizer", "unk_token": "<|endoftext|>"})


def train_spiece(path, size, rule, seed, **more):
    import sentencepiece
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus(seed, 4000)), model_writer=model, vocab_size=size, model_type="unigram",
        pad_id=0, eos_id=1, unk_id=2, bos_id=-1, num_threads=1, hard_vocab_limit=False, minloglevel=2,
        **{"character_coverage": 0.9995, **more}, **({"normalization_rule_tsv": rule} if os.path.exists(rule) else {"normalization_rule_name": rule}))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(model.getvalue())


def t5_config(folder, extra, name, first, **more):
    extras = [f"<extra_id_{i}>" for i in range(extra)]
    added = {"0": token("<pad>"), "1": token("</s>"), "2": token("<unk>")}
    for i in range(extra):
        added[str(first + extra - 1 - i)] = token(f"<extra_id_{i}>", lstrip=True, rstrip=True)
    write(folder, "tokenizer_config.json", {
        "add_prefix_space": True, "added_tokens_decoder": dict(sorted(added.items(), key=lambda x: int(x[0]))),
        "additional_special_tokens": extras, "clean_up_tokenization_spaces": True, "eos_token": "</s>", "extra_ids": extra,
        "legacy": True, "model_max_length": 512, "pad_token": "<pad>", "sp_model_kwargs": {}, "tokenizer_class": name,
        "unk_token": "<unk>", **more})
    write(folder, "special_tokens_map.json", {
        "additional_special_tokens": extras, "eos_token": token("</s>"), "pad_token": token("<pad>"), "unk_token": token("<unk>")})


def fast_from(folder, source, cls, extra):
    """tokenizer.json as transformers converts a slow tokenizer, without the files of the slow one."""
    import transformers
    slow = transformers.T5Tokenizer.from_pretrained(os.path.join(HERE, source))
    with tempfile.TemporaryDirectory() as saved:
        slow.save_pretrained(saved)
        fast = getattr(transformers, cls).from_pretrained(saved, from_slow=True)
        os.makedirs(os.path.join(HERE, folder), exist_ok=True)
        fast.backend_tokenizer.save(os.path.join(HERE, folder, "tokenizer.json"), pretty=False)
    # Without spiece.model there is nothing to convert: tokenizer.json is read.
    config = json.load(open(os.path.join(HERE, source, "tokenizer_config.json"), encoding="utf-8"))
    config.pop("add_prefix_space")
    write(folder, "tokenizer_config.json", config)
    if source != folder:
        shutil.copy(os.path.join(HERE, source, "special_tokens_map.json"), os.path.join(HERE, folder, "special_tokens_map.json"))


RULES = "FB01\t66 69\nFF0C\t2C\nFF01\t21\nA0\t20\n3000\t20\nBD\t31 2F 32\nE9\t65 301\n212B\tC5\n9\t20\nA\t20\nD\t20\n7F\t\nAD\t\n200B\t20\n"


def make_t5():
    import sentencepiece
    path = os.path.join(HERE, "t5", "spiece.model")
    train_spiece(path, 1200, "nmt_nfkc", 2)
    size = sentencepiece.SentencePieceProcessor(model_file=path).get_piece_size()
    t5_config("t5", 100, "T5Tokenizer", size)
    fast_from("t5_fast", "t5", "T5TokenizerFast", 100)
    with tempfile.TemporaryDirectory() as work:
        rule = os.path.join(work, "rules.tsv")
        open(rule, "w").write(RULES)
        for folder, count, seed in (("t5_new", 700, 3), ("umt5", 1600, 4), ("mt5", 900, 5)):
            train_spiece(os.path.join(HERE, folder, "spiece.model"), count, rule, seed,
                         user_defined_symbols=["▁<extra>", "<sep>"] if folder == "mt5" else [])
    for folder, extra, more in (("t5_new", 0, {"legacy": False}), ("umt5", 300, {}), ("mt5", 0, {})):
        path = os.path.join(HERE, folder, "spiece.model")
        t5_config(folder, extra, "T5Tokenizer", sentencepiece.SentencePieceProcessor(model_file=path).get_piece_size(), **more)
    # The older form of a folder, as HunyuanDiT's: no added_tokens_decoder.
    write("mt5", "tokenizer_config.json", {
        "eos_token": "</s>", "extra_ids": 0, "model_max_length": 1000000000000000019884624838656, "pad_token": "<pad>",
        "tokenizer_class": "T5Tokenizer", "unk_token": "<unk>", "additional_special_tokens": None})
    write("mt5", "special_tokens_map.json", {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"})
    fast_from("umt5", "umt5", "T5TokenizerFast", 300)
    os.remove(os.path.join(HERE, "umt5", "spiece.model"))


def make_bert():
    import tokenizers
    import transformers
    trained = tokenizers.BertWordPieceTokenizer(lowercase=True)
    trained.train_from_iterator(corpus(6, 4000), vocab_size=1500, show_progress=False, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    vocab = trained.get_vocab()
    write("bert", "vocab.txt", "".join(t + "\n" for t in sorted(vocab, key=vocab.get)))
    config = {"cls_token": "[CLS]", "do_lower_case": True, "do_basic_tokenize": True, "mask_token": "[MASK]", "model_max_length": 77,
              "name_or_path": "bert", "never_split": None, "pad_token": "[PAD]", "sep_token": "[SEP]", "strip_accents": None,
              "tokenize_chinese_chars": True, "tokenizer_class": "BertTokenizer", "unk_token": "[UNK]",
              "added_tokens_decoder": {str(vocab[t]): token(t) for t in ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]}}
    write("bert", "tokenizer_config.json", config)
    write("bert", "special_tokens_map.json", {k: config[k] for k in ("cls_token", "mask_token", "pad_token", "sep_token", "unk_token")})
    fast = transformers.BertTokenizerFast(vocab_file=os.path.join(HERE, "bert", "vocab.txt"))
    os.makedirs(os.path.join(HERE, "bert_fast"), exist_ok=True)
    fast.backend_tokenizer.save(os.path.join(HERE, "bert_fast", "tokenizer.json"), pretty=False)
    write("bert_fast", "tokenizer_config.json", {**config, "tokenizer_class": "BertTokenizerFast"})


LLAMA = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = LLAMA.replace(r"\p{N}{1,3}", r"\p{N}")


def train_bytes(pattern, size, seed, **model):
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    t = Tokenizer(models.BPE(**model))
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=size, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    t.train_from_iterator(corpus(seed, 4000), trainer)
    return t


def make_llama():
    from tokenizers import AddedToken, processors
    t = train_bytes(LLAMA, 1800, 7, ignore_merges=True)
    names = ["<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>", "<|reserved_special_token_1|>",
             "<|reserved_special_token_2|>", "<|reserved_special_token_3|>", "<|start_header_id|>", "<|end_header_id|>",
             "<|reserved_special_token_4|>", "<|eot_id|>", *(f"<|reserved_special_token_{i}|>" for i in range(5, 20)), "<image>", "<pad>"]
    t.add_special_tokens([AddedToken(n, special=True, normalized=False) for n in names])
    begin = t.token_to_id("<|begin_of_text|>")
    t.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=True),
        processors.TemplateProcessing(single="<|begin_of_text|> $A", pair="<|begin_of_text|> $A <|begin_of_text|>:1 $B:1",
                                      special_tokens=[("<|begin_of_text|>", begin)])])
    os.makedirs(os.path.join(HERE, "llama"), exist_ok=True)
    t.save(os.path.join(HERE, "llama", "tokenizer.json"), pretty=False)
    write("llama", "tokenizer_config.json", {
        "added_tokens_decoder": {str(t.token_to_id(n)): token(n) for n in names}, "bos_token": "<|begin_of_text|>",
        "clean_up_tokenization_spaces": True, "eos_token": "<|end_of_text|>", "legacy": True,
        "model_input_names": ["input_ids", "attention_mask"], "model_max_length": 8192, "pad_token": "<pad>",
        "padding_side": "right", "tokenizer_class": "LlamaTokenizer", "unk_token": "<unk>", "use_default_system_prompt": False})
    write("llama", "special_tokens_map.json", {"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>", "pad_token": "<pad>"})


GEMMA = [token("<pad>"), token("<eos>"), token("<bos>"), token("<unk>"), token("<mask>", special=False),
         *(token(f"<unused{i}>", special=False) for i in range(4)), token("<start_of_turn>"), token("<end_of_turn>"),
         *(token("\n" * i, special=False) for i in range(1, 6)), *(token("▁" * i, special=False) for i in range(2, 6)),
         token("<table>", special=False), token("</table>", special=False)]


def make_gemma():
    """As Gemma 2's: a normaliser that makes blanks U+2581, words that no splitter parts, tokens of bytes for rare characters."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    t.train_from_iterator(corpus(11, 4000), trainers.BpeTrainer(vocab_size=900, limit_alphabet=150, show_progress=False))
    model = json.loads(t.to_str())["model"]
    front = [*(n["content"] for n in GEMMA), *(f"<0x{b:02X}>" for b in range(256))]
    ids = {piece: i for i, piece in enumerate([*front, *(p for p in sorted(model["vocab"], key=model["vocab"].get) if p not in front)])}
    t = Tokenizer(models.BPE(ids, [tuple(m) for m in model["merges"]], unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made = json.loads(t.to_str())
    made["normalizer"] = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    made["pre_tokenizer"] = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
    made["post_processor"] = json.loads(processors.TemplateProcessing(
        single="<bos> $A", pair="<bos> $A <bos>:1 $B:1", special_tokens=[("<bos>", ids["<bos>"])]).__getstate__())
    made["decoder"] = json.loads(decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]).__getstate__())
    made["added_tokens"] = [{"id": ids[n["content"]], **n} for n in GEMMA]
    write("gemma", "tokenizer.json", made, pretty=False)
    write("gemma", "tokenizer_config.json", {
        "add_bos_token": True, "add_eos_token": False, "added_tokens_decoder": {str(ids[n["content"]]): n for n in GEMMA},
        "additional_special_tokens": ["<start_of_turn>", "<end_of_turn>"], "bos_token": "<bos>", "clean_up_tokenization_spaces": False,
        "eos_token": "<eos>", "model_max_length": 1000000000000000019884624838656, "pad_token": "<pad>",
        "sp_model_kwargs": {}, "spaces_between_special_tokens": False, "tokenizer_class": "GemmaTokenizer", "unk_token": "<unk>",
        "use_default_system_prompt": False})


def make_mistral():
    """As Mistral Small 3's: a template has all special tokens, and padding stands on the left."""
    from tokenizers import AddedToken, processors
    t = train_bytes(LLAMA, 1200, 10)
    names = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]", "<pad>", "[IMG]", "[IMG_BREAK]", "[IMG_END]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"]
    t.add_special_tokens([AddedToken(n, special=True, normalized=False) for n in names])
    t.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", t.token_to_id("<s>"))])
    os.makedirs(os.path.join(HERE, "mistral"), exist_ok=True)
    t.save(os.path.join(HERE, "mistral", "tokenizer.json"), pretty=False)
    write("mistral", "tokenizer_config.json", {
        "added_tokens_decoder": {str(t.token_to_id(n)): token(n) for n in names}, "bos_token": "<s>", "clean_up_tokenization_spaces": False,
        "eos_token": "</s>", "model_max_length": 131072, "pad_token": "<pad>", "padding_side": "left",
        "tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "<unk>"})


def make_qwen2():
    from tokenizers import AddedToken, normalizers, processors
    t = train_bytes(QWEN, 1500, 8)
    t.normalizer = normalizers.NFC()
    t.post_processor = processors.ByteLevel(add_prefix_space=False, use_regex=False, trim_offsets=False)
    model = json.loads(t.to_str())["model"]
    names = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>"]
    t.add_special_tokens([AddedToken(n, special=True, normalized=False) for n in names])
    config = {"add_prefix_space": False, "added_tokens_decoder": {str(t.token_to_id(n)): token(n) for n in names},
              "additional_special_tokens": names[1:3], "bos_token": None, "clean_up_tokenization_spaces": False,
              "eos_token": "<|im_end|>", "errors": "replace", "model_max_length": 131072, "pad_token": "<|endoftext|>",
              "split_special_tokens": False, "tokenizer_class": "Qwen2Tokenizer", "unk_token": None}
    write("qwen2", "vocab.json", model["vocab"], pretty=False)
    merges = [m if isinstance(m, str) else " ".join(m) for m in model["merges"]]
    write("qwen2", "merges.txt", "#version: 0.2\n" + "".join(m + "\n" for m in merges))
    write("qwen2", "tokenizer_config.json", config)
    os.makedirs(os.path.join(HERE, "qwen2_fast"), exist_ok=True)
    t.save(os.path.join(HERE, "qwen2_fast", "tokenizer.json"), pretty=False)
    write("qwen2_fast", "tokenizer_config.json", config)


def make_clip_fast():
    import transformers
    fast = transformers.CLIPTokenizerFast.from_pretrained(os.path.join(HERE, "clip"))
    os.makedirs(os.path.join(HERE, "clip_fast"), exist_ok=True)
    fast.backend_tokenizer.save(os.path.join(HERE, "clip_fast", "tokenizer.json"), pretty=False)
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        shutil.copy(os.path.join(HERE, "clip", name), os.path.join(HERE, "clip_fast", name))


def make_byt5():
    """As google/byt5-small's, in the older form that only names its tokens; and with tokens of colours and fonts behind, as Glyph-ByT5 has them."""
    roles = {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    write("byt5", "tokenizer_config.json", {**roles, "extra_ids": 125, "model_max_length": 1000000000000000019884624838656, "tokenizer_class": "ByT5Tokenizer"})
    extras = [f"<extra_id_{i}>" for i in range(125)]
    colours, fonts = [f"<color-{i}>" for i in range(8)], [f"<en-font-{i}>" for i in range(8)]
    added = {"0": token("<pad>", lstrip=True, rstrip=True), "1": token("</s>", lstrip=True, rstrip=True), "2": token("<unk>", lstrip=True, rstrip=True)}
    added.update({str(259 + i): token(t) for i, t in enumerate([*extras, *colours, *fonts])})
    write("byt5_glyph", "tokenizer_config.json", {
        "added_tokens_decoder": added, "additional_special_tokens": extras, "clean_up_tokenization_spaces": False, **roles, "extra_ids": 0,
        "model_max_length": 1000000000000000019884624838656, "tokenizer_class": "ByT5Tokenizer"})


def make_seed():
    """A small model to begin fuzzing with."""
    with tempfile.TemporaryDirectory() as work:
        rule = os.path.join(work, "rules.tsv")
        open(rule, "w").write(RULES)
        train_spiece(os.path.join(HERE, "..", "corpus_spiece", "tiny.model"), 260, rule, 9, character_coverage=0.98)


def make():
    make_seed()
    for folder, _ in CASES:
        shutil.rmtree(os.path.join(HERE, folder), ignore_errors=True)
    make_clip("clip", 900, "<|endoftext|>")
    make_clip("clip_bang", 150, "!")
    make_clip_fast()
    make_t5()
    make_bert()
    make_byt5()
    make_llama()
    make_gemma()
    make_mistral()
    make_qwen2()


# ---- what transformers does --------------------------------------------------------------------------------------------
def load(folder, name):
    import transformers
    sys.modules["ftfy"] = None  # CLIP's tokenizer then does without
    return getattr(transformers, name).from_pretrained(os.path.join(HERE, folder))


def golden():
    prompts = texts(20, 100)
    write(".", "texts.json", prompts)
    for folder, name in CASES:
        tokenizer = load(folder, name)
        lines = []
        for prompt in prompts:
            (ids, row, mask), = answers(tokenizer, 12, [prompt])
            # all ids; a row of 12; how many of them are no padding
            lines.append(json.dumps([ids, row, sum(mask)], separators=(",", ":")))
        write(folder, f"ids.{name}.json", '{"length": 12, "texts": [\n%s\n]}\n' % ",\n".join(lines))


# ---- beside the engine -------------------------------------------------------------------------------------------------
def answers(tokenizer, length, prompts):
    """ids, rows and masks of every text."""
    for prompt in prompts:
        row = tokenizer(prompt, padding="max_length", max_length=length, truncation=True)
        ids, mask = row["input_ids"], row["attention_mask"]
        if not ids:  # transformers leaves a row without ids alone; no encoder could read it
            ids, mask = [tokenizer.pad_token_id] * length, [0] * length
        yield tokenizer(prompt)["input_ids"], ids, mask


def engine_rows(engine, folder, name, prompts, length=None):
    asked = {"prompts": prompts, "class": name, **({"length": length} if length else {})}
    answer = subprocess.run([engine, "--tokenize", os.path.join(HERE, folder), "--prompts", "/dev/stdin"],
                            input=json.dumps(asked).encode(), stdout=subprocess.PIPE, check=True).stdout
    return json.loads(answer)["tokenizers"][0]["rows"]


def compare(engine, count, seed, folders):
    failed = 0
    prompts = texts(seed, count)
    for (folder, name), length in CASES.items():
        if folders and folder not in folders:
            continue
        want = list(answers(load(folder, name), length, prompts))
        free, rows = engine_rows(engine, folder, name, prompts), engine_rows(engine, folder, name, prompts, length)
        wrong = [i for i in range(count) if free[i]["ids"] != want[i][0] or rows[i]["ids"] != want[i][1] or rows[i]["mask"] != want[i][2]]
        print(f"{folder} {name}: {count - len(wrong)} of {count} texts equal, {sum(len(w[0]) for w in want)} ids")
        for i in wrong[:5]:
            print(f"  {prompts[i]!r}\n    transformers {want[i][0][:60]}\n    engine       {free[i]['ids'][:60]}")
        failed += len(wrong)
    return 1 if failed else 0


def part_tokenizers():
    """Small tokenizers of the tokenizers library, by what they have."""
    from tokenizers import Regex, Tokenizer, models, normalizers as n, pre_tokenizers as p
    words = {w: i for i, w in enumerate(["[UNK]", *NOUNS, *ADJECTIVES, "a", "the", ",", ".", "!", "(", ")", *"0123456789"])}
    trained = train_bytes(r"\s+|\w+|\W", 600, 3)

    def make(splitter, normalizer=None, level=False):
        t = Tokenizer(models.WordLevel(words, unk_token="[UNK]")) if level else Tokenizer.from_str(trained.to_str())
        t.pre_tokenizer = splitter if level else p.Sequence([splitter, p.ByteLevel(add_prefix_space=False, use_regex=False)])
        if normalizer:
            t.normalizer = normalizer
        return t

    behind_blank = make(p.Digits(True))
    behind_blank.pre_tokenizer = p.ByteLevel(add_prefix_space=True)
    return {
        "Whitespace, WordLevel": make(p.Whitespace(), level=True),
        "Whitespace, Digits each": make(p.Sequence([p.Whitespace(), p.Digits(True)])),
        "Digits": make(p.Digits(False)),
        "Punctuation": make(p.Punctuation()),
        "ByteLevel behind a blank": behind_blank,
        "Split isolated": make(p.Split(Regex(r"\w+|[^\w\s]"), "isolated")),
        "Split removed": make(p.Split(Regex(r"\W+"), "removed")),
        "Split by a text": make(p.Split("fo", "removed")),
        "Split merged with previous": make(p.Split("o", "merged_with_previous")),
        "NFKC, Lowercase, Strip": make(p.Whitespace(), n.Sequence([n.NFKC(), n.Lowercase(), n.Strip()])),
        "NFD, StripAccents": make(p.WhitespaceSplit(), n.Sequence([n.NFD(), n.StripAccents()])),
        "NFKD": make(p.WhitespaceSplit(), n.NFKD()),
        "Replace, Prepend": make(p.WhitespaceSplit(), n.Sequence([n.Replace("a", "bb"), n.Replace(Regex("o+"), "0"), n.Prepend("x")])),
        "BertNormalizer with case": make(p.BertPreTokenizer(), n.BertNormalizer(lowercase=False, strip_accents=True), level=True),
    }


def compare_parts(engine, count, seed):
    failed = 0
    prompts = texts(seed, count)
    for name, tokenizer in part_tokenizers().items():
        with tempfile.TemporaryDirectory() as work:
            tokenizer.save(os.path.join(work, "tokenizer.json"))
            asked = json.dumps({"prompts": prompts, "class": "PreTrainedTokenizerFast"}).encode()
            answer = subprocess.run([engine, "--tokenize", work], input=asked, stdout=subprocess.PIPE, check=True).stdout
        rows = json.loads(answer)["tokenizers"][0]["rows"]
        wrong = [i for i in range(count) if rows[i]["ids"] != tokenizer.encode(prompts[i]).ids]
        print(f"{name}: {count - len(wrong)} of {count} texts equal")
        for i in wrong[:5]:
            print(f"  {prompts[i]!r}")
        failed += len(wrong)
    return 1 if failed else 0


# ---- pipelines, as diffusers 0.33.1 has them, and 0.42.1 those of Qwen and Mistral ---------------------------------------
def ftfy_module():
    if sys.modules.get("ftfy", 0) is None:
        del sys.modules["ftfy"]
    import ftfy
    return ftfy


def clean_wan(prompt):
    prompt = html.unescape(html.unescape(ftfy_module().fix_text(prompt))).strip()
    return re.sub(r"\s+", " ", prompt).strip()


def clean_lower(prompt):
    return prompt.lower().strip()


HUNYUAN_VIDEO = (
    "<|start_header_id|>system<|end_header_id|>\n\nDescribe the video by detailing the following aspects: "
    "1. The main content and theme of the video.2. The color, shape, size, texture, quantity, text, and spatial relationships "
    "of the objects.3. Actions, events, behaviors temporal relationships, physical movement changes of the objects."
    "4. background environment, light, style and atmosphere.5. camera angles, movements, and transitions used in the video:"
    "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n{}<|eot_id|>")
LUMINA2 = ("You are an assistant designed to generate superior images with the superior degree of image-text alignment based on "
           "textual prompts or user prompts. <Prompt Start> {}")
QWEN_USER = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
QWEN_SYSTEM = (
    "<|im_start|>system\nDescribe the image by detailing the color, shape, size, texture, quantity, text, spatial relationships "
    "of the objects and background:<|im_end|>\n")
FLUX2 = (
    "[SYSTEM_PROMPT]You are an AI that reasons about image descriptions. You give structured responses focusing on object "
    "relationships, object\nattribution and actions without speculation.[/SYSTEM_PROMPT][INST]{}[/INST]")


def clean_flux2(prompt):
    """The tokenizer adds the start token, which stands in the pipeline's text."""
    return FLUX2.format(prompt.replace("[IMG]", ""))


# pipeline: for each tokenizer the folder, class, row and what is done to a prompt
PIPELINES = {
    "CogVideoXPipeline": [("t5", "T5Tokenizer", 226, str)],
    "FluxPipeline": [("clip", "CLIPTokenizer", 77, str), ("t5_fast", "T5TokenizerFast", 512, str)],
    "HunyuanDiTPipeline": [("bert", "BertTokenizer", 77, str), ("mt5", "T5Tokenizer", 256, str)],
    "HunyuanVideoPipeline": [("llama", "LlamaTokenizerFast", 256 + 95, HUNYUAN_VIDEO.format), ("clip", "CLIPTokenizer", 77, str)],
    "LattePipeline": [("t5", "T5Tokenizer", 120, clean_lower)],
    "LTXPipeline": [("t5", "T5Tokenizer", 128, str)],
    "MochiPipeline": [("t5", "T5Tokenizer", 256, str)],
    "PixArtAlphaPipeline": [("t5", "T5Tokenizer", 120, clean_lower)],
    "PixArtSigmaPipeline": [("t5", "T5Tokenizer", 300, clean_lower)],
    "StableDiffusion3Pipeline": [("clip", "CLIPTokenizer", 77, str), ("clip_bang", "CLIPTokenizer", 77, str),
                                 ("t5_fast", "T5TokenizerFast", 256, str)],
    "WanPipeline": [("umt5", "T5TokenizerFast", 512, clean_wan)],
    "Lumina2Pipeline": [("gemma", "GemmaTokenizerFast", 256, LUMINA2.format)],
    "ZImagePipeline": [("qwen2", "Qwen2Tokenizer", 512, QWEN_USER.format)],
    "Flux2KleinPipeline": [("qwen2_fast", "Qwen2TokenizerFast", 512, (QWEN_USER + "<think>\n\n</think>\n\n").format)],
    "Flux2Pipeline": [("mistral", "PreTrainedTokenizerFast", 512, clean_flux2)],
    "QwenImagePipeline": [("qwen2", "Qwen2Tokenizer", 512 + 34, (QWEN_SYSTEM + QWEN_USER).format)],
}


def pipeline_folder(work, name, parts):
    folder = os.path.join(work, name)
    index = {"_class_name": name}
    for i, (source, cls, _, _) in enumerate(parts):
        part = "tokenizer" if i == 0 else f"tokenizer_{i + 1}"
        index[part] = ["transformers", cls]
        shutil.copytree(os.path.join(HERE, source), os.path.join(folder, part))
    with open(os.path.join(folder, "model_index.json"), "w", encoding="utf-8") as f:
        json.dump(index, f)
    return folder


def compare_prompts(engine, count, seed):
    failed = 0
    prompts = texts(seed, count)
    # Text that was decoded wrongly, which ftfy repairs, is the one thing that the engine does not clean as Wan does.
    broken = {p for p in prompts if ftfy_module().fix_text(p) != windows(p)}
    with tempfile.TemporaryDirectory() as work:
        for name, parts in PIPELINES.items():
            folder = pipeline_folder(work, name, parts)
            asked = [p for p in prompts if name != "WanPipeline" or p not in broken]
            answer = subprocess.run([engine, "--tokenize", folder], input=json.dumps(asked).encode(), stdout=subprocess.PIPE, check=True)
            for (source, cls, length, clean), got in zip(parts, json.loads(answer.stdout)["tokenizers"]):
                cleaned = [clean(p) for p in asked]
                tokenizer = load(source, cls)
                if name == "Lumina2Pipeline":  # it sets the side itself
                    tokenizer.padding_side = "right"
                want = [(row, mask) for _, row, mask in answers(tokenizer, length, cleaned)]
                wrong = [i for i, row in enumerate(got["rows"]) if (row["ids"], row["mask"]) != want[i]]
                print(f"{name} {got['name']}: {len(asked) - len(wrong)} of {len(asked)} prompts equal")
                for i in wrong[:5]:
                    print(f"  {asked[i]!r}\n    cleaned {cleaned[i]!r}")
                failed += len(wrong)
    return 1 if failed else 0


def windows(prompt):
    """fix_text without the repair of wrong decoding, but with C1 controls as Windows means them."""
    decoded = re.sub("[\x80-\x9f]", lambda m: m[0].encode("latin-1").decode("sloppy-windows-1252"), prompt)
    return ftfy_module().fix_text(decoded, fix_encoding=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("make")
    verbs.add_parser("golden")
    comparing = verbs.add_parser("compare")
    comparing.add_argument("engine")
    comparing.add_argument("--folders", nargs="*")
    comparing.add_argument("--count", type=int, default=2000)
    comparing.add_argument("--seed", type=int, default=1)
    for verb in ("parts", "prompts"):
        more = verbs.add_parser(verb)
        more.add_argument("engine")
        more.add_argument("--count", type=int, default=2000)
        more.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.verb == "make":
        make()
    elif args.verb == "golden":
        golden()
    elif args.verb == "parts":
        sys.exit(compare_parts(args.engine, args.count, args.seed))
    elif args.verb == "prompts":
        sys.exit(compare_prompts(args.engine, args.count, args.seed))
    else:
        sys.exit(compare(args.engine, args.count, args.seed, args.folders))


if __name__ == "__main__":
    main()
