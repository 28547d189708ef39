#!/usr/bin/env bash
# ditbench pack and unpack: equal bytes twice, every changed byte found, nothing written outside; and every changed digit
# of a journal is found with its line.
# shellcheck disable=SC2181,SC2317 # functions run through ok()
# shellcheck source=suite/tests/harness.sh
. "$(dirname "$0")/harness.sh"
cd "$work" || exit 1
export DITBENCH_TEST_SEED=${DITBENCH_TEST_SEED:-$RANDOM}
rounds=60
[ -n "${DITBENCH_TEST_ALL:-}" ] && rounds=1000

write_workload tiny.json 1
"$ditbench" run tiny.json -q >/dev/null 2>&1
session=$(basename "$(readlink -f "$DITBENCH_RESULTS/latest")")

twice() { "$ditbench" pack --output a.tar >out 2>err && "$ditbench" pack "$session" --output b.tar >out && cmp a.tar b.tar; }
ok "a session packed twice gives equal bytes" twice
plain() {
    tar -tf a.tar >names || return 1
    sed 1d names | LC_ALL=C sort -c && head -1 names | grep -q "/MANIFEST$" && grep -q workload.json names &&
        ! grep -q safetensors names
}
ok "tar reads it, names are sorted, the workload is in it, latents are not" plain
restores() {
    mkdir -p else && DITBENCH_RESULTS=$work/else "$ditbench" unpack a.tar --verify >out 2>err || { cat out err; return 1; }
    export DITBENCH_RESULTS=$work/else
    "$ditbench" show "$session" >shown && "$ditbench" verify "$session" >/dev/null && "$ditbench" pack "$session" --output c.tar >out
    local code=$?
    export DITBENCH_RESULTS=$work/results
    [ $code -eq 0 ] && cmp a.tar c.tar && "$ditbench" show "$session" | tail -n +2 | diff <(tail -n +2 shown) -
}
ok "unpack restores what show and verify read, and what packs to equal bytes" restores
if command -v xxh128sum >/dev/null; then
    ok "xxh128sum checks the manifest" sh -c "cd '$work/else/$session' && xxh128sum --quiet --check MANIFEST"
fi
ok "a session that is there is not overwritten" exits 2 "$ditbench" unpack a.tar

# changed FILE PLACE: one byte of FILE is another one, in changed.tar.
each_byte() {
    python3 - a.tar "$ditbench" "$rounds" "$DITBENCH_TEST_SEED" <<'P'
import random, subprocess, sys
data = open(sys.argv[1], "rb").read()
pick = random.Random(int(sys.argv[4]))
for place in [0, 100, 156, 512, len(data) - 1, len(data) - 1024] + [pick.randrange(len(data)) for _ in range(int(sys.argv[3]))]:
    changed = bytearray(data)
    changed[place] ^= 1 << pick.randrange(8)
    open("changed.tar", "wb").write(changed)
    done = subprocess.run([sys.argv[2], "unpack", "changed.tar", "--output", "never"], capture_output=True, text=True)
    assert done.returncode == 6, (place, done)
    assert "changed.tar" in done.stderr, (place, done.stderr)
P
    [ ! -e never ] && ! compgen -G "never*" >/dev/null
}
ok "any changed byte is found, and nothing is written (seed $DITBENCH_TEST_SEED)" each_byte
names_file() {
    python3 -c "
data = bytearray(open('a.tar', 'rb').read())
place = data.index(b'\"kind\":\"session\"')
data[place + 3] ^= 1
open('changed.tar', 'wb').write(data)"
    exits 6 "$ditbench" unpack changed.tar --dry-run >out 2>err && grep -q "changed.tar: journal.jsonl does not hash" err || { cat err; return 1; }
}
ok "the changed file is named" names_file
cut() { # every length that ends early
    local bytes
    for bytes in 0 1 511 512 1024 5000 $(($(stat -c %s a.tar) - 512)) $(($(stat -c %s a.tar) - 1)); do
        head -c "$bytes" a.tar >cut.tar
        exits 6 "$ditbench" unpack cut.tar --dry-run >out 2>err || { echo "at $bytes"; cat err; return 1; }
    done
    { cat a.tar; printf x; } >longer.tar
    exits 6 "$ditbench" unpack longer.tar --dry-run >out 2>err
}
ok "a cut archive and a longer one are found" cut

