#!/bin/sh
# Every manual page formats without a warning, with man-db and with groff, and is in the list that is installed.
# usage: man_pages_test.sh SOURCE_DIRECTORY
set -u
command -v man >/dev/null 2>&1 && command -v groff >/dev/null 2>&1 || {
    echo "skipped: man (man-db) and groff are needed"
    exit 77
}
cd "$1/docs/man" || exit 1
failed=0
for page in *.1; do
    warnings=$(
        LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l "$page" 2>&1 >/dev/null
        groff -man -Tutf8 -ww "$page" 2>&1 >/dev/null
    )
    if [ -n "$warnings" ]; then
        printf '%s:\n%s\n' "$page" "$warnings"
        failed=1
    fi
    grep -qw -- "${page%.1}" ../../cmake/install.cmake || {
        echo "$page: cmake/install.cmake does not install it"
        failed=1
    }
done
exit $failed
