#!/usr/bin/env bash
# ditbench procure: every answer has an interval, a price with its date, or the reason; prices change costs and nothing
# else; a second call simulates nothing.
# shellcheck disable=SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
export XDG_CACHE_HOME=$work/cache

if ! command -v smpirun >/dev/null || [ ! -x "$(dirname "$ditbench")/ditbench-engine-sim" ]; then
    skip "machines are procured" "no simulator in this build (Debian: libsimgrid-dev)"
    tap_end
    exit
fi

model=flux.1-dev~one-of-each
asked=("$model" --steps 4 --scope latents --date 2026-11-23 --machines "8xb200-sxm,8xl20@2,8xh100-sxm@1,8xmi300x@1,8xrtx-5090,4xt4@2")
# Waiting requests are simulated one by one: of machines that are only held against themselves one is asked for.
one=(--machines 8xb200-sxm@8)
procure() { # NAME ARGUMENT...: answers into $work/NAME
    local name=$1
    shift
    "$ditbench" procure "${asked[@]}" --json "$@" >"$work/$name" 2>"$work/$name.log" || { cat "$work/$name" "$work/$name.log"; return 1; }
}
holds() { # NAME EXPRESSION: true of the document, called d; s(platform, devices) is a split
    python3 - "$work/$1" "$2" <<'PY' || { head -c 2000 "$work/$1"; return 1; }
import json, sys
d = json.load(open(sys.argv[1]))
def s(platform, devices):
    return next(x for x in d["splits"] if x["platform"] == platform and x["devices"] == devices)
assert eval(sys.argv[2])
PY
}

ok "machines are procured" procure first --slo 10s
ok "a named machine is cut to powers of two" holds first 'sorted(x["devices"] for x in d["splits"] if x["platform"] == "8xb200-sxm") == [1, 2, 4, 8]'
ok "a part of a machine is only that part" holds first '[x["devices"] for x in d["splits"] if x["platform"] == "8xl20"] == [2]'
ok "every time has a case, and an interval or the reason why there is none" \
    holds first 'all(len(x["service_s"]["case_id"]) == 32 and ("lo" in x["service_s"]) != ("interval" in x.get("absent", {})) for x in d["splits"] if "service_s" in x)'
ok "an interval has its level, class, points and groups" \
    holds first 'all(x["service_s"]["lo"] < x["service_s"]["value"] < x["service_s"]["hi"] and x["service_s"]["level"] <= 0.9 and x["service_s"]["points"] >= 20 and x["service_s"]["groups"] >= 2 and x["service_s"]["class"] for x in d["splits"] if "lo" in x.get("service_s", {}))'
ok "every cost has its day, kind and quotes, or the reason why there is none" \
    holds first 'all((x["cost"]["newest"] and x["cost"]["quotes"] and x["cost"]["kind"] == "on-demand") if "cost" in x else x["absent"]["cost"] for x in d["splits"] if "service_s" in x)'
ok "a machine without a price keeps its place" holds first '"cost" not in s("8xl20", 2) and s("8xl20", 2)["rank"]["lo"] >= 1'
ok "an accelerator whose rate nobody knows says so" holds first '"rtx-5090" in s("8xrtx-5090", 8)["absent"]["service_s"]'
ok "assumed attention is outside what was checked" holds first '"assumed" in s("8xmi300x", 1)["absent"]["interval"] and s("8xmi300x", 1)["slo"]["verdict"] == "unsure"'
ok "and is answered when that is asked for" procure wide --extrapolate
ok "with the word" holds wide 's("8xmi300x", 1)["service_s"]["extrapolated"] and "assumed" in s("8xmi300x", 1)["service_s"]["why"]'
ok "a bound beyond every interval is met" holds first 's("8xh100-sxm", 1)["slo"]["verdict"] == "meets"'
ok "the least devices within it are marked, once a machine" holds first '[x["devices"] for x in d["splits"] if x["platform"] == "8xb200-sxm" and x["slo"]["least_devices"]] == [1]'
ok "a bound of no machine is missed" procure short --slo 1ms
ok "by all that have an interval" holds short 'all(x["slo"]["verdict"] == "misses" for x in d["splits"] if "lo" in x.get("service_s", {})) and not any(x["slo"]["least_devices"] for x in d["splits"] if "slo" in x)'
ok "the second call simulated nothing" holds short 'd["meshes"]["simulated"] == 0 and d["meshes"]["kept"] > 0'
ok "devices in a price are those that work" holds first 'abs(s("8xb200-sxm", 8)["cost"]["per_1000"]["value"] - 1000 / 3600 * s("8xb200-sxm", 8)["service_s"]["value"] * s("8xb200-sxm", 8)["cost"]["per_hour"]) < 1e-9'

