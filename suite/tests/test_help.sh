#!/usr/bin/env bash
# Help, glossary, manual page and completion say what the tables in the code say.
# shellcheck disable=SC2016,SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
cd "$work" || exit 4
verbs=$("$ditbench" help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' | grep -v '^help$')

glossary_labels() {
    # shellcheck disable=SC2094 # the name of a topic, not of the file
    "$ditbench" help labels | sed -nE 's/^  ([^ ]+) +([a-z_]+) +([A-Z].*)$/| `\1` | `\2` | \3 |/p' >labels
    [ "$(wc -l <labels)" -ge 12 ] || { cat labels; return 1; }
    sed -n '/^| part | parameter | meaning |$/,/^$/p' "$source_dir/docs/glossary.md" | tail -n +3 | grep . | diff labels -
}
ok "the labels of the glossary are those of the code" glossary_labels
glossary_words() {
    local word missing=0
    for word in workload cell case point item process session mesh band stage fill store oracle hybrid profile platform \
        evidence scope tag degree projection 'low n' undecided; do
        grep -qiE "^\| [^|]*${word}[^|]*\|" "$source_dir/docs/glossary.md" || { echo "no $word"; missing=1; }
    done
    return "$missing"
}
ok "the glossary has the words" glossary_words
linked() {
    local page
    for page in README.md suite/README.md reports/README.md workloads/README.md; do
        grep -q 'docs/glossary.md' "$source_dir/$page" || { echo "$page has no link"; return 1; }
    done
}
ok "the glossary is linked from the pages" linked
for verb in run show explain plan; do
    ok "help $verb points to the labels" sh -c "'$ditbench' help $verb | grep -q 'ditbench help labels'"
done
exit_codes() {
    "$ditbench" help exit-codes | sed -E 's/^  ([0-9]+) +(.*)$/| `\1` | \2 |/' >codes
    grep -E '^\| `[0-9]+` \|' "$source_dir/docs/commands.md" | diff codes -
}
ok "the exit codes of docs/commands.md are those of help" exit_codes

version() {
    local release
    release=$(cat "$source_dir/VERSION")
    "$ditbench" --version | grep -qE "^ditbench $release \(commit [^ ]+(, dirty)?\)$" &&
        grep -qx "version: $release" "$source_dir/CITATION.cff" && grep -q "^## $release" "$source_dir/CHANGELOG.md"
}
ok "the version is that of VERSION, CITATION.cff and CHANGELOG.md" version
ok "-V is --version" sh -c "[ \"\$('$ditbench' -V)\" = \"\$('$ditbench' --version)\" ]"
help_of_help() { "$ditbench" help >plain && "$ditbench" help --help | diff plain - && "$ditbench" --help | diff plain -; }
ok "help --help is help" help_of_help
before_verb() { "$ditbench" --json list methods | grep -q 'ditbench.list-methods/1' && exits 0 "$ditbench" -q validate smoke; }
ok "options may stand before the verb" before_verb
no_verb() { exits 2 "$ditbench" -v >said 2>&1 && grep -q 'no verb' said && grep -q 'ditbench help' said; }
ok "an option alone says that a verb is missing" no_verb
ok "help on nothing: 2" exits 2 "$ditbench" help nothing

manual() {
    local verb option missing=0
    "$ditbench" help --man >ditbench.1 || return 1
    for verb in $verbs; do
        grep -q "^.SS ditbench $verb " ditbench.1 || { echo "no $verb"; missing=1; }
        for option in $("$ditbench" help "$verb" | grep -oE '^  (-., )?--[a-z_-]+' | grep -oE '\-\-.*'); do
            grep -qF -- "${option//-/\\-}" ditbench.1 || { echo "no $option of $verb"; missing=1; }
        done
    done
    return "$missing"
}
ok "the manual page has every verb and option" manual
if command -v man >/dev/null; then
    renders() { man --warnings -l ditbench.1 2>warnings | col -b >page && [ ! -s warnings ] && grep -q 'EXIT STATUS' page; }
    ok "man renders the manual page without a warning" renders
fi

"$ditbench" help --completion bash >completion
ok "the completion is sound bash" bash -n completion
# completes WANTED WORD...: bash offers WANTED for the last word.
completes() {
    local wanted=$1
    shift
    PATH=$build/bin:$PATH bash -c 'source ./completion; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ditbench; printf "%s\n" "${COMPREPLY[@]}"' \
        complete "$@" >offered
    grep -qx -- "$wanted" offered || { echo "offered:"; head -n 20 offered; return 1; }
}
ok "it completes verbs" completes validate ditbench val
ok "it completes options of a verb" completes --processes ditbench run --pro
ok "it completes common options" completes --dry-run ditbench run --dry
ok "it completes workloads" completes smoke ditbench run smo
ok "it completes workloads in folders" completes cpu/methods ditbench validate cpu/m
ok "it completes models after --model" completes flux.1-dev ditbench explain --model flux.1-d
ok "it completes platforms" completes 8xl40 ditbench list platforms --xml 8xl4
ok "it completes what list lists" completes accelerators ditbench list acc
nothing_else() { ! completes --points ditbench run --po; }
ok "it offers no option of another verb" nothing_else
ok "the completion for zsh begins as one" sh -c "'$ditbench' help --completion zsh | head -1 | grep -qx '#compdef ditbench'"
ok "no completion for another shell: 2" exits 2 "$ditbench" help --completion fish
finish
