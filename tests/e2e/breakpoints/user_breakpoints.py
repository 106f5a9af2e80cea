#!/usr/bin/env python3
"""User breakpoints, really planted and hit. usage: user_breakpoints.py CASE (a function of this file)"""
import collections
import os
import re
import shutil
import subprocess
import sys

import machine

PROGRAMS = os.environ["TG_PROGRAMS"]
SOURCES = os.path.join(os.environ["TG_SOURCE"], "tests", "programs")
HOST = f"{PROGRAMS}/break_host"
PLUGIN = f"{PROGRAMS}/libbreak_plugin.so"

Planted = collections.namedtuple("Planted", "pid id address late window library")
Hit = collections.namedtuple("Hit", "pid id address")
Removed = collections.namedtuple("Removed", "pid id address library")


class Run:
    def __init__(self, specs, command, mode="slow", match="", status=0):
        driver = [os.environ["TG_BREAK_DRIVER"], "events", mode, match, *specs, "--", *command]
        done = subprocess.run(driver, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False)
        check(done.returncode == status, f"exit status {done.returncode}: {done.stderr}")
        self.specs, self.planted, self.hits, self.removed, self.notes, self.opened = [], [], [], [], [], 0
        with open("events", encoding="utf-8") as events:
            for line in events:
                kind, *fields = line.rstrip("\n").split("\t")
                if kind == "spec":
                    self.specs.append((int(fields[0]), fields[1]))
                elif kind == "planted":
                    self.planted.append(Planted(int(fields[0]), int(fields[1]), int(fields[2], 16), int(fields[3]),
                                                int(fields[4]), fields[5]))
                elif kind == "hit":
                    self.hits.append(Hit(int(fields[0]), int(fields[1]), int(fields[2], 16)))
                elif kind == "removed":
                    self.removed.append(Removed(int(fields[0]), int(fields[1]), int(fields[2], 16), fields[3]))
                elif kind == "note":
                    self.notes.append(fields[1])
                elif kind == "opened":
                    self.opened = int(fields[0])
        check(self.specs == list(enumerate(specs, 1)), f"specifications told: {self.specs}")
        places = {(p.pid, p.id, p.address) for p in self.planted}
        pids = {p.pid for p in self.planted}
        for hit in self.hits:  # a hit is where something was planted; children inherit
            check((hit.pid, hit.id, hit.address) in places or hit.pid not in pids or
                  any(p[1:] == hit[1:] for p in places), f"hit of nothing: {hit}")


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def equal(actual, expected, what):
    check(actual == expected, f"{what}: {actual}, expected {expected}")


def line_of(file, mark):
    with open(os.path.join(SOURCES, file), encoding="utf-8") as source:
        for number, line in enumerate(source, 1):
            if f"/* LINE {mark} */" in line:
                return number
    sys.exit(f"{file} has no LINE {mark}")


def pending_in_constructor():
    run = Run(["plugin_local_constructor", "no_such_function"], [HOST, "open", PLUGIN, "run", "3"])
    equal([(p.id, p.late, p.window, p.library) for p in run.planted], [(1, 0, 0, PLUGIN)], "planted")
    equal([h.id for h in run.hits], [1], "hits")
    equal(run.notes, [], "notes")


def exported_function():
    run = Run(["plugin_run", "host_function"], [HOST, "host", "2", "open", PLUGIN, "run", "3", "run", "4"])
    equal(sorted((p.id, p.library) for p in run.planted), [(1, PLUGIN), (2, HOST)], "planted")
    equal([h.id for h in run.hits], [2, 2, 1, 1], "hits")


def file_and_line():
    line = line_of("break_plugin.c", "in static")
    run = Run([f"break_plugin.c:{line}", f"programs/break_plugin.c:{line}", f"other.c:{line}"],
              [HOST, "open", PLUGIN, "run", "5"])
    equal([p.id for p in run.planted], [1, 2], "planted")
    equal(run.planted[0].address, run.planted[1].address, "one address")
    equal(collections.Counter(h.id for h in run.hits), {1: 5, 2: 5}, "hits")


