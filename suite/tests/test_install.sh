#!/usr/bin/env bash
# Installed under any prefix, also one with a space, ditbench works from any folder. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 4
build=${DITBENCH_BUILD:-$PWD/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. ci/tap.sh
prefix="$work/a prefix"

make --no-print-directory BUILD="${build#"$PWD"/}" PREFIX="$prefix" ${SANITIZE:+SANITIZE="$SANITIZE"} -o all install >"$work/log" 2>&1
report $? "make install PREFIX= installs programs, workloads and schemas"
mkdir "$work/elsewhere" && cd "$work/elsewhere" || exit 4
"$prefix/bin/ditbench" run smoke --filter "method == 'single'" --processes 1 --timeout 10m --output "$work/session" >"$work/log" 2>&1
report $? "a workload is found by name and runs"
"$prefix/bin/ditbench" report "$work/session" >"$work/log" 2>&1
[ $? -eq 5 ] && [ -s "$work/session/report/report.html" ] # 5: no parallel case, so the claims are undecided
report $? "its report is drawn"
"$prefix/bin/ditbench" verify "$work/session" >"$work/log" 2>&1
report $? "its records verify"
[ -s "$prefix/share/ditbench/results/schema/record.schema.json" ]
report $? "the schemas are there"
"$prefix/bin/ditbench" simulate --points "$prefix/share/ditbench/results/published/paper_numbers.json" --list \
    >"$work/log" 2>&1
report $? "so are published numbers, and the names they use"
"$prefix/bin/ditbench" simulate --points results/published/paper_numbers.json --list >"$work/log" 2>&1
report $? "which are found by the words of the hint, too"
share=$prefix/share
for page in LICENSE README.md CHANGELOG.md CITATION.cff docs/glossary.md results/schema/answers.md; do
    [ -s "$share/doc/ditbench/$page" ] || echo "no $page"
done >"$work/log" 2>&1
[ ! -s "$work/log" ]
report $? "licence, pages, change log and citation are there"
{
    grep -q '^\.SH EXIT STATUS' "$share/man/man1/ditbench.1" &&
        { ! command -v man || man --warnings -l "$share/man/man1/ditbench.1" | grep -q 'ditbench calibrate'; }
} >"$work/log" 2>&1
report $? "a manual page is there, and man shows it"
{
    PATH=$prefix/bin:$PATH bash -c '. "$1"; COMP_WORDS=(ditbench run smo); COMP_CWORD=2; _ditbench
        printf "%s\n" "${COMPREPLY[@]}"' bash "$share/bash-completion/completions/ditbench" | tee "$work/offered"
    grep -qx smoke "$work/offered" && [ -s "$share/zsh/site-functions/_ditbench" ]
} >"$work/log" 2>&1
report $? "so is completion, which knows the installed workloads"
tap_end
