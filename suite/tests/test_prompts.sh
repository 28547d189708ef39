#!/usr/bin/env bash
# ditbench generate --prompt: whole tiny pipelines from a prompt to a picture, beside what diffusers made of them
# (engine/tests/pipelines/export.py, chat.py): tokens equal, embeddings, latents and picture as near as float32 allows. Speaks TAP.
# shellcheck disable=SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
# shellcheck source=suite/tests/prompt_runs.sh
. "$(dirname "$0")/prompt_runs.sh"
run flux first >answer 2>message || true
if grep -q 'E_ENVIRONMENT' message; then
    skip "whole pipelines from a prompt" "this build has no tokenizers (ci/deps.sh core)"
    finish
    exit
fi
for kind in flux pixart sd3 hunyuandit z_image flux2_klein flux2 qwen_image lumina2 sana; do
    ok "$kind: tokens, embeddings and latents of a prompt are those of diffusers" is_diffusers $kind
    ok "$kind: the picture is within one level" picture_is $kind
done
own_texts() { # KIND OPTION...: an encoder reads another text than the first one
    run "$1" texts "${@:2}" >answer && python3 compare.py "$golden/$1/texts.safetensors" texts/latents.safetensors &&
        differs "$golden/$1/expected.safetensors" texts/embeddings.safetensors texts/latents.safetensors
}
ok "sd3: every encoder reads a text of its own, and CLIPs leave out a block" own_texts sd3 --prompt_2 "the blue sea" --prompt_3 "3 birds" \
    --negative_prompt_2 snow --negative_prompt_3 night --clip_skip 1