def static_in_two_libraries():
    second = os.path.abspath("libsecond.so")
    shutil.copy(PLUGIN, second)
    run = Run(["plugin_static", "libsecond.so`plugin_static", f"{second}`plugin_run"],
              [HOST, "open", PLUGIN, "run", "3", "open", second, "run", "4"])
    equal([(p.id, p.library) for p in run.planted], [(1, PLUGIN), (1, second), (2, second), (3, second)], "planted")
    first, other = run.planted[0].address, run.planted[1].address
    equal(collections.Counter((h.id, h.address) for h in run.hits), {(1, first): 3, (1, other): 4, (2, other): 4,
          (3, run.planted[3].address): 1}, "hits")


def fork_inherits():
    run = Run(["plugin_static", "host_function"], [HOST, "open", PLUGIN, "run", "2", "fork", "run", "3", "host", "1"])
    parent = run.planted[0].pid
    equal({p.pid for p in run.planted}, {parent}, "planted in the parent alone")
    equal(collections.Counter((h.pid == parent, h.id) for h in run.hits), {(True, 1): 2, (False, 1): 3, (False, 2): 1},
          "hits")


def fork_unloads():
    run = Run(["plugin_static"], [HOST, "open", PLUGIN, "fork", "run", "1", "close", "open", PLUGIN, "run", "2"])
    parent = run.planted[0].pid
    check(len(run.removed) == 1 and run.removed[0].pid != parent, f"removed in the child: {run.removed}")
    equal([p.pid == parent for p in run.planted], [True, False], "planted again in the child")
    equal(len(run.hits), 3, "hits")


def unload_and_load_again():
    run = Run(["plugin_static", "plugin_run"], [HOST] + ["open", PLUGIN, "run", "2", "close"] * 3)
    equal(collections.Counter(p.id for p in run.planted), {1: 3, 2: 3}, "planted")
    equal(collections.Counter((r.id, r.library) for r in run.removed), {(1, PLUGIN): 3, (2, PLUGIN): 3}, "removed")
    equal(collections.Counter(h.id for h in run.hits), {1: 6, 2: 3}, "hits")
    equal(run.notes, [], "notes")


def exec_starts_anew():
    run = Run(["host_function", "plugin_run"], [HOST, "open", PLUGIN, "host", "1", "exec", "host", "2"])
    equal([p.id for p in run.planted if p.library == HOST], [1, 1], "planted in both programs")
    equal([h.id for h in run.hits], [1, 1, 1], "hits")


def vfork_and_exec():
    run = Run(["host_function"], [HOST, "host", "1", "vfork", "host", "2"])
    pids = [h.pid for h in run.hits]
    equal([pid == pids[0] for pid in pids], [True, False, True, True], "hits")


def threads():
    run = Run(["host_function"], [HOST, "threads", "8"])
    equal(len(run.hits), 800, "hits")


def absolute_address():
    program = f"{PROGRAMS}/break_fixed"
    nm = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    address = int(re.search(r"^([0-9a-f]+) T host_function$", nm, re.M).group(1), 16)
    run = Run([f"*{address:#x}", "host_function", "*0x10", f"*{address}"], [program, "host", "3"])
    equal(sorted(p.id for p in run.planted), [1, 2, 4], "planted")
    equal({p.address for p in run.planted}, {address}, "where")
    equal(collections.Counter(h.id for h in run.hits), {1: 3, 2: 3, 4: 3}, "hits")


def address_in_library():
    nm = subprocess.run(["nm", PLUGIN], check=True, capture_output=True, text=True).stdout
    address = int(re.search(r"^([0-9a-f]+) T plugin_run$", nm, re.M).group(1), 16)
    run = Run([f"libbreak_plugin.so`*{address:#x}", "plugin_run"], [HOST, "open", PLUGIN, "run", "1"])
    equal([p.id for p in run.planted], [1, 2], "planted")
    equal(run.planted[0].address, run.planted[1].address, "one address")
    equal([h.id for h in run.hits], [1, 2], "hits")


