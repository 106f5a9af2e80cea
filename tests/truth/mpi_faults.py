"""Faults of MPI programs: each changes one call of one rank in one step, and tells the truth about it."""
from fault import fault
from truth import Truth

STUCK = """
static __attribute__((noinline)) void stuck(void)
{
    for (volatile unsigned long turns = 0;; turns++)
        continue;
}
"""
ASLEEP = """
static __attribute__((noinline)) void stuck(void)
{
    for (;;)
        sleep(1);
}
"""
DEEP = """
static __attribute__((noinline)) int deep(int n)
{
    volatile char frame[4096];
    frame[n & 4095] = (char)n;
    return deep(n + 1) + frame[n & 4095];
}
"""
POINTS = ("send", "recv", "exchange", "collective", "any_collective", "complete")


ODD_ONE = "Of two ranks that call different things nobody can say which one is wrong: either counts. Of more, the odd one. "


def odd_one(case, rank):
    return {rank} if case.size > 2 else {0, 1}


def peer(site, key, rank, size):
    return site.value(key, rank, size) % size


# ---- collectives

@fault("collective_skipped", "collective")
def collective_skipped(case):
    """Where only the same call follows, the others are one call behind from then on, and wait in the last one."""
    site, rank = case.pick("collective")
    case.instead(site, ["CULPRIT(__LINE__);"])
    return Truth(odd_one(case, rank), lines=[site], waiters=True,
                 why=ODD_ONE + "In a loop of equal calls nobody can see which one was left out: the call that the others wait in "
                     "at the end, its line, and the rank that is missing there are the answer.")


@fault("collective_other", "collective")
def collective_other(case):
    site, rank = case.pick("collective")
    comm = site.arguments["comm"]
    other = f"MPI_Barrier({comm});" if site.function != "MPI_Barrier" else \
        f"MPI_Allreduce(&(int){{1}}, &(int){{0}}, 1, MPI_INT, MPI_SUM, {comm});"
    new = case.instead(site, ["CULPRIT(__LINE__);", other])
    return Truth(odd_one(case, rank), lines=[site, *new], waiters=True, why=ODD_ONE)


@fault("collective_extra", "collective")
def collective_extra(case):
    site, rank = case.pick("collective")
    new = case.before(site, ["CULPRIT(__LINE__);", f"MPI_Barrier({site.arguments['comm']});"])
    return Truth(odd_one(case, rank), lines=[site, *new], waiters=True,
                 why=ODD_ONE + "Where the program has equal barriers, the additional one meets the others' next one, and the rank is "
                     "missing in the last.")


@fault("root_other", "collective", where=lambda site: "root" in site.arguments)
def root_other(case):
    site, rank = case.pick("collective")
    other = site.with_arguments(root=f"({site.arguments['root']} + 1) % size")
    new = case.instead(site, ["CULPRIT(__LINE__);", other])
    return Truth(odd_one(case, rank), lines=[site, *new], why=ODD_ONE)


def is_countable(site):
    return (site.function in ("MPI_Allreduce", "MPI_Reduce", "MPI_Bcast") and site.arguments["count"].isdigit() and
            int(site.arguments["count"]) > 1)


@fault("count_other", "collective", where=is_countable)
def count_other(case):
    """Half of the others' count. What comes of it is up to the library: an error, a crash, a hang, or nothing."""
    site, rank = case.pick("collective")
    other = site.with_arguments(count=f"{site.arguments['count']} / 2")
    new = case.instead(site, ["CULPRIT(__LINE__);", other])
    return Truth(odd_one(case, rank), lines=[site, *new], why=ODD_ONE)


@fault("comm_other", "collective")
def comm_other(case):
    site, rank = case.pick("collective")
    case.program.before_main += case.text("static MPI_Comm elsewhere;")
    site.part.setup += case.text("    MPI_Comm_dup(MPI_COMM_WORLD, &elsewhere);")
    new = case.instead(site, ["CULPRIT(__LINE__);", site.with_arguments(comm="elsewhere")])
    return Truth(odd_one(case, rank), lines=[site, *new], why=ODD_ONE)


# ---- messages

@fault("send_missing", "send")
def send_missing(case):
    site, rank = case.pick("send")
    case.instead(site, ["CULPRIT(__LINE__);"])
    return Truth({rank}, also=case.cycle(site), lines=[site, *case.calls_of(site.part)], waiters=True,
                 why="With equal tags the receiver takes the next message and is one behind from then on; in a ring all "
                     "ranks then wait for each other, and the cycle with this rank in it is the answer.")


