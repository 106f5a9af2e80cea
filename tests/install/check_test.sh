#!/usr/bin/env bash
# check_test.sh SOURCE: `./check` fails where a test failed beside others, also where it passes alone, and names it. cmake and
# ctest are played by scripts.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tree/cmake" "$work/bin"
cp "$1/check" "$work/tree/"
script() { # script FILE, text from standard input
    { echo '#!/bin/bash'; cat; } >"$1"
    chmod +x "$1"
}
for name in tree/cmake/install-packages tree/cmake/unpack-packages bin/cmake; do
    script "$work/$name" <<<'exit 0'
done
# FIRST and AGAIN: how the test e/x ends beside others, and alone.
script "$work/bin/ctest" <<'END'
how=$FIRST
[[ "$*" != *--rerun-failed* ]] || how=$AGAIN
echo "1/1 Test  #1: e/x ......$how    0.1 sec"
[[ $how == *Passed ]]
END

expect() { # expect STATUS LAST-LINE [not] STEADY-LINE
    local status=0 named=0
    output=$(cd "$work/tree" && PATH=$work/bin:$PATH ./check -L unit 2>&1) || status=$?
    named=$(grep -c "not steady.*e/x" <<<"$output" || true)
    if [ "$status $(tail -n 1 <<<"$output") $named" != "$1 $2 $3" ]; then
        printf 'check: %s, alone %s: exit status %s\n%s\n' "$FIRST" "$AGAIN" "$status" "$output" >&2
        exit 1
    fi
}
export FIRST AGAIN
unset TG_UNSTEADY # CI sets it
FIRST="   Passed" AGAIN=
expect 0 "1 passed, 0 failed, 0 skipped" 0
FIRST="***Failed" AGAIN="***Failed"
expect 1 "0 passed, 1 failed, 0 skipped" 0
FIRST="***Failed" AGAIN="   Passed"
expect 1 "0 passed, 1 failed, 0 skipped" 1
FIRST="***Timeout" AGAIN="   Passed"
expect 1 "0 passed, 1 failed, 0 skipped" 1
export TG_UNSTEADY=warn
expect 0 "0 passed, 1 failed, 0 skipped" 1
FIRST="***Failed" AGAIN="***Failed"
expect 1 "0 passed, 1 failed, 0 skipped" 0
echo "check fails on what is not steady"
