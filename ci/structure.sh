#!/usr/bin/env bash
# Checks the rules of the folders: arrows between rooms point down, no includes go in a circle, no room grows beyond a
# screen of files, tables of rooms tell of what is there, and documents are built by the one JSON writer. Reads the repository's sources; needs no tool but awk,
# git and tsort.
# Usage: ci/structure.sh [FOLDER]      (the repository's top when none is named)
# Exit: 0; 1 with a line for each rule that is broken.
set -u
cd "${1:-$(dirname "$0")/..}" || exit 4

# What each top folder may include, besides itself. Tests may include anything.
allowed='base:
kernels: base
engine: base kernels
reports: base
suite: base reports kernels/cost kernels/kernels.h'
most=12 # sources in a room

files() { git ls-files -- '*.c' '*.h' '*.cu' '*.cuh' | grep -v '/tests/' | grep -v '^kernels/cuda/emulate/'; }

# Prints "FROM TO" (paths) for every include of a file of ours.
arrows() { files | xargs grep -HoE '^ *#include "[a-z]+/[^"]+"' | sed -E 's/^([^:]+): *#include "([^"]+)"$/\1 \2/'; }

# Finds arrows between top folders that point up or are not declared.
find_upward() {
    arrows | ALLOWED=$allowed awk '
        BEGIN {
            n = split(ENVIRON["ALLOWED"], rows, "\n")
            for (i = 1; i <= n; i++) { split(rows[i], row, ":"); may[row[1]] = row[2] " " row[1] }
        }
        {
            top = $1; sub("/.*", "", top)
            if (!(top in may)) next
            count = split(may[top], words, " "); fine = 0
            for (i = 1; i <= count; i++) if (index($2 "/", words[i] "/") == 1) fine = 1
            if (!fine) print $1 " includes " $2 ": " top "/ may include" (may[top] == "" ? " nothing" : " " may[top]) " only"
        }'
}

# loops LEVEL: finds circles among modules (a header and its sources are one) or among rooms (folders); tsort names them.
loops() {
    arrows | awk -v level="$1" '
        function name_of(path) {
            if (level == "room") { sub("/[^/]*$", "", path); return path }
            sub("_impl[.]h$", "", path); sub("[.](c|h|cu|cuh)$", "", path); return path
        }
        # A list in a folder names what lies in the folders below it, and those include its interface: that is no circle.
        { from = name_of($1); to = name_of($2) }
        level == "room" && (index(from "/", to "/") == 1 || index(to "/", from "/") == 1) { next }
        from != to { print from, to }' | sort -u | tsort 2>&1 >/dev/null |
        sed -E "s/^tsort: (-: )?//; s/^input contains a loop:/$1s include each other in a circle:/"
}

find_crowded() {
    git ls-files -- '*.c' '*.cu' | grep -vE '/(tests|emulate)/' | sed 's|/[^/]*$||' | sort | uniq -c |
        awk -v most="$most" -v except="$1" '
            $1 > most && index(" " except " ", " " $2 " ") == 0 { print $2 "/ has " $1 " sources, the most is " most }'
}

# Rooms in which each source is one of a kind (a kernel, an operator or its cases, a model, a program, a figure, a drawing, a verb, ...) may have
# as many sources as there are things of that kind.
collections='kernels/cases kernels/cpu kernels/cuda kernels/ref engine/models engine/vae engine/attention engine/schedulers engine/programs reports/figures reports/drawings suite/verbs base'

# Checks the tables of pages that say "may include the rooms above it": every room has a row, every row is a room, no room
# includes one of a later row, and a row with a column of files names every source of its room (`html_*` names many).
find_untold() { # collections
    git ls-files -- '*/README.md' README.md | xargs -r grep -lF 'may include the rooms above it' | while read -r page; do
        top=$(dirname "$page")
        rooms=$(sed -nE 's/^[|] `([a-z_/]+)\/`.*/\1/p' "$page")
        there=$(files | sed -nE "s|^$top/(.+)/[^/]+$|\\1|p" | sort -u)
        comm -23 <(echo "$there") <(sort <<<"$rooms") | sed "s|.*|$page: the table has no room &/|"
        comm -13 <(echo "$there") <(sort <<<"$rooms") | sed "s|.*|$page: there is no room &/|"
        arrows | ROOMS=$rooms awk -v top="$top" -v page="$page" '
            function room_of(path) { sub("^" top "/", "", path); sub("/?[^/]*$", "", path); return path }
            BEGIN { n = split(ENVIRON["ROOMS"], rooms, "\n"); for (i = 1; i <= n; i++) row[rooms[i]] = i }
            index($1, top "/") == 1 && index($2, top "/") == 1 {
                from = room_of($1); to = room_of($2)
                if (index(to, from "/") == 1) next # a list of what lies in the folders below it
                if ((from in row) && (to in row) && row[to] > row[from])
                    print $1 " includes " $2 ": the table of " page " has " to "/ below " from "/"
            }'
        for room in $rooms; do
            case " $1 " in *" $top/$room "*) continue ;; esac
            find_unnamed "$page" "$top/$room" "$(grep -F "| \`$room/\` |" "$page")"
        done
    done
}
find_unnamed() { # page, folder, row of the table
    local page=$1 folder=$2 names name source told
    names=$(cut -d'|' -f4 <<<"$3" | grep -oE '`[a-z0-9_*]+`' | tr -d '`')
    [ -n "$names" ] || return 0
    git ls-files -- "$folder/*.c" | sed -nE "s|^$folder/([^/]+)\.c$|\\1|p" | while read -r source; do
        told=0
        while read -r name; do
            # shellcheck disable=SC2053 # a name may be a pattern
            [[ $source != $name ]] || told=1
        done <<<"$names"
        [ $told = 1 ] || echo "$page: the row of ${folder##*/}/ does not name $source"
    done
}

# Finds additions to a document that go past base/json_writer.h: without memory they leave a key out, and nobody notices.
find_bare_additions() {
    git ls-files -- '*.c' '*.h' '*.cu' '*.cuh' | grep -vE '/(tests|emulate)/|^base/' |
        xargs -r grep -nHE '\bcJSON_Add[A-Z]' |
        sed -E 's/^([^:]+:[0-9]+):.*(cJSON_Add[A-Za-z]+).*$/\1 calls \2: documents are built with base\/json_writer.h/'
}

found=$(
    find_upward
    loops module
    loops room
    find_crowded "$collections"
    find_untold "$collections"
    find_bare_additions
)
[ -z "$found" ] && exit 0
printf '%s\n' "$found"
exit 1
