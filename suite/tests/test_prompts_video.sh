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
for kind in wan:9 wan_a14b:5 hunyuan_video:9 cogvideox:9 latte:5; do
    ok "${kind%:*}: tokens, embeddings and latents of a prompt are those of diffusers" is_diffusers ${kind%:*} --frames numbered
    ok "${kind%:*}: every frame is within one level" frames_are ${kind%:*} ${kind#*:}
done
for kind in ltx:9 ltx_timestep:9 ltx_condition:17 mochi:13 hunyuan_video15:5; do
    ok "${kind%:*}: tokens, embeddings and latents of a prompt are those of diffusers" is_diffusers ${kind%:*} --frames numbered
    ok "${kind%:*}: every frame is within one level" frames_are ${kind%:*} ${kind#*:}
done
divided() { # KIND FRAMES OPTION...: two ranks make the clip of one, decode included
    run "$1" "$1-two" --frames numbered "${@:3}" --use_parallel_vae >answer &&
        python3 compare.py "$golden/$1/expected.safetensors" "$1-two/embeddings.safetensors" "$1-two/latents.safetensors" &&
        for ((frame = 0; frame < $2; frame++)); do
            within "$1-two/image/$(printf 'frame-%04d.png' $frame)" "$1/image/$(printf 'frame-%04d.png' $frame)" || return 1
        done
}
rescaled() { # OPTION...: LTXPipeline's guidance_rescale
    run ltx rescaled --guidance_rescale 0.7 "$@" >answer && python3 compare.py "$golden/ltx/rescaled.safetensors" rescaled/latents.safetensors &&
        differs "$golden/ltx/expected.safetensors" rescaled/embeddings.safetensors rescaled/latents.safetensors
}
ok "ltx: guided predictions with a share of the positive one's deviation" rescaled
ok "ltx: two ranks divide the clip whose deviation it is" rescaled --ulysses_degree 2
ok "ltx: four ranks, branches and tokens, on a device with memory of its own" rescaled --cfg_degree 2 --ring_degree 2 --backend host
rescales_no() {
    ! run mochi none --guidance_rescale 0.5 2>message && grep -q 'guidance_rescale 0.5: pipelines of Mochi' message &&
        ! run ltx none --guidance_rescale 0.5 --pipefusion_parallel_degree 2 2>message && grep -q 'guidance_rescale beside pipefusion_degree 2' message
}
ok "a deviation is refused where the pipeline has none, and beside bands" rescales_no
ok "ltx_timestep: two ranks share steps and the rows of the decode" divided ltx_timestep 9 --ulysses_degree 2
ok "mochi: two ranks share branches and the rows of the decode" divided mochi 13 --cfg_degree 2
ok "hunyuan_video15: two ranks share branches and deal the frames of the decode" divided hunyuan_video15 5 --cfg_degree 2 --vae_split frames
silent() { # a prompt without quotes has zeros of ByT5, which nobody sees; a prompt of a blank is the empty one
    local size=(--height 32 --width 64 --num_frames 5 --num_inference_steps 1 --max_sequence_length 272)
    "$ditbench" generate "$golden/hunyuan_video15" "${size[@]}" --prompt "a fox" --output silent -q >answer &&
        "$ditbench" generate "$golden/hunyuan_video15" "${size[@]}" --prompt "a fox" --negative_prompt " " --output blank -q >answer &&
        cmp silent/embeddings.safetensors blank/embeddings.safetensors && python3 - silent/embeddings.safetensors <<'PYTHON'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
length = struct.unpack("<Q", data[:8])[0]
entries = json.loads(data[8:8 + length])
def values(name):
    begin, end = entries[name]["data_offsets"]
    return data[8 + length + begin:8 + length + end]
sys.exit(any(any(values(sign + name)) for sign in ("", "negative_") for name in ("prompt_embeds_2", "prompt_attention_mask_2")))
PYTHON
}
ok "hunyuan_video15: what has no quotes is silent for ByT5" silent
guider() { # the checkpoint says the scale and the size, and a guider that is not built is refused
    cp -rL "$golden/hunyuan_video15" guided && sed -i 's/"guidance_scale": 6.0/"guidance_scale": 5.5/' guided/guider/guider_config.json &&
        "$ditbench" generate guided --prompt x --output none --dry-run 2>message >answer && grep -q -- '--guidance_scale 5.5: the guider' message &&
        grep -q -- '--height 480: target_size' message && grep -q -- '--width 848: target_size' message &&
        sed -i 's/"target_size": 640/"target_size": 960/' guided/transformer/config.json &&
        "$ditbench" generate guided --prompt x --output none --dry-run 2>message >answer && grep -q -- '--width 1280: target_size' message &&
        sed -i 's/"enabled": true/"enabled": false/' guided/guider/guider_config.json &&
        "$ditbench" generate guided --prompt x --output none --dry-run 2>message >answer && grep -q -- '--guidance_scale 1: the guider' message &&
        sed -i 's/"stop": 1.0/"stop": 0.5/' guided/guider/guider_config.json &&
        exits 2 "$ditbench" generate guided --prompt x --output none --dry-run 2>message && grep -q 'guider of .* is not implemented' message &&
        rm guided/tokenizer_2/tokenizer_config.json && exits 2 "$ditbench" generate guided --prompt x --output none --dry-run 2>message &&
        grep -q 'tokenizer_2 has no vocabulary' message
}
ok "hunyuan_video15: the guider's scale and the transformer's target size are the defaults" guider
told() { # the timestep changes the clip, and no other VAE takes one
    run ltx_timestep untold --frames numbered --decode_timestep 0 --decode_noise_scale 0 >answer &&
        ! within untold/image/frame-0000.png ltx_timestep/image/frame-0000.png &&
        exits 2 run ltx told --decode_timestep 0.05 2>message && grep -q 'is told no timestep' message
}
apart() { # the class decides where frames lie, and which steps there are
    cp -rL "$golden/ltx_condition" plain && sed -i 's/LTXConditionPipeline/LTXPipeline/' plain/model_index.json && mapfile -t arguments < <(options ltx_condition) &&
        "$ditbench" generate plain "${arguments[@]}" --output plainly -q --frames numbered >answer &&
        differs "$golden/ltx_condition/expected.safetensors" plainly/embeddings.safetensors plainly/latents.safetensors &&
        exits 2 run mochi no --frame_rate 24 2>message && grep -q 'no positions in seconds' message
}
ok "LTXConditionPipeline and LTXPipeline make other clips of the same weights, and others have no frame rate" apart
ok "a decode timestep is told to decoders that take one, and to no other" told
second() { # a scale of its own, two ranks each, a pipeline whose steps are synchronous; one transformer by name
    run wan_a14b two --cfg_degree 2 --pipefusion_parallel_degree 2 --warmup_steps 6 >answer &&
        python3 compare.py "$golden/wan_a14b/expected.safetensors" two/embeddings.safetensors two/latents.safetensors &&
        exits 2 run wan_a14b two --pipefusion_parallel_degree 2 2>message && grep -q 'two transformers' message &&
        run wan_a14b alone --transformer "$golden/wan_a14b/transformer" --vae "$golden/wan_a14b/vae" >answer &&
        differs "$golden/wan_a14b/expected.safetensors" alone/embeddings.safetensors alone/latents.safetensors &&
        cp -rL "$golden/wan_a14b" other && sed -i 's/"ffn_dim": 32/"ffn_dim": 40/' other/transformer_2/config.json &&
        exits 2 "$ditbench" generate other --prompt x --height 32 --width 48 --num_frames 5 --output none 2>message && grep -q 'other configs' message &&
        rm -r other/transformer_2 && exits 2 "$ditbench" generate other --prompt x --height 32 --width 48 --num_frames 5 --output none 2>message &&
        grep -q 'has no transformer_2' message
}
ok "wan_a14b: two transformers run on four ranks, and what cannot be is refused" second
first=(--image "$golden/wan_i2v/start.png" --frames numbered)
ok "wan_i2v: what becomes of the first frame, embeddings and latents are those of diffusers" is_diffusers wan_i2v "${first[@]}"
ok "wan_i2v: every frame is within one level" frames_are wan_i2v 5
shared() { # four ranks: two branches, two halves of the clip; two ranks: halves of every encoder and of the decode
    run wan_i2v four "${first[@]}" --cfg_degree 2 --ulysses_degree 2 --text_encoder_parallel cfg >answer &&
        python3 compare.py "$golden/wan_i2v/expected.safetensors" four/embeddings.safetensors four/latents.safetensors &&
        run wan_i2v halves "${first[@]}" --tensor_degree 2 --text_encoder_parallel tensor --use_parallel_vae >answer &&
        python3 compare.py "$golden/wan_i2v/expected.safetensors" halves/embeddings.safetensors halves/latents.safetensors &&
        for ((frame = 0; frame < 5; frame++)); do within "halves/image/frame-000$frame.png" "wan_i2v/image/frame-000$frame.png" || return 1; done
}
ok "wan_i2v: encoders and steps shared by ranks give the same clip" shared
needs() {
    exits 2 "$ditbench" generate "$golden/wan_i2v" --prompt x --height 32 --width 48 --num_frames 5 --output none 2>message && grep -q -- '--image' message &&
        exits 2 "$ditbench" generate "$golden/wan_i2v" --prompt x "${first[@]}" --strength 0.5 --output none 2>message && grep -q -- '--strength' message &&
        cp -rL "$golden/wan_i2v" lacking && rm lacking/image_processor/preprocessor_config.json &&
        exits 2 "$ditbench" generate lacking --prompt x "${first[@]}" --output none 2>message && grep -q preprocessor_config message
}
ok "a clip of a picture needs one, all of its steps, and the folder's image processor" needs
begin=(--image "$golden/wan_ti2v/start.png" --frames numbered)
ok "wan_ti2v: the latents of the picture, embeddings and latents of the clip are those of diffusers" is_diffusers wan_ti2v "${begin[@]}"
ok "wan_ti2v: every frame is within one level" frames_are wan_ti2v 9
divided_clip() { # bands of a pipeline whose steps are synchronous, halves of the tokens and of the branches, of every matrix
    run wan_ti2v stages "${begin[@]}" --pipefusion_parallel_degree 2 --warmup_steps 4 >answer &&
        python3 compare.py "$golden/wan_ti2v/expected.safetensors" stages/embeddings.safetensors stages/latents.safetensors &&
        run wan_ti2v halves "${begin[@]}" --ulysses_degree 2 --cfg_degree 2 >answer &&
        python3 compare.py "$golden/wan_ti2v/expected.safetensors" halves/embeddings.safetensors halves/latents.safetensors &&
        run wan_ti2v columns "${begin[@]}" --tensor_degree 2 --ring_degree 2 >answer &&
        python3 compare.py "$golden/wan_ti2v/expected.safetensors" columns/embeddings.safetensors columns/latents.safetensors
}
ok "wan_ti2v: ranks that share tokens, branches, matrices or blocks give the same clip" divided_clip
whole() { # without a picture the folder makes a clip of text, as WanPipeline does; the class that wants one says so
    run wan_ti2v text --frames numbered >answer && differs wan_ti2v/latents.safetensors text/latents.safetensors &&
        cp -rL "$golden/wan_ti2v" wanting && sed -i 's/"WanPipeline"/"WanImageToVideoPipeline"/' wanting/model_index.json &&
        exits 2 "$ditbench" generate wanting --prompt x --height 32 --width 128 --num_frames 9 --output none 2>message && grep -q -- '--image' message &&
        exits 2 run wan_ti2v none "${begin[@]}" --strength 0.5 2>message && grep -q -- '--strength' message &&
        exits 2 run wan_ti2v none "${begin[@]}" --num_frames 1 2>message && grep -q 'one latent frame' message
}
ok "wan_ti2v: a picture is asked for where the class needs one, and what cannot be is refused" whole
picture=(--image "$golden/ltx_picture/start.png" --frames numbered)
ok "ltx_picture: the sample of the picture, embeddings and latents of the clip are those of diffusers" is_diffusers ltx_picture "${picture[@]}"
ok "ltx_picture: every frame is within one level" frames_are ltx_picture 9
divided_picture() { # two halves of the tokens, and of the branches; counted noise is another sample; one sample has one generator
    run ltx_picture halves "${picture[@]}" --ulysses_degree 2 --cfg_degree 2 >answer &&
        python3 compare.py "$golden/ltx_picture/expected.safetensors" halves/embeddings.safetensors halves/latents.safetensors &&
        run ltx_picture counted "${picture[@]}" --noise counter >answer &&
        differs "$golden/ltx_picture/expected.safetensors" counted/embeddings.safetensors counted/latents.safetensors &&
        exits 2 run ltx_picture none "${picture[@]}" --noise torch-each --num_images_per_prompt 2 2>message && grep -q 'one generator' message &&
        exits 6 run ltx none --image "$golden/ltx_picture/start.png" 2>message && grep -q 'encoder' message &&
        exits 2 run ltx_condition none --image "$golden/ltx_picture/start.png" 2>message
}
ok "ltx_picture: ranks give the same clip, and what cannot be is refused" divided_picture
several() { # of several pictures diffusers hides what lies behind a prompt, instead of cutting it
    run latte several --num_images_per_prompt 2 --num_inference_steps 1 >answer && python3 - several/embeddings.safetensors "$golden/latte/expected.safetensors" <<'PYTHON'
import json, struct, sys
def shape(path):
    data = open(path, "rb").read()
    return json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])["prompt_embeds"]["shape"]
mine, one = shape(sys.argv[1]), shape(sys.argv[2])
sys.exit(not (mine == [2, 120, one[2]] and one[1] < 120))
PYTHON
}
ok "latte: of several clips of a prompt the padding is hidden, of one it is cut" several
rounded() { # WanPipeline makes 9 frames of 8, the others 9 of 12
    run wan rounded --num_frames 8 >answer && python3 compare.py "$golden/wan/expected.safetensors" wan/embeddings.safetensors rounded/latents.safetensors &&
        "$ditbench" generate "$golden/cogvideox" --prompt x --height 32 --width 48 --num_frames 12 --dry-run 2>message >answer && grep -q -- '--num_frames 12 is run as 9' message
}
ok "a number of frames that no latents have becomes the pipeline's" rounded
shown() { # RATE KIND OPTION...: frames a second of the clip
    "$ditbench" generate "$golden/$2" --prompt x --num_inference_steps 1 "${@:3}" --dry-run >case.json 2>message && tr -d ' \n\t' <case.json | grep -q "\"frames_per_s\":$1[,}]"
}
rates() {
    shown 16 wan && shown 24 hunyuan_video15 && shown 30 mochi && shown 8 cogvideox && shown 25 ltx_timestep && shown 20 ltx_timestep --frame_rate 20 &&
        shown 12 wan --fps 12 && shown 8 latte
}
ok "a clip is shown as fast as its model was trained to" rates
finish