killed() { # what was simulated before a SIGKILL is kept, and the answer is the same
    local cache=$work/killed pid kept=0
    XDG_CACHE_HOME=$cache "$ditbench" procure "${asked[@]}" --json --slo 10s >/dev/null 2>&1 &
    pid=$!
    for _ in $(seq 600); do
        kept=$(find "$cache" -name '*.json' 2>/dev/null | wc -l)
        [ "$kept" -lt 4 ] || break
        sleep 0.05
    done
    kill -9 "$pid" && wait "$pid" 2>/dev/null
    XDG_CACHE_HOME=$cache procure again --slo 10s && python3 - "$work/first" "$work/again" <<'PY'
import json, sys
first, again = (json.load(open(path)) for path in sys.argv[1:])
assert again["meshes"]["kept"] > first["meshes"]["kept"], again["meshes"]
assert again["meshes"]["simulated"] < first["meshes"]["simulated"]
for document in (first, again):
    document.pop("meshes")
assert first == again
PY
}
ok "a SIGKILL loses no more than what was running" killed

dry() { XDG_CACHE_HOME=$work/dry "$ditbench" procure "${asked[@]}" --dry-run >"$work/out" && grep -q '^8xb200-sxm on 1, 2, 4, ... to 8 devices' "$work/out" && [ ! -e "$work/dry" ]; }
ok "a dry run simulates nothing" dry
dry_json() { # one document of each kind of question
    local XDG_CACHE_HOME=$work/dry
    export XDG_CACHE_HOME
    "$ditbench" procure "${asked[@]}" --dry-run --json >"$work/plan.json" &&
        "$ditbench" procure "$model" --machines 8xl40@4 --mix shop --dry-run --json >"$work/plan-mix.json" &&
        "$ditbench" procure --accept latest --machines 8xl40 --dry-run --json >"$work/plan-accept.json" || return 1
    python3 - "$work" <<'PY' && [ ! -e "$work/dry" ]
import json, sys
plan, mix, accept = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("plan", "plan-mix", "plan-accept"))
assert all(d["schema"] == "ditbench.procure-plan/1" for d in (plan, mix, accept))
assert {"platform": "8xb200-sxm", "devices": [1, 2, 4, 8]} in plan["machines"], plan["machines"]
assert mix["machines"] == [{"platform": "8xl40", "devices": [4]}] and mix["traffic"] == "shop", mix
assert accept["machines"] == [{"platform": "8xl40"}] and accept["session"] == "latest", accept
PY
}
ok "with --json in one document: machines and the numbers of their devices" dry_json
ok "a dry run reads the file of the mix, too" exits 2 "$ditbench" procure "$model" --mix nothing --dry-run

# ---- offline: replicas share the requests ------------------------------------------------------------------------------
ok "offline requests are shared by replicas" procure offline --scenario offline
ok "so many that all devices work" holds offline 's("8xb200-sxm", 8)["replicas"] > 1'
ok "and 1,000 requests are done in whole rounds" holds offline 'abs(s("8xb200-sxm", 8)["images_per_hour"]["value"] - 3600 * 1000 / (-(-1000 // s("8xb200-sxm", 8)["replicas"]) * s("8xb200-sxm", 8)["service_s"]["value"])) < 1e-6'
ok "offline requests have no bound" exits 2 "$ditbench" procure "$model" --scenario offline --slo 5s

