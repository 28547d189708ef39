# Shared by the shell tests of the harness, over ci/tap.sh: a tiny workload, counting what is left behind.
# shellcheck shell=bash disable=SC2034,SC2317
# Environment: DITBENCH_BUILD, the absolute build folder.
set -u
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${DITBENCH_BUILD:-$source_dir/build}
# shellcheck source=ci/tap.sh
. "$source_dir/ci/tap.sh"
ditbench=$build/bin/ditbench
fault_engine=$build/tests/ditbench-engine-fault
fake_engine=$build/tests/ditbench-engine-fake # DITBENCH_FAKE says how it behaves (suite/tests/fake_engine.c)
work=$(mktemp -d "${TMPDIR:-/tmp}/ditbench-test-XXXXXX")
export DITBENCH_RESULTS=$work/results DITBENCH_WORKLOADS=$source_dir/workloads
sanitized() { grep -q __asan_init "$ditbench"; }

# write_workload FILE PROCESSES: three cases of one or two ranks, a tenth of a second each.
write_workload() {
    cat >"$1" <<JSON
{
  "schema": "ditbench.workload/1",
  "name": "tiny",
  "title": "Tiny: for tests of the harness",
  "program": "denoise",
  "defaults": {"resolution": "64x64", "num_inference_steps": 2, "text_tokens": 8, "platform": "local-cpu",
               "threads_per_rank": 1},
  "axes": {
    "model": [{"name": "pixart-alpha-xl-2", "as": "tiny",
               "override": {"num_layers": 1, "num_attention_heads": 2, "attention_head_dim": 16,
                            "cross_attention_dim": 32, "caption_channels": 32}}],
    "method": ["single", "ulysses", "ring"],
    "world_size": [1, 2]
  },
  "repeat": {"processes": $2, "seed": 3},
  "measure": {"warmup_runs": 1, "iterations": 2, "deadline_s": 60}
}
JSON
}

# Process ids whose DITBENCH_ATTEMPT lies under $1.
processes_of() {
    local environ
    for environ in /proc/[0-9]*/environ; do
        if { tr '\0' '\n' <"$environ"; } 2>/dev/null | grep -q "^DITBENCH_ATTEMPT=$1"; then
            environ=${environ#/proc/}
            echo "${environ%/environ}"
        fi
    done
}

# Processes that were told to end have five seconds for it: the last one of a case can outlive its leader by a moment.
nothing_left() {
    local left tries
    for tries in {1..50}; do
        left=$(processes_of "$work")
        [ -n "$left" ] || return 0
        sleep 0.1
    done
    echo "processes left after $tries looks: $left"
    return 1
}

# Scratch folders whose owner was a child of this test: none may remain.
no_scratch_of() { # pid
    ! compgen -G "/dev/shm/ditbench.*.$1.*" >/dev/null
}

finish() {
    rm -rf "$work"
    tap_end
}
trap 'rm -rf "$work"' EXIT
