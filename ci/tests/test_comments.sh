#!/usr/bin/env bash
# ci/comments.sh finds what a formatter does to tables, what cites a page that is not here and what a merge has left behind,
# and passes the tree.
set -u
cd "$(dirname "$0")/../.." || exit 4
# shellcheck source=ci/tap.sh
. ci/tap.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
page=HANDBOOK.'md' # in two parts, as this file is looked at, too
git init -q "$scratch"

# check_source: puts standard input into the scratch repository and looks at it.
check_source() {
    cat >"$scratch/source.c"
    git -C "$scratch" add source.c
    ci/comments.sh "$scratch" >"$scratch/.git/found" 2>&1
}

if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    ci/comments.sh >"$scratch/.git/found"
    report $? "comments of the repository can be followed"
    sed 's/^/# /' "$scratch/.git/found"
else
    echo "ok $((++number)) - comments of the repository # SKIP this is no git checkout"
fi

check_source <<'END'
/* Methods:
 *
 *   ulysses   all-to-all
 *   ring      hops
 */
int x; /* [rows]     bytes */
END
report $? "a table that is laid out by hand is left alone"

check_source <<'END'
/* Methods:
 *
 *   ulysses   all-to-all, one for each operand and batch row
 * of it ring      hops of K and V in one message
 */
END
[ $? -eq 1 ] && grep -q 'source.c:4' "$scratch/.git/found"
report $? "a table that was reflowed into prose is found"

check_source <<END
/* Source: $page section 2. */
END
[ $? -eq 1 ] && grep -q "$page is not in the repository" "$scratch/.git/found"
report $? "a page that does not exist is found"

touch "$scratch/$page" && git -C "$scratch" add "$page"
check_source <<END
/* Source: $page section 2. */
END
report $? "a page that exists may be cited"

# check_page: puts standard input into the scratch repository as a page and looks at it.
check_page() {
    cat >"$scratch/$page"
    ci/comments.sh "$scratch" >"$scratch/.git/found" 2>&1
}

check_page <<'END'
Copy `source.c` to `NAME.c` or to `./x.c`, and look at `build/made.h` and https://host.example/their.c.
END
report $? "a page may name files that exist, that stand for any name, that are made or that others have"

for marker in '<<<<<<< ours' '>>>>>>> theirs'; do
    printf 'One line.\n%s\n' "$marker" | check_page
    [ $? -eq 1 ] && grep -q "$page:2: the marker of a merge conflict" "$scratch/.git/found"
    report $? "a marker of a merge is found: ${marker%% *}"
done

printf 'A title <<<<<<< of a page\n=======\n' | check_page
report $? "an underlined title is none"

check_page <<'END'
The code of it
is `base/gone.c`.
END
[ $? -eq 1 ] && grep -q "$page:2: base/gone.c is not in the repository" "$scratch/.git/found"
report $? "a page that names a source that does not exist is found"

variable=DITBENCH_'UNHEARD' # in two parts, as this file is read, too
mkdir "$scratch/docs" && echo "| \`$variable\` | is read by nothing |" >"$scratch/docs/environment.md"
check_page </dev/null
[ $? -eq 1 ] && grep -q "docs/environment.md:1: nothing reads $variable" "$scratch/.git/found"
report $? "a variable that is listed and that nothing reads is found"

echo "const char *value(void) { return getenv(\"$variable\"); }" >>"$scratch/source.c"
check_page </dev/null
report $? "a variable that a program reads and the page lists is fine"

: >"$scratch/docs/environment.md"
check_page </dev/null
[ $? -eq 1 ] && grep -q "docs/environment.md does not list $variable" "$scratch/.git/found"
report $? "a variable that a program reads and the page does not list is found"

other=UNHEARD_'FOLDER'
# finds_unlisted NAME TEXT: a source TEXT that the page does not tell of is found, and is fine once the page lists NAME.
finds_unlisted() {
    : >"$scratch/docs/environment.md"
    echo "$2" >"$scratch/source.c"
    check_page </dev/null
    [ $? -eq 1 ] && grep -q "source.c:1: docs/environment.md does not list $1" "$scratch/.git/found" || return 1
    echo "| \`$1\` | is read |" >"$scratch/docs/environment.md"
    check_page </dev/null
}
finds_unlisted "$variable" "static const char *const names[] = {\"$variable\"};"
report $? "and so is one in a table of names"
finds_unlisted "$other" "const char *value(void) { return getenv(\"$other\"); }"
report $? "and one that is not of ours"
: >"$scratch/source.c"
check_page </dev/null
[ $? -eq 1 ] && grep -q "docs/environment.md:1: nothing reads $other" "$scratch/.git/found"
report $? "a row of a variable that is not of ours and that nothing reads is found"
tap_end