# ---- batches -----------------------------------------------------------------------------------------------------------
batches() { procure batches --scenario offline --batch 4; }
ok "replicas may serve batches" batches
ok "an image costs no more with them" holds batches 'all(x["images_per_hour"]["value"] >= y["images_per_hour"]["value"] * (1 - 1e-9) for x in d["splits"] for y in json.load(open(sys.argv[1].replace("batches", "offline")))["splits"] if (x["platform"], x["devices"]) == (y["platform"], y["devices"]) and "images_per_hour" in x) and any(x.get("batch", 1) > 1 for x in d["splits"])'
ok "1,000 requests are done in rounds of batches" holds batches 'all(x["images_per_hour"]["value"] <= 3600 * x["replicas"] * x["batch"] / x["service_s"]["value"] * (1 + 1e-9) and x["images_per_hour"]["value"] >= 3600 * 1000 / (-(-1000 // (x["replicas"] * x["batch"])) * x["service_s"]["value"]) * (1 - 1e-9) for x in d["splits"] if "service_s" in x)'
ok "a case of a batch has as many images" holds batches 'all(len(x["service_s"]["case_id"]) == 32 for x in d["splits"] if "service_s" in x) and s("8xb200-sxm", 8)["service_s"]["case_id"] != json.load(open(sys.argv[1].replace("batches", "offline")))["splits"][0]["service_s"]["case_id"]'
ok "batches beyond those that anybody timed are refused" exits 2 "$ditbench" procure "$model" --scenario offline --batch 64 --machines 8xh100-sxm@1
ok "with the largest that was" sh -c '"$1" procure "$2" --scenario offline --batch 64 --machines 8xh100-sxm@1 2>&1 | grep -q "go to batches of [0-9]"' sh "$ditbench" "$model"
ok "one request after the other has none" exits 2 "$ditbench" procure "$model" --batch 4
ok "a server batches what waits" procure together --scenario server --slo p95=6x --batch 4 "${one[@]}"
procure apart --scenario server --slo p95=6x "${one[@]}"
ok "and bears no less" holds together 'all(x["images_per_hour"]["value"] > 0.97 * y["images_per_hour"]["value"] for x in d["splits"] for y in json.load(open(sys.argv[1].replace("together", "apart")))["splits"] if (x["platform"], x["devices"]) == (y["platform"], y["devices"]) and "images_per_hour" in x) and s("8xb200-sxm", 8)["images_per_hour"]'

# ---- replicas that share links -------------------------------------------------------------------------------------------
crowded() { # of a model that needs two devices
    "$ditbench" procure flux.1-dev --steps 2 --scope latents --date 2026-11-23 --machines 8xrtx-4090@4 --scenario offline --base none --json >"$work/crowded" 2>"$work/log" || { cat "$work/log"; return 1; }
}
ok "replicas beside each other on a PCIe tree are simulated" crowded
ok "and a request takes longer there, by what is told" holds crowded 's("8xrtx-4090", 4)["replicas"] == 2 and s("8xrtx-4090", 4)["crowding"] > 1 and "replicas_share_links" not in s("8xrtx-4090", 4)'
ok "behind a switch nobody is in the way" holds offline 'not any("crowding" in x for x in d["splits"] if x["platform"] == "8xb200-sxm")'

# ---- other pictures ------------------------------------------------------------------------------------------------------
other() { "$ditbench" procure "$model" --steps 4 --scope latents --date 2026-11-23 --machines 8xh100-sxm@2 --quality approximate --json >"$work/other" 2>"$work/log" || { cat "$work/log"; return 1; }; }
ok "approximate methods stand in a list of their own" other
ok "with displaced meshes and fp8, of unknown quality, ranked with nobody" holds other '{x["exact"] for x in d["approximate"]} == {True, False} and all(x["quality"] == "unknown" and "rank" not in x and (x["element"] == "fp8") == x["exact"] and x["exact_s"] > 0 for x in d["approximate"])'
ok "and the exact answer is what it was" sh -c '"$1" procure "$2" --steps 4 --scope latents --date 2026-11-23 --machines 8xh100-sxm@2 --json 2>/dev/null | python3 -c "import json, sys; a = json.load(sys.stdin); b = json.load(open(sys.argv[1])); assert a[\"splits\"] == b[\"splits\"] and \"approximate\" not in a" "$3"' sh "$ditbench" "$model" "$work/other"
ok "people see that nobody scored them" sh -c '"$1" procure "$2" --steps 4 --scope latents --machines 8xh100-sxm@2 --quality approximate 2>/dev/null | grep -q "quality unknown; exact pictures: "' sh "$ditbench" "$model"
ok "a quality is one of two" exits 2 "$ditbench" procure "$model" --quality best

