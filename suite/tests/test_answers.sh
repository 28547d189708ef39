#!/usr/bin/env bash
# Every verb with --json, when it works and when it fails: one strict JSON document on standard output, with a schema
# that results/schema/answers.md describes.
# shellcheck disable=SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
parser=$build/tests/suite_one_document
page=$source_dir/results/schema/answers.md
write_workload "$work/tiny.json" 1
cd "$work" || exit 4
sed 's/"64x64"/"66x66"/' tiny.json >none.json
sed 's/"tiny",$/"tiny", "methd": 1,/' tiny.json >wrong.json
printf '[{"model":"FLUX.1-dev","hardware":"H20","gpus":1,"method":"single","metric":"latency","value":9,"unit":"s"}]' >points.json
golden=$source_dir/engine/tests/golden/ops
: >seen

# answers CODE SCHEMA WORD...: the verb ends with CODE and prints one document of the schema "ditbench.SCHEMA/1".
answers() {
    local code=$1 wanted=$2 got
    shift 2
    exits "$code" "$ditbench" "$@" --json >out 2>err || { cat out err; return 1; }
    got=$("$parser" <out) || { echo "$got"; head -c 400 out; return 1; }
    [ "$got" = "ditbench.$wanted/1" ] || { echo "schema is $got"; return 1; }
    echo "$got" >>seen
    [ "$code" -eq 0 ] || [ "$wanted" = collective ] || grep -qE '"(error|code|exit_code)"' out || { echo "no error in it"; return 1; }
}
says() { ok "$*" answers "$@"; }

says 0 help help
says 0 help-verb help run
says 0 help-verb run --help
says 0 help-labels help labels
says 0 help-exit-codes help exit-codes
says 2 error help nothing
says 0 version --version
says 2 error nothing
says 2 error --nothing
says 2 error list --nothing
for kind in sessions models methods workloads platforms accelerators vaes profiles links programs parameters metrics tags kinds; do says 0 "list-$kind" list $kind; done
says 0 list-platform-xml list platforms --xml 8xl40
says 2 error list platforms --xml nothing
says 2 error list nothing
says 0 validate validate tiny.json smoke
says 2 validate validate tiny.json wrong.json
says 0 expand expand tiny.json
says 2 expand expand none.json
says 2 error expand wrong.json
says 0 plan plan tiny.json
says 2 error plan none.json
says 0 run-plan run tiny.json smoke --dry-run
says 2 error compare nothing nothing
says 2 error gate tiny.json
says 2 error ab tiny.json
says 0 selftest selftest --trials 20
says 1 selftest selftest --trials 60 --between 5
says 2 error selftest --drift -1
says 0 audit audit tiny.json --exact-only --filter 'world_size == 1'
says 2 error audit nothing
says 0 run run tiny.json --filter 'world_size == 1'
says 2 run run wrong.json
says 0 history history
says 0 pack pack --output packed.tar
says 2 error pack nothing
says 0 unpack unpack packed.tar --dry-run
says 0 export export --format csv
says 2 error export --format nothing
printf '{"schema":"ditbench.external/1","engine":{"name":"a","version":"1"},"hardware":{},"runs":[{"tags":{"world_size":1},"processes":[{"latency_s":[1]}]}]}' >other.json
says 0 import import other.json --format external --dry-run
says 2 error import tiny.json --format external
echo none >page.text
says 0 claims claims page.text
says 4 error claims nothing.text
says 2 error unpack nothing
says 2 error history nothing
says 2 error tune nothing
says 2 error tune latest --computed 0
says 2 error run
says 0 run-plan resume latest --dry-run
says 0 run resume latest
says 2 error resume nothing
says 0 status status
says 2 error status nothing
says 0 show show latest
says 2 error show nothing
says 0 report-plan report --dry-run
says 2 error report nothing
says 0 verify verify
says 2 error verify nothing
says 0 explain explain --model flux.1-schnell --gpus 2
says 2 error explain --model nothing
says 2 error search
says 2 error procure
says 0 procure-plan procure flux.1-dev --machines 8xl40@4 --dry-run
says 0 simulate-list simulate --points "$source_dir/results/published/paper_numbers.json" --list
says 2 error simulate
says 0 prices prices --date 2026-11-23
says 1 prices prices --check --date 2026-11-23
says 2 error prices --kind nothing
printf 'InstanceType,AcceleratorName,AcceleratorCount,Price,Region\ni,L4,1,1.5,r\n' >vms.csv
printf '{"schema":"ditbench.price_names/1","provider":"P","currency":"USD","repository":"r","path":"p","accelerators":{"L4":[{"accelerator":"l4"}]}}' >names.json
says 0 prices-import prices --import skypilot vms.csv --map names.json --date 2026-11-20 --commit abc
says 0 calibration calibrate --show
says 0 calibrate calibrate --from published --dry-run
says 2 error calibrate
says 0 case generate pixart-alpha-xl-2 --dry-run
says 2 error generate nothing
says 0 golden golden "$golden"
says 0 commands golden "$golden" --dry-run
"$ditbench" generate "$source_dir/engine/tests/golden/e2e_tiny_shapes" --output tiny.png -q >/dev/null
says 0 quality quality tiny.png tiny.png
says 2 error quality nothing nothing
says 0 kernels kernels --filter norm
says 0 commands kernels --dry-run
says 2 kernels kernels --filter nothing
says 0 collective collective --ranks 2 --max-bytes 64
says 0 commands collective --dry-run
ok "doctor, whatever it finds" sh -c "'$ditbench' doctor --json | '$parser' | grep -qx ditbench.doctor/1"

described() {
    local schema missing=0
    for schema in $(sort -u seen) ditbench.doctor/1 ditbench.simulate/1 ditbench.report/1 ditbench.generate/1; do
        grep -qF "\`$schema\`" "$page" || { echo "$schema is not described"; missing=1; }
    done
    return "$missing"
}
ok "every schema is described" described
every_verb() {
    local verb
    for verb in $("$ditbench" help --json | grep -o '"verb":.*' | cut -d'"' -f4); do
        grep -qE "^says [0-9]+ [a-z-]+ $verb( |$)|doctor" "$source_dir/suite/tests/test_answers.sh" || { echo "$verb is not tried"; return 1; }
    done
}
ok "every verb is tried" every_verb
two_documents() { ! { "$ditbench" --version --json; "$ditbench" --version --json; } | "$parser"; }
ok "the parser refuses two documents" two_documents
if command -v gnuplot >/dev/null; then
    report() { "$ditbench" report --json --output "$work/page" 2>err | "$parser" | grep -qx ditbench.report/1; }
    ok "report" report
fi
finish
