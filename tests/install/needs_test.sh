#!/usr/bin/env bash
# needs_test.sh SOURCE CMAKE: where tollgate cannot be built, one message of CMake's names every reason and the Debian packages.
set -euo pipefail
source=$1 cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/pc"

# Pretends to be another machine, with a capstone that is too old, a Tcl that is too new, and nothing else.
pkgconfig() { # pkgconfig NAME VERSION
    printf 'Name: %s\nDescription: for a test\nVersion: %s\n' "$1" "$2" >"$work/pc/$1.pc"
}
pkgconfig capstone 3.0.5
pkgconfig tcl 9.0.1
pkgconfig libzstd 1.5.4
if PKG_CONFIG_PATH= PKG_CONFIG_LIBDIR=$work/pc "$cmake" -S "$source" -B "$work/build" -DCMAKE_SYSTEM_NAME=Linux \
    -DCMAKE_SYSTEM_PROCESSOR=aarch64 >"$work/output" 2>&1; then
    echo "needs: CMake is satisfied" >&2
    exit 1
fi
message=$(sed -n '/cannot be built here/,/Call Stack/p' "$work/output" | tr -s ' \n' ' ')
for text in "the processor is aarch64: only 64-bit x86-64 is supported" "capstone is version 3.0.5, needed is a version >=4.0, <6" \
    "tcl is version 9.0.1, needed is a version >=8.6, <9" "libdw (version >=0.171) is missing" \
    "apt-get install libxxhash-dev libelf-dev libdw-dev zlib1g-dev tcl-dev libedit-dev libcapstone-dev libjansson-dev libmicrohttpd-dev libcmocka-dev"; do
    if [[ $message != *"$text"* ]]; then
        printf 'needs: "%s" is not in:\n' "$text" >&2
        cat "$work/output" >&2
        exit 1
    fi
done
if [[ $message == *zstd* ]]; then
    echo "needs: libzstd is there: $message" >&2
    exit 1
fi
echo "one message names all"
