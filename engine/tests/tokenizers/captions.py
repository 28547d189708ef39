#!/usr/bin/env python3
"""Writes captions.json: texts, and what clean_caption=True of PixArt and Latte makes of them; a text alone is one that the engine
refuses.

    captions.py [--count N] [--seed N]          N: print as many drawn texts instead, [text, cleaned], one a line

Needs diffusers 0.33.1, beautifulsoup4 4.13.4, ftfy 6.3.1 (and torch, transformers 4.51.3).
"""
import argparse
import json
import pathlib
import random

from diffusers import PixArtAlphaPipeline

TEXTS = [
    "A Red Fox, sitting on the hill", "  <person> by the sea  ", "see https://www.example.com/a_b?c=1 now", "www.example.org/page is gone",
    "by @some_painter and friends", "红色的狐狸 fox ㈱", "a — b – c ‐ d", "«quoted» “text” `here` ‘too’", "R&D and AT&T; you & me &amp; them &copy; 2020",
    "ends with R&D", "server 192.168.10.255 down", "lot 1:23   ", "line\\nbreak", "#12 #1234 #123456 and 1234567", "photo.jpg and my image.png file",
    '""quotes"" \'\'\'more\'\'\'', "wait.... what", "***SALE*** (now) [50] {x} | / \\ ~ º", "one . two", "this-is-my-cute-cat_photo", "a-b",
    "jc6640 jc6640vc 6640vc231 j2d1a2a", "worldwide free shipping", "free download free", "click for more, click on this", "a png image of a fox",
    "page 12 of it", "10x20 and 3.5х7 and 2×4", "word : word", "a,b.c/d 1,000", '"all of it"', "'tis: -x_", ".hidden", "100% sure + 50%25 %C3%A9t%C3%A9",
    "a < b and I <3 you", "ﬁne ½ Ⅷ ｆｕｌｌ", "it&#39;s &#233; &lt;fine&gt;", "tabs\tand\nlines\r\n\x1fhere", "Σοφος ΣΟΦΟΣ", "👩‍🚀 🦊 fox", "", "   ", "-", "a" * 300,
    "4k, 8k, f/1.8 35mm", "no1 12345 a1b2", "x.y.com/z@w", "http://a b", "e\u0301 naïve İ", "100 %ZZ %4", "a&b", "&bad; one", "it's \"x\" 'y'",
]
WORDS = ["fox", "Red", "1:20 ", "#123", "a1b", "10x20", "@me", "site.com", "https://x.org/y", "-", "_", "--", "...", " . ", ",", "/", "(", ")", "& ", "&amp;",
         "\"", "'", "“", "é", "狐", "page 3", "free", "shipping", "download", "click for it", "png image", "a.jpg", "6640vc231", "1234567", "\n", "\t", "%20",
         "+", ":", ";", "*", "½", "ﬁ", "x", "х", "×", "12", "3.5", "\\n", "&quot;", "&#39;", "<3", "Σ", "ς", "f/1.8", "192.168.0.1", "`", "´", "~", "'s"]


def draw(r):
    return "".join(r.choice(WORDS) + r.choice(["", " ", " ", "  "]) for _ in range(r.randint(1, 12)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    pipe = PixArtAlphaPipeline.__new__(PixArtAlphaPipeline)

    def clean(text):
        return pipe._clean_caption(pipe._clean_caption(text))

    if options.count:
        r = random.Random(options.seed)
        for text in (draw(r) for _ in range(options.count)):
            print(json.dumps([text, clean(text)]))
        return
    refused = ["&bad; one", "it&#39;s &#233; &lt;fine&gt;"]
    rows = [[text] if text in refused else [text, clean(text)] for text in TEXTS]
    lines = ",\n".join(json.dumps(row) for row in rows)
    pathlib.Path(__file__).with_name("captions.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
