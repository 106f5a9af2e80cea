#!/usr/bin/env python3
"""What tollgate opens and what it replaces, whatever it was started with.

usage: files.py CASE
"""
import os
import random
import stat
import subprocess
import sys

from recording import TOLLGATE, check, run

# Every command with a trace to read (T, or S, which can be drawn) and files to write (O is a new name each time).
COMMANDS = (
    ["record", "-o", "O", "--", "./lists", "O.fds"],
    ["record", "--no-ptrace", "-o", "O", "--", "./lists", "O.fds"],
    ["live", "-o", "O", "-e", "dcont", "-e", "quit", "--", "true"],
    ["live", "-o", "O", "--json", "--", "true"],
    ["report", "T"], ["report", "--json", "T"], ["filter", "T"], ["sequence", "--force", "S"], ["sequence", "-o", "O", "S"],
    ["dump", "T"], ["dump", "-o", "O", "T"], ["replay", "T"], ["replay", "--json", "T"],
    ["replay", "-e", "info processes", "T"], ["recover", "--dry-run", "T"], ["recover", "-o", "O", "T"],
)


def hostile_trace(name):
    """A trace whose bytes hold a script: what cannot be compressed is kept as it is."""
    noise = random.Random(1)
    plain = [byte for byte in range(1, 256) if byte not in b"{}[]\"\\;#$\n"]
    def chaff():
        return bytes(noise.choice(plain) for _ in range(2000))
    script = b"\nexec touch executed; close [open executed w]\n"
    check(run([TOLLGATE, "record", "--quiet", "-o", name, "--", "true", chaff() + script + chaff()]).status == 0)
    with open(name, "rb") as file:
        check(script in file.read(), "the script is not in the trace as it is")


def drawable_trace(name):
    fixture = os.path.join(os.environ["TG_SOURCE"], "tests/golden/fixtures/sequence-ranks.jsonl")
    check(run([os.environ["TG_TRACE_FROM_JSON"], fixture, name]).status == 0)


def with_closed(descriptors, command, name):
    """Runs COMMAND with DESCRIPTORS closed; output and errors go to files."""
    def close():
        for descriptor in descriptors:
            os.close(descriptor)
    with open(f"{name}.out", "wb") as out, open(f"{name}.err", "wb") as err:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, preexec_fn=close, timeout=100,
                              check=False)
    with open(f"{name}.err", errors="replace") as err:
        return done.returncode, err.read()


def closed():
    """Standard input, output or error closed: no file that is opened takes their place, in tollgate and in what it runs."""
    hostile_trace("T")
    drawable_trace("S")
    with open("T", "rb") as file:
        before = file.read()
    with open("lists", "w") as file:
        file.write("#!/bin/sh\nfor i in 0 1 2 3 4; do test -e /proc/$$/fd/$i && echo $i; done >$1.now\nmv $1.now $1\n")
    os.chmod("lists", 0o755)
    number = 0
    for descriptors in ((0,), (1,), (2,), (0, 1, 2)):
        with_closed(descriptors, ["./lists", "natively"], "plain")
        for arguments in COMMANDS:
            number += 1
            name = f"o{number}"
            command = [TOLLGATE, *(a.replace("O", name) if a in ("O", "O.fds") else a for a in arguments)]
            status, errors = with_closed(descriptors, command, name)
            about = (" ".join(arguments), "without", descriptors, "exits with", status, errors)
            check("invalid command" not in errors and not os.path.exists("executed"), *about, "ran text of the trace")
            check(status in (0, 2) if 1 in descriptors else status == 0, *about)
            with open("T", "rb") as file:
                check(file.read() == before, *about, "changed the trace")
            if arguments[0] in ("record", "live") and (status == 0 or os.path.exists(name)):
                check("nothing lost" in run([TOLLGATE, "report", "--all", name]).output, *about, "made a bad trace")
            if "O.fds" in arguments:
                with open(f"{name}.fds") as seen, open("natively") as native:
                    check(seen.read() == native.read(), *about, "the program does not see them closed")


def others():
    """Pipes, devices and links in the place of an output, a directory for one."""
    os.mkfifo("pipe")
    with open("file", "w") as file:
        file.write("kept")
    os.symlink("file", "link")
    os.symlink("none", "dangling")
    os.mkdir("directory")
    names = ["pipe", "link", "dangling", "directory"]
    if os.getuid() == 0:
        try:
            os.mknod("device", stat.S_IFCHR | 0o600, os.makedev(1, 3))
            names.append("device")
        except OSError:
            pass
    return {name: os.lstat(name).st_ino for name in names}


def replaced():
    """--force replaces regular files; nothing else is replaced by any command."""
    check(run([TOLLGATE, "record", "--quiet", "-o", "T", "true"]).status == 0)
    drawable_trace("S")
    inodes = others()
    writers = (["record", "-o", "O", "true"], ["live", "-o", "O", "-e", "quit", "true"], ["recover", "-o", "O", "T"],
               ["dump", "-o", "O", "T"], ["report", "-o", "O", "T"], ["sequence", "-o", "O", "S"])
    for arguments in writers:
        command = [TOLLGATE, *arguments[:1], "--force", *arguments[1:]]
        for name, inode in inodes.items():
            is_written_to = name in ("pipe", "device") and arguments[0] not in ("record", "live", "recover")
            if is_written_to and name == "pipe":
                continue  # waits for a reader
            done = run([name if a == "O" else a for a in command])
            check(os.lstat(name).st_ino == inode, " ".join(arguments), "replaced the", name, done)
            if not is_written_to:
                check(done.status == 2 and name in done.errors and "not replaced" in done.errors, done)
        with open("plain", "w") as file:
            file.write("old")
        check(run([TOLLGATE, *("plain" if a == "O" else a for a in arguments)]).status == 2, arguments)
        check(run(["plain" if a == "O" else a for a in command]).status == 0, arguments)
        with open("plain", "rb") as file:
            check(file.read() != b"old", arguments, "--force did not replace a file")
        os.unlink("plain")
        done = run(["-" if a == "O" else a for a in command])
        if arguments[0] in ("record", "live", "recover"):
            check(done.status == 2 and "standard output" in done.errors, "a trace is written to -", done)
        else:
            check(done.status == 0 and done.output, "nothing on standard output", arguments, done)
    check(sorted(os.listdir()) == sorted([*inodes, "S", "T", "file"]), os.listdir())


if __name__ == "__main__":
    {"closed": closed, "replaced": replaced}[sys.argv[1]]()
