# For shell tests that ran a session: what is counted without computing is what was measured. Source it; needs $build
# (the build folder) and $work (a scratch folder).
# shellcheck shell=bash disable=SC2154

# figures FILE: classes of memory, then messages and bytes as they come; one line for each name or file.
figures() {
    awk '/"predicted_memory"/ { skip = 1 } /"communication": *\[/ { skip = 0 }
        /"name":/ { if (memory != "") print memory line; memory = line = "" }
        !skip && match($0, /"(weights|state|activations|communication)(_bytes)?": *[0-9]+/) {
            split($0, part, /[:,]/); memory = memory part[2] }
        match($0, /"(messages|bytes)": *[0-9]+/) { split($0, part, /[:,]/); line = line " " part[2] }
        END { print memory line }' "$1" | tr -s ' \t' ' '
}

# described_as_measured SESSION: every rank of every case, described beside its file of the run. Prints differences.
described_as_measured() {
    local file folder rank separator=
    {
        printf '{"schema":"ditbench.case/1","program":"describe","cases":['
        for file in "$1"/cases/*/p0/rank-*.json; do
            folder=${file%/p0/*} rank=${file##*/rank-}
            printf '%s{"name":"%s","rank":%d,"case":' "$separator" "$(basename "$folder")" "${rank%.json}"
            cat "$folder/case.json"
            printf '}'
            separator=,
        done
        printf ']}'
    } >"$work/describe.json"
    "$build/bin/ditbench-engine" --case "$work/describe.json" --out "$work/describe" || return 1
    figures "$work/describe/record.json" | sort >"$work/counted"
    for file in "$1"/cases/*/p0/rank-*.json; do figures "$file"; done | sort >"$work/measured"
    diff "$work/counted" "$work/measured" | head -n 20
    [ -s "$work/measured" ] && cmp -s "$work/counted" "$work/measured"
}
