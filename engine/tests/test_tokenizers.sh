#!/usr/bin/env bash
# Tokenizers at the command line, and beside transformers where it is installed (ci/deps.sh tokenizers): 2,000 texts for
# each folder in the long form. Speaks TAP.
# shellcheck disable=SC2317 # functions run through ok()
set -u
cd "$(dirname "$0")/../.." || exit 4
engine=${DITBENCH_BUILD:-$PWD/build}/bin/ditbench-engine
folders=engine/tests/tokenizers
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh

tokens() { "$engine" --tokenize "$@" >"$work/out" 2>"$work/err"; }
says() { grep -qF -- "$1" "$work/$2" || { cat "$work/$2"; return 1; }; }

if printf 'fox\n' | tokens $folders/bert; [ $? -eq 4 ] && grep -q 'built without tokenizers' "$work/err"; then
    ok "without the libraries it says which packages to install" says "apt-get install" err
    tap_end
fi
lines() { printf 'a red fox\n\nfox\n' | tokens $folders/clip && says '"rows":[{' out && [ "$(grep -o '"count"' "$work/out" | wc -l)" -eq 3 ]; }
ok "prompts are lines of standard input, an empty one, too" lines
bad_folder() { printf 'fox\n' | exits 4 tokens /no/such/folder --prompts /dev/stdin 2>/dev/null || printf 'fox\n' | exits 2 tokens /no/such/folder; }
ok "a folder that is none is an error" bad_folder
printf '{"prompts": ["fox"], "lenght": 7}' >"$work/typo.json"
typo() { exits 2 tokens $folders/clip --prompts "$work/typo.json" && says 'length' err; }
ok "a misspelt key is named: 2" typo

# A pipeline as it lies on a disk.
mkdir -p "$work/flux"
cp -r $folders/clip "$work/flux/tokenizer" && cp -r $folders/t5_fast "$work/flux/tokenizer_2"
cat >"$work/flux/model_index.json" <<'JSON'
{"_class_name": "FluxPipeline", "tokenizer": ["transformers", "CLIPTokenizer"], "tokenizer_2": ["transformers", "T5TokenizerFast"]}
JSON
pipeline() { printf 'a red fox\n' | tokens "$work/flux" && says '"length":77' out && says '"length":512' out && says '"class":"T5TokenizerFast"' out; }
ok "a pipeline's tokenizers have its lengths" pipeline
sed -i 's/FluxPipeline/UnknownPipeline/' "$work/flux/model_index.json"
unknown() { printf 'fox\n' | exits 2 tokens "$work/flux" && says 'StableDiffusion3Pipeline' err; }
ok "an unknown pipeline is refused with those there are: 2" unknown

cache=${DITBENCH_PEERS:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/ditbench/peers}
python=${cache%/*}/tokenizers/bin/python
count=100 seed=7
[ "${DITBENCH_TEST_ALL:-0}" != 1 ] || count=2000
if [ -x "$python" ]; then
    ok "$count texts for each folder: ids, rows and masks are those of transformers" \
        "$python" $folders/export.py compare "$engine" --count $count --seed $seed
    ok "kinds of normalizers, pre_tokenizers and models that no folder has" \
        "$python" $folders/export.py parts "$engine" --count $count --seed $seed
    ok "prompts of pipelines: lengths, templates and cleaning" \
        "$python" $folders/export.py prompts "$engine" --count $((count / 4)) --seed $seed
else
    skip "ids, rows and masks are those of transformers" "no transformers (ci/deps.sh tokenizers)"
fi
tap_end