def no_code_there():
    """An address in the data of a library is refused, told, and harmless."""
    nm = subprocess.run(["nm", "-D", PLUGIN], check=True, capture_output=True, text=True).stdout
    check("plugin_run" in nm, "the plug-in is not what it should be")
    run = Run(["libbreak_plugin.so`*0x7fffffff0000"], [HOST, "open", PLUGIN, "run", "1"])
    equal(run.planted, [], "planted")
    check(len(run.notes) == 1 and "libbreak_plugin.so`*0x7fffffff0000" in run.notes[0], f"notes: {run.notes}")


def deferred_is_late():
    """Medium: what the list does not name waits for the next other stop, and is planted late."""
    second = os.path.abspath("libsecond.so")
    shutil.copy(PLUGIN, second)
    run = Run(["plugin_static"], [HOST, "open", PLUGIN, "run", "2", "open", second, "run", "3"], mode="medium",
              match="*/libsecond.so")
    planted = {p.library: p for p in run.planted}
    equal({library: p.late for library, p in planted.items()}, {PLUGIN: 1, second: 0}, "late")
    check(planted[PLUGIN].window > 0, "the window is not told")
    equal(planted[second].window, 0, "window of the one in time")
    equal({h.address for h in run.hits}, {planted[second].address}, "hits")
    equal(len(run.hits), 3, "hits")


def one_file_for_many_processes():
    command = [HOST] + ["open", PLUGIN, "run", "1", "close", "fork"] * 5 + ["open", PLUGIN, "run", "1"]
    run = Run(["plugin_static"], command)
    equal(len(run.hits), 6, "hits")
    check(run.opened <= 6, f"{run.opened} images were opened for a program, its loader and three libraries")


def programs_of_every_make():
    """Static, static and position-independent, stripped with a debug file, 32-bit: status 0, both functions hit once."""
    line = line_of("image_material.c", "call two")
    for name in ("static", "static_pie", "split", "32", "32_static"):
        program = f"{PROGRAMS}/break_{name}"
        if name.startswith("32") and not os.path.exists(program):
            print(f"{name}: this compiler makes no 32-bit programs")
            continue
        if name.startswith("32") and not machine.executes_32_bits():
            print(f"{name}: this machine executes no 32-bit programs")
            continue
        run = Run(["tgm_exported", "tgm_static", f"image_material.c:{line}"], [program])
        equal(sorted((p.id, p.library) for p in run.planted), [(1, program), (2, program), (2, program), (3, program)],
              f"{name}: planted")
        equal(collections.Counter(h.id for h in run.hits), {1: 1, 2: 1}, f"{name}: hits")


def indirect_function():
    run = Run(["libc.so.6`strlen"], [HOST, "host", "1"])
    equal(len(run.planted), 1, "planted")
    check(len(run.notes) == 1 and "resolver" in run.notes[0], f"notes: {run.notes}")


def cxx_and_fortran():
    program = f"{PROGRAMS}/break_languages"
    if not os.path.exists(program):
        print("no C++ or Fortran compiler")
        sys.exit(77)
    nm = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    overloads = re.findall(r"\b_ZN5names5shape4areaE\w+", nm)
    equal(len(overloads), 2, "overloads")
    run = Run([*overloads, "fortran_sum_", "main"], [program])
    equal(sorted(p.id for p in run.planted), [1, 2, 3, 4], "planted")
    equal(collections.Counter(h.id for h in run.hits), {1: 2, 2: 2, 3: 3, 4: 1}, "hits")
    # as a person writes it, it is both overloads; what is around may be left out, but not made up
    run = Run(["names::shape::area", "area", "shape::area", "rea", "names::area"], [program])
    equal(sorted(p.id for p in run.planted), [1, 1, 2, 2, 3, 3], "planted by source names")
    equal(collections.Counter(h.id for h in run.hits), {1: 4, 2: 4, 3: 4}, "hits by source names")
    run = Run(["fortran_sum", "sums::plain_sum", "plain_sum", "same", "ums::plain_sum", "sums::same", "plain_su", "__sums_MOD_plain_sum"],
              [program])
    equal(sorted(p.id for p in run.planted), [1, 2, 3, 4, 8], "planted by names of Fortran")
    equal(collections.Counter(h.id for h in run.hits), {1: 3, 2: 3, 3: 3, 4: 3, 8: 3}, "hits by names of Fortran")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
