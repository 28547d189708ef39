#!/usr/bin/env bash
# ditbench generate --prompt of clips: whole tiny pipelines beside what diffusers made of them (engine/tests/pipelines/video.py): tokens
# equal, embeddings and latents as near as float32 allows, every frame within one level. Speaks TAP.
# shellcheck disable=SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
# shellcheck source=suite/tests/prompt_runs.sh
. "$(dirname "$0")/prompt_runs.sh"
run wan first >answer 2>message || true
if grep -q 'E_ENVIRONMENT' message; then
    skip "whole pipelines from a prompt to a clip" "this build has no tokenizers (ci/deps.sh core)"
    finish
    exit
fi
frames_are() { # KIND FRAMES: of KIND/image/
    for ((frame = 0; frame < $2; frame++)); do
        worst=$("$build/tests/engine_picture_diff" levels "$1/image/$(printf 'frame-%04d.png' $frame)" "$golden/$1/expected.safetensors" $frame) &&
            [ "$worst" -le 1 ] || { echo "frame $frame: $worst"; return 1; }
    done
    [ "$(find "$1/image" -name '*.png' | wc -l)" -eq "$2" ]
}
for kind in wan:9 hunyuan_video:9 cogvideox:9 latte:5; do
    ok "${kind%:*}: tokens, embeddings and latents of a prompt are those of diffusers" is_diffusers ${kind%:*} --frames numbered
    ok "${kind%:*}: every frame is within one level" frames_are ${kind%:*} ${kind#*:}
done
finish
