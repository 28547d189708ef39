#!/usr/bin/env bash
# ci/structure.sh passes the tree, and finds an arrow that points up, a circle of modules, a circle of rooms and a
# crowded room, a table of rooms that tells of something else, and an unchecked addition to a document. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
# shellcheck source=ci/tap.sh
. ci/tap.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
checker=$PWD/ci/structure.sh

if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    "$checker" >"$scratch/found"
    report $? "the folders keep their rules"
    sed 's/^/# /' "$scratch/found"
else
    skip "the folders keep their rules" "this is no git checkout"
fi

# fresh: an empty repository in $scratch/tree.
fresh() {
    rm -rf "$scratch/tree"
    git init -q "$scratch/tree"
}

# source_file PATH [INCLUDED]...: a source or a header that includes these.
source_file() {
    local path=$scratch/tree/$1
    shift
    mkdir -p "${path%/*}"
    : >"$path"
    for included in "$@"; do echo "#include \"$included\"" >>"$path"; done
    git -C "$scratch/tree" add -A
}

# finds TEXT NAME: the checker refuses the tree and says so.
finds() {
    "$checker" "$scratch/tree" >"$scratch/found"
    [ $? -eq 1 ] && grep -qF "$1" "$scratch/found"
    report $? "$2"
}

fresh
source_file base/hash.h
source_file suite/run/run.c suite/run/run.h base/hash.h
source_file suite/run/run.h base/hash.h
"$checker" "$scratch/tree"
report $? "a sound tree passes"

source_file base/hash.c suite/run/run.h
finds "base/hash.c includes suite/run/run.h" "an arrow that points up"

fresh
source_file suite/run/run.h suite/run/item.h
source_file suite/run/item.c suite/run/run.h
source_file suite/run/item.h
finds "modules include each other in a circle" "a circle of modules, through a source"

fresh
source_file suite/run/run.c suite/session/session.h
source_file suite/session/journal.c suite/run/item.h
source_file suite/session/session.h
source_file suite/run/item.h
finds "rooms include each other in a circle" "a circle of rooms without one of modules"

fresh
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do source_file "suite/run/part$i.c"; done
finds "suite/run/ has 13 sources" "a crowded room"

# rooms ROW...: a table of rooms, each row "ROOM FILE...".
rooms() {
    local row room name
    {
        echo "Each line may include the rooms above it, never one below."
        for row; do
            read -r room names <<<"$row"
            printf '| `%s/` | does something |' "$room"
            for name in $names; do printf ' `%s`,' "$name"; done
            echo " |"
        done
    } >"$scratch/tree/suite/README.md"
    git -C "$scratch/tree" add -A
}
fresh
source_file suite/session/session.c suite/session/session.h
source_file suite/session/session.h
source_file suite/run/run.c suite/session/session.h
source_file suite/run/run_state.c
rooms "session session" "run run run_*"
"$checker" "$scratch/tree"
report $? "a table that tells of every room and every source passes"
rooms "run run run_*" "session session"
finds "suite/run/run.c includes suite/session/session.h: the table of suite/README.md has session/ below run/" "an include of a room below, by the table"
rooms "session session"
finds "suite/README.md: the table has no room run/" "a room without a row"
rooms "session session" "run run run_*" "gone gone"
finds "suite/README.md: there is no room gone/" "a row without a room"
rooms "session session" "run run"
finds "suite/README.md: the row of run/ does not name run_state" "a source that its row does not name"

fresh
source_file base/json_writer.c
echo 'cJSON_AddNullToObject(object, key);' >>"$scratch/tree/base/json_writer.c"
"$checker" "$scratch/tree"
report $? "the writer itself adds to documents"
source_file suite/run/lines.c
echo 'cJSON_AddNullToObject(object, key);' >>"$scratch/tree/suite/run/lines.c"
finds "suite/run/lines.c:1 calls cJSON_AddNullToObject" "an addition to a document that goes past the writer"
tap_end