# ---- server: requests arrive by chance ---------------------------------------------------------------------------------
ok "requests that arrive by chance are served" procure served --scenario server --slo p95=3x
ok "within the bound" holds served 'all(x["load"]["quantile_s"] - 1.5 * x["load"]["quantile_half_s"] <= x["load"]["bound_s"] for x in d["splits"] if "load" in x)'
ok "more devices bear more" holds served 's("8xb200-sxm", 8)["images_per_hour"]["value"] > 2 * s("8xb200-sxm", 2)["images_per_hour"]["value"]'
ok "waiting costs rate: less than all busy all the time" holds served 'all(0 < x["load"]["busy"] < 1 and x["load"]["requests_per_hour"] < 3600 * x["replicas"] / x["service_s"]["value"] for x in d["splits"] if "load" in x)'
ok "at a shorter time more is borne, at a longer less" holds served 'all(x["images_per_hour"]["lo"] < x["images_per_hour"]["value"] < x["images_per_hour"]["hi"] for x in d["splits"] if "lo" in x.get("service_s", {}))'
ok "the quantile is of the question" holds served 'd["question"]["quantile"] == 0.95'
ok "a bound shorter than the fastest mesh is a reason" procure none --scenario server --slo 1ms
ok "in words" holds none 'all("bound" in x["absent"]["service_s"] for x in d["splits"] if x["platform"] == "8xb200-sxm")'
ok "a server without a bound is no question" exits 2 "$ditbench" procure "$model" --scenario server

ok "a bound inside an interval may leave no rate at all" procure narrow --scenario server --slo p95=1.05x "${one[@]}"
ok "which is no number" holds narrow 'all("lo" not in x["images_per_hour"] or x["images_per_hour"]["lo"] > 0 for x in d["splits"] if "images_per_hour" in x)'
ok "bursts are another question, and say so" procure bursts --scenario server --slo p95=3x --arrivals gamma:3 "${one[@]}"
ok "which bears less" holds bursts 'd["question"]["arrivals"] == "gamma" and d["question"]["variation"] == 3 and s("8xb200-sxm", 8)["images_per_hour"]["value"] < json.load(open(sys.argv[1].replace("bursts", "served")))["splits"][0]["images_per_hour"]["value"]'
arrived() { printf 'second,class\n' && for i in $(seq 1 400); do echo "$((i / 4 * 4)).0,request"; done; }
arrived >"$work/arrived.csv"
ok "arrivals may be as they were written down" procure traced --scenario server --slo p95=6x --arrivals "trace:$work/arrived.csv"
ok "which is told" holds traced 'd["question"]["arrivals"] == "trace" and s("8xb200-sxm", 8)["images_per_hour"]["value"] > 0'
ok "a trace that is none is refused" exits 2 "$ditbench" procure "$model" --scenario server --slo 3x --arrivals "trace:$work/first"
ok "latency grows with load" holds served 'all(p["quantile_s"] < q["quantile_s"] for c in d["curves"] for p, q in zip(c["points"][2:], c["points"][3:])) and len(d["curves"]) >= 2'

# ---- machines for a rate ---------------------------------------------------------------------------------------------------
ok "machines for a rate" procure fleet --scenario server --slo p95=3x --rate 40/s --machines 8xb200-sxm@8,8xh100-sxm@1
ok "are the fewest that hold the bound" holds fleet 'all(x["fleet"]["quantile_s"] <= x["load"]["bound_s"] * 1.02 and (x["fleet"]["fewer_overloads"] or x["fleet"].get("fewer_quantile_s", 1e9) > x["load"]["bound_s"] * 0.98) for x in d["splits"] if "fleet" in x)'
ok "and bear at least the rate" holds fleet 'all(x["fleet"]["machines"] * x["replicas"] / x["service_s"]["value"] > 40 and x["fleet"]["headroom"] >= 0 for x in d["splits"] if "fleet" in x)'
ok "slower times ask for no fewer" holds fleet 'all(x["fleet"]["lo"] <= x["fleet"]["machines"] <= x["fleet"].get("hi", 1e9) for x in d["splits"] if "lo" in x.get("fleet", {}))'
ok "all of them are paid for" holds fleet 'all(abs(x["cost"]["per_1000"]["value"] - 1000 * x["fleet"]["machines"] * x["cost"]["per_hour"] / (40 * 3600)) < 1e-9 for x in d["splits"] if "cost" in x and "fleet" in x)'
ok "spares come on top" procure spared --scenario server --slo p95=3x --rate 40/s --spares 2 --machines 8xb200-sxm@8,8xh100-sxm@1
ok "two of them" holds spared 'all(x["fleet"]["machines"] == json.load(open(sys.argv[1].replace("spared", "fleet")))["splits"][i]["fleet"]["machines"] + 2 for i, x in enumerate(d["splits"]) if "fleet" in x) and any("fleet" in x for x in d["splits"])'
ok "a rate is of a server" exits 2 "$ditbench" procure "$model" --rate 5/s
ok "spares are of a rate" exits 2 "$ditbench" procure "$model" --scenario server --slo 3x --spares 1
ok "a rate is a number in a time" exits 2 "$ditbench" procure "$model" --scenario server --slo 3x --rate 5

