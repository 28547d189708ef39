#!/usr/bin/env bash
# Looks for comments and pages that a reader could not follow. Needs no tool but awk and git.
# Usage: ci/comments.sh [FOLDER]      (the repository's top when none is named)
# Rules: a line of prose in a comment holds no run of blanks, which is what a reflowed table leaves behind; a name of a
# Markdown file names one that the repository has, or stands inside a URL; so does the name of a source, header, script or
# data file in a page; docs/environment.md lists every variable that something reads, and no other.
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

# Every name of a source or script in a page, looked up by its end, and of a data file below a folder of ours. Names that
# stand for any name pass (NAME.c, x.c, isa_x.c, _avx2.c), and so does what a build or a run makes.
find_missing() {
    local known
    known=$(files | sed 's|^|/|')
    files '*.md' | xargs grep -HnoE '[A-Za-z0-9_./:-]*[A-Za-z0-9_-]\.(c|h|cu|cuh|cpp|sh|py|mk|json)\b' |
        while IFS=: read -r file line name; do
            case $name in
            *://* | build/* | results/local/* | *[A-Z][A-Z][A-Z]* | x.* | */x.* | *_x.* | _*) continue ;;
            workloads/*.json | results/*.json | engine/*.json) ;;
            *.json) continue ;;
            esac
            while [ "${name#../}" != "$name" ]; do name=${name#../}; done
            case $known$'\n' in
            */"${name#./}"$'\n'*) continue ;;
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

# Every variable that docs/environment.md lists is one that a source, a script or the Makefile names.
find_unread() {
    [ -e docs/environment.md ] || return 0
    grep -noE '`DITBENCH_[A-Z_]+`' docs/environment.md | tr -d '`' | while IFS=: read -r line name; do
        files '*.c' '*.h' '*.cu' '*.sh' '*.py' '*.mk' Makefile .ci/run | xargs grep -qw -- "$name" ||
            echo "docs/environment.md:$line: nothing reads $name"
    done
}

found=$(find_reflowed; find_dangling; find_missing; find_undocumented; find_unread)
[ -z "$found" ] && exit 0
printf '%s\n' "$found"
exit 1
