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
rounded() { # WanPipeline makes 9 frames of 8, the others 9 of 12
    run wan rounded --num_frames 8 >answer && python3 compare.py "$golden/wan/expected.safetensors" wan/embeddings.safetensors rounded/latents.safetensors &&
        "$ditbench" generate "$golden/cogvideox" --prompt x --height 32 --width 48 --num_frames 12 --dry-run 2>message >answer && grep -q -- '--num_frames 12 is run as 9' message
}
ok "a number of frames that no latents have becomes the pipeline's" rounded
finish
