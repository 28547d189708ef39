#!/usr/bin/env bash
# SimGrid takes the platforms that are written for it, and its messages take the time that the declared links say.
# Speaks TAP. Skipped where SimGrid's MPI is not installed.
cd "$(dirname "$0")/../.." || exit 4
. suite/tests/harness.sh
trap 'rm -rf "$work"' EXIT

if ! command -v smpirun >/dev/null || ! command -v smpicc >/dev/null; then
    echo "ok 1 # SKIP no smpirun and smpicc here (Debian: libsimgrid-dev)"
    echo "1..1"
    exit 0
fi

# simulate PLATFORM BYTES FROM TO...: "FROM TO US" of messages that all start together, sorted.
simulate() {
    local platform=$1 ranks
    shift
    "$ditbench" list platforms --xml "$platform" >"$work/platform.xml" || return 1
    ranks=$(grep -c '<host ' "$work/platform.xml")
    seq 0 $((ranks - 1)) | sed 's/^/device/' >"$work/hosts"
    smpirun --log=root.thresh:warning --cfg=network/model:CM02 --cfg=smpi/tmpdir:"$work" -np "$ranks" \
        -platform "$work/platform.xml" -hostfile "$work/hosts" "$work/simulated_pairs" "$@" 2>"$work/errors" |
        sort >"$work/times"
    [ -s "$work/times" ] || { cat "$work/errors"; return 1; }
}

# takes PLATFORM BYTES "FROM TO..." US...: the messages take so long, in the order of "FROM TO". SimGrid's own clock adds a
# hundredth of a microsecond whenever it is read.
takes() {
    local platform=$1 bytes=$2 pairs=$3
    shift 3
    # shellcheck disable=SC2086 # pairs are words
    simulate "$platform" "$bytes" $pairs || return 1
    grep -v execute "$work/times"
    grep -v execute "$work/times" | awk -v expected="$*" '
        BEGIN { count = split(expected, wanted, " ") }
        { off = $3 - wanted[NR]; if (off < -0.001 || off > 0.05 + 1e-5 * wanted[NR]) bad = 1 }
        END { exit bad || NR != count }'
}

# crosses PLATFORM FROM TO "LINK...": so a message between two devices of the first node goes.
crosses() {
    "$ditbench" list platforms --xml "$1" | grep "<route src=\"device$2\" dst=\"device$3\">" |
        grep -o 'id="node0[^"]*' | sed 's/id="node0\.//' | tr '\n' ' ' | sed 's/ $//' >"$work/links"
    printf '%s' "$4" | diff "$work/links" -
}

# Computing 3.5 us takes 3.5 us.
execute_is_charged() {
    simulate 8xa100-sxm 1 0 1 && awk '/execute/ { exit !($2 >= 3.5 && $2 < 3.55) }' "$work/times"
}

# Every cluster that ships is taken: a message from the first device to the last arrives.
all_are_taken() {
    local file name last
    for file in workloads/platforms/*.json; do
        name=$(basename "$file" .json)
        grep -q '"cluster"' "$file" || continue
        grep -q '"topology": "cores"' "$file" && continue # one host: nothing goes over its links
        last=$("$ditbench" list platforms --xml "$name" | grep -c '<host ') || return 1
        simulate "$name" 1000 0 $((last - 1)) || return 1
        [ "$(grep -vc execute "$work/times")" -eq 1 ] || { echo "$name: nothing arrived"; return 1; }
    done
}

ok "the program of the test builds" smpicc -O1 -Wall -Wextra suite/tests/simulated_pairs.c -o "$work/simulated_pairs"
ok "computing takes the seconds it is charged" execute_is_charged

# latency + bytes / bandwidth of the narrowest link, by hand
ok "NVSwitch: 0.6 us and 0.783 of 300 GB/s" takes 8xa100-sxm 23490000 "0 7" 100.6
ok "one socket: 1 us and 31.5 GB/s" takes 8xl40 31500000 "0 1" 1001
ok "across sockets: 10 GB/s" takes 8xl40 10000000 "1 6" 1001
ok "across nodes: 24 us and 12.5 GB/s" takes 2x8xl40 12500000 "0 9" 1024
ok "through host memory: 15 us and 4.1 GB/s" takes 8xrtx-4090 4100000 "0 1" 1015
ok "T4, too" takes 4xt4 4100000 "0 1 2 3" 1015 1015
ok "through host memory up and down the root complex" crosses 8xrtx-4090 0 1 "device0 root0 staging0 root0 device1"
ok "and past the socket link" crosses 8xrtx-4090 0 5 "device0 root0 staging0 socket0 root1 device5"
ok "without staging where peers reach each other" crosses 8xl40 0 1 "device0 root0 device1"
ok "a mesh: two links of 20 GB/s, and one device between two others" takes 8xv100-sxm 20000000 "0 4 2 7" 500.6 1001.2
ok "four cards of 100 Gb for each device" takes 2xp5 50000000 "0 9" 1002.7

# what is shared
ok "two messages across sockets are as fast as one over UPI" takes 8xl40 10000000 "0 4 1 5" 1001 1001
ok "and where the link between them is shared take twice as long" takes 8xrtx-5090 40000000 "0 4 1 5" 2001 2001
ok "one each way do not" takes 8xl40 10000000 "0 4 5 1" 1001 1001
ok "two over one network card take twice as long" takes 2x8xl40 12500000 "0 9 1 10" 2024 2024
ok "two cards do not slow each other" takes 2xp5 50000000 "0 9 1 10" 1002.7 1002.7
ok "NVSwitch has room for every pair" takes 8xa100-sxm 23490000 "0 1 2 3 4 5 6 7" 100.6 100.6 100.6 100.6
ok "two messages to one device share its link" takes 8xa100-sxm 23490000 "0 2 1 2" 200.6 200.6
ok "all of a socket fill its root complex, no more" takes 8xl40 31500000 "0 1 1 2 2 3 3 0" 1001 1001 1001 1001

ok "1,024 devices in 128 nodes" takes 128x8xh100-sxm 48000000 "0 1023 9 17" 1002.7 1002.7
ok "every cluster that ships is taken" all_are_taken
ok "a machine is no cluster" exits 2 "$ditbench" list platforms --xml local-cpu
ok "--xml is about platforms" exits 2 "$ditbench" list models --xml 8xl40

tap_end
