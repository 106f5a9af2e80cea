#!/usr/bin/env python3
"""A signal that ends a command while it writes a file leaves nothing behind, and what had the file's name before stays as it
was; the command ends by that signal.
"""
import json
import os
import signal
import subprocess
import sys

TOLLGATE = os.environ["TG_TOLLGATE"]
ROUNDS = 60000
TRIES = 50
COMMANDS = (("dump",), ("dump", "--json"), ("dump", "--chrome"), ("report",), ("report", "--json"), ("sequence",),
            ("sequence", "--format", "html"), ("heap",), ("heap", "--format", "pprof"), ("redact",), ("recover",))


def events(rounds):
    """Two ranks that call a collective ROUNDS times: something for every command."""
    start = 10**12
    yield {"meta": {"tool.version": "test", "command.0": "test", "start.monotonic_ns": str(start)}}
    for rank in range(2):
        common = {"t_ns": start + rank, "pid": 100 + rank, "tid": 100 + rank}
        yield {**common, "kind": "process_start", "origin": "fork", "parent_pid": 99}
        yield {**common, "kind": "identity", "host": "node", "job": "1", "source": "PMI_RANK", "rank": rank, "size": 2}
        yield {**common, "kind": "mpi_comm", "comm": 1, "origin": "world", "rank": rank, "size": 2}
    for i in range(rounds):
        for rank in range(2):
            common = {"pid": 100 + rank, "tid": 100 + rank, "t_ns": start + 1000 * (i + 1) + rank}
            yield {**common, "kind": "mpi_enter", "call": "MPI_Barrier", "comm": 1, "instance": i + 1}
            yield {**common, "t_ns": common["t_ns"] + 500, "kind": "mpi_leave", "call": "MPI_Barrier"}


def make(rounds=ROUNDS):
    """many.tgt, of four events a round."""
    with open("events.jsonl", "w", encoding="ascii") as lines:
        for event in sorted(events(rounds), key=lambda event: event.get("t_ns", 0)):
            lines.write(json.dumps(event) + "\n")
    subprocess.run([os.environ["TG_TRACE_FROM_JSON"], "events.jsonl", "many.tgt"], check=True)
    os.unlink("events.jsonl")


def interrupt(words, number, before):
    """Whether `tollgate WORDS -o there/result many.tgt` was ended by signal NUMBER while it wrote: not where it was faster."""
    child = subprocess.Popen([TOLLGATE, *words, "--force", "-o", "there/result", "many.tgt"], stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE)
    while set(os.listdir("there")) <= before and child.poll() is None:
        pass
    child.send_signal(number)
    _, errors = child.communicate()
    if child.returncode == 0:
        return False
    assert child.returncode == -number and not errors, (words, child.returncode, errors)
    left = set(os.listdir("there"))
    assert left == before, f"{words}, signal {number}: left {left - before}, took {before - left}"
    return True


def check(words, number, existing):
    for _ in range(TRIES):
        before = set()
        if existing is not None:
            before = {"result"}
            with open("there/result", "w", encoding="ascii") as file:
                file.write(existing)
        done = interrupt(words, number, before)
        if done and existing is not None:
            assert open("there/result", encoding="ascii").read() == existing, (words, "is not what it was")
        for name in os.listdir("there"):
            os.unlink("there/" + name)
        if done:
            return
    sys.exit(f"{words}: was never interrupted")


def ignored():
    """A signal that was ignored from the start stays so."""
    child = subprocess.Popen([TOLLGATE, "dump", "-o", "there/result", "many.tgt"], stderr=subprocess.PIPE,
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    while not os.listdir("there") and child.poll() is None:
        pass
    child.send_signal(signal.SIGHUP)
    _, errors = child.communicate()
    assert child.returncode == 0 and os.listdir("there") == ["result"], (child.returncode, errors, os.listdir("there"))


def main():
    make()
    os.mkdir("there")
    for words in COMMANDS:
        for existing in (None, "the good one"):
            check(words, signal.SIGINT, existing)
    for number in (signal.SIGTERM, signal.SIGHUP):
        check(("dump",), number, None)
    ignored()


if __name__ == "__main__":
    signal.alarm(250)
    main()
