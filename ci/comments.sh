#!/usr/bin/env bash
# Finds comments and pages that a reader could not follow. Needs no tool but awk and git.
# Usage: ci/comments.sh [FOLDER]      (the repository's top when none is named)
# Rules: a line of prose in a comment has no run of blanks, which a reflowed table leaves behind. A Markdown file that is
# named exists in the repository, unless the name is part of a URL; so does a source, script or data file that a page
# names. docs/environment.md lists every variable that a program, a script or a test reads, and no other. No text has the
# markers of a merge that nobody finished.
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

# Looks up every name of a Markdown page in sources, scripts and pages by its last part.
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

# Looks up every name of a source or script in a page by its end, and names of data files below folders of ours. Names
# that stand for any name pass (NAME.c, x.c, isa_x.c, _avx2.c), and so do files that a build or a run makes.
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

# Prints PLACE NAME of every variable that a program, a script or a test reads: of any name where it is asked for by its
# name, and of ours wherever the name stands in a string (a table of names). Variables of test scripts that have no name
# of ours are their own.
variables_read() {
    local name='[A-Z][A-Z_]+'
    {
        files '*.c' '*.h' '*.cu' '*.cuh' '*.cpp' | xargs grep -HnoE "getenv\(\"$name\"|\"DITBENCH_[A-Z_]+\""
        files '*.py' | xargs -r grep -HnoE "environ(\.get\(|\[)[\"']${name}[\"']"
        files '*.sh' .ci/run | xargs grep -HnoE '[$][{]DITBENCH_[A-Z_]+:?[-=?]'
        files '*.sh' .ci/run | grep -v '/tests/' | xargs -r grep -HnoE "[\$][{]$name:?[-=?]"
    } | sed -E "s/^([^:]+:[0-9]+):[^A-Z]*($name).*/\1 \2/"
}

# Checks that every variable that is read stands in docs/environment.md.
find_undocumented() {
    [ -e docs/environment.md ] || return 0
    variables_read | while read -r place name; do
        grep -qE "\`[$]?${name}[=\`]" docs/environment.md || echo "$place: docs/environment.md does not list $name"
    done
}

# Checks that a source, a script or the Makefile names every variable that has a row in docs/environment.md, and every
# one of ours that its text names.
find_unread() {
    [ -e docs/environment.md ] || return 0
    {
        grep -noE '`DITBENCH_[A-Z_]+`' docs/environment.md
        grep -nE '^[|] `' docs/environment.md | sed -E 's/^([0-9]+):[|]([^|]*)[|].*/\1 \2/' |
            awk '{ for (i = 2; i <= NF; i++) print $1 ":" $i }' | grep -oE '^[0-9]+:`[A-Z_]+'
    } | tr -d '`' | sort -u | while IFS=: read -r line name; do
        files '*.c' '*.h' '*.cu' '*.cpp' '*.sh' '*.py' '*.mk' Makefile .ci/run | xargs grep -qw -- "$name" ||
            echo "docs/environment.md:$line: nothing reads $name"
    done
}

# Finds what git writes around the two sides of a conflict, in any text.
find_unmerged() {
    git grep -nIE '^(<{7}|>{7}) ' | sed -E 's/^([^:]+:[0-9]+):.*/\1: the marker of a merge conflict/'
}

found=$(find_unmerged; find_reflowed; find_dangling; find_missing; find_undocumented; find_unread)
[ -z "$found" ] && exit 0
printf '%s\n' "$found"
exit 1
