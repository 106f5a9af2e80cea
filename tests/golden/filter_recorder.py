"""A recorder in miniature, written from the specification and independently of tollgate's: plays a scenario under a
dlopen filter mode and gives the events that a recording would hold, as `tollgate dump --json --meta` writes them.

A scenario is a list of steps (time_us, pid, what, arguments...):
  start PARENT | identity RANK SIZE | startup PATH... | entry | dlopen NAMESPACE PATH... | dlclose PATH
  signal | group_stop | thread TID | thread_exit TID | exit | hit ADDRESS | exec PATH
"""
import re

STOP_NS, NULL_NS, READ_NS, HANDLE_NS = 60_000, 21_000, 8_000, 9_000  # handling: of each library


def matches(pattern, text):
    """Tcl string match for patterns of `*` and ordinary characters."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.S) is not None


def decide(match, paths):
    """(decision, rule, pattern, library) of a glob-list by the specification's words."""
    patterns = match.split(":")
    negated_hit = None
    for path in paths:
        for pattern in patterns:
            negated = pattern.startswith("!")
            glob = pattern[1:] if negated else pattern
            if glob and matches(glob, path):
                if not negated:
                    return "reported", "pattern", pattern, path
                negated_hit = negated_hit or ("deferred", "pattern", pattern, path)
                break
    if negated_hit:
        return negated_hit
    for pattern in reversed(patterns):
        if pattern.startswith("!"):
            return "reported", "default_last_negated", "", ""
        if pattern:
            return "deferred", "default_last_positive", "", ""
    return "deferred", "default_all_empty", "", ""


class Process:
    def __init__(self):
        self.loaded = []  # what the loader's list holds: (path, link_map, namespace)
        self.known = []  # as it was last read
        self.waiting = []  # (library, since_us)
        self.waiting_events = 0
        self.planted = {}  # address -> library
        self.previous_us = 0
        self.threads = 1


