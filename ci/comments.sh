#!/usr/bin/env bash
# Looks for comments and pages that a reader could not follow. Needs no tool but awk and git.
# Usage: ci/comments.sh [FOLDER]      (the repository's top when none is named)
# Rules: a line of prose in a comment holds no run of blanks, which is what a reflowed table leaves behind; a name of a
# Markdown file names one that the repository has, or stands inside a URL; docs/environment.md lists every variable.
# Exit: 0; 1 with PLACE: WHAT for each line that breaks a rule.
set -u
cd "${1:-$(dirname "$0")/..}" || exit 4

files() { git ls-files -- "$@"; }

# Prose continues one blank behind " *"; what is laid out by hand is indented further. Three blanks between words of
# prose were columns once. Trailing comments of code, and the line that opens a block, may be laid out at will.
find_reflowed() {
    files '*.c' '*.h' '*.cu' '*.cuh' | xargs awk '
        FNR == 1 { inside = 0 }
        inside && /^ *\* [^ *].*[^ ]   +[^ *]/ { printf "%s:%d: a run of blanks inside prose: %s\n", FILENAME, FNR, $0 }
        /^ *\/\*/ { inside = 1 }
        /\*\// { inside = 0 }'
}

# Every name of a Markdown page in sources, scripts and pages, looked up by its last part.
find_dangling() {
    local known
    known=$(files '*.md')
    files '*.c' '*.h' '*.cu' '*.cuh' '*.sh' '*.py' '*.mk' '*.md' Makefile | xargs grep -HnoE '[A-Za-z0-9_./:-]*[A-Za-z0-9_-]+\.md\b' |
        while IFS=: read -r file line name; do
            case $name in
            *://*) continue ;;
            esac
            base=${name##*/}
            case $'\n'$known in
            *$'\n'"$base"$'\n'* | *"/$base"$'\n'* | *"/$base" | *$'\n'"$base") continue ;;
            esac
            echo "$file:$line: $name is not in the repository"
        done
}

# Every variable of ours that a program, script or test reads has a row in docs/environment.md.
find_undocumented() {
    [ -e docs/environment.md ] || return 0
    {
        files '*.c' '*.h' '*.cu' | xargs grep -HnoE 'getenv\("DITBENCH_[A-Z_]+|"DITBENCH_[A-Z_]+", NULL'
        files '*.sh' .ci/run | xargs grep -HnoE '[$][{]DITBENCH_[A-Z_]+:?[-=?]'
    } | sed -E 's/^([^:]+:[0-9]+):.*(DITBENCH_[A-Z_]+).*/\1 \2/' | while read -r place name; do
        grep -q "\`$name\`" docs/environment.md || echo "$place: docs/environment.md does not list $name"
    done
}

found=$(find_reflowed; find_dangling; find_undocumented)
[ -z "$found" ] && exit 0
printf '%s\n' "$found"
exit 1
