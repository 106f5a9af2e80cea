#!/usr/bin/env bash
# install_test.sh BUILD-DIRECTORY CONSUMER.c TRACE_FROM_JSON SOURCE
set -euo pipefail
build=$1 consumer=$2 trace_from_json=$3 source=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "install: $*" >&2
    exit 1
}

cmake --install "$build" --prefix "$work/prefix" >"$work/install.log"
[[ $("$work/prefix/bin/tollgate" --version) == "tollgate "[0-9]* ]] || fail "the installed program does not run"
for page in tollgate tollgate-record tollgate-report tollgate-filter tollgate-dump tollgate-replay tollgate-recover; do
    { cat "$work/prefix/share/man/man1/$page.1" || gzip -dc "$work/prefix/share/man/man1/$page.1.gz"; } 2>/dev/null |
        cmp - "$source/docs/man/$page.1" || fail "$page.1 is not installed"
done
[ -s "$work/prefix/share/bash-completion/completions/tollgate" ] || fail "the bash completion is not installed"
[ -s "$work/prefix/share/zsh/vendor-completions/_tollgate" ] || fail "the zsh completion is not installed"

# The agent is found where it was installed, wherever that is.
(cd "$work" && "$work/prefix/bin/tollgate" record --dlopen=agent -o agent.tgt true) || fail "the installed agent is not found"
"$work/prefix/bin/tollgate" dump --json "$work/agent.tgt" >"$work/agent.json"
grep -q '"state": *"watching"' "$work/agent.json" || fail "the installed agent does not watch"
grep -q "$work/prefix/lib.*/tollgate/tollgate-agent.so" "$work/agent.json" || fail "another agent than the installed one is used"
(cd "$work" && mv prefix "pre fix" && ! "pre fix/bin/tollgate" record --dlopen=agent -o none.tgt true 2>"$work/refused") ||
    fail "libraries that LD_PRELOAD cannot name are used"
grep -q "path has a space" "$work/refused" || fail "unclear: $(cat "$work/refused")"
mv "$work/pre fix" "$work/prefix"

# A program built through pkg-config reads a trace. The prefix is relocated: it was not the one of the configuration.
pc_dir=$(dirname "$(find "$work/prefix" -name tollgate.pc)")
flags=$(PKG_CONFIG_PATH=$pc_dir pkg-config --define-variable=prefix="$work/prefix" --static --cflags --libs tollgate)
# shellcheck disable=SC2086 # the flags are meant to be split
cc -Wall -Werror "$consumer" -o "$work/count_events" $flags
printf '%s\n' '{"t_ns":1,"pid":7,"tid":7,"kind":"process_start","origin":"launched","parent_pid":1}' \
    '{"t_ns":2,"pid":7,"tid":7,"kind":"process_exit","how":"exited","status":0,"core_dumped":false}' >"$work/two.json"
"$trace_from_json" "$work/two.json" "$work/two.tgt"
[ "$("$work/count_events" "$work/two.tgt")" = 2 ] || fail "the built program does not count 2 events"
echo "the installation is complete"
