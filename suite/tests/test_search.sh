#!/usr/bin/env bash
# ditbench search: its answer is that of simulating every mesh, with few simulations; no bound is above a simulated time,
# and bounds that are too high are noticed; what was simulated is kept.
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
export XDG_CACHE_HOME=$work/cache

search() { # NAME ARGUMENT...: answers into $work/NAME
    local name=$1
    shift
    "$ditbench" search "$@" --json >"$work/$name" 2>"$work/$name.log"
}
count() { sed -n "s/^.*\"$2\":[[:space:]]*\([0-9]\{1,\}\).*/\1/p" "$work/$1" | head -n 1; }

# One line for each mesh of an answer: mesh, seconds (- where it was not simulated), bound.
meshes() {
    awk 'function value(line) { sub(/^[^:]*:[ \t]*/, "", line); gsub(/"|,$/, "", line); return line }
         /"mesh":/ { mesh = value($0); gsub(/ /, "_", mesh); seconds = "-" }
         /"seconds":/ { seconds = value($0) }
         /"bound_s":/ { print mesh, seconds, value($0) }' "$work/$1" | sort -u
}
winner() { meshes "$1" | awk '$2 != "-" && (!best || $2 < best) { best = $2 } END { print best }'; }
# The winner as the answer says it.
told() { awk '/"winner":/ { in_winner = 1 } in_winner && /"seconds":/ { gsub(/[^0-9.e+-]/, "", $2); print $2; exit }' "$work/$1"; }

if ! command -v smpirun >/dev/null || [ ! -x "$(dirname "$ditbench")/ditbench-engine-sim" ]; then
    skip "meshes are searched" "no simulator in this build (Debian: libsimgrid-dev)"
    tap_end
    exit
fi

# ---- the answer is that of simulating all -----------------------------------------------------------------------------
above=0 corrupted=0
few() { # MESHES SIMULATED: a quarter of them, or three
    [ "$2" -le 3 ] || [ $((4 * $2)) -le "$1" ]
}
compare() { # MODEL DEVICES PLATFORM PROFILE ARGUMENT...
    local case="$1 on $2 of $3 ${*:5}" best chosen
    local arguments=("$1" --devices "$2" --platform "$3" --profile "$4" --steps 8 --scope latents --what-if 0 --fresh "${@:5}")
    search all "${arguments[@]}" --exhaustive
    local all_code=$?
    search found "${arguments[@]}" -j 1
    if [ $? -eq 1 ] && [ $all_code -eq 1 ]; then # no mesh is legal, or none fits
        ! grep -q '"winner":' "$work/all" "$work/found"
        report $? "$case: neither search has a mesh"
        return
    fi
    best=$(winner all) chosen=$(told found)
    awk -v a="$best" -v b="$chosen" 'BEGIN { exit !(a > 0 && b <= a * (1 + 1e-9) && b >= a * (1 - 1e-9)) }'
    report $? "$case: the winner is that of simulating all ($chosen s, $best s)"
    meshes all | awk '$2 == "-" { bad = 1 } $2 + 0 < $3 + 0 { bad = 1; print "# above:", $0 } END { exit bad }' || above=1
    meshes all | awk '$2 + 0 < 1.1 * $3 { found = 1 } END { exit !found }' && corrupted=1
    echo "# $case: $(count found meshes) meshes, $(count found simulated) simulated"
}
models=(flux.1-dev~one-of-each pixart-alpha-xl-2~two-blocks)
sizes=(2 4 8)
if [ -n "${DITBENCH_TEST_ALL:-}" ]; then
    models+=(sd3-medium~two-blocks hunyuandit-v1.2~four-blocks cogvideox-2b~two-blocks latte-1~one-pair wan2.1-t2v-1.3b~two-blocks)
    sizes=(2 3 4 6 8)
