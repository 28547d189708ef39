#!/usr/bin/env bash
# Simulated collectives take the time of the algorithm and protocol that the library would choose, on links by hand.
# Speaks TAP. Skipped where SimGrid's MPI is not installed.
cd "$(dirname "$0")/../.." || exit 4
. suite/tests/harness.sh
trap 'rm -rf "$work"' EXIT

collectives=$build/tests/engine_simulated_collectives
if ! command -v smpirun >/dev/null || [ ! -x "$collectives" ]; then
    echo "ok 1 # SKIP no simulator in this build (Debian: libsimgrid-dev)"
    echo "1..1"
    exit 0
fi

# case_of ACCELERATOR LINKS: a case with the members LINKS of "simulation"; collectives cost the host nothing.
case_of() {
    sed 's/"collective_dispatch_s": [^,]*/"collective_dispatch_s": 0/' workloads/profiles/ditbench.json \
        >"$work/profile.json"
    cat >"$work/case.json" <<END
{"simulation": {"accelerator": "$PWD/workloads/accelerators/$1.json", "profile": "$work/profile.json",
                "element": "fp16", $2}}
END
}

# takes PLATFORM RANKS COLLECTIVE "[late] FLOATS..." US...: so long, within a thousandth and half a microsecond.
takes() {
    local platform=$1 ranks=$2 collective=$3 floats=$4
    shift 4
    "$ditbench" list platforms --xml "$platform" >"$work/platform.xml" || return 1
    seq 0 $((ranks - 1)) | sed 's/^/device/' >"$work/hosts"
    # shellcheck disable=SC2086 # floats are words
    smpirun -np "$ranks" -platform "$work/platform.xml" -hostfile "$work/hosts" --cfg=smpi/simulate-computation:no \
        --cfg=smpi/shared-malloc:global --cfg=smpi/shared-malloc-blocksize:67108864 --cfg=smpi/alltoall:pair \
        --cfg=smpi/tmpdir:"$work" --log=root.thres:critical --cfg=network/model:CM02 \
        "$collectives" "$work/case.json" "$collective" $floats >"$work/times" 2>"$work/errors"
    cat "$work/times" "$work/errors"
    awk -v expected="$*" '
        BEGIN { count = split(expected, wanted, " ") }
        NF == 2 { off = $2 - wanted[++rows]; if (off < 0) off = -off; if (off > 0.5 + 1e-3 * wanted[rows]) bad = 1 }
        END { exit bad || rows != count }' "$work/times"
}

nvlink='"inside": "nvlink", "devices_per_node": 8, "bandwidth_bytes_per_s": 2.349e11, "inside_latency_s": 6e-7'
pcie='"inside": "pcie", "devices_per_node": 8, "bandwidth_bytes_per_s": 1e9, "inside_latency_s": 1e-6'

# Bytes are twice the floats (fp16); latencies and shares are NCCL's, bandwidths those of the platforms: 234.9 GB/s of
# an A100, 367.65 of an H100, 10 across the sockets of the L40 host.
case_of a100-sxm-80 "$nvlink, \"nvswitch\": true"
ok "a ring: small sums by LL, large ones by the link" takes 8xa100-sxm 8 all_reduce "8192 80000000" 15.33 1248.0
ok "groups are as small as they are" takes 8xa100-sxm 2 all_reduce "80000000" 696.3
ok "gathering" takes 8xa100-sxm 8 all_gather "80000000" 628.2
ok "in the background, too" takes 8xa100-sxm 8 all_gather_begin "80000000" 628.2
ok "all wait for who is late" takes 8xa100-sxm 8 all_gather "late 80000000" 1628.2
ok "and in a sum" takes 8xa100-sxm 8 all_reduce "late 80000000" 2248.0
ok "all to all" takes 8xa100-sxm 8 all_to_all "70000000" 607.8
ok "a hop of a ring of two has all of the link" takes 8xa100-sxm 2 send_recv "11745000" 111.8
ok "among four it has 8 channels of 20 GB/s" takes 8xa100-sxm 4 send_recv "11745000" 158.6
ok "among eight it has 4" takes 8xa100-sxm 8 send_recv "11745000" 305.4
ok "and 8 where keys and values have more than 64 MiB each" takes 8xa100-sxm 8 send_recv "80000000" 1011.8
case_of a100-sxm-80 "$nvlink, \"nvswitch\": true, \"inside_many_peers_efficiency\": 0.5"
ok "many peers at once have less: a seventh among 8" takes 8xa100-sxm 8 all_to_all "10000000" 607.8
ok "one has all that its channels move" takes 8xa100-sxm 4 send_recv "11745000" 158.6
ok "and a ring" takes 8xa100-sxm 8 all_gather "80000000" 628.2
case_of h200-sxm-141 "$nvlink, \"nvswitch\": true"
ok "the switch of Hopper adds up: 272 GB/s of the buffer" takes 8xh200-sxm 8 all_reduce "80000000" 613.2
ok "but not for four" takes 8xh200-sxm 4 all_reduce "80000000" 681.6
case_of h200-sxm-141 "$nvlink"
ok "nor without a switch" takes 8xh200-sxm 8 all_reduce "80000000" 817.6
case_of l40 "$pcie"
ok "PCIe: the ring crosses the socket link once each way" takes 8xl40 8 all_gather "8000000" 1448.3
ok "in the background, too" takes 8xl40 8 all_gather_begin "8000000" 1448.3
ok "a ring of one socket does not" takes 8xl40 4 all_gather "8400000" 425.5
case_of t4 "$pcie"
ok "copies through host memory" takes 4xt4 4 all_gather_begin "8200000" 3039.5
ok "gathers in the background follow each other" takes 4xt4 4 all_gather_twice "8200000" 6051.0
case_of h100-sxm-80 "$nvlink, \"nvswitch\": true, \"adapters_per_node\": 8, \"network_bandwidth_bytes_per_s\": 5e10,
    \"network_latency_s\": 2.7e-6"
ok "two nodes: a ring over all adapters is as fast as inside" takes 2xp5 16 all_gather "80000000" 478.0
ok "the tree of the switches" takes 2xp5 16 all_reduce "80000000" 716.7
ok "a message has one adapter" takes 2xp5 16 send_recv "2500000" 122.4
case_of a100-sxm-40 "$nvlink, \"nvswitch\": true, \"adapters_per_node\": 4, \"network_bandwidth_bytes_per_s\": 1.135e10,
    \"network_latency_s\": 2.7e-6"
ok "a tree over a narrow network" takes 2xp4d 16 all_reduce "80000000" 4348.7

tap_end