class Recorder:
    def __init__(self, mode, match="", breaks=(), meta=None):
        """BREAKS: (text, {path: address}) each."""
        self.mode, self.match, self.breaks = mode, match, list(breaks)
        self.processes = {}
        self.events = [{"meta": meta}] if meta else []
        self.emit(0, 0, "filter_settings", mode=mode, match=match)
        for number, (text, _) in enumerate(self.breaks, 1):
            self.emit(0, 0, "breakpoint_spec", breakpoint=number, text=text)

    def emit(self, us, pid, kind, stop_ns=0, tid=None, **fields):
        event = {"t_ns": 1_000_000_000 + us * 1000}
        if stop_ns:
            event["stop_ns"] = stop_ns
        event.update(pid=pid, tid=pid if tid is None else tid, kind=kind, **fields)
        self.events.append(event)

    @staticmethod
    def describe(libraries):
        return [{"path": path, "build_id": "", "base": hex(link_map << 8), "size_bytes": 4096,
                 "link_map": hex(link_map), "dependency": i > 0} for i, (path, link_map, _) in enumerate(libraries)]

    def plant(self, us, pid, process, libraries, late, since_us=0):
        for library in libraries:
            for number, (_, places) in enumerate(self.breaks, 1):
                if library[0] in places:
                    process.planted[places[library[0]]] = library
                    self.emit(us, pid, "breakpoint_planted", breakpoint=number, address=hex(places[library[0]]),
                              library=library[0], late=late, window_ns=(us - since_us) * 1000 if late else 0)

    def load(self, us, pid, process, found, libraries, since_us, stop_ns):
        startup = found in ("startup", "attach")
        decision = ("not_stopped", "no_stop", "", "")
        if found == "loader":
            decision = (("reported", "always_recalculate", "", "") if self.mode == "slow"
                        else decide(self.match, [path for path, _, _ in libraries]))
        at_once = startup or decision[0] == "reported"
        handle_ns = HANDLE_NS * len(libraries) if at_once else 0
        self.emit(us, pid, "library_load", stop_ns=stop_ns and stop_ns + handle_ns, found=found,
                  namespace=libraries[0][2], state=0, read_ns=READ_NS, handle_ns=handle_ns,
                  libraries=self.describe(libraries))
        if startup:
            self.plant(us, pid, process, libraries, False)
            return
        self.emit(us, pid, "filter_decision", decision=decision[0], rule=decision[1], pattern=decision[2],
                  library=decision[3])
        if at_once:
            self.plant(us, pid, process, libraries, False)
            self.handle_waiting(us, pid, process, "reported_event", False)
        else:
            process.waiting += [(library, since_us) for library in libraries]
            process.waiting_events += 1

    def handle_waiting(self, us, pid, process, trigger, final):
        if process.waiting:
            self.emit(us, pid, "deferred_handled", trigger=trigger, events=process.waiting_events,
                      libraries=len(process.waiting), handle_ns=0 if final else HANDLE_NS * len(process.waiting))
            for library, since_us in process.waiting:
                if not final:
                    self.plant(us, pid, process, [library], True, since_us)
        process.waiting, process.waiting_events = [], 0

    def unload(self, us, pid, process, found, libraries, stop_ns):
        self.emit(us, pid, "library_unload", stop_ns=stop_ns, found=found, namespace=libraries[0][2], state=0,
                  libraries=self.describe(libraries))
        process.waiting = [w for w in process.waiting if w[0] not in libraries]
        process.planted = {a: library for a, library in process.planted.items() if library not in libraries}

    def other_stop(self, us, pid, trigger, final=False):
        process = self.processes[pid]
        if self.mode == "fast":
            gone = [library for library in process.known if library not in process.loaded]
            for namespace in sorted({library[2] for library in gone}):
                self.unload(us, pid, process, "catch_up", [x for x in gone if x[2] == namespace], 0)
            new = [library for library in process.loaded if library not in process.known]
            for namespace in sorted({library[2] for library in new}):
                self.load(us, pid, process, "catch_up", [x for x in new if x[2] == namespace],
                          process.previous_us, 0)
        process.known = list(process.loaded)
        self.handle_waiting(us, pid, process, trigger, final)
        process.previous_us = us

    def step(self, us, pid, what, *arguments):
        getattr(self, "do_" + what)(us, pid, *arguments)

    def do_start(self, us, pid, parent):
        process = self.processes[pid] = Process()
        process.previous_us = us
        self.emit(us, pid, "process_start", stop_ns=15_000, origin="fork" if parent in self.processes else "launched",
                  parent_pid=parent)
        if parent in self.processes:
            self.other_stop(us, parent, "fork")
            process.loaded = list(self.processes[parent].loaded)
            process.known = list(process.loaded)
            process.planted = dict(self.processes[parent].planted)

    def do_identity(self, us, pid, rank, size):
        self.emit(us, pid, "identity", host="node1", job="j1", source="OMPI_COMM_WORLD_RANK", rank=rank, size=size)

    def do_exec(self, us, pid, path):
        process = self.processes[pid]
        self.processes[pid] = Process()
        self.processes[pid].previous_us = us
        self.emit(us, pid, "exec", stop_ns=30_000, path=path, former_tid=pid)
        del process

    def do_startup(self, us, pid, *paths):
        process = self.processes[pid]
        libraries = [(path, 0x10000 + i, 0) for i, path in enumerate(paths)]
        process.loaded += libraries
        if self.mode == "fast":
            process.startup = libraries  # told at the entry point
            return
        process.known = list(process.loaded)
        self.emit(us - 30, pid, "library_null", stop_ns=NULL_NS, state=1)
        self.load(us, pid, process, "startup", libraries, us, STOP_NS)

    def do_entry(self, us, pid):
        process = self.processes[pid]
        self.emit(us, pid, "entry", stop_ns=12_000, address="0x401000")
        if self.mode == "fast":
            process.known = list(process.startup)
            self.load(us, pid, process, "startup", process.startup, us, 0)
        self.other_stop(us, pid, "entry")

    def do_dlopen(self, us, pid, namespace, *paths):
        process = self.processes[pid]
        used = {link_map for _, link_map, _ in process.loaded}
        libraries = []
        for path in paths:  # the lowest free address, as malloc would: reloads come back to their place
            link_map = next(a for a in range(0x20000, 0x30000) if a not in used)
            used.add(link_map)
            libraries.append((path, link_map, namespace))
        process.loaded += libraries
        if self.mode != "fast":
            process.known = list(process.loaded)
            self.emit(us - 30, pid, "library_null", stop_ns=NULL_NS, state=1)
            process.previous_us = us
            self.load(us, pid, process, "loader", libraries, us, STOP_NS)

    def do_dlclose(self, us, pid, path):
        process = self.processes[pid]
        libraries = [library for library in process.loaded if library[0] == path][-1:]
        process.loaded = [library for library in process.loaded if library not in libraries]
        if self.mode != "fast" and libraries:
            process.known = list(process.loaded)
            self.emit(us - 30, pid, "library_null", stop_ns=NULL_NS, state=2)
            self.unload(us, pid, process, "loader", libraries, STOP_NS)
            process.previous_us = us

    def do_signal(self, us, pid):
        self.emit(us, pid, "signal", stop_ns=18_000, signal=10, code=0, sender_pid=pid, address="0x0")
        self.other_stop(us, pid, "signal")

    def do_group_stop(self, us, pid):
        self.emit(us, pid, "group_stop", stop_ns=18_000, signal=19)
        self.other_stop(us, pid, "group_stop")

    def do_thread(self, us, pid, tid):
        self.processes[pid].threads += 1
        self.emit(us, pid, "thread_start", stop_ns=18_000, tid=tid, parent_tid=pid)
        self.other_stop(us, pid, "thread")

    def do_thread_exit(self, us, pid, tid):
        self.processes[pid].threads -= 1
        self.emit(us, pid, "thread_exit", stop_ns=18_000, tid=tid, status=0)
        self.other_stop(us, pid, "exit")

    def do_hit(self, us, pid, address):
        process = self.processes[pid]
        if address in process.planted and process.planted[address] in process.loaded:
            number = next(n for n, (_, places) in enumerate(self.breaks, 1) if address in places.values())
            self.emit(us, pid, "breakpoint_hit", stop_ns=25_000, breakpoint=number, address=hex(address))
            self.other_stop(us, pid, "breakpoint")

    def do_exit(self, us, pid):
        self.other_stop(us, pid, "exit", final=True)
        self.emit(us + 5, pid, "process_exit", how="exited", status=0, core_dumped=False)
        del self.processes[pid]


def record(scenario, mode, match="", breaks=(), meta=None):
    recorder = Recorder(mode, match, breaks, meta)
    for step in scenario:
        recorder.step(*step)
    return recorder.events
