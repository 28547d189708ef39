#!/usr/bin/env bash
# ci/deps.sh: silent when all is there; otherwise the exact command and exit 4. Tools are replaced by stand-ins.
set -u
cd "$(dirname "$0")/../.." || exit 4
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
# shellcheck source=ci/tap.sh
. ci/tap.sh

stand_in() { # program, shell text
    rm -f "$tools/$1"
    printf '#!/bin/sh\n%s\n' "$2" >"$tools/$1"
    chmod +x "$tools/$1"
}

# Only these programs exist for the script under test: nothing of the real machine decides the outcome.
for program in bash sh cut sort tr mktemp tail rm env grep sed cat; do
    ln -s "$(command -v $program)" "$tools/$program"
done
deps() { PATH=$tools "$BASH" ci/deps.sh "$@" >"$tools/said" 2>&1; }
said() { grep -qF -- "$1" "$tools/said"; }
exits_with() { local code=$1; shift; deps "$@"; [ $? -eq "$code" ]; }
all_installed='for name in "$@"; do case $name in -*|*Package*) ;; *) echo "$name installed" ;; esac; done'

stand_in dpkg-query "$all_installed"
ok "nothing missing ends with 0" exits_with 0
ok "nothing missing says nothing" [ ! -s "$tools/said" ]
ok "a report names CUDA and SimGrid" exits_with 0 --report
ok "a missing SimGrid is not an error" said "SimGrid: missing"
ok "an unknown set is a usage error" exits_with 2 nonsense

stand_in dpkg-query "{ $all_installed; } | grep -v libxxhash"
ok "without apt-get it ends with 4" exits_with 4
ok "without apt-get the package is named" said "missing here, by their Debian names: libxxhash-dev"

stand_in dpkg-query "{ $all_installed; } | grep -v chromium"
ok "a browser is needed only where it is asked for" exits_with 0
ok "and then a missing one is an error" exits_with 4 browser
ok "that names its package" said "missing here, by their Debian names: chromium"
stand_in dpkg-query "{ $all_installed; } | grep -v libxxhash"

stand_in apt-get 'echo "E: no network"; exit 100'
stand_in id 'echo 1000'
ok "without root it ends with 4" exits_with 4
ok "without root and sudo the exact command is one for su" said "su -c 'apt-get install -y --no-install-recommends libxxhash-dev'"
stand_in sudo 'exit 1' # asks for a password
ok "without root it ends with 4, sudo or not" exits_with 4
ok "without root the exact command is printed" said "sudo apt-get install -y --no-install-recommends libxxhash-dev"

stand_in id 'echo 0'
ok "a failed installation ends with 4" exits_with 4
ok "a failed installation shows the command and why" said "apt-get install -y --no-install-recommends libxxhash-dev"
ok "a failed installation quotes apt" said "E: no network"

# shellcheck disable=SC2016  # meant for the stand-in
stand_in apt-get 'case $1 in update) touch "$0.updated" ;; install) [ -e "$0.updated" ] && touch "$0.installed" ;; esac'
# shellcheck disable=SC2016
stand_in dpkg-query '{ '"$all_installed"'; } | if [ -e "$(dirname "$0")/apt-get.installed" ]; then cat; else grep -v libxxhash; fi'
ln -s "$(command -v touch)" "$tools/touch"
ln -s "$(command -v dirname)" "$tools/dirname"
ok "lists are fetched when the first try fails" exits_with 0
ok "and then it is installed" [ -e "$tools/apt-get.installed" ]

# ---- what is optional ------------------------------------------------------------------------------------------------
rm -f "$tools/apt-get.installed" "$tools/apt-get.updated"
without() { stand_in dpkg-query "{ $all_installed; } | grep -vE '$1'"; } # packages, as a pattern
without libsimgrid
stand_in id 'echo 1000'
ok "without root a missing SimGrid is no error" exits_with 0
ok "but it is said, with the command" said "sudo apt-get install -y --no-install-recommends libsimgrid-dev"
ok "and what goes on without it" said "nothing is simulated, and all else goes on"
without 'libsimgrid|libxxhash'
ok "a needed package is an error beside it" exits_with 4
ok "one command is for both" said "sudo apt-get install -y --no-install-recommends libxxhash-dev libsimgrid-dev"
stand_in id 'echo 0'
# shellcheck disable=SC2016  # meant for the stand-in
stand_in apt-get 'echo "$@" >>"$0.asked"; case "$*" in *simgrid*) echo "E: no SimGrid here"; exit 100 ;; install*) touch "$0.installed" ;; esac'
# shellcheck disable=SC2016
stand_in dpkg-query '{ '"$all_installed"'; } | if [ -e "$(dirname "$0")/apt-get.installed" ]; then grep -v libsimgrid; else grep -vE "libsimgrid|libxxhash"; fi'
ok "where only SimGrid cannot be had the rest is installed" exits_with 0
ok "and it was asked for first" [ "$(grep -c simgrid "$tools/apt-get.asked")" -ge 1 ]
ok "it is said what could not be had, and why" said "E: no SimGrid here"
ok "what is needed was installed" [ -e "$tools/apt-get.installed" ]

# ---- other engines ---------------------------------------------------------------------------------------------------
export DITBENCH_PEERS=$tools/peers
ok "without Python the environment of other engines cannot be made: 4" exits_with 4 peers
ok "and the commands are printed" said "python3 -m venv $tools/peers && $tools/peers/bin/pip install torch=="
mkdir -p "$tools/peers/bin"
printf '#!/bin/sh\nexit 0\n' >"$tools/peers/bin/python"
chmod +x "$tools/peers/bin/python"
ok "an environment that has the pinned versions is left alone" exits_with 0 peers
ok "without a word" [ ! -s "$tools/said" ]
ok "a census has an environment of its own beside it: 4" exits_with 4 census
ok "and its commands are printed, too" said "python3 -m venv $tools/census-0.30.3 && $tools/census-0.30.3/bin/pip install torch=="
tap_end