# ---- owning, power, two machines ---------------------------------------------------------------------------------------------
ok "what owning costs" procure owned --scenario offline --goal cost --own default --hours 12 --power-limit 40kW
ok "is capital, upkeep and energy" holds owned 'all(abs(x["own"]["capital"] + x["own"]["upkeep"] + x["own"]["energy"] - x["own"]["per_hour"]) < 1e-9 for x in d["splits"] if "own" in x) and sum("own" in x for x in d["splits"]) >= 3'
ok "and ranks" holds owned '[x["own"]["per_1000"]["value"] for x in d["splits"] if "rank" in x] == sorted(x["own"]["per_1000"]["value"] for x in d["splits"] if "rank" in x)'
ok "breaks even where both cost the same" holds owned 'all(abs(x["own"]["break_even"]["hours"] * x["cost"]["per_hour"] - ((x["own"]["capital"] + x["own"]["upkeep"] + x["own"]["idle_energy"]) * x["own"]["available_hours"] + x["own"]["break_even"]["hours"] * (x["own"]["energy"] - x["own"]["idle_energy"]))) < 1e-6 for x in d["splits"] if x.get("own", {}).get("break_even", {}).get("kind") == "at") and any(x.get("own", {}).get("break_even") for x in d["splits"])'
ok "a month has the hours that were asked" holds owned 'all(abs(x["own"]["month"]["hours"] - 365) < 1e-9 for x in d["splits"] if "own" in x)'
ok "a supply suffices for so many ratings" holds owned 'all(x["supply"]["machines"] == int(40e3 / x["supply"]["rated_w"]) for x in d["splits"] if "supply" in x) and any("supply" in x for x in d["splits"])'
ok "power has a unit" exits 2 "$ditbench" procure "$model" --power-limit 40
two() { # NAME A,B ARGUMENT...
    local name=$1 pair=$2
    shift 2
    "$ditbench" procure "$model" --steps 4 --scope latents --date 2026-11-23 --versus "$pair" --json "$@" >"$work/$name" 2>"$work/$name.log" ||
        { cat "$work/$name" "$work/$name.log"; return 1; }
}
ok "two machines are compared" two pair 8xb200-sxm@8,8xh100-sxm@8 --old-prices
ok "both ways" holds pair '{"faster", "cheaper"} <= set(d["versus"]) and 0 <= d["versus"]["faster"]["p_a"] <= 1'
ok "and cost the same at the price that is told" holds pair 'abs(d["versus"]["even_per_hour_a"] / d["splits"][d["versus"]["a"]]["images_per_hour"]["value"] - d["splits"][d["versus"]["b"]]["cost"]["per_hour"] / d["splits"][d["versus"]["b"]]["images_per_hour"]["value"]) < 1e-12'
ok "turned round they are turned round" two turned 8xh100-sxm@8,8xb200-sxm@8 --old-prices
ok "to the last draw" holds turned 'abs(d["versus"]["faster"]["p_a"] + json.load(open(sys.argv[1].replace("turned", "pair")))["versus"]["faster"]["p_a"] - 1) < 0.05'
ok "two are two" exits 2 "$ditbench" procure "$model" --versus 8xh100-sxm
ok "what the first hangs on is told" holds pair 'd["sensitivity"] and all(0 < x["factor"] <= 1 for x in d["sensitivity"])'

# ---- mixed traffic ---------------------------------------------------------------------------------------------------------------
cat >"$work/mixed.json" <<'TRAFFIC'
{"schema": "ditbench.traffic/1", "name": "mixed", "classes": [
  {"name": "small", "resolution": "512x512", "weight": 5, "slo": "300ms"},
  {"name": "large", "resolution": "2048x2048", "weight": 1, "slo": "1500ms"}]}
