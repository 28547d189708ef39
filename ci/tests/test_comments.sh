#!/usr/bin/env bash
# ci/comments.sh finds what a formatter does to tables and what cites a page that is not here, and passes the tree.
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
tap_end