fi
for model in "${models[@]}"; do
    for devices in "${sizes[@]}"; do
        compare "$model" "$devices" 8xh100-sxm torch-compile
        few "$(count found meshes)" "$(count found simulated)"
        report $? "with a switch few meshes are simulated"
        compare "$model" "$devices" 8xl40 pytorch-eager-2024
        [ -z "${DITBENCH_TEST_ALL:-}" ] || compare "$model" $((2 * devices)) 2x8xl40 pytorch-eager-2024 --quality approximate
    done
done
[ -n "${DITBENCH_TEST_ALL:-}" ] || compare pixart-alpha-xl-2~two-blocks 2 8xl40 pytorch-eager-2024 --quality approximate
[ $above -eq 0 ]
report $? "no bound is above a simulated time"
[ $corrupted -eq 1 ]
report $? "bounds times 1.1 are, so that this test notices wrong ones"
near=(flux.1-dev~one-of-each --devices 6 --platform 8xl40 --profile pytorch-eager-2024 --steps 8 --scope latents --quality approximate --what-if 0 --fresh)
search all "${near[@]}" --exhaustive && search found "${near[@]}" -j 1 && search wrong "${near[@]}" -j 1 --bounds-times 1.1
awk -v all="$(winner all)" -v found="$(told found)" -v wrong="$(told wrong)" 'BEGIN { exit !(all > 0 && found == all && wrong > all) }'
report $? "and with them another mesh wins, which is slower ($(told wrong) s, $(winner all) s)"

# ---- what was simulated is kept ----------------------------------------------------------------------------------------
small=(flux.1-dev~one-of-each --platform 8xl40 --devices 4)
search first "${small[@]}" --steps 8 && search second "${small[@]}" --steps 8
[ "$(count first simulated)" -gt 0 ] && [ "$(count second simulated)" -eq 0 ] && [ "$(told first)" = "$(told second)" ]
report $? "a second search simulates nothing and gives the same answer"
search stretched "${small[@]}" --steps 40 && search anew "${small[@]}" --steps 40 --fresh
[ "$(count stretched simulated)" -eq 0 ] && awk -v a="$(told stretched)" -v b="$(told anew)" 'BEGIN { exit !(a > b * (1 - 1e-6) && a < b * (1 + 1e-6)) }'
report $? "nor does one for other steps, whose time is that of a simulation"
find "$XDG_CACHE_HOME/ditbench/shapes" -name '*.json' -exec truncate -s 40 {} +
search mended "${small[@]}" --steps 8
[ "$(count mended simulated)" -gt 0 ] && [ "$(told mended)" = "$(told first)" ]
report $? "files that were cut off are simulated again"
bounds_of() { meshes "$1" | awk '{ print $1, $3 }'; }
mapfile -t bounds < <(grep -l 'ditbench.bounds/1' -r "$XDG_CACHE_HOME/ditbench/shapes")
search fewer flux.1-dev~one-of-each --platform 8xl40 --devices 2 --steps 8
for file in $(grep -l 'ditbench.bounds/1' -r "$XDG_CACHE_HOME/ditbench/shapes"); do # those of other cases in their place
    [ "$file" = "${bounds[0]}" ] || cp "$file" "${bounds[0]}"
