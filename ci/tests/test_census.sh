#!/usr/bin/env bash
# Censuses are what the pinned PyTorch and diffusers dispatch, byte for byte, where they are installed (ci/deps.sh peers
# census). One class of models; DITBENCH_TEST_ALL=1: all. Speaks TAP.
# shellcheck source=ci/tap.sh
set -u
cd "$(dirname "$0")/../.." || exit 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
cache=${XDG_CACHE_HOME:-${HOME:-}/.cache}/ditbench
classes=(PixArtTransformer2DModel)
[ "${DITBENCH_TEST_ALL:-}" != 1 ] || classes=()

for folder in workloads/profiles/census/*/; do
    name=$(basename "$folder")
    case $name in
    diffusers-0.30.3) environment=$cache/census-0.30.3 ;;
    *) environment=${DITBENCH_PEERS:-$cache/peers} ;;
    esac
    "$environment/bin/python" ci/census.py --list >"$work/list" 2>/dev/null
    if ! grep -qx "$name" "$work/list"; then
        skip "$name is what its versions dispatch" "they are not installed"
        skip "a count that is off by one is found" "they are not installed"
        continue
    fi
    ok "$name is what its versions dispatch" "$environment/bin/python" ci/census.py --check "${classes[@]}"
    mkdir -p "$work/census/$name"
    sed '0,/"calls": 1,/s//"calls": 2,/' "$folder/PixArtTransformer2DModel.json" >"$work/census/$name/PixArtTransformer2DModel.json"
    ok "a count that is off by one is found" exits 1 "$environment/bin/python" ci/census.py --check --out "$work/census" PixArtTransformer2DModel
done
tap_end
