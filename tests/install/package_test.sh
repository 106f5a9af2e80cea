#!/usr/bin/env bash
# package_test.sh BUILD-DIRECTORY: the Debian package holds what it is to hold, and lintian finds neither error nor warning in it.
set -euo pipefail
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "package: $*" >&2
    exit 1
}

command -v dpkg-shlibdeps >/dev/null || { echo "skipped: no dpkg-shlibdeps (Debian: dpkg-dev)"; exit 77; }
(cd "$work" && cpack --config "$build/CPackConfig.cmake" -B "$work/deb" >"$work/cpack.log" 2>&1) ||
    fail "cpack failed: $(tail -n 5 "$work/cpack.log")"
deb=$(echo "$work"/deb/*.deb)
dpkg-deb -c "$deb" >"$work/contents" # not a pipe to grep -q: dpkg-deb dislikes readers that leave early
grep -q ' \./usr/bin/tollgate$' "$work/contents" || fail "the package has no /usr/bin/tollgate"
for library in tollgate-agent.so tollgate-audit.so; do
    grep -q " \./usr/lib/.*tollgate/$library\$" "$work/contents" || fail "the package has no $library"
done
depends=$(dpkg-deb -f "$deb" Depends)
for library in libzstd1 libdw1 libelf1 libcapstone4 libtcl8.6 libedit2 libjansson4 libmicrohttpd12; do
    [[ $depends == *$library* ]] || fail "the package does not depend on $library: $depends"
done
grep -qE '\.(a|h|pc)$' "$work/contents" && fail "the package has what is for development"
for file in copyright changelog.Debian.gz README.md; do
    grep -q " \./usr/share/doc/tollgate/$file\$" "$work/contents" || fail "the package has no $file"
done
dpkg-deb -e "$deb" "$work/control"
scripts=$(cd "$work/control" && ls | grep -vxE 'control|md5sums' || true)
[ -z "$scripts" ] || fail "the package runs scripts: $scripts"

command -v lintian >/dev/null || { echo "skipped: no lintian (Debian: lintian)"; exit 77; }
lintian --fail-on error,warning --allow-root "$deb" || fail "lintian is not content"
echo "the package is complete"
