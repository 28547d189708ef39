#!/usr/bin/env bash
# `ditbench prices`: ages, kinds and gaps of the shipped price files, --check, and own files that are wrong.
# shellcheck disable=SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
schemas=$source_dir/results/schema
prices() { "$ditbench" prices --date 2026-11-23 "$@"; }
says() { # WORDS ARGUMENT...: the answer has a line with these words
    local words=$1
    shift
    prices "$@" >"$work/out" 2>&1
    grep -qE -- "$words" "$work/out" || { tail -n 30 "$work/out"; return 1; }
}
member() { # EXPRESSION ARGUMENT...: true of the document, called d
    local expression=$1
    shift
    prices --json "$@" >"$work/d.json" || [ $? -eq 1 ] || return 1
    python3 -c "import json, sys; d = json.load(open(sys.argv[1])); assert $expression" "$work/d.json"
}

ok "every quote has its kind, age, region and doubt" says '^a100-sxm-40 +8 +on-demand +15.92 USD .* old +phoenix-usa-2 .*form is not named'
ok "accelerators without a quote are named" says '^Nobody quotes: a800-sxm-80, h20, h800-sxm-80, l20, mi250x$'
ok "and those that nobody rents out" says '^No rent for: gb200, mi325x, mi355x$'
ok "a machine without a price says why" says '^8xl20 .*no price: nobody quotes l20'
ok "a machine of which all quotes are old says so" says '^8xh100-sxm .*only old quotes'
ok "an old price is shown when it is asked for" says '^8xh100-sxm +8 +on-demand +all +19.2 .*old' 8xh100-sxm --old-prices
ok "kinds and regions have lines of their own" says '^8xh200-sxm +8 +spot +us-east-1 +27.2 .* old' 8xh200-sxm
ok "spot enters by its name only" says '^8xh200-sxm +8 +spot +all .*only old quotes' 8xh200-sxm --kind spot
ok "spot of yesterday is no old price" "$ditbench" prices --date 2026-08-29 --check --kind spot 8xb200-sxm
ok "eight times one is asked for, and says derived" says '^8xh100-sxm +8 +contract +all +10.4 .*aged, derived' 8xh100-sxm --kind contract --per-device
ok "and is no price otherwise" says 'a share of some machine' 8xh100-sxm --kind contract
ok "a part of a machine is priced by instances of its size" member 'd["machines"][0]["prices"][0]["least"] == 4.89' 8xb200-sxm@1
ok "a part of no size is refused" exits 2 "$ditbench" prices 8xb200-sxm@9
ok "files have a hash, and their newest and oldest day" member 'all(len(f["hash"]) == 32 and f["oldest"] <= f["newest"] for f in d["files"])'
ok "the document names each quote that a price rests on" member '[d["quotes"][i]["provider"] for p in d["machines"][0]["prices"][:1] for u in p["quotes"] for i in [[q["quote"] for q in d["quotes"]].index(u["quote"])]] == ["Nebius"]' 8xb200-sxm

ok "--check ends with 1 where a rank would rest on old quotes" exits 1 "$ditbench" prices --check --date 2026-11-23
ok "and names the machines" says '^8xl40: a rank by price would rest on old quotes$' --check
ok "--check ends with 0 where it would not" exits 0 "$ditbench" prices --check --date 2026-11-23 8xh200-sxm 8xb200-sxm
ok "the same quotes are old a year later" exits 1 "$ditbench" prices --check --date 2027-11-23 8xh200-sxm
ok "a check of nothing but missing prices passes" exits 0 "$ditbench" prices --check --date 2026-11-23 8xl20

# A catalogue of four lines: a quote with a spot price, a ceiling, a machine of twelve, no accelerator.
cat >"$work/vms.csv" <<'CSV'
InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice
h100-sxm-x8,H100,8,128,1600,23.60,north,"{'Gpus': [{'Name': 'H100', 'Count': 8, 'MemoryInfo': {'SizeInMiB': 81920}}]}",10.00
h100-sxm-x1,H100,1,16,200,2.95,north,"{'Gpus': [{'Name': 'H100', 'Count': 1, 'MemoryInfo': {'SizeInMiB': 81920}}]}",2.95
h100-sxm-x12,H100,12,16,200,35.4,north,,
cpu-x4,,0,4,16,0.0992,north,,
CSV
cat >"$work/names.json" <<'JSON'
{"schema": "ditbench.price_names/1", "provider": "P", "currency": "USD", "repository": "o/r", "path": "vms.csv",
 "accelerators": {"H100": [{"accelerator": "h100-sxm-80", "memory_gib": 80, "platforms": {"8": "8xh100-sxm"}}]}}
