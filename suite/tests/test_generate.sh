#!/usr/bin/env bash
# ditbench generate: pictures equal to those of diffusers within one level, clips, texts, checkpoints, refusals; and
# ditbench list models. Speaks TAP.
# shellcheck disable=SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
golden=$source_dir/engine/tests/golden
picture=$build/tests/engine_picture_diff
cd "$work" || exit 4

generate() { "$ditbench" generate "$@" -q; }
# within LIMIT COMMAND...: its answer is a number of at most LIMIT.
within() {
    local limit=$1 worst
    shift
    worst=$("$@") && echo "worst difference $worst" && [ "$worst" -le "$limit" ]
}
# refuses CODE WORDS ARGUMENT...: exit code, and the words in the message; no picture and no folder of ours is left.
refuses() {
    local code=$1 words=$2
    shift 2
    exits "$code" generate "$@" --output refused.png 2>message || return 1
    grep -q -- "$words" message || { cat message; return 1; }
    ! compgen -G '.ditbench-generate-*' >/dev/null && [ ! -e refused.png ]
}

for run in flux_dev flux_schnell pixart_alpha pixart_alpha_mild pixart_sigma sd3 tiny_shapes; do
    equals_diffusers() {
        generate "$golden/e2e_$run" --output "$run.png" &&
            within 1 "$picture" levels "$run.png" "$golden/e2e_$run/output.safetensors"
    }
    ok "$run: the picture is that of diffusers within one level" equals_diffusers
done

in_parallel() { # NAME OPTION...
    local run=$1
    shift
    generate "$golden/e2e_$run" --output parallel.png "$@" && within 1 "$picture" same parallel.png "$run.png"
}
ok "two ranks of Ulysses make the same picture" in_parallel pixart_sigma --ulysses_degree 2
ok "two ranks of a ring make the same picture" in_parallel flux_dev --ring_degree 2
gathered() { in_parallel flux_dev --ring_degree 2 --attention all-gather && grep -q '"attention": "all-gather"' parallel.json; }
ok "two ranks that gather all keys make the same picture" gathered
ok "xDiT's --use_cfg_parallel makes the same picture" in_parallel sd3 --use_cfg_parallel
ok "stages that are synchronous in every step make the same picture" in_parallel flux_dev \
    --pipefusion_parallel_degree 2 --attn_layer_num_for_pp 2,3 --warmup_steps 100
ok "displaced patches that are synchronous in every step make the same picture" in_parallel pixart_sigma \
    --patch_degree 2 --patch_method pcpp --warmup_steps 100
stale() { # DIGESTS OPTION...: another result than a synchronous one's, and the same each time
    local other=$1
    shift
    generate "$golden/e2e_pixart_sigma" --output stale.png "$@" && "$picture" text stale.png ditbench.latent_digest >"$other" &&
        generate "$golden/e2e_pixart_sigma" --output stale.png "$@" &&
        "$picture" text stale.png ditbench.latent_digest | cmp - "$other" &&
        ! "$picture" text pixart_sigma.png ditbench.latent_digest | cmp -s - "$other"
}
ok "a pipeline of stale bands makes its own picture, twice the same" stale pipeline --pipefusion_parallel_degree 2 \
    --num_pipeline_patch 4 --warmup_steps 1
ok "displaced patches make theirs" stale patches --patch_degree 2 --patch_method pcpp --patch_fraction 0.25
shared_decode() { # OPTION...: all ranks decode; what rank 0 sent for it is in the record, as predicted
    in_parallel "$@" --use_parallel_vae && grep -q '"rows_degree": 2' parallel.json &&
        grep -q '"collective": "send_recv"' parallel.json && grep -q '"phase": "decode"' parallel.json
}
ok "two ranks share the decode: the same picture" shared_decode flux_dev --ring_degree 2
ok "two ranks of guidance share the decode: the same picture" shared_decode sd3 --use_cfg_parallel
alone() { in_parallel flux_dev --ring_degree 2 && grep -q '"rows_degree": 1' parallel.json && ! grep -q '"decode",' parallel.json; }
ok "without --use_parallel_vae rank 0 decodes alone" alone