hostile() {
    python3 - a.tar "$ditbench" <<'P'
import io, subprocess, sys, tarfile, os
members = [(m, tarfile.open(sys.argv[1]).extractfile(m).read()) for m in tarfile.open(sys.argv[1])]
def write(change, kind=tarfile.USTAR_FORMAT):
    with tarfile.open("hostile.tar", "w", format=kind) as out:
        for member, data in change(list(members)):
            out.addfile(member, io.BytesIO(data))
outside = os.path.abspath("ditbench-hostile-outside")
def plain(name, data=b"x", **facts):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    info.mode = 0o644
    for key, value in facts.items():
        setattr(info, key, value)
    return info, data
folder = members[0][0].name.split("/")[0]
cases = {
    "absolute": lambda m: m + [plain(outside)],
    "parent": lambda m: m + [plain(folder + "/../ditbench-hostile")],
    "first parent": lambda m: [plain("../MANIFEST")] + m,
    "other folder": lambda m: m + [plain("elsewhere/file")],
    "symbolic link": lambda m: m + [plain(folder + "/link", b"", type=tarfile.SYMTYPE, linkname="/etc/passwd")],
    "hard link": lambda m: m + [plain(folder + "/link", b"", type=tarfile.LNKTYPE, linkname="/etc/passwd")],
    "device": lambda m: m + [plain(folder + "/null", b"", type=tarfile.CHRTYPE)],
    "folder": lambda m: m + [plain(folder + "/more", b"", type=tarfile.DIRTYPE)],
    "not in the manifest": lambda m: m + [plain(folder + "/zzz")],
    "twice": lambda m: m + [m[-1]],
    "one missing": lambda m: m[:-1],
    "another order": lambda m: m[:1] + m[:0:-1],
    "no manifest": lambda m: m[1:],
    "executable": lambda m: [(setattr(m[0][0], "mode", 0o755), m[0])[1]] + m[1:],
    "empty": lambda m: [],
}
for name, change in cases.items():
    write(change)
    data = open("hostile.tar", "rb").read()
    if name not in ("empty",):
        data = data.rstrip(b"\0") # Python pads to 10 KiB
        data += b"\0" * (-len(data) % 512 + 1024)
    open("hostile.tar", "wb").write(data)
    done = subprocess.run([sys.argv[2], "unpack", "hostile.tar", "--output", "hostile"], capture_output=True, text=True)
    assert done.returncode == 6, (name, done)
    assert not os.path.exists("hostile") and not os.path.exists(outside) and not os.path.exists("ditbench-hostile"), name
data = bytearray(open(sys.argv[1], "rb").read())
data[124:135] = b"77777777777" # a size of 8 GiB, with the right checksum
data[148:156] = b" " * 8
data[148:154] = b"%06o" % sum(data[:512])
data[154] = 0
open("hostile.tar", "wb").write(data)
done = subprocess.run([sys.argv[2], "unpack", "hostile.tar", "--dry-run"], capture_output=True, text=True)
assert done.returncode == 6 and "larger" in done.stderr, done
P
}
ok "hostile archives: links, devices, paths that leave, sizes that lie" hostile
ok "what is no archive: 6" exits 6 "$ditbench" unpack tiny.json --dry-run
ok "a file that is not there: 2" exits 2 "$ditbench" unpack nothing.tar

# ---- one digit of a journal --------------------------------------------------------------------------------------------

each_digit() {
    python3 - "$DITBENCH_RESULTS/$session" "$ditbench" "$rounds" "$DITBENCH_TEST_SEED" <<'P'
import random, re, subprocess, sys
path = sys.argv[1] + "/journal.jsonl"
sound = open(path, "rb").read()
digits = [m.start() for m in re.finditer(rb"[0-9]", sound)]
pick = random.Random(int(sys.argv[4]))
try:
    for place in pick.sample(digits, int(sys.argv[3])):
        changed = bytearray(sound)
        changed[place] = ord(pick.choice([d for d in "0123456789" if ord(d) != sound[place]]))
        open(path, "wb").write(changed)
        done = subprocess.run([sys.argv[2], "verify", sys.argv[1]], capture_output=True, text=True)
        line = sound[:place].count(b"\n") + 1
        assert done.returncode == 6 and "journal.jsonl:%d" % line in done.stdout, (place, line, done)
finally:
    open(path, "wb").write(sound)
P
    "$ditbench" verify "$session" >/dev/null
}
ok "one digit changed anywhere in a journal: verify names its line (seed $DITBENCH_TEST_SEED)" each_digit
finish