JSON
import() { "$ditbench" prices --import skypilot "$work/vms.csv" --map "$work/names.json" --date 2026-11-20 --commit abc "$@"; }
imported() {
    import --output "$work/made.json" >"$work/out" || { cat "$work/out"; return 1; }
    grep -q 'vms.csv:3: spot_ceiling: ' "$work/out" && grep -q 'vms.csv:4: count: 12 devices' "$work/out" &&
        grep -q '^4 lines: 3 quotes, 0 of them in doubt; 1 line refused, 1 spot price left out, 1 without an accelerator$' "$work/out" || { cat "$work/out"; return 1; }
    says '^8xh100-sxm +8 +on-demand +all +23.6 .*plain' --prices "$work/made.json" 8xh100-sxm &&
        says '^8xh100-sxm +8 +spot +all +10 .*plain' --prices "$work/made.json" 8xh100-sxm --kind spot
}
ok "a catalogue is imported, and each line that is refused says why" imported
ok "and not without its commit" exits 2 "$ditbench" prices --import skypilot "$work/vms.csv" --map "$work/names.json" --date 2026-11-20
ok "a format that nobody knows is refused" exits 2 "$ditbench" prices --import excel "$work/vms.csv"
unknown_accelerator() {
    sed 's/h100-sxm-80/h100-smx-80/' "$work/names.json" >"$work/wrong.json"
    ! import --map "$work/wrong.json" 2>"$work/err" && grep -q 'there is no accelerator "h100-smx-80"' "$work/err"
}
ok "a table that names no accelerator of the catalogue is refused" unknown_accelerator
import --json >"$work/import.json"

ok "owning costs what its parts say" member 'abs(d["own"]["machines"][0]["total"] - sum(d["own"]["machines"][0][k] for k in ("capital", "upkeep", "energy"))) < 1e-9' 8xh200-sxm --own default
ok "watts grow from scope to scope" member 'all(m["device_w"] < m["server_w"] < m["site_w"] for m in d["own"]["machines"])' 8xh200-sxm 8xh100-sxm --own default --busy 0.5
ok "every value of a site has a source or is assumed, and says whether it is the default" says '^  pue = 1.25 .* the default: assumed: .*2026-04-01' 8xh200-sxm --own default
ok "own is cheaper from a number of hours on" says '^8xh200-sxm +8 .*above [0-9]+ of 715 h' 8xh200-sxm --own default
ok "without a rent there is no break-even" says '^8xl40 +8 .*(old_only|sold)' 8xl40 --own default
ok "what nobody sells has no cost" says 'nobody says what l20 was sold for' 8xl20 --own default
ok "costs are held against those of owners" says '^8xh200-sxm: 9[0-9] % of the cost is capital; a better PUE will not change an order; .* beside 1.41' 8xh200-sxm --own default
ok "a busy share is at most 1" exits 2 "$ditbench" prices 8xh200-sxm --own default --busy 1.5
ok "a site that does not exist is refused, with the nearest" exits 2 "$ditbench" prices 8xh200-sxm --own defalt
cat >"$work/site.json" <<'JSON'
{"schema": "ditbench.site/1", "name": "mine", "currency": "USD",
 "values": {"pue": {"value": 1.4, "source": "our meters", "date": "2026-11-01"}},
 "machines": {"8xl20": {"price": {"value": 60000, "source": "offer.pdf", "date": "2026-11-01"},
                        "idle_wall_w": {"value": 1000, "assumed": "a"}, "busy_wall_w": {"value": 3000, "assumed": "a"}}}}
JSON
ok "a site of one's own states a price and watts at the wall" member 'd["own"]["machines"][0]["price"] == 60000 and abs(d["own"]["machines"][0]["site_w"] - 1.4 * 2000) < 1e-9 and not d["own"]["values"]["pue"]["default"] and d["own"]["values"]["years"]["default"]' 8xl20 --own "$work/site.json" --busy 0.5
ok "watts of an accelerator have their evidence" says '^b200-sxm-180 +372 +891 +1000 +24 % +published, fitted' --power
ok "and are fitted anew" says 'h100-sxm-80: 230.5 W \+ 473.1 W x busy share, 247 runs of 6 models' --power
ok "the table of watts is in the document" member '[p["evidence"] for p in d["power"] if p["accelerator"] in ("l40", "h100-sxm-80")] == ["published", "assumed"]' --power

# Watts of two scopes are two types: the compiler refuses what a reader might overlook.
compiles() {
    printf '#include "suite/prices/power.h"\nsuite_site_watts site(suite_%s_watts w);\nsuite_site_watts site(suite_%s_watts w) { return suite_power_site(w, 1.2); }\n' "$1" "$1" |
        cc -std=c11 -Wall -Werror -fsyntax-only -I"$source_dir" -x c -
}
ok "watts of a server become those of a site" compiles server
devices_do_not() { ! compiles device 2>"$work/err" && grep -q incompatible "$work/err"; }
ok "watts of devices do not" devices_do_not