ok "flux: T5 reads a text of its own" own_texts flux --prompt_2 "the blue sea" --negative_prompt rain --negative_prompt_2 snow --true_cfg_scale 2
no_such_text() {
    ! run hunyuandit none --prompt_2 x 2>message && grep -q 'HunyuanDiTPipeline has no prompt_2' message &&
        ! run flux_control none --image "$golden/flux_control/start.png" --negative_prompt_2 x 2>message && grep -q 'has no negative_prompt_2' message &&
        ! run flux none --clip_skip 1 2>message && grep -q 'FluxPipeline has no clip_skip' message
}
ok "texts and skipped blocks that a pipeline has not are refused" no_such_text
binned() { # PixArtSigmaPipeline with use_resolution_binning: another size is sampled, then resized and cut
    rm -rf large && cp -r "$golden/pixart" large && sed -i 's/"sample_size": 16/"sample_size": 32/' large/transformer/config.json &&
        mapfile -t arguments < <(options pixart) &&
        "$ditbench" generate large "${arguments[@]}" --num_inference_steps 2 --output binned -q "$@" >answer
}
resized() {
    binned && worst=$("$build/tests/engine_picture_diff" levels binned/image.png "$golden/pixart/binned.safetensors") && [ "$worst" -le 1 ] &&
        [ "$("$build/tests/engine_picture_diff" text binned/image.png ditbench.sampled_px)" = 304x208 ] &&
        tr -d ' \n' <binned/record.json | grep -q '"sizes":{"asked_height_px":32,"asked_width_px":48,"sampled_height_px":208' &&
        "$ditbench" generate --from_image binned/image.png --output refit.png -q >answer && within refit.png binned/image.png
}
ok "pixart: a size is sampled as the nearest of its pipeline's, then resized and cut" resized
as_asked() {
    binned --no_use_resolution_binning && [ "$("$build/tests/engine_picture_diff" text binned/image.png ditbench.sampled_px)" = 48x32 ] &&
        ! grep -q '"sizes"' binned/record.json
}
ok "pixart: sizes are taken as they are where that is asked for" as_asked
deep() { # SanaPipeline likewise, 32 x 32 pixels a latent
    rm -rf deep && cp -rL "$golden/sana" deep && sed -i 's/"sample_size": 8/"sample_size": 16/' deep/transformer/config.json &&
        mapfile -t arguments < <(options sana) && "$ditbench" generate deep "${arguments[@]}" --num_inference_steps 2 --output deep.png -q >answer &&
        worst=$("$build/tests/engine_picture_diff" levels deep.png "$golden/sana/binned.safetensors") && [ "$worst" -le 1 ] &&
        [ "$("$build/tests/engine_picture_diff" text deep.png ditbench.sampled_px)" = 448x576 ] &&
        "$ditbench" generate deep --prompt x -n 2>&1 | grep -q -- '--width 512: sample_size'
}
ok "sana: a size is sampled as the nearest of its pipeline's, then resized and cut" deep
sampled() { # FOLDER WIDTHxHEIGHT...: pairs of an asked and a sampled size
    local folder=$1 asked
    shift
    while [ $# -gt 0 ]; do
        asked=$1
        "$ditbench" generate "$folder" --prompt x --width "${asked%x*}" --height "${asked#*x}" -n >case.json 2>message || return 1
        tr -d ' \n\t' <case.json | grep -qF "\"run\":{\"height_px\":${2#*x},\"width_px\":${2%x*}," || { echo "$1: not $2"; return 1; }
        shift 2
    done
}
ok "hunyuandit: the nearest shape, then the nearest area, whatever was asked for" sampled "$golden/hunyuandit" 1030x1025 1024x1024 1200x1200 1280x1280 \
    1000x700 1024x768 1920x1080 1280x768 500x2000 768x1280 1152x864 1152x864 900x1200 864x1152
beside=(--image "$golden/flux_fill/start.png" --mask_image "$golden/flux_fill/mask.png") guide=(--image "$golden/flux_control/start.png")
ok "flux_fill: what becomes of picture and mask, and latents, are those of diffusers" is_diffusers flux_fill "${beside[@]}"
ok "flux_fill: the picture is within one level" picture_is flux_fill
ok "flux_control: what becomes of the picture that guides, and latents, are those of diffusers" is_diffusers flux_control "${guide[@]}"
ok "flux_control: the picture is within one level" picture_is flux_control
two_beside() { # KIND OPTION...: noise of two pictures, and a sample of the picture for each where it guides
    run "$1" two "${@:2}" --prompt "the blue sea" >answer && python3 compare.py "$golden/$1/two.safetensors" two/latents.safetensors
}
ok "flux_fill: latents of two prompts" two_beside flux_fill "${beside[@]}"
ok "flux_control: latents of two prompts" two_beside flux_control "${guide[@]}"
refused() { # WORDS KIND OPTION...
    ! run "$2" none "${@:3}" 2>message && grep -q -- "$1" message
}
ok "flux_fill needs a mask" refused 'mask_image FILE' flux_fill --image "$golden/flux_fill/start.png"
ok "flux_control takes none" refused 'leave out --mask_image' flux_control "${guide[@]}" --mask_image "$golden/flux_fill/mask.png"
ok "and both a picture" refused 'there is none' flux_control
ok "and no strength" refused 'all steps are run' flux_fill "${beside[@]}" --strength 0.5
ok "a mask of another pipeline is refused" refused 'paints no part' flux --image "$golden/flux/start.png" --mask_image "$golden/flux_fill/mask.png"
from_picture() { # FluxImg2ImgPipeline, StableDiffusion3Img2ImgPipeline
    run "$1" from_picture --image "$golden/$1/start.png" --strength 0.6 --num_inference_steps 5 >answer &&
        python3 compare.py "$golden/$1/image.safetensors" from_picture/latents.safetensors &&
        worst=$("$build/tests/engine_picture_diff" levels from_picture/image.png "$golden/$1/image.safetensors") && [ "$worst" -le 1 ]
}
for kind in flux sd3; do
    ok "$kind from a picture: latents and picture are those of diffusers" from_picture $kind
done
kontext() { # the same parts as FluxKontextPipeline: the picture is a reference of its own size
    rm -rf kontext && cp -r "$golden/flux" kontext && sed -i 's/"FluxPipeline"/"FluxKontextPipeline"/' kontext/model_index.json &&
        mapfile -t arguments < <(options flux) &&
        "$ditbench" generate kontext "${arguments[@]}" --image "$golden/flux/start.png" --reference_resolution 48x32 --output referring -q "$@" >answer
}
referring() { # OPTION...
    kontext "$@" && python3 compare.py "$golden/flux/reference.safetensors" referring/latents.safetensors &&
        worst=$("$build/tests/engine_picture_diff" levels referring/image.png "$golden/flux/reference.safetensors") && [ "$worst" -le 1 ]
}
ok "flux as Kontext: latents and picture beside a reference are those of diffusers" referring
ok "flux as Kontext: two ranks have half of the latent and half of the reference" referring --ulysses_degree 2
seen=(--image "$golden/qwen_image_edit/start.png")
ok "qwen_image_edit: tokens, embeddings of a text that shows a picture, and latents are those of diffusers" is_diffusers qwen_image_edit "${seen[@]}"
ok "qwen_image_edit: the picture is within one level" picture_is qwen_image_edit
unseen() { # what changes no picture, and sizes of one that is not told
    mapfile -t arguments < <(options qwen_image_edit)
    ! "$ditbench" generate "$golden/qwen_image_edit" --prompt x --height 32 --width 32 --output none -q 2>message && grep -q 'changes a picture' message && grep -q -- '--image FILE' message &&
        ! run qwen_image_edit none "${seen[@]}" "${seen[@]}" 2>message && grep -q '2 pictures' message &&
        ! run qwen_image_edit none "${seen[@]}" --prompt 'a <|image_pad|> fox' 2>message && grep -q 'stands for a picture' message &&
        "$ditbench" generate "$golden/qwen_image_edit" --prompt x "${seen[@]}" -n 2>&1 >answer | grep -q 'no effect without --negative_prompt' &&
        [ "$(grep -c '"width_px":.1216,*$' answer)" = 2 ] && [ "$(grep -c '"height_px":.864,*$' answer)" = 2 ] &&
        rm -rf blind && cp -rL "$golden/qwen_image_edit" blind && rm -r blind/processor &&
        ! "$ditbench" generate blind "${arguments[@]}" "${seen[@]}" --output none -q 2>message && grep -q 'no processor/' message
}
ok "qwen_image_edit: without a picture, with its token in a prompt, or without a processor it is refused; a picture has a megapixel" unseen
several_seen() { # QwenImageEditPlusPipeline: two pictures, each of a size of its own behind the latent, and of another where the text shows it
    mapfile -t arguments < <(options qwen_image_edit_plus)
    "$ditbench" generate "$golden/qwen_image_edit_plus" "${arguments[@]}" --image "$golden/qwen_image_edit_plus/start.png" \
        --image "$golden/qwen_image_edit_plus/second.png" -n 2>message >answer && python3 - <<'PYTHON' &&
import json, math
case = json.loads(open("answer").read().partition("\n")[2])

def size(area, width, height):
    wide = math.sqrt(area * (width / height))
    return {"height_px": round(wide / (width / height) / 32) * 32, "width_px": round(wide / 32) * 32}

sides = (56, 40), (50, 80)
told = [{**size(1024 * 1024, *side), "seen": size(384 * 384, *side)} for side in sides]
assert case["run"]["reference"] == told, case["run"]["reference"]
case["run"]["reference"] = [{**size(80 * 80, *side), "seen": size(48 * 48, *side)} for side in sides]  # as the exporter has it
json.dump(case, open("several.json", "w"))
PYTHON
        rm -rf seen && "$build/bin/ditbench-engine" --case several.json --out seen </dev/null >answer 2>message &&
        python3 compare.py "$golden/qwen_image_edit_plus/expected.safetensors" seen/embeddings.safetensors seen/latents.safetensors &&
        worst=$("$build/tests/engine_picture_diff" levels seen/image.png "$golden/qwen_image_edit_plus/expected.safetensors") && [ "$worst" -le 1 ]
}
ok "qwen_image_edit_plus: two pictures that a text shows and that stand behind the latent" several_seen
unguided_edit() {
    mapfile -t arguments < <(options qwen_image_edit | grep -v negative_prompt)
    "$ditbench" generate "$golden/qwen_image_edit" "${arguments[@]}" "${seen[@]}" --output silent -q >answer &&
        python3 compare.py "$golden/qwen_image_edit/silent.safetensors" silent/latents.safetensors
}
ok "qwen_image_edit: nothing guides without a negative prompt" unguided_edit
refuses() { # what a reference is not
    ! kontext --strength 0.5 2>message && grep -q 'reference' message && ! run flux none --reference_resolution 48x32 2>message && grep -q 'no reference picture' message &&
        ! kontext --reference_resolution 50x32 2>message && grep -q 'not a multiple of 4' message
}
ok "flux as Kontext: a strength, a size without a picture and a size that is not in patches are refused" refuses
without_t5() { # of two prompts, two pictures each
    rm -rf bare && cp -r "$golden/sd3" bare && rm -r bare/tokenizer_3 bare/text_encoder_3 &&
        python3 -c 'import json
index = json.load(open("bare/model_index.json"))
index["text_encoder_3"] = index["tokenizer_3"] = [None, None]
json.dump(index, open("bare/model_index.json", "w"))' && mapfile -t arguments < <(options sd3) &&
        "$ditbench" generate bare "${arguments[@]}" --prompt "the blue sea" --num_images_per_prompt 2 --output without -q >answer &&
        python3 compare.py "$golden/sd3/without_t5.safetensors" without/embeddings.safetensors without/latents.safetensors
}
ok "sd3 without T5: latents of two prompts, two pictures each" without_t5
several() { # KIND: of two prompts, two pictures each, which diffusers gives masks of another prompt
    run "$1" several --prompt "the blue sea" --num_images_per_prompt 2 >answer &&
        python3 compare.py "$golden/$1/several.safetensors" several/latents.safetensors
}
for kind in qwen_image sana; do
    ok "$kind: latents of two prompts, two pictures each" several $kind
done
instructed() { # a negative prompt has no instruction, and an unguided prompt is the guided one's
    run sana alone --guidance_scale 1 >answer && python3 - alone/embeddings.safetensors sana/embeddings.safetensors <<'PYTHON'
import json, struct, sys

def floats(path, name):
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    entry = json.loads(data[8:8 + length])[name]
    begin, end = entry["data_offsets"]
    return struct.unpack(f"<{(end - begin) // 4}f", data[8 + length + begin:8 + length + end])

alone, both = sys.argv[1:]
for name in ("input_ids", "prompt_attention_mask"):
    assert floats(alone, name) == floats(both, name), name
assert max(abs(a - b) for a, b in zip(floats(alone, "prompt_embeds"), floats(both, "prompt_embeds"))) < 1e-5
ids, negative = floats(both, "input_ids"), floats(both, "negative_input_ids")
assert len(ids) == len(negative) > 60 and not any(negative[60:]) and all(ids[:60])
PYTHON
}
ok "sana: the instruction stands before a prompt alone" instructed
ranks() { # KIND OPTION...: as diffusers, shared by ranks
    run "$1" ranks "${@:2}" >answer && python3 compare.py "$golden/$1/expected.safetensors" ranks/embeddings.safetensors ranks/latents.safetensors &&
        within ranks/image.png "$1/image.png"
}
ok "sd3: two ranks with a branch of the guidance each, and of its text" ranks sd3 --cfg_degree 2 --text_encoder_parallel cfg
ok "hunyuandit: four ranks, branches and heads, text encoders divided" ranks hunyuandit --cfg_degree 2 --ulysses_degree 2 --text_encoder_parallel tensor
ok "z_image: two ranks with a branch of the guidance each, and of its text" ranks z_image --cfg_degree 2 --text_encoder_parallel cfg
ok "lumina2: two ranks divide rows whose norms guidance takes" ranks lumina2 --ulysses_degree 2 --text_encoder_parallel tensor
ok "lumina2: four ranks, branches and tokens" ranks lumina2 --cfg_degree 2 --ring_degree 2 --text_encoder_parallel cfg
ok "sana: two ranks share steps, text encoder and decode" ranks sana --ulysses_degree 2 --text_encoder_parallel tensor --use_parallel_vae
ok "sana: two ranks with a branch of the guidance each, and of its text" ranks sana --cfg_degree 2 --text_encoder_parallel cfg
ok "flux_fill: two ranks share the steps" ranks flux_fill "${beside[@]}" --ulysses_degree 2
truncated() { # --cfg_trunc_ratio and --cfg_normalization, as the pipeline has them
    run lumina2 cut --cfg_trunc_ratio 0.5 --cfg_normalization 0 >answer && python3 compare.py "$golden/lumina2/cut.safetensors" cut/latents.safetensors &&
        differs "$golden/lumina2/expected.safetensors" cut/embeddings.safetensors cut/latents.safetensors &&
        ! run lumina2 none --pipefusion_parallel_degree 2 2>message && grep -q 'cfg_normalization beside pipefusion_degree 2' message
}
ok "lumina2: guidance of the first half of the steps, without norms" truncated
normed() { # ZImagePipeline
    run z_image normed --cfg_normalization 0.8 >answer && python3 compare.py "$golden/z_image/normed.safetensors" normed/latents.safetensors
}
ok "z_image: guided predictions that are no longer than 0.8 of the positive ones" normed
later_unguided() { # ZImagePipeline's cfg_truncation
    run z_image cut --cfg_truncation 0.3 >answer && python3 compare.py "$golden/z_image/cut.safetensors" cut/latents.safetensors &&
        differs "$golden/z_image/expected.safetensors" cut/embeddings.safetensors cut/latents.safetensors &&
        ! run lumina2 none --cfg_truncation 0.3 2>message && grep -q 'cfg_truncation' message
}
ok "z_image: steps after a time go unguided" later_unguided
silent() { # without a negative prompt QwenImagePipeline does not guide
    mapfile -t arguments < <(options qwen_image | grep -v negative_prompt)
    "$ditbench" generate "$golden/qwen_image" "${arguments[@]}" --output silent -q >answer &&
        python3 compare.py "$golden/qwen_image/silent.safetensors" silent/latents.safetensors &&
        "$ditbench" generate "$golden/qwen_image" "${arguments[@]}" -n 2>&1 >answer | grep -q 'no effect without --negative_prompt'
}
ok "qwen_image: nothing guides without a negative prompt" silent
ok "flux2_klein: two ranks share every encoder, step and decode" ranks flux2_klein --tensor_degree 2 --text_encoder_parallel tensor --use_parallel_vae
ok "qwen_image: two ranks share the steps and the decode, one encodes" ranks qwen_image --ulysses_degree 2 --text_encoder_parallel broadcast --use_parallel_vae
ok "qwen_image_edit: two ranks share encoders, steps, both parts of the picture and the decode" ranks qwen_image_edit "${seen[@]}" --ulysses_degree 2 \
    --text_encoder_parallel tensor --use_parallel_vae
ok "qwen_image_edit: two ranks with a branch of the guidance each, and of its text" ranks qwen_image_edit "${seen[@]}" --cfg_degree 2 --text_encoder_parallel cfg
ok "qwen_image_edit: memory of a device of its own, block by block" ranks qwen_image_edit "${seen[@]}" --backend host --stream_text_encoders
parallel() { # two ranks: the same picture, and the same embeddings
    run flux two --ulysses_degree 2 >answer && within two/image.png flux/image.png && cmp two/embeddings.safetensors flux/embeddings.safetensors
}
ok "two ranks make the same picture of a prompt" parallel
shared() { # two ranks share the encoders in each way, all at once or block by block: nearly the same embeddings
    for way in broadcast tensor; do
        for how in '' --stream_text_encoders; do
            run flux shared --ulysses_degree 2 --text_encoder_parallel $way $how >answer || return 1
            python3 compare.py flux/embeddings.safetensors shared/embeddings.safetensors || return 1
        done
    done
    ! run flux shared --ulysses_degree 2 --text_encoder_parallel pipeline 2>message && grep -q 'replicated, broadcast, tensor' message
}
ok "text encoders shared by two ranks give the embeddings of one" shared
phases() { # of a run, in the record and in the answer
    run flux phases.png --json >answer && for phase in tokenize text_encode denoise vae_decode write; do grep -q "\"$phase\":" answer && grep -q "\"$phase\":" phases.json || return 1; done
}
ok "every part of the pipeline is timed" phases
on_device() { # FluxImg2ImgPipeline again: encoders, both ways of the VAE and the transformer are the device's, which says so
    DITBENCH_CUDA_LIBRARY=$build/tests/ditbench-cuda-emulated.so run flux device --image "$golden/flux/start.png" --strength 0.6 \
        --num_inference_steps 5 --backend cuda --dtype fp32 --json >answer && python3 compare.py "$golden/flux/image.safetensors" device/latents.safetensors || return 1
    python3 - <<'PYTHON'
import json
want = {"tokenize": "host", "text_encode": "cuda", "vae_encode": "cuda", "denoise": "cuda", "vae_decode": "cuda", "write": "host"}
for name in ("answer", "device/record.json"):
    assert json.load(open(name))["phases_on"] == want, (name, json.load(open(name))["phases_on"])
PYTHON
}
if [ -e "$build/tests/ditbench-cuda-emulated.so" ]; then
    ok "on a device text encoders, VAE and transformer run there, and record and answer say so" on_device
else
    skip "prompts on a device" "this build has no emulated device"
fi
file() { # lines make a picture each, on one rank and shared over two
    printf 'a red fox\n\nthe blue sea\n' >lines && for ranks in 1 2; do
        "$ditbench" generate "$golden/pixart" --prompt_file lines --num_images_per_prompt 2 --negative_prompt rain --height 32 --width 32 \
            --num_inference_steps 2 --guidance_scale 2 --max_sequence_length 24 --data_degree $ranks --output lines$ranks.png -q >answer || return 1
    done
    for i in 0 1 2 3; do within lines1-$i.png lines2-$i.png || return 1; done
    ! within lines1-0.png lines1-1.png && [ "$("$build/tests/engine_picture_diff" text lines1-2.png ditbench.prompt)" = "the blue sea" ]
}
ok "a file of prompts makes pictures of each line, shared over ranks" file
cleaned() { # prompts of PixArt as its pipeline cleans them, where that is asked for
    local call=(--height 32 --width 32 --num_inference_steps 1 --guidance_scale 1 --max_sequence_length 24 -q)
    "$ditbench" generate "$golden/pixart" --prompt "A Red fox.png, (see www.fox.com/a) page 3 #12: fox" --clean_caption "${call[@]}" --output cleaned >answer &&
        "$ditbench" generate "$golden/pixart" --prompt "a red , see: fox" "${call[@]}" --output plain >answer &&
        python3 compare.py plain/embeddings.safetensors cleaned/embeddings.safetensors &&
        "$ditbench" generate --from_image cleaned/image.png --output again.png -q >answer && within again.png cleaned/image.png &&
        ! run flux none --clean_caption 2>message && grep -q 'FluxPipeline has no clean_caption' message
}
ok "captions are cleaned where that is asked for and the pipeline has it" cleaned
usual_size() { # sample_size latents of the folder, 128 of FLUX
    "$ditbench" generate "$golden/pixart" --prompt x -n 2>&1 | grep -q '"height_px":.32,' && "$ditbench" generate "$golden/flux" --prompt x -n 2>&1 | grep -q '"width_px":.256,'
}
ok "without sizes a picture is as large as the pipeline makes it" usual_size
once_more() { "$ditbench" generate --from_image phases.png --output more.png -q >answer && within more.png phases.png; }
ok "a picture of a prompt is made once more from itself" once_more
lacks() { # FILE WORDS
    rm -rf lacking && cp -r "$golden/flux" lacking && rm -r "lacking/$1" && exits 2 "$ditbench" generate lacking --prompt x --output x.png 2>message &&
        grep -q -- "$2" message && [ ! -e x.png ]
}
beside_references() { # KIND COUNT OPTION...: Flux2Pipeline and Flux2KleinPipeline with `image`
    local pictures=(--image "$golden/references/first.png" --image "$golden/references/second.png") name=one
    [ "$2" = 1 ] || name=two
    run "$1" beside "${pictures[@]:0:2*$2}" "${@:3}" >answer && python3 compare.py "$golden/references/$1_$name.safetensors" beside/latents.safetensors &&
        worst=$("$build/tests/engine_picture_diff" levels beside/image.png "$golden/references/$1_$name.safetensors") && [ "$worst" -le 1 ]
}
for kind in flux2_klein flux2; do
    ok "$kind: latents and picture beside a reference are those of diffusers" beside_references $kind 1
    ok "$kind: beside two references of other sizes" beside_references $kind 2
done
ok "flux2_klein: two ranks have half of the latent and half of two references" beside_references flux2_klein 2 --ulysses_degree 2 --use_parallel_vae
ok "flux2: references on a device with memory of its own" beside_references flux2 2 --backend host
sized() { # WIDTH HEIGHT KIND: what becomes of a picture of that size, whose head alone is there
    python3 -c 'import struct, sys
open("sized.png", "wb").write(b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", *map(int, sys.argv[1:])) + bytes(9))' "$1" "$2"
    "$ditbench" generate "$golden/$3" --prompt x --image sized.png -n 2>message >answer
}
sizes() { # Flux2Pipeline: at most a megapixel, its middle in whole tokens; no side below 64, none eight times the other
    sized 1500 1000 flux2 && grep -q '"width_px":.1252,*$' answer && grep -q '"height_px":.836,*$' answer && grep -q '"width_px":.1254,*$' answer &&
        ! sized 60 100 flux2 && grep -q 'takes no side below 64' message && ! sized 900 100 flux2 && grep -q 'more than 8 times the other' message &&
        ! run flux none --image "$golden/flux/start.png" --image "$golden/flux/start.png" 2>message && grep -q '2 pictures' message
}
ok "pictures that refer are sized as the pipeline does it, or refused" sizes
few() { # blocks
    rm -rf few && cp -rL "$golden/flux2_klein" few && sed -i 's/"num_hidden_layers": 28/"num_hidden_layers": 20/' few/text_encoder/config.json &&
        ! "$ditbench" generate few --prompt x --height 32 --width 32 --output none -q 2>message && grep -q 'after block 27 does not exist' message
}
ok "a text encoder with fewer blocks than the pipeline reads is refused" few
ok "a text encoder that is missing is named" lacks text_encoder_2 'no text_encoder_2/'
ok "and its weights" lacks text_encoder_2/model.safetensors 'text_encoder_2/model.safetensors is missing'
ok "and a vocabulary" lacks tokenizer/vocab.json 'no vocabulary'
finish