@fault("recv_missing", "recv", is_large=True, where=lambda site: site.part.pattern.name != "buffered")
def recv_missing(case):
    site, rank = case.pick("recv")
    case.instead(site, ["CULPRIT(__LINE__);"])
    return Truth({rank}, also=case.cycle(site), lines=[site, *case.calls_of(site.part)], waiters=True,
                 why="The messages are too large to be sent without a receive: the sender of the message waits, at once or "
                     "in its last send.")


@fault("tag_wrong", "send")
def tag_wrong(case):
    site, rank = case.pick("send")
    new = case.instead(site, ["CULPRIT(__LINE__);", site.with_arguments(tag=f"{site.arguments['tag']} + 5000")])
    return Truth({rank, peer(site, "to", rank, case.size)}, also=case.cycle(site),
                 lines=[site, *new, *case.calls_of(site.part)],
                 why="Two tags that differ do not say which one is wrong: sender and receiver count.")


@fault("peer_wrong", "send", least_ranks=3)
def peer_wrong(case):
    site, rank = case.pick("send")
    right = peer(site, "to", rank, case.size)
    wrong = next(other for other in (right + 1, right + 2) if other % case.size not in (right, rank)) % case.size
    new = case.instead(site, ["CULPRIT(__LINE__);", site.with_arguments(to=str(wrong))])
    return Truth({rank}, also={right, wrong, *case.cycle(site)}, lines=[site, *new, *case.calls_of(site.part)],
                 why="The culprit is the sender; its receivers, the right one and the wrong one, may be named beside it.")


@fault("message_truncated", "recv")
def message_truncated(case):
    site, rank = case.pick("recv")
    new = case.instead(site, ["CULPRIT(__LINE__);", site.with_arguments(count=f"{site.arguments['count']} / 2")])
    return Truth({rank, peer(site, "from", rank, case.size)}, lines=[site, *new], reason="(?i)trunc",
                 why="Of a message that is too long for its receive, either side may be wrong; the library reports it to "
                     "the receiver.")


@fault("rank_invalid", "send")
def rank_invalid(case):
    site, rank = case.pick("send")
    new = case.instead(site, ["CULPRIT(__LINE__);", site.with_arguments(to="size + 5")])
    return Truth({rank}, lines=[site, *new], reason="(?i)invalid")


@fault("send_send", "order", is_large=True, where=lambda site: site.notes["kind"] == "pair")
def send_send(case):
    site, rank = case.pick("order", ranks=lambda size: range(1, size, 2))
    site.text = site.text.replace("if (rank % 2 == 0)", "if (rank % 2 == 0 || witness_fault(FAULTY, __LINE__))")
    return Truth({rank, rank ^ 1}, lines=case.calls_of(site.part, "send"),
                 why="Both of a pair send first: a deadlock has no single culprit.")


@fault("recv_recv", "order")
def recv_recv(case):
    site, rank = case.pick("order", ranks=lambda size: range(0, 1))
    site.text = site.text.replace(") {", " && !witness_fault(FAULTY, __LINE__)) {")
    ring = site.notes["kind"] == "first"
    return Truth(set(range(case.size)) if ring else {rank, rank ^ 1}, lines=case.calls_of(site.part, "recv"),
                 why="All of a cycle wait for a message first: a deadlock has no single culprit.")


@fault("recv_unmatched", *POINTS)
def recv_unmatched(case):
    site, rank = case.pick(*POINTS)
    other = (rank + 1) % case.size
    new = case.before(site, ["CULPRIT(__LINE__);",
                             f"MPI_Recv(&(int){{0}}, 1, MPI_INT, {other}, 9999, MPI_COMM_WORLD, MPI_STATUS_IGNORE);"])
    return Truth({rank, other}, lines=new, why="A receive too many or a send too few: both ranks count.")


@fault("wait_unmatched", *POINTS)
def wait_unmatched(case):
    site, rank = case.pick(*POINTS)
    other = (rank + 1) % case.size
    new = case.before(site, ["MPI_Request lost;", "CULPRIT(__LINE__);",
                             f"MPI_Irecv(&(int){{0}}, 1, MPI_INT, {other}, 9999, MPI_COMM_WORLD, &lost);",
                             "MPI_Wait(&lost, MPI_STATUS_IGNORE);"])
    return Truth({rank, other}, lines=new, why="A receive too many or a send too few: both ranks count.")


