#!/bin/bash
# usage: run_golden.sh NAME FIXTURE[@BYTES] SOURCE_DIRECTORY TOLLGATE TRACE_FROM_JSON [ARGUMENT...]
set -eu
name=$1 fixture=${2%@*} cut=${2##*@} source=$3 tollgate=$4 trace_from_json=$5
shift 5
export LC_ALL=C.UTF-8 TZ=UTC
unset NO_COLOR
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
export HOME=$directory # nobody's own settings
ln -s "$source/scripts" scripts
normalise=(cat)
if [ "$fixture" != - ]; then
    "$trace_from_json" "$source/fixtures/$fixture.jsonl" "$fixture.tgt"
    if [ "$cut" != "$fixture" ]; then
        truncate -s "-$cut" "$fixture.tgt"
        # Where the bytes end depends on the compressor's version.
        normalise=(sed -E 's/byte [0-9]+/byte N/; s/("damaged_offset": )[0-9]+/\1"N"/; s/offset [0-9]+/offset N/
            s/^( *"offset": |  "size_bytes": )[0-9]+/\1"N"/')
    fi
fi
status=0
"$tollgate" "$@" >stdout 2>stderr || status=$?
{
    cat stdout
    [ ! -s stderr ] || { echo "-- standard error"; cat stderr; }
    [ "$status" = 0 ] || echo "-- exit status $status"
} | "${normalise[@]}" >actual
expected=$source/expected/$name.out
if [ "${TG_GOLDEN_UPDATE:-0}" = 1 ]; then
    mkdir -p "$source/expected"
    cp actual "$expected"
    exit 0
fi
diff -u "$expected" actual
