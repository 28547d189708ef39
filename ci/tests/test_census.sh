#!/usr/bin/env bash
# Censuses are what the pinned PyTorch, diffusers and transformers dispatch, byte for byte, where they are installed
# (ci/deps.sh census). One file of each software; DITBENCH_TEST_ALL=1: all. Speaks TAP.
# shellcheck source=ci/tap.sh
set -u
cd "$(dirname "$0")/../.." || exit 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
peers=${DITBENCH_PEERS:-${XDG_CACHE_HOME:-${HOME:-}/.cache}/ditbench/peers}
files=(AutoencoderKL)
[ "${DITBENCH_TEST_ALL:-}" != 1 ] || files=()

ok "a folder for each software is there" [ "$(find workloads/profiles/census -mindepth 1 -type d | wc -l)" -ge 3 ]
for folder in workloads/profiles/census/*/; do
    name=$(basename "$folder")
    python=${peers%/*}/census-${name#diffusers-}/bin/python
    "$python" ci/census.py --list >"$work/list" 2>/dev/null
    if ! grep -qx "$name" "$work/list"; then
        skip "$name is what its versions dispatch" "they are not installed: ci/deps.sh census"
        skip "a count that is off by one is found" "they are not installed"
        continue
    fi
    ok "$name is what its versions dispatch" "$python" ci/census.py --check "${files[@]}"
    [ -z "${found:-}" ] || [ "${DITBENCH_TEST_ALL:-}" = 1 ] || continue
    found=1
    mkdir -p "$work/census/$name"
    sed '0,/"calls": 1,/s//"calls": 2,/' "$folder/AutoencoderKL.json" >"$work/census/$name/AutoencoderKL.json"
    ok "a count that is off by one is found" exits 1 "$python" ci/census.py --check --out "$work/census" AutoencoderKL
done
DITBENCH_PEERS=$work/none/peers python3 ci/census.py --all --installed --check AutoencoderKL 2>"$work/said"
ok "without any environment nothing can be said: 77" [ $? = 77 ]
ok "and each is named" [ "$(grep -c 'not installed' "$work/said")" -ge 3 ]
tap_end