@fault("test_unmatched", *POINTS)
def test_unmatched(case):
    site, rank = case.pick(*POINTS)
    other = (rank + 1) % case.size
    new = case.before(site, ["MPI_Request lost;", "int found = 0;", "CULPRIT(__LINE__);",
                             f"MPI_Irecv(&(int){{0}}, 1, MPI_INT, {other}, 9999, MPI_COMM_WORLD, &lost);",
                             "while (!found)", "    (MPI_Test)(&lost, &found, MPI_STATUS_IGNORE);"])
    return Truth({rank, other}, lines=new, why="A receive too many or a send too few: both ranks count.")


@fault("probe_unmatched", *POINTS)
def probe_unmatched(case):
    site, rank = case.pick(*POINTS)
    other = (rank + 1) % case.size
    new = case.before(site, ["int found = 0;", "CULPRIT(__LINE__);", "while (!found)",
                             f"    (MPI_Iprobe)({other}, 9999, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);"])
    return Truth({rank, other}, lines=new, why="A probe too many or a send too few: both ranks count.")


# ---- partitioned messages

@fault("ready_missing", "ready", needs="MPI_Psend_init")
def ready_missing(case):
    site, rank = case.pick("ready")
    case.instead(site, ["CULPRIT(__LINE__);"], condition="FAULTY && i == 3")
    return Truth({rank}, lines=[site, *case.calls_of(site.part)], waiters=True,
                 why="A partition that is never marked is one of the rank that waits for itself at the end, where the others wait "
                     "for it.")


@fault("ready_twice", "ready", needs="MPI_Psend_init")
def ready_twice(case):
    site, rank = case.pick("ready")
    other = site.text.strip().replace("(i,", "(2,")
    new = case.instead(site, ["CULPRIT(__LINE__);", other], condition="FAULTY && i == 3")
    return Truth({rank}, lines=[site, *new], reason="a second time",
                 why="One partition is marked for another: whichever thread comes later marks it again.")


# ---- ends

def end(case, *texts, **more):
    site, rank = case.pick(*POINTS)
    new = case.before(site, ["CULPRIT(__LINE__);", *texts])
    return Truth({rank}, lines=new, **more)


@fault("finalize_early", *POINTS)
def finalize_early(case):
    return end(case, "MPI_Finalize();", "exit(0);", here=True)


EXITS = "Nothing of the trace has the line of exit(): the rank's last MPI call counts too."


@fault("exit_0", *POINTS)
def exit_0(case):
    return end(case, "exit(0);", reason="exit", last_line=True, why=EXITS)


@fault("exit_3", *POINTS)
def exit_3(case):
    return end(case, "exit(3);", reason="exit", last_line=True, why=EXITS)


@fault("exit_direct", *POINTS)
def exit_direct(case):
    return end(case, f"_exit({case.random.choice((0, 1, 42))});", reason="exit", last_line=True, why=EXITS)


@fault("abort_call", *POINTS)
def abort_call(case):
    return end(case, "abort();", reason="SIGABRT")


@fault("mpi_abort", *POINTS)
def mpi_abort(case):
    return end(case, "MPI_Abort(MPI_COMM_WORLD, 7);", reason="MPI_Abort")


@fault("segfault", *POINTS)
def segfault(case):
    return end(case, "*(volatile int *)64 = step;", reason="SIGSEGV")


@fault("division", *POINTS)
def division(case):
    return end(case, "volatile int zero = 0;", "zero = step / zero;", reason="SIGFPE")


@fault("stack_overflow", *POINTS)
def stack_overflow(case):
    case.program.before_main += case.text(DEEP)
    truth = end(case, "rank += deep(1);", reason="SIGSEGV")
    truth.lines += case.program.before_main
    return truth


@fault("killed", *POINTS)
def killed(case):
    return end(case, "for (;;)", "    work(1000);", signal_from_outside="SIGKILL", reason="SIGKILL", line_matters=False,
               why="A signal from outside comes anywhere: no line is asked for.")


@fault("stopped", *POINTS)
def stopped(case):
    return end(case, "for (;;)", "    work(1000);", signal_from_outside="SIGSTOP", reason="SIGSTOP|stopped", line_matters=False,
               why="A signal from outside comes anywhere: no line is asked for.")


def stay(case, text):
    case.program.before_main += case.text(text)
    truth = end(case, "stuck();")
    truth.lines += case.program.before_main
    return truth


@fault("loop_busy", *POINTS)
def loop_busy(case):
    return stay(case, STUCK)


@fault("loop_asleep", *POINTS)
def loop_asleep(case):
    return stay(case, ASLEEP)