# Latents of 2 x 2 pixels, which a codec without weights decodes: a checkpoint whose vae/ is its config alone.
make_codec_checkpoint() {
    mkdir -p codec/transformer codec/vae codec/scheduler
    echo '{"_class_name": "PixArtSigmaPipeline"}' >codec/model_index.json
    cp "$golden"/tiny_shapes/{config.json,diffusion_pytorch_model.safetensors} codec/transformer/
    cp "$golden"/vae_pixel_shuffle/config.json codec/vae/
    tr -d '\n' <"$golden"/e2e_tiny_shapes/e2e.json | sed -E 's/.*"scheduler": (\{[^}]*\}).*/\1/' >codec/scheduler/scheduler_config.json
}
codec() { # OPTION...
    generate codec --inputs "$golden/e2e_tiny_shapes/inputs.safetensors" --height 32 --width 32 --num_inference_steps 6 \
        --guidance_scale 2.5 "$@"
}
codec_picture() {
    make_codec_checkpoint && codec --output codec.png && within 0 "$picture" same codec.png tiny_shapes.png &&
        ! grep -q '"vae":' codec.json # weights that it does not have have no origin
}
ok "a codec needs no weights" codec_picture
codec_shared() {
    in_parallel tiny_shapes --ulysses_degree 2 --use_parallel_vae && grep -q '"rows_degree": 2' parallel.json &&
        grep -q '"collective": "all_gather"' parallel.json && ! grep -q '"collective": "send_recv", "phase": "decode"' parallel.json
}
ok "two ranks share the codec's rows: the same picture" codec_shared
codec_latents() { # without the VAE the case says how many pixels a latent spans
    grep -o 'xxh3:[0-9a-f]*' codec.json >digest && codec --output alone.safetensors && grep -qF "$(cat digest)" alone.json
}
ok "latents alone are those that the picture was made of" codec_latents
codec_size() {
    codec --height 30 --output refused.png 2>message
    [ $? = 2 ] && grep -q 'multiple of 4 px' message
}
ok "sizes that are not whole tokens of the codec are refused" codec_size
codec_weights() {
    codec --output case.png --dry-run | sed -n '/^{/,$p' | tr -d '\n\t' |
        sed 's/"vae":{/"vae":{"weights":{"kind":"safetensors","path":"x"},/' >case.json && mkdir -p out &&
        ! "$build/bin/ditbench-engine" --case case.json --out out >message 2>&1 && grep -q 'has no weights' message
}
ok "a file of weights for the codec is refused" codec_weights

# Captions instead of embeddings: a model folder with its text table, scheduler and codec.
said="light; large red striped circle top-left; small blue plain square bottom-right"
make_bundle() {
    mkdir -p bundle/vae && cp "$golden"/tiny_shapes/{config.json,diffusion_pytorch_model.safetensors,text.safetensors,vocabulary.json} bundle/ &&
        cp "$golden"/vae_pixel_shuffle/config.json bundle/vae/ && cp codec/scheduler/scheduler_config.json bundle/
}
bundle() { generate bundle --num_inference_steps 6 --guidance_scale 2.5 "$@"; }
digest_of() { grep -o 'xxh3:[0-9a-f]*' "$1" | head -1; }
captions() { # the same latents as with the embeddings that PyTorch made of this caption, and other ones with other words
    make_bundle && bundle --prompt "$said" --output said.png >message && grep -q 'captions$' message &&
        bundle --inputs "$golden/tiny_shapes/embeds.safetensors" --height 32 --width 32 --output embeds.png &&
        bundle --prompt "grey; large red plain ring top-left" --output grey.png &&
        [ "$(digest_of said.json)" = "$(digest_of embeds.json)" ] && [ "$(digest_of said.json)" != "$(digest_of grey.json)" ] &&
        grep -qF "$said" said.json && "$picture" text said.png ditbench.case | grep -qF "\"captions\":[\"$said\"]"
}
ok "a caption gives the latents of its embeddings" captions
captions_shared() {
    bundle --prompt "$said" --prompt "grey; large red plain ring top-left" --output both.png &&
        bundle --prompt "$said" --prompt "grey; large red plain ring top-left" --output shared.png --ulysses_degree 2 &&
        within 1 "$picture" same both-1.png shared-1.png && within 1 "$picture" same both-0.png said.png
}
ok "two captions make a picture each, on one rank and on two" captions_shared
many() { bundle --prompt shapes:test:20 --output many.png >message && [ "$(grep -c 'many-.*32 x 32' message)" = 2 ] && grep -q '^... 18 more' message; }
ok "of many pictures the first and the last are listed" many
captions_of_split() { # 3 captions; the words of the first, given by hand, make its picture
    bundle --prompt shapes:held-out:3 --output split.png && [ "$(ls split-[0-9].png | wc -l)" = 3 ] &&
        first=$(python3 -c 'import json; c = json.load(open("split.json"))["conditioning"]["captions"]; assert len(set(c)) == 3; print(c[0])') &&
        bundle --prompt "$first" --output first.png && within 1 "$picture" same first.png split-0.png
}
ok "captions of a split make a picture each" captions_of_split
ok "a split that does not exist is refused with those that do" refuses 2 'none of train' bundle --prompt shapes:tset:3
ok "a split without a count is refused" refuses 2 'one SPLIT and a COUNT' bundle --prompt shapes:test
ok "captions of a split and others are refused" refuses 2 'one SPLIT and a COUNT' bundle --prompt shapes:test:3 --prompt "$said"
ok "a wrong word is named with those that may stand there" refuses 2 '"rde" is none of red, orange' bundle --prompt "grey; large rde plain ring top-left"
ok "the caption of a clip is none of a picture" refuses 2 'caption of a clip, but there is one frame' bundle --prompt "grey; large red plain ring top-left moving up"
ok "a model without a table refuses captions" refuses 2 'has no text table' "$golden/e2e_flux_dev" --prompt "$said"
ok "captions and embeddings contradict each other" refuses 2 'both say what the picture shows' bundle --prompt "$said" --inputs "$golden/tiny_shapes/embeds.safetensors"
wrong_table() {
    cp -r bundle wrong && cp "$golden"/{pixart_sigma/config.json,pixart_sigma/diffusion_pytorch_model.safetensors} wrong/ &&
        rm -r wrong/vae && refuses 6 'the text table gives 16 slots of 16 numbers' wrong --num_inference_steps 2 --guidance_scale 1 \
            --height 64 --width 64 --vae "$golden/vae_4ch" --prompt "$said"
}
ok "a table of another model is refused with both widths" wrong_table