done
search swapped "${small[@]}" --steps 8
[ ${#bounds[@]} -gt 0 ] && [ "$(bounds_of swapped)" = "$(bounds_of first)" ]
report $? "bounds are kept, and those of other cases are not taken for them"
sed -i 's/"seconds":[^,]*,//' "${bounds[@]}"
search damaged "${small[@]}" --steps 8
[ "$(bounds_of damaged)" = "$(bounds_of first)" ] && grep -q '"seconds":' "${bounds[0]}"
report $? "bounds without a number are computed again"
search other "${small[@]}" --steps 8 --profile torch-compile --calibration none
[ "$(count other kept)" -eq 0 ]
report $? "other software and no fitted values are another simulation"

# ---- goals -------------------------------------------------------------------------------------------------------------
search memory "${small[@]}" --goal memory
[ $? -eq 0 ] && [ "$(count memory simulated)" -eq 0 ] && [ "$(count memory kept)" -eq 0 ] && grep -q '"winner":' "$work/memory"
report $? "the least memory needs no simulation"
search front "${small[@]}" --steps 8 --goal front
awk -v a="$(told front)" -v b="$(told first)" 'BEGIN { exit !(a == b) }' && [ "$(grep -c '"ranks":' "$work/front")" -gt 3 ]
report $? "the front's time on all devices is that of goal latency"
search rate "${small[@]}" --steps 8 --goal throughput
shares() { grep -c '"replicas_share_links":[[:space:]]*true' "$work/$1"; }
grep -q '"replicas":[[:space:]]*4' "$work/rate" && [ "$(shares rate)" -eq 1 ] && [ "$(shares front)" -eq 1 ]
report $? "replicas of two ranks on a PCIe tree share links, those of one rank do not"
large=(flux.1-dev --platform 8xrtx-4090 --devices 4 --steps 2 --scope latents --goal throughput --what-if 0)
search tight "${large[@]}" && [ "$(shares tight)" -eq 2 ] && "$ditbench" search "${large[@]}" 2>/dev/null | grep -q '^Replicas share links'
report $? "and where such replicas win the answer says it of the winner"
rents() { # FILE PRICE_OF_1 PRICE_OF_4
    cat >"$work/$1" <<JSON
{"schema": "ditbench.price_book/1", "name": "mine", "currency": "USD", "per": "hour",
 "sources": {"offer": {"file": "offer.pdf", "date": "2026-11-01"}},
 "quotes": [
  {"provider": "p", "instance": "one", "accelerator": "l40", "count": 1, "region": "-", "kind": "on-demand", "price": $2, "source": "offer"},
  {"provider": "p", "instance": "four", "accelerator": "l40", "count": 4, "region": "-", "kind": "on-demand", "price": $3, "source": "offer", "platform": "8xl40"}
 ]}
JSON
}
cheapest() { # NAME FILE ARGUMENT...
    search "$1" "${small[@]}" --steps 8 --goal cost --prices "$work/$2" --date 2026-11-10 "${@:3}"
}
rent_of() { python3 -c 'import json, sys
d = json.load(open(sys.argv[1])); w = d["winner"]
assert abs(w["value"] - 1000 * w["per_hour"] * w["seconds"] / 3600 / w["replicas"]) <= 1e-9 * w["value"]
print(w["ranks"] * w["replicas"], w["per_hour"])' "$work/$1"; }
rents few.json 1 3 && rents many.json 1 5
cheapest few few.json && [ "$(rent_of few)" = "4 3" ] && cheapest many many.json && [ "$(rent_of many)" = "1 1" ]
report $? "goal cost rents as many devices as are cheapest, and its money is rent times time ($(rent_of few), $(rent_of many))"
cheapest every few.json --exhaustive --fresh && [ "$(told every)" = "$(told few)" ] && [ "$(rent_of every)" = "$(rent_of few)" ]
report $? "which is the answer of simulating all"
"$ditbench" search "${small[@]}" --steps 8 --goal cost --prices "$work/few.json" --date 2026-11-10 2>/dev/null | grep -q '^4 devices at 3 USD an hour (on-demand, median of 1, 2026-11-01): '
report $? "people see the rent with its kind and day"
"$ditbench" search "${small[@]}" --steps 8 --goal cost --prices "$work/few.json" --date 2029-01-01 >"$work/log" 2>&1
[ $? -eq 2 ] && grep -q 'no part of 8xl40 has a price: ' "$work/log" && grep -q -- '--old-prices' "$work/log"
report $? "without a price that counts goal cost is refused, with the reason and what would help"
# Of two replicas of three side by side the second straddles the sockets: two of them are not two times one.
beside() { # PLATFORM: seconds of r3 alone, and of two of them at once, a picture each
    local asked=(flux.1-dev~one-of-each --platform "$1" --resolution 1536x1536 --text_tokens 384 --steps 2 --scope latents --what-if 0)
    search alone "${asked[@]}" --mesh r3 && search both "${asked[@]}" --mesh "dp2 r3" --num_images 2
}
beside 8xl40 && awk -v a="$(told alone)" -v b="$(told both)" 'BEGIN { exit !(a > 0 && b > 1.05 * a) }'
report $? "of two replicas one that straddles the sockets slows both down ($(told alone) s, $(told both) s)"
beside 8xh100-sxm && awk -v a="$(told alone)" -v b="$(told both)" 'BEGIN { exit !(a > 0 && b > 0.99 * a && b < 1.01 * a) }'
report $? "behind a switch they do not ($(told alone) s, $(told both) s)"
search faster "${small[@]}" --steps 8 --what-if 4
[ "$(grep -c '"part":' "$work/faster")" -eq 3 ] && awk '/"bound_s":/ { bound = $2 + 0 } /"before_bound_s":/ { if ($2 + 0 < bound) bad = 1 } END { exit bad }' "$work/faster"
report $? "it says who would win with hosts, links or devices four times as fast"
search cut flux.1-dev --platform 8xl40 --profile pytorch-eager-2024 --devices 2 --quality approximate --what-if 0 --exhaustive
meshes cut | awk '$1 == "pp2" { even = $2 } $1 ~ /^pp2_[0-9]+,[0-9]+$/ { cut = $2 } END { exit !(cut > 0 && cut < even) }'
report $? "a pipeline whose blocks are shared out by their times is faster than an even one"
label=$(sed -n 's/^.*"mesh":[[:space:]]*"\(pp2 [0-9,]*\)".*/\1/p' "$work/cut" | head -n 1)
search again flux.1-dev --platform 8xl40 --profile pytorch-eager-2024 --what-if 0 --mesh "$label"
[ "$(meshes again)" = "$(meshes cut | grep '^pp2_')" ] && [ "$(meshes again | wc -l)" -eq 1 ]
report $? "and can be asked for by its name ($label)"
search shared flux.1-dev --platform 8xrtx-4090 --devices 4 --quality approximate --element fp32 --steps 4 --scope latents --dry-run --fresh
grep -q '"mesh":[[:space:]]*"pp2 tp2 [0-9]*,[0-9]*"' "$work/shared"
report $? "tensor ranks share the blocks of a stage, so that it may have more"
search single "${small[@]}" --steps 8 --what-if 0 --mesh "u2 r2"
[ "$(count single meshes)" -eq 1 ] && [ "$(meshes single | cut -d' ' -f1)" = u2_r2 ] && [ -n "$(told single)" ]
report $? "one mesh may be asked for"
search planned "${small[@]}" --steps 8 --dry-run --fresh
[ $? -eq 0 ] && [ "$(count planned simulated)" -eq 0 ] && [ "$(count planned meshes)" -eq "$(count first meshes)" ] && ! grep -q '"winner":\|"behind":' "$work/planned"
report $? "a dry run has bounds and no simulation"
"$ditbench" search "${small[@]}" --profile ditbench --dry-run >"$work/text" 2>/dev/null
grep -q '^software ditbench; projection: too little of this software has been measured on GPUs$' "$work/text" && ! grep -q '"projection":' "$work/planned" &&
    grep -q '"software":' "$work/planned"
report $? "software that nobody measured is a projection"
search large hunyuanvideo --platform 4xt4 --devices 1
[ $? -eq 1 ] && ! grep -q '"winner":' "$work/large" && grep -q 'E_CONSTRAINT_MEMORY' "$work/large"
report $? "exit 1 where no mesh fits, with the memory that each one needs"
"$ditbench" search "${small[@]}" --steps 8 --all >"$work/text" 2>/dev/null
grep -q '^best: ' "$work/text" && grep -q 'not legal' "$work/text" && grep -q '^[0-9]* meshes: 0 simulated now, [1-9][0-9]* kept from before' "$work/text"
report $? "people see the winner, and why others are not legal"

# ---- files -------------------------------------------------------------------------------------------------------------
same_answer() { # two writers round the last digit each in its way
    python3 -c 'import json, sys
a, b = (json.load(open(p), parse_float=lambda t: float(f"{float(t):.10g}")) for p in sys.argv[1:])
assert a == b' "$@"
}
"$ditbench" search "${small[@]}" --steps 8 --quality approximate --output "$work/files" --json >"$work/shown" 2>"$work/log"
[ $? -eq 0 ] && same_answer "$work/shown" "$work/files/search.json" && grep -q 'search.json and its figure search.svg$' "$work/log" && grep -q '<strong>Best</strong>: <code>' "$work/files/search.html"
report $? "--output writes the answer that --json prints, and a page"
simulated=$(grep -c '"state":[[:space:]]*"simulated"' "$work/shown") excluded=$(grep -c '"state":[[:space:]]*"bound"' "$work/shown")
excluded_points=$(awk '/^#/ || NF < 2 { next } $1 == $2 { same++ } END { print same + 0 }' "$work/files/search.dat")
echo "# $simulated simulated with the winner once more, $excluded excluded, $excluded_points points on the diagonal"
[ "$excluded" -gt 0 ] && [ "$excluded_points" -ge "$excluded" ] && grep -q 'software torch-compile' "$work/files/search.svg" && [ -s "$work/files/search.png" ] &&
    [ -s "$work/files/search-narrow.svg" ]
report $? "and a figure in which each excluded mesh lies at its bound, with the software in its footer"
fastest=$(winner shown) && grep -q "simulated, from $(LC_ALL=C awk -v s="$fastest" 'BEGIN { printf "%.3g", s }') s; " "$work/files/search.svg"
report $? "whose words have the fastest simulated time ($fastest s), not a bound"
"$ditbench" search "${small[@]}" --goal memory --output "$work/no-times" >/dev/null 2>"$work/log"
[ $? -eq 0 ] && [ -s "$work/no-times/search.json" ] && [ ! -e "$work/no-times/search.svg" ] && grep -q 'no figure' "$work/log"
report $? "without times there is no figure, and it says so"
if python3 -c 'import jsonschema' 2>/dev/null; then
    python3 - results/schema/search.schema.json "$work" first memory front rate few many tight faster cut single planned large shown <<'PY' >"$work/log" 2>&1
import json, sys
import jsonschema
schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
for name in sys.argv[3:]:
    jsonschema.validate(json.load(open(f"{sys.argv[2]}/{name}")), schema)
wrong = json.load(open(sys.argv[2] + "/first"))
del wrong["meshes"][0]["seconds"]
try:
    jsonschema.validate(wrong, schema)
    sys.exit("a simulated mesh without seconds passes")
except jsonschema.ValidationError:
    pass
PY
    report $? "answers obey their schema, which notices a time that is missing: $(tail -n 1 "$work/log")"
else
    skip "answers obey their schema" "no module jsonschema (Debian: python3-jsonschema)"
fi

# ---- bad input ---------------------------------------------------------------------------------------------------------
refused() { # WORDS ARGUMENT...
    local words=$1
    shift
    "$ditbench" search "$@" >"$work/log" 2>&1
    [ $? -eq 2 ] && grep -q -- "$words" "$work/log"
}
refused 'is not simulated' flux.1-dev --platform local-cpu
report $? "a platform that is measured is refused"
refused 'has 8 devices' flux.1-dev --platform 8xl40 --devices 9
report $? "more devices than there are are refused"
refused 'latency, throughput' flux.1-dev --platform 8xl40 --goal fast
report $? "an unknown goal is refused with those there are"
refused 'no share' flux.1-dev --platform 8xl40 --within much
report $? "a share that is none is refused"
refused 'lists 2 stages and has 3' flux.1-dev --platform 8xl40 --mesh 'pp3 24,33'
report $? "a mesh with more stages than it lists is refused"
refused 'has 2 devices, --devices says 4' flux.1-dev --platform 8xl40 --mesh u2 --devices 4
report $? "a mesh on another number of devices than it has is refused"
refused 'number of times' flux.1-dev --platform 8xl40 --what-if=-1
report $? "a machine cannot be a negative number of times as fast"
refused 'give a model' --platform 8xl40
report $? "a search without a model is refused"
tap_end