schemas_hold() {
    python3 - "$work" "$source_dir" <<'PYTHON'
import glob, json, sys
try:
    import jsonschema
except ImportError:
    sys.exit(0)
work, source = sys.argv[1:]
def holds(document, schema):
    jsonschema.validate(json.load(open(document)), json.load(open(f"{source}/{schema}.schema.json")))
for file in glob.glob(f"{source}/workloads/prices/*.json"):
    holds(file, "workloads/schema/price_book")
holds(f"{source}/workloads/sites/default.json", "workloads/schema/site")
holds(f"{work}/site.json", "workloads/schema/site")
holds(f"{source}/workloads/power/accelerators.json", "workloads/schema/power")
holds(f"{work}/names.json", "workloads/schema/price_names")
holds(f"{work}/made.json", "workloads/schema/price_book")
for answer in "all", "some", "check", "own":
    holds(f"{work}/{answer}.json", "results/schema/prices")
PYTHON
}
prices --json >"$work/all.json"
prices --json 8xh200-sxm 8xl20 8xl40@2 >"$work/some.json"
prices --json --check >"$work/check.json"
prices --json --power --own default >"$work/own.json"
ok "files and answers are as their schemas say" schemas_hold
ok "the schema of answers is there" [ -s "$schemas/prices.schema.json" ]

# An own file, and the same without one of its texts.
own() { # TEXT...: sed commands
    sed "$@" >"$work/own.json" <<'JSON'
{
  "schema": "ditbench.price_book/1",
  "name": "own",
  "currency": "EUR",
  "per": "hour",
  "sources": {
    "offer": {
      "file": "offer.pdf",
      "date": "2026-11-01"
    }
  },
  "quotes": [
    {"provider": "Us", "instance": "node", "accelerator": "l20", "count": 8, "region": "-", "kind": "contract", "price": 9, "paid_ahead": 0,
     "source": "offer", "platform": "8xl20"}
  ],
  "rates": [
    {"from": "EUR", "to": "USD", "rate": 1.1, "date": "2026-11-02", "source": "offer"}
  ]
}
JSON
}
wrong() { # LINE WORDS: the file is refused, with its line and these words
    exits 2 "$ditbench" prices --prices "$work/own.json" 2>"$work/err" && grep -q "own.json:$1:.*$2" "$work/err" ||
        { cat "$work/err"; return 1; }
}
own ''
ok "an own file prices what nobody quotes, through a dated rate" says '^8xl20 +8 +contract +all +9.9 ' --prices "$work/own.json" --kind contract 8xl20
ok "and the rate is shown with its day" says '1 EUR = 1.1 USD on 2026-11-02' --prices "$work/own.json" --kind contract 8xl20
changed_price_changes_its_columns_only() {
    prices --json --prices "$work/own.json" --kind contract 8xl20 >"$work/before.json"
    own 's/"price": 9,/"price": 18,/'
    prices --json --prices "$work/own.json" --kind contract 8xl20 >"$work/after.json"
    diff "$work/before.json" "$work/after.json" | grep '^[<>]' | grep -vE '"(price|least|median|most|per_hour|hash)":' && return 1
    grep -q '19.8' "$work/after.json"
}
ok "a changed price changes prices and nothing else" changed_price_changes_its_columns_only
own 's/"source": "offer", "platform"/"platform"/'
ok "a row without its source is refused, with line and key" wrong 13 '"source"'
own 's/"file": "offer.pdf",//'
ok "a source that nobody can find is refused" wrong 7 '"repository"'
own 's/"date": "2026-11-01"/"why": "lost"/'
ok "a source without a day is refused" wrong 7 '"date"'
own 's/"kind": "contract", //'
ok "a row without its kind is refused" wrong 13 '"kind"'
own 's/"count": 8, //'
ok "a row without its number of devices is refused" wrong 13 '"count"'
own 's/  "currency": "EUR",//'
ok "a file without its currency is refused" wrong 1 '"currency"'
own 's/"accelerator": "l20"/"accelerator": "l2O"/'
ok "an accelerator that is none is refused, with the nearest" wrong 13 'there is no accelerator "l2O"'
own '/"rates"/,$d; s/  \],$/]}/' && sed -i '$s/.*/]}/' "$work/own.json"
ok "without a rate there is no price in another currency" says 'no dated rate between EUR and USD' --prices "$work/own.json" --kind contract 8xl20

# Every command of the page, in a folder that has the files which the page shows.
page=$source_dir/docs/prices.md
page_files() {
    awk '/^```json/ { inside = 1; next } /^```/ { inside = 0 } inside { print } /^}$/ && inside { print "\f" }' "$page" |
        awk -v RS='\f\n' -v folder="$work/page" '
            /price_book\/1/ { print >(folder "/quotes.json") }
            /price_names\/1/ { print >(folder "/names.json") }
            /site\/1/ { print >(folder "/site.json") }'
    cp "$work/vms.csv" "$work/page/"
}
page_runs() {
    local line code tried=0
    while read -r line; do
        code=0
        (cd "$work/page" && eval "${line/#D /\"$ditbench\" }") >"$work/out" 2>&1 || code=$?
        [ "$code" -eq 0 ] || { echo "$line: exit $code"; tail -n 3 "$work/out"; return 1; }
        tried=$((tried + 1))
    done < <(grep -E '^D prices' "$page" | sed 's/ *#.*//; s/--check/--date 2026-11-23 --check/')
    [ "$tried" -ge 11 ] || { echo "$tried commands"; return 1; }
}
mkdir "$work/page"
page_files
ok "every command of docs/prices.md runs" page_runs
finish