TRAFFIC
ok "mixed traffic is served" procure mixed --mix "$work/mixed.json"
ok "with every class in time" holds mixed 'all(c["p95_s"] <= k["bound_s"] for m in d["machines"] if "best" in m for c, k in zip(m["best"]["classes"], d["classes"])) and any("best" in m for m in d["machines"])'
ok "the best way is no worse than one mesh or replicas that are alike" holds mixed 'all(m["best"]["requests_per_hour"] >= m[w]["requests_per_hour"] * 0.999 for m in d["machines"] for w in ("one", "equal") if w in m)'
ok "all devices are in its groups" holds mixed 'all(sum(g["replicas"] * g["devices"] for g in m["best"]["groups"]) == m["devices"] and all(g["classes"] for g in m["best"]["groups"]) for m in d["machines"] if "best" in m)'
ok "a batch that is cut anew is no slower, and above what is possible" holds mixed 'all(m["batch"]["bound_s"] <= m["batch"]["adaptive_s"] * (1 + 1e-9) and m["batch"]["adaptive_s"] <= m["batch"].get("static_s", 1e9) * (1 + 1e-9) for m in d["machines"] if "batch" in m)'
ok "a machine that is never in time says which class" holds mixed 'all("class" in m["absent"]["division"] or "nobody" in m["absent"]["division"] for m in d["machines"] if "division" in m.get("absent", {}) and "times" in m)'
ok "for people, too" "$ditbench" procure "${asked[@]}" "${one[@]}" -q --mix "$work/mixed.json"
ok "a shipped mix is found by its name" procure shop --mix shop --machines 8xb200-sxm@2
ok "a name near it is a hint" exits 2 "$ditbench" procure "$model" --mix shopp
ok "a mix has its own bounds" exits 2 "$ditbench" procure "$model" --mix shop --slo 5s
ok "scenario mix needs one" exits 2 "$ditbench" procure "$model" --scenario mix

# ---- a delivered machine -----------------------------------------------------------------------------------------------------------
cat >"$work/delivered-case.json" <<'WORKLOAD'
{"schema": "ditbench.workload/1", "name": "delivered", "defaults": {"model": "pixart-alpha-xl-2~two-blocks", "platform": "local-cpu", "resolution": "64x64",
 "num_inference_steps": 2}, "measure": {"warmup_runs": 0, "iterations": 1}, "axes": {"method": ["ulysses"], "world_size": [1, 2]}}