texts() {
    "$picture" text sd3.png Software | grep -q '^ditbench ' &&
        "$picture" text sd3.png ditbench.case | grep -q '^{"attention":"auto",.*"program":"generate",' &&
        "$picture" text sd3.png ditbench.case_id | grep -qE '^[0-9a-f]{32}$' &&
        "$picture" text sd3.png ditbench.latent_digest >digest && grep -qF "$(cat digest)" sd3.json
}
ok "the picture carries its case and the digest that the record has" texts
facts() { # beside the case: what people look for
    [ "$("$picture" text flux_dev.png ditbench.model)" = e2e_flux_dev ] && [ "$("$picture" text flux_dev.png ditbench.steps)" = 6 ] &&
        [ "$("$picture" text flux_dev.png ditbench.seed)" = 42 ] && "$picture" text flux_dev.png ditbench.commit | grep -q . &&
        "$picture" text parallel.png ditbench.mesh | grep -q 'r2\|u2'
}
ok "and model, seed, steps, mesh and commit by themselves" facts
again() { # the case of a picture, run once more: on one rank, and on two
    generate --from_image sd3.png --output again.png && within 0 "$picture" same again.png sd3.png &&
        [ "$("$picture" text again.png ditbench.case_id)" = "$("$picture" text sd3.png ditbench.case_id)" ] &&
        generate --from_image parallel.png --output again.png && within 0 "$picture" same again.png parallel.png
}
ok "--from_image runs the case of a picture once more" again
ok "and takes no other wish" refuses 2 'something else is asked for' --from_image sd3.png --seed 3
ok "nor a mesh" refuses 2 'something else is asked for' --from_image sd3.png --ulysses_degree 2
no_case() { printf '\211PNG\r\n\032\n' >bare.png && refuses 2 'bare.png carries no case' --from_image bare.png; }
ok "a picture without a case is refused" no_case
ok "and what is no picture" refuses 6 'is no PNG' --from_image sd3.json
seeds() { # torch's numbers are the default: the first picture of a list of generators is that of one generator
    local size="--height 64 --width 64 --num_inference_steps 1 --seed 5"
    # shellcheck disable=SC2086 # options are words
    for how in torch torch-each counter; do generate flux.1-schnell~one-of-each $size --num_images 2 --noise $how --output $how.safetensors || return 1; done
    # shellcheck disable=SC2086
    generate flux.1-schnell~one-of-each $size --num_images 2 --output usual.safetensors && [ "$(digest_of usual.json)" = "$(digest_of torch.json)" ] &&
        [ "$(digest_of torch.json)" != "$(digest_of torch-each.json)" ] && [ "$(digest_of torch.json)" != "$(digest_of counter.json)" ] &&
        grep -q '"initial_noise": "torch"' torch.json && grep -q '"initial_noise": "seeded"' counter.json
}
ok "--noise says where the noise of a seed comes from" seeds
ok "another source of noise is refused" refuses 2 'none of torch, torch-each, counter' "$golden/e2e_flux_dev" --noise numpy
origins() { grep -q '"conditioning"' sd3.json && [ "$(grep -c '"kind": "safetensors"' sd3.json)" -eq 3 ]; }
ok "the record says where weights and embeddings came from" origins