WORKLOAD
promised=(--machines local-cpu-simulated --profile cpu --dtype fp32)
accept() { # EXIT NAME ARGUMENT...
    exits "$1" "$ditbench" procure --accept "$work/delivered" --json "${@:3}" >"$work/$2" 2>"$work/$2.log" || { cat "$work/$2" "$work/$2.log"; return 1; }
}
ok "a machine is measured" "$ditbench" run "$work/delivered-case.json" -q --processes 1 --output "$work/delivered"
ok "it is not an H100" accept 1 slower --machines 8xh100-sxm
ok "as each case says" holds slower 'd["verdicts"]["slower"] == 2 and all(c["measured_s"]["lo"] > c["predicted_s"]["hi"] for c in d["cases"])'
ok "of cores nothing was checked" accept 5 cores "${promised[@]}"
ok "which is a reason" holds cores 'all(c["verdict"] == "unknown" and "cores" in c["why"] and "lo" not in c["predicted_s"] for c in d["cases"])'
own_interval() { # the verdict follows from the two intervals
    "$ditbench" procure --accept "$work/delivered" --json "${promised[@]}" --extrapolate >"$work/own" 2>"$work/own.log"
    [ $? -le 1 ] && holds own 'all((c["verdict"] == "within") == (c["predicted_s"]["lo"] <= c["measured_s"]["value"] <= c["predicted_s"]["hi"]) for c in d["cases"]) and d["cases"][0]["scope"] == "denoise"'
}
ok "a verdict follows from the intervals" own_interval
damaged() { # a case's size that no number of pixels is
    local code=0
    rm -rf "$work/damaged" && cp -r "$work/delivered" "$work/damaged" &&
        sed -i 's/"width_px":[^,}]*/"width_px": 1e300/' "$work"/damaged/cases/*/case.json || return 1
    "$ditbench" procure --accept "$work/damaged" --machines 8xh100-sxm >"$work/out" 2>&1 || code=$?
    [ "$code" -ne 0 ] && grep -q 'case.json:[0-9:]* /run/width_px' "$work/out" || { echo "exit $code"; cat "$work/out"; return 1; }
}
ok "a damaged case is named, with the place" damaged
ok "what was promised is named" exits 2 "$ditbench" procure --accept "$work/delivered"
ok "a session is found, or not" exits 2 "$ditbench" procure --accept "$work/nowhere" --machines 8xh100-sxm

# ---- the page ------------------------------------------------------------------------------------------------------------------
if command -v gnuplot >/dev/null; then
    ok "a page is written" procure page --scenario server --slo p95=3x --own default --old-prices --output "$work/page of it"
    same_document() { python3 -c "import json, sys; a, b = (json.load(open(p), parse_float=lambda t: float(f'{float(t):.10g}')) for p in sys.argv[1:]); assert a == b" "$work/page" "$work/page of it/procure.json"; }
    ok "with the answer beside it" same_document
    figures() { for id in times pareto ranks capacity cost_stack breakeven price_sensitivity power; do
        for file in "$id.png" "$id.svg" "$id.dat" "$id.gp" "$id-narrow.svg"; do [ -s "$work/page of it/$file" ] || { echo "no $file"; return 1; }; done; done; }
    journalled() { # the chosen cases as an ordinary session, with the ids that the answer names
        "$ditbench" run "$work/page of it/workload.json" -q --output "$work/chosen" >"$work/out" 2>&1 && "$ditbench" verify "$work/chosen" >>"$work/out" 2>&1 || { cat "$work/out"; return 1; }
        python3 - "$work/page" "$work/chosen" <<'PY'
import json, os, sys
splits = [x for x in json.load(open(sys.argv[1]))["splits"] if "service_s" in x]
wanted = {x["service_s"]["case_id"]: x["service_s"]["value"] for x in splits if "crowding" not in x} | {x["base"]["case_id"]: x["base"]["seconds"] for x in splits if "base" in x}
records = {case: json.load(open(f"{sys.argv[2]}/cases/{case}/p0/record.json")) for case in os.listdir(sys.argv[2] + "/cases") if os.path.exists(f"{sys.argv[2]}/cases/{case}/p0/record.json")}
assert set(wanted) <= set(records), (sorted(wanted), sorted(records))
for case, seconds in wanted.items():
    again = records[case]["samples"]["latency_ns"][0] * 1e-9
    assert abs(again - seconds) <= 1e-6 * seconds, (case, again, seconds)
PY
    }
    ok "the chosen cases run as a session, and take what the answer says" journalled
    ok "and eight figures" figures
    ok "and tells what was asked" grep -q 'Asked by <code>ditbench procure' "$work/page of it/procure.html"
    # A PATH with everything but gnuplot.
    mkdir "$work/bin"
    for folder in /usr/bin /bin; do find "$folder" -maxdepth 1 ! -name '*gnuplot*' -exec ln -sf -t "$work/bin" {} +; done
    ok "mixed traffic has a page, too" procure paged --mix "$work/mixed.json" "${one[@]}" --output "$work/mix of it"
    ok "with two figures" test -s "$work/mix of it/rates.png" -a -s "$work/mix of it/waits.svg" -a -s "$work/mix of it/mix.html" -a -s "$work/mix of it/mix.json"
    ok "a page without gnuplot is written, and ends with 4" exits 4 env PATH="$work/bin" "$ditbench" procure "${asked[@]}" -q --output "$work/bare"
    ok "as it says" grep -q 'No figure is drawn' "$work/bare/procure.html"
fi

# ---- predictions that do not hold --------------------------------------------------------------------------------------------
refused_verdicts() { # held-out errors that say nothing: no verdict, exit 5, and the reason on page and document
    local code=0
    python3 - "$source_dir/results/calibration/holdout.json" "$work/wild.json" <<'PY' || return 1
import json, sys
held = json.load(open(sys.argv[1]))
for place, error in enumerate(held["outside"]["errors"]):
    error["error"] = 2.0 if place % 2 else -2.0
json.dump(held, open(sys.argv[2], "w"))
PY
    "$ditbench" procure "${asked[@]}" --slo 10s --held-out "$work/wild.json" --json >"$work/wild" 2>"$work/log" || code=$?
    [ "$code" -eq 5 ] || { echo "exit $code"; cat "$work/log"; return 1; }
    holds wild 'd["pairs"] == [] and not d["checked"]["verdicts"] and not d["checked"]["fitted"]["allowed"] and d["checked"]["fitted"]["why"]'
}
ok "predictions whose errors say nothing give no verdict, and exit 5" refused_verdicts

# ---- a price changes costs alone ------------------------------------------------------------------------------------------
dearer() { # the same books, but one quote costs ten times as much
    mkdir -p "$work/prices" && cp "$source_dir"/workloads/prices/*.json "$work/prices/" || return 1
    python3 - "$work/prices" "$work/first" <<'PY'
import glob, json, sys
split = next(x for x in json.load(open(sys.argv[2]))["splits"] if x["platform"] == "8xb200-sxm" and x["devices"] == 8)
want, changed = split["cost"]["quotes"][0], 0
for path in glob.glob(sys.argv[1] + "/*.json"):
    book = json.load(open(path))
    for row in book.get("quotes", []):
        if (row["provider"], row["instance"], row["region"], row.get("kind")) == (want["provider"], want["instance"], want["region"], "on-demand") and row["price"] == want["per_hour"]:
            row["price"] *= 10
            changed += 1
    json.dump(book, open(path, "w"))
sys.exit(changed == 0)
PY
}
books() { for file in "$work"/prices/*.json; do printf ' --prices %s' "$file"; done; }
ok "one quote is made dearer" dearer
# shellcheck disable=SC2046 # one word an option
ok "and the question asked again" procure dear --slo 10s $(books)
same_but_costs() {
    python3 - "$work/first" "$work/dear" <<'PY'
import json, sys
a, b = (json.load(open(path)) for path in sys.argv[1:])
changed = [x["cost"] != y["cost"] for x, y in zip(a["splits"], b["splits"]) if "cost" in x]
assert any(changed) and not all(changed), changed
for document in (a, b):
    for split in document["splits"]:
        split.pop("cost", None)
    for key in ("prices", "meshes"):
        document.pop(key)
    document["question"].pop("command")
assert a == b
PY
}
ok "costs alone are other ones" same_but_costs
no_source() {
    python3 - "$work/prices" <<'PY'
import glob, json, sys
path = sorted(glob.glob(sys.argv[1] + "/*.json"))[0]
book = json.load(open(path))
rows = [row for row in book["quotes"] if "source" in row]
del rows[0]["source"]
json.dump(book, open(sys.argv[1] + "/broken.json", "w"), indent=1)
PY
    exits 2 "$ditbench" procure "$model" --prices "$work/prices/broken.json" --machines 8xh100-sxm@1 >"$work/out" 2>&1 &&
        grep -qE 'broken.json:[0-9]+:[0-9]+: .*"source"' "$work/out" || { cat "$work/out"; return 1; }
}
ok "a quote without its source is an error with line and key" no_source

schema_holds() {
    python3 -c 'import jsonschema' 2>/dev/null || { echo "no jsonschema"; return 77; }
    python3 - "$source_dir" "$work" <<'PY'
import json, sys
import jsonschema
schema = json.load(open(sys.argv[1] + "/results/schema/procure.schema.json"))
for name in ("first", "wide", "short", "offline", "served", "none", "narrow", "bursts", "fleet", "spared", "owned", "pair", "dear", "batches", "together", "crowded", "other", "traced"):
    jsonschema.validate(json.load(open(f"{sys.argv[2]}/{name}")), schema)
schema = json.load(open(sys.argv[1] + "/results/schema/mix.schema.json"))
for name in ("mixed", "shop"):
    jsonschema.validate(json.load(open(f"{sys.argv[2]}/{name}")), schema)
schema = json.load(open(sys.argv[1] + "/results/schema/accept.schema.json"))
for name in ("slower", "cores", "own"):
    jsonschema.validate(json.load(open(f"{sys.argv[2]}/{name}")), schema)
schema = json.load(open(sys.argv[1] + "/results/schema/procure_plan.schema.json"))
for name in ("plan", "plan-mix", "plan-accept"):
    jsonschema.validate(json.load(open(f"{sys.argv[2]}/{name}.json")), schema)
schema = json.load(open(sys.argv[1] + "/workloads/schema/traffic.schema.json"))
for name in ("shop", "bursts"):
    jsonschema.validate(json.load(open(f"{sys.argv[1]}/workloads/traffic/{name}.json")), schema)
jsonschema.validate(json.load(open(sys.argv[2] + "/mixed.json")), schema)
PY
}
if python3 -c 'import jsonschema' 2>/dev/null; then
    ok "answers obey their schema" schema_holds
else
    skip "answers obey their schema" "no module jsonschema (Debian: python3-jsonschema)"
fi
tap_end