make_checkpoint() {
    mkdir -p checkpoint/transformer checkpoint/vae checkpoint/scheduler
    echo '{"_class_name": "FluxPipeline", "transformer": ["diffusers", "FluxTransformer2DModel"]}' >checkpoint/model_index.json
    cp "$golden"/flux_dev/config.json "$golden"/flux_dev/*.safetensors checkpoint/transformer/
    rm checkpoint/transformer/{inputs,output}.safetensors
    cp "$golden"/vae_16ch/config.json "$golden"/vae_16ch/diffusion_pytorch_model.safetensors checkpoint/vae/
    cat >checkpoint/scheduler/scheduler_config.json <<JSON
{"_class_name": "FlowMatchEulerDiscreteScheduler", "shift": 3.0, "use_dynamic_shifting": true, "base_shift": 0.5,
 "max_shift": 1.15, "base_image_seq_len": 256, "max_image_seq_len": 4096, "invert_sigmas": null}
JSON
}
checkpoint() {
    make_checkpoint && generate checkpoint --inputs "$golden/e2e_flux_dev/inputs.safetensors" --height 128 --width 128 \
        --num_inference_steps 6 --guidance_scale 3.5 --output checkpoint.png &&
        within 1 "$picture" levels checkpoint.png "$golden/e2e_flux_dev/output.safetensors"
}
ok "a checkpoint folder as diffusers lays it out makes the same picture" checkpoint
through_model() { generate --model checkpoint --num_inference_steps 1 --height 64 --width 64 -o seeded.png; }
ok "without embeddings they are seeded, and xDiT's --model names the folder" through_model
says_seeded() { grep -A1 '"conditioning"' seeded.json | grep -q '"seeded"'; }
ok "the record says that they were seeded" says_seeded

start_with() { # PICTURE STRENGTH OPTION...: image-to-image
    local first=$1 strength=$2
    shift 2
    generate checkpoint --inputs embeds.safetensors --height 64 --width 64 --num_inference_steps 4 --guidance_scale 3.5 \
        --image "$first" --strength "$strength" "$@"
}
start_from() { start_with sd3.png "$@"; } # a picture of another model
make_embeds() { # the embeddings of a golden run without its latents
    python3 - "$golden/e2e_flux_dev/inputs.safetensors" embeds.safetensors <<'PYTHON'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
length = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + length])
kept = {k: v for k, v in header.items() if k not in ("latents", "__metadata__")}
body, out = data[8 + length:], b""
for value in kept.values():
    begin, end = value["data_offsets"]
    value["data_offsets"] = [len(out), len(out) + end - begin]
    out += body[begin:end]
text = json.dumps(kept).encode()
text += b" " * (-len(text) % 8)
open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + out)
PYTHON
}
image_to_image() { # half the strength is half the steps; two ranks make the same picture
    make_embeds && start_from 0.5 --output half.png && grep -q '"vae_encode"' half.json &&
        grep -q '"steps": 2' half.json && start_from 0.5 --ring_degree 2 --output shared.png && within 1 "$picture" same shared.png half.png &&
        start_from 1 --output full.png && grep -q '"steps": 4' full.json && [ "$("$picture" same full.png half.png)" -gt 8 ]
}
ok "--image starts from a picture" image_to_image
jpeg_start() { start_with "$source_dir/engine/tests/pictures/rgb.jpg" 0.5 --output jpeg.png && [ -s jpeg.png ]; }
ok "which may be a JPEG" jpeg_start
bad_start() { echo GIF89a >x.gif && refuses 6 'neither a PNG nor a JPEG' checkpoint --inputs embeds.safetensors --height 64 --width 64 --image x.gif; }
ok "and no other file" bad_start
ok "a strength above 1 is refused" refuses 2 'at most 1' checkpoint --image sd3.png --strength 1.5
ok "a scheduler that cannot begin late refuses a picture" refuses 2 'cannot begin in the middle' --transformer "$golden/pixart_sigma" \
    --vae "$golden/vae_4ch" --scheduler "$golden/schedulers/dpmpp_2m.json" --height 64 --width 64 --num_inference_steps 4 --image sd3.png

part() { # WORDS HINT COMMAND...: a checkpoint that lacks a part is told by the file, with what would do
    local words=$1 hint=$2
    shift 2
    rm -rf lacking && cp -r checkpoint lacking && (cd lacking && "$@") &&
        echo '{"_class_name": "FluxPipeline", "transformer": ["diffusers", "FluxTransformer2DModel"], "vae": ["diffusers", "AutoencoderKL"], "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"]}' >lacking/model_index.json &&
        refuses 2 "$words" lacking && grep -q -- "$hint" message
}
ok "a folder that is missing is named" part 'no vae/' 'name another VAE' rm -r vae
ok "weights that are missing too" part 'vae/diffusion_pytorch_model.safetensors is missing' 'not complete' rm vae/diffusion_pytorch_model.safetensors
pickle() { mv transformer/diffusion_pytorch_model.safetensors transformer/diffusion_pytorch_model.bin; }
ok "weights as a pickle are foreign" part 'diffusion_pytorch_model.bin is a pickle' 'safe_serialization' pickle
shard() { mv transformer/diffusion_pytorch_model.safetensors transformer/x-1.safetensors && echo '{"weight_map": {"a": "x-1.safetensors", "b": "x-2.safetensors"}}' >transformer/diffusion_pytorch_model.safetensors.index.json; }
ok "so is one shard of several" part 'x-2.safetensors is missing' 'fetch this shard' shard
ok "and the solver's file" part 'scheduler_config.json is missing' "diffusers' layout" rm scheduler/scheduler_config.json
authors() { mkdir -p authors && touch authors/flux1-schnell.safetensors && refuses 2 "authors' own layout" authors; }
ok "a model in its authors' layout is told to be one" authors

clip() {
    generate "$golden/e2e_cogvideox_2b" --vae "$golden/vae_cogvideox" --output clip.png &&
        [ "$("$picture" frames clip.png)" -eq 9 ] && "$picture" text clip.png ditbench.case >/dev/null
}
ok "a clip is one animated file with its texts" clip
clips_equal_diffusers() { # every frame of the runs that end with one
    local run frame
    for run in wan_unipc hunyuan_video; do
        generate "$golden/e2e_$run" --output "$run.png" --frames numbered || return 1
        for frame in 0 1 2 3 4 5 6 7 8; do
            within 1 "$picture" levels "$run/frame-000$frame.png" "$golden/e2e_$run/output.safetensors" "$frame" || return 1
        done
    done
}
ok "clips of Wan and HunyuanVideo are those of diffusers within one level" clips_equal_diffusers
shared_clip() {
    generate "$golden/e2e_cogvideox_2b" --vae "$golden/vae_cogvideox" --ulysses_degree 2 --use_parallel_vae \
        --output shared.png && within 1 "$picture" same shared.png clip.png && grep -q '"rows_degree": 2' shared.json
}
ok "two ranks share the decode of a clip" shared_clip
dealt_clip() {
    local frame
    generate "$golden/e2e_wan_unipc" --ulysses_degree 2 --use_parallel_vae --vae_split frames --output dealt.png --frames numbered || return 1
    for frame in 0 4 8; do within 1 "$picture" same "dealt/frame-000$frame.png" "wan_unipc/frame-000$frame.png" || return 1; done
    ! generate "$golden/e2e_wan_unipc" --vae_split frames --output alone.png 2>alone.log && grep -q 'add --use_parallel_vae' alone.log
}
ok "two ranks deal the frames of a clip, and one rank has nobody to deal them to" dealt_clip
numbered() {
    generate "$golden/e2e_cogvideox_2b" --vae "$golden/vae_cogvideox" --output frames.png --frames numbered &&
        [ "$(find frames -name 'frame-000?.png' | wc -l)" -eq 9 ] && within 0 "$picture" same frames/frame-0000.png clip.png
}
ok "or numbered frames; the first is what plain viewers show of the clip" numbered
keeps_others() {
    touch frames/mine frames/frame-0099.png &&
        generate "$golden/e2e_cogvideox_2b" --vae "$golden/vae_cogvideox" --output frames.png --frames numbered &&
        [ -e frames/mine ] && [ "$(find frames -name 'frame-*.png' | wc -l)" -eq 9 ]
}
ok "numbered frames take the place of older ones and of nothing else" keeps_others
no_picture() { # CODE WORDS SOURCE: refused before anything is sampled, with what to do
    refuses "$1" "$2" "$3" && grep -q -- '--output FILE.safetensors' message && ! compgen -G 'refused*' >/dev/null
}
ok "a run that names no VAE cannot make a picture" no_picture 2 'names no VAE' "$golden/e2e_cogvideox_2b"
not_built() { # a catalogue that says so of Wan's VAE
    mkdir catalogue && ln -s "${DITBENCH_WORKLOADS:-$source_dir/workloads}"/* catalogue/ && rm catalogue/vaes &&
        cp -r "${DITBENCH_WORKLOADS:-$source_dir/workloads}/vaes" catalogue/ &&
        sed -i 's/"config": {/"built": false, &/' catalogue/vaes/wan2.1.json &&
        DITBENCH_WORKLOADS=$PWD/catalogue no_picture 2 'E_UNSUPPORTED: the VAE of wan2.1-t2v-1.3b~two-blocks is not supported' \
            wan2.1-t2v-1.3b~two-blocks
}
ok "nor can a model whose VAE is not supported" not_built
make_unbuilt() {
    mkdir -p unbuilt && cp "$golden/vae_cogvideox/diffusion_pytorch_model.safetensors" unbuilt/ &&
        sed 's/"AutoencoderKLCogVideoX"/"AutoencoderKLMagvit"/' "$golden/vae_cogvideox/config.json" >unbuilt/config.json
}
unbuilt() {
    make_unbuilt && exits 2 "$ditbench" generate "$golden/e2e_wan_unipc" --vae unbuilt -v --output refused.png 2>message &&
        grep -q 'E_UNSUPPORTED: .*AutoencoderKLMagvit' message && ! grep -q '^step' message && ! compgen -G 'refused*' >/dev/null && grep -q -- '--output FILE.safetensors' message
}
ok "nor can a checkpoint with a VAE of a class that is not supported: nothing is sampled" unbuilt
latents_only() {
    generate "$golden/e2e_wan_unipc" --output wan.safetensors >answer && grep -q 'no picture: latents were asked for' answer &&
        [ -s wan.safetensors ] && [ -s wan.json ] && [ ! -e wan.png ] && [ ! -d wan.safetensors ]
}
ok "--output FILE.safetensors makes only the latents" latents_only
unwritable() { # FILE: an ending that cannot be written makes neither a file nor a folder of that name
    exits 2 generate "$golden/e2e_flux_schnell" --output "$1" 2>message && grep -q "cannot write .${1##*.}" message &&
        grep -q 'FILE.png .* FILE.safetensors .* FOLDER/' message && [ ! -e "$1" ]
}
ok "--output FILE.jpg is refused, with what can be written" unwritable sd3.jpg
ok "--output FILE.avi too" unwritable latte.avi
played() { # where the build has libavcodec a clip is a video, else the packages are named
    if generate "$golden/e2e_cogvideox_2b" --vae "$golden/vae_cogvideox" --output "clip.$1" 2>message; then
        [ -s "clip.$1" ] && grep -q "\"frames_as\": \"$1\"" clip.json && [ ! -e clip.$1.part ] && grep -qa "$2" "clip.$1"
    else
        grep -q 'no libavcodec' message && grep -q 'ci/deps.sh clips' message && [ ! -e "clip.$1" ]
    fi
}
ok "--output FILE.mp4 is a clip, or names what is missing" played mp4 ftyp
ok "--output FILE.webm too" played webm webm
made() { # the folders of a file are made; nothing is made where nothing is sampled
    generate "$golden/e2e_flux_schnell" --output made/of/it.png --dry-run >/dev/null && [ ! -e made ] &&
        generate "$golden/e2e_flux_schnell" --output made/of/it.png && [ -s made/of/it.png ] && [ "$(ls made/of | wc -l)" = 3 ]
}
ok "the folder of a file is made" made
dotted() { generate "$golden/e2e_flux_schnell" --output run.v2/ && [ -s run.v2/image.png ]; }
ok "a folder may have a name like that, with a slash" dotted
several() {
    generate --transformer "$golden/pixart_sigma" --vae "$golden/vae_4ch" --scheduler "$golden/schedulers/dpmpp_2m.json" \
        --height 64 --width 96 --num_inference_steps 2 --num_images 2 --seed 5 --output several.png || return 1
    [ -s several-0.png ] && [ -s several-1.png ] && [ "$("$picture" same several-0.png several-1.png)" -gt 8 ]
}
ok "two images are two files that differ" several
folder() { generate "$golden/e2e_flux_schnell" --output kept && [ -s kept/image.png ] && [ -s kept/case.json ]; }
ok "--output DIR keeps picture, case and log" folder
variant() {
    generate 'pixart-alpha-xl-2~two-blocks' --height 64 --width 64 --num_inference_steps 1 --output_type latent \
        --output variant.png --json >answer && grep -q '"latent_digest"' answer && [ -s variant.safetensors ]
}
ok "a variant of a model of the catalogue runs with seeded weights" variant
progress() {
    "$ditbench" generate "$golden/e2e_flux_schnell" --output told.png -v 2>steps >answer
    [ "$(grep -cE '^step [1-4]/4 [0-9.]+ s$' steps)" -eq 4 ] && ! grep -q '^step' answer
}
ok "-v tells every step, on stderr" progress
parts() { # the parts of each decode, up to the last
    local of
    of=$(sed -nE 's|^decoding 0 1/([0-9]+) [0-9.]+ s$|\1|p' "$1")
    [ "${of:-0}" -ge 4 ] && [ "$(grep -cE "^decoding 0 [0-9]+/$of [0-9.]+ s$" "$1")" -eq "$of" ] && ! grep -q '^decoding' answer
}
ok "and every part of the decode" parts steps
parts_of_clip() {
    "$ditbench" generate "$golden/e2e_cogvideox_2b" --vae "$golden/vae_cogvideox" --output told.png -v 2>steps >answer
    parts steps
}
ok "of a clip too" parts_of_clip
dry() {
    "$ditbench" generate "$golden/e2e_flux_dev" --dry-run --output dry.png >answer || return 1
    grep -q "ditbench-engine'* --case" answer && grep -q '"program"' answer && [ ! -e dry.png ]
}
ok "--dry-run prints command and case, and makes nothing" dry

ok "--prompt is refused: there is no text encoder" refuses 2 'no text encoder' "$golden/e2e_flux_dev" --prompt "a cat"
lost_scale() { # a model that takes no scale says so, and what would guide it
    "$ditbench" generate "$golden/e2e_flux_schnell" --guidance_scale 3 --dry-run >/dev/null 2>message && grep -q 'no effect.*--true_cfg_scale 3' message &&
        "$ditbench" generate "$golden/e2e_flux_dev" --guidance_scale 3 --dry-run >/dev/null 2>message && ! grep -q 'no effect' message
}
ok "a scale without an effect is named" lost_scale
true_guidance() { # a second forward of a FLUX: every mesh has the latents of one rank, and CFG ranks send a prediction a step
    cat >true.json <<'JSON' && "$ditbench" run true.json --output true -q >/dev/null 2>&1 && "$ditbench" report true -q >/dev/null && [ "$(grep -c '"verdict": "holds"' true/report/claims.json)" = 3 ]
{"schema": "ditbench.workload/1", "name": "true-guidance", "title": "True guidance", "description": "Of a model of one branch.",
 "program": "denoise",
 "defaults": {"resolution": "64x64", "num_inference_steps": 2, "platform": "local-cpu", "threads_per_rank": 1,
              "model": {"name": "flux.1-dev", "as": "mini", "override": {"num_layers": 1, "num_single_layers": 1, "num_attention_heads": 2,
                                                                        "joint_attention_dim": 64}}},
 "axes": {"true_cfg_scale": [1, 4]},
 "zip": [{"method": ["single", "cfg", "ulysses", "cfg+ulysses"], "world_size": [1, 2, 2, 4]}],
 "repeat": {"processes": 1, "seed": 1},
 "measure": {"warmup_runs": 0, "iterations": 1},
 "expect": [{"id": "exact", "claim": "Meshes have the latents of one rank", "expr": "all('rel_l2 < 1e-5', where='world_size > 1')"},
            {"id": "bytes", "claim": "CFG ranks send a prediction a step",
             "expr": "all('communication_bytes == steps * image_tokens * 64 * 4', where='true_cfg_scale == 4', method='cfg')"},
            {"id": "branches", "claim": "Only true guidance has two branches", "expr": "count(where='cfg_degree == 2') == 2"}]}
JSON
}
ok "guidance by a second forward is exact on every mesh" true_guidance
ok "guidance by a second forward needs a negative prompt" refuses 6 'no negative_prompt_embeds' "$golden/e2e_flux_schnell" --true_cfg_scale 3
ok "and a model that computes one forward" refuses 2 'both branches of guidance already' "$golden/e2e_sd3" --true_cfg_scale 3
ok "a flag near a known one is named" refuses 2 'did you mean --guidance_scale?' "$golden/e2e_flux_dev" --guidance_scal 2
ok "missing negative embeddings are named" refuses 6 'no negative_prompt_embeds' \
    "$golden/e2e_sd3" --inputs "$golden/e2e_flux_dev/inputs.safetensors"
hostile() { # files whose header or extent is wrong; those of data alone are the engine's to refuse
    "$build/tests/base_test_safetensors" --write malformed || return 1
    local file code says
    while IFS=$'\t' read -r file code says; do
        case $file in data_nan* | data_inf* | data_bf16* | data_f16* | data_f64*) continue ;; esac
        [ -d "malformed/$file" ] && continue
        refuses 6 "$code" "$golden/e2e_flux_dev" --inputs "malformed/$file" && grep -qF -- "$says" message ||
            { echo "# $file: expected $code ... $says"; return 1; }
    done <malformed/expected.tsv
}
ok "inputs with a malformed header are refused before anything starts" hostile
ok "latents of another size are refused" refuses 6 'latents have' "$golden/e2e_flux_dev" --height 256
ok "a size that is no multiple of a patch is refused" refuses 2 'multiple of 16' "$golden/e2e_flux_dev" --height 100
ok "more stages than blocks are refused" refuses 2 'above the number of blocks' "$golden/e2e_flux_dev" \
    --pipefusion_parallel_degree 6
ok "stages that do not add up are refused" refuses 2 'add up to 5' "$golden/e2e_flux_dev" \
    --pipefusion_parallel_degree 2 --attn_layer_num_for_pp 1,1
ok "a list for other stages is refused" refuses 2 'pipefusion_degree is 1' "$golden/e2e_flux_dev" \
    --attn_layer_num_for_pp 1,2
ok "a list that is none is refused" refuses 2 'one number per stage' "$golden/e2e_flux_dev" \
    --pipefusion_parallel_degree 2 --attn_layer_num_for_pp 1,
ok "a patch method near a known one is named" refuses 2 'did you mean "pcpp"?' "$golden/e2e_flux_dev" \
    --patch_degree 2 --patch_method pccp
ok "a guidance batch where there is none is refused" refuses 2 'guidance' "$golden/e2e_flux_dev" --use_cfg_parallel
ok "a VAE with ranks of its own is refused" refuses 2 'no ranks of its own' "$golden/e2e_flux_dev" --vae_parallel_size 2
ok "a VAE shared by rows and cut into tiles is refused" refuses 2 'cannot be shared by rows' \
    "$golden/e2e_pixart_sigma" --vae "$golden/vae_4ch" --ulysses_degree 2 --use_parallel_vae --tiling
ok "an image VAE cannot decode a clip" refuses 6 'VAE' "$golden/e2e_cogvideox_2b" --vae "$golden/vae_4ch"
ok "a hub's name is not downloaded" refuses 2 'no folder' PixArt-alpha/PixArt-XL-2-1024-MS
ok "an unknown model names the nearest" refuses 2 'flux.1-dev' flux.1-dav
checkpoint_name() { refuses 2 'there is no folder FLUX.1-dev, and no model of that name' FLUX.1-dev && grep -q 'model_index.json' message; }
ok "a checkpoint's name that is no folder here is told to be a path" checkpoint_name
begins_so() {
    refuses 2 'begin so, with seeded weights: sana-0.6b, sana-1.6b, sd3-medium, ' s && ! grep -q 'sana-1.5' message &&
        refuses 2 'did you mean' wan2.2-t2v-1.3b
}
ok "the beginning of a name offers the models that begin so and can run" begins_so
broken() { cp -r checkpoint broken && truncate -s -100 broken/transformer/*.safetensors && refuses 6 'E_SAFETENSORS' broken; }
ok "a cut checkpoint is refused" broken
harmless() {
    "$ditbench" generate "$golden/e2e_flux_schnell" --trust_remote_code --warmup_steps 1 --num_pipeline_patch 4 \
        --enable_slicing --vae_parallel_size 0 --output harmless.png 2>notes >answer &&
        [ "$(grep -c 'changes nothing' notes)" -eq 4 ]
}
ok "xDiT's flags that change nothing are taken with a note" harmless

embeddings() { # the script says what is wrong without needing diffusers
    local script=$source_dir/engine/tools/prompt_embeds.py
    mkdir -p u-net && echo '{"_class_name": "StableDiffusionXLPipeline"}' >u-net/model_index.json &&
        exits 2 "$script" u-net --prompt "a cat" 2>message && grep -q 'StableDiffusionXLPipeline is not known' message &&
        exits 2 "$script" missing --prompt "a cat" 2>message && grep -q 'no checkpoint folder: No such file' message &&
        mkdir -p hidden && echo 'raise ImportError("No module named diffusers")' >hidden/diffusers.py &&
        PYTHONPATH=hidden exits 4 "$script" checkpoint --prompt "a cat" 2>message && grep -q 'pip install diffusers' message &&
        [ ! -e prompt.safetensors ]
}
ok "prompt_embeds.py says what it cannot do" embeddings

# The flags of xDiT's xfuser/config/args.py. Each is known, with a value or without one.
xdit_flags="
    attention_backend attn_layer_num_for_pp batch_size coco_path cross_attention_backend data_parallel_degree
    dataset_path distilled_transformer_2_path distilled_transformer_path dit_parallel_size download-dir
    enable_model_cpu_offload enable_sequential_cpu_offload enable_slicing enable_tiling flow_shift
    fp8_precision_override_prefix_patterns fp8_precision_override_suffix_patterns fully_shard_degree
    guidance_scale guidance_scale_2 height hybrid_attn_high_precision_backend hybrid_attn_low_precision_backend
    hybrid_attn_schedule img_file_path input_images max_sequence_length memory_efficient_sharding model n_calib
    negative_prompt no_reshard_after_forward no_use_resolution_binning num_frames
    num_hybrid_attn_high_precision_steps num_hybrid_gemm_high_precision_steps num_inference_steps num_iterations
    num_pipeline_patch output_directory output_type pipefusion_parallel_degree profile profile_active
    profile_wait profile_warmup prompt ray_world_size resize_input_images ring_degree seed shard_dit
    shard_t5_encoder spargeattn_cdfthreshold spargeattn_reorder_sequence spargeattn_simthreshold split_scheme
    task tensor_parallel_degree threshold trust-remote-code ulysses_degree use_cache use_cfg_parallel
    use_fast_attn use_fbcache use_fp4_gemms use_fp8_gemms use_fp8_t5_encoder use_hybrid_attn_schedule
    use_hybrid_gemm_schedule use_int8_gemms use_onediff use_parallel_vae use_ray use_spargeattn_head_balance
    use_spargeattn_static_block_mask use_ssta_sparse_text_to_image use_teacache use_torch_compile
    use_vae_channels_last_format vae_parallel_size warmup_calls warmup_steps width window_size use_fsdp
"
every_flag() {
    local flag
    for flag in $xdit_flags; do
        "$ditbench" generate nothing "--$flag" 2>message
        if grep -q 'unknown option' message; then
            cat message
            return 1
        fi
    done
}
ok "every flag of xDiT is understood" every_flag
cached() { # a picture whose middle blocks are reused is another one; its record says which steps
    exits 0 generate "$golden/e2e_flux_schnell" --output whole.png 2>message &&
        exits 0 generate "$golden/e2e_flux_schnell" --num_inference_steps 4 --cache '{"policy": "interval", "interval": 2}' --output cached.png 2>message &&
        tr -d ' \n\t' <cached.json | grep -q '"decisions":"1011"' && ! cmp -s whole.png cached.png &&
        exits 0 generate "$golden/e2e_flux_schnell" --num_inference_steps 4 --cache '{"policy": "easycache", "threshold": 1000, "warmup": 1}' --output easy.png 2>message &&
        tr -d ' \n\t' <easy.json | grep -q '"decisions":"1101"'
}
ok "--cache reuses steps, and the record tells which" cached
ok "--cache with a mistake is refused with the settings there are" refuses 2 'fbcach' "$golden/e2e_flux_schnell" --cache '{"policy": "fbcach"}'
ok "--cache with too few steps is refused by the engine" refuses 2 'E_JSON_VALUE' "$golden/e2e_flux_schnell" --cache '{"policy": "mask", "mask": "1"}'
hangs() {
    DITBENCH_FAULT=hang:1 exits 3 generate "$golden/e2e_flux_schnell" --engine "$fault_engine" --timeout 1s \
        --output refused.png 2>message && grep -q E_TIMEOUT message && nothing_left && ! compgen -G '.ditbench-generate-*'
}
ok "a hanging engine is ended at the deadline: 3" hangs
interrupted() {
    DITBENCH_FAULT=hang:1 exits 130 timeout --preserve-status -s INT 1 "$ditbench" generate "$golden/e2e_flux_schnell" \
        --engine "$fault_engine" --output refused.png && ! compgen -G '.ditbench-generate-*'
}
ok "an interrupt leaves nothing: 130" interrupted

counted() { # 11.901 billion parameters and 74.4 TFLOP: the published 12B and 74.36 (workloads/models/flux.1-dev.json)
    "$ditbench" list models --filter flux.1-dev | grep -qE '^flux.1-dev +Flux +11.901 +11.9 +1.000 +1024x1024 +1 +74.39 +x1 '
}
ok "list models counts parameters and flops" counted
entry() { "$ditbench" list models --filter allegro | grep -q 'only facts of its architecture'; }
ok "list models says what cannot be run, and why" entry
at_size() { "$ditbench" list models --filter latte-1 --resolution 256x256 --frames 4 --json | grep -q '"image_tokens":.1024'; }
ok "list models at another size" at_size
helps() { # VERB: names every option of pipelines and patches
    local option
    "$ditbench" help "$1" >help || return 1
    for option in num_pipeline_patch warmup_steps attn_layer_num_for_pp patch_degree patch_method patch_fraction; do
        grep -q -- "--$option" help || { echo "no --$option"; return 1; }
    done
}
ok "help generate names the options of pipelines and patches" helps generate
ok "help golden too" helps golden
methods() { # NAME EXACT: what the table says of a method
    "$ditbench" list methods --json >methods.json && tr -d ' \n\t' <methods.json | grep -q "\"name\":\"$1\",[^}]*\"exact\":$2" &&
        "$ditbench" list methods | grep -q "^$1 "
}
ok "list methods: Ulysses is exact" methods ulysses true
ok "list methods: a hybrid with a pipeline is not" methods 'cfg+pipefusion+ulysses' false
names() { "$ditbench" list workloads | grep -q '^smoke  *Smoke' && "$ditbench" list platforms | grep -q '^8xl40 *8 *48.0 *pcie4-x16 ' && "$ditbench" list vaes | grep -q '^flux '; }
ok "list workloads, platforms and VAEs" names
ok "list of something else: 2" exits 2 "$ditbench" list modls
finish
