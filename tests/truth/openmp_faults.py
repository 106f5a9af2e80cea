"""Faults of OpenMP programs: one thread of one team in one step, in a program of its own or in a rank of a job."""
from fault import fault
from mpi_faults import ASLEEP, STUCK
from truth import Truth

WAITERS = "The place where the others wait counts as well as that of the thread."


def here(thread):
    return f"FAULTY && omp_get_thread_num() == {thread}"


def skip_barrier(case, thread):
    site, rank = case.pick("barrier")
    case.instead(site, ["CULPRIT(__LINE__);"], here(thread))
    return Truth({rank}, lines=[*case.sites_of(site.part, "barrier"), *case.regions_of(site.part), *case.ends_of(site.part)],
                 threads=True, here=True, why="libgomp counts arrivals, so the others may pass that barrier and wait at the next one or "
                                   "at the end of the region: each of these places counts, with the thread that skipped.")


@fault("barrier_first", "barrier", is_openmp=True)
def barrier_first(case):
    return skip_barrier(case, 0)


@fault("barrier_middle", "barrier", is_openmp=True)
def barrier_middle(case):
    return skip_barrier(case, 1)


@fault("barrier_last", "barrier", is_openmp=True)
def barrier_last(case):
    return skip_barrier(case, case.threads - 1)


@fault("barrier_nested", "inner_barrier", is_openmp=True)
def barrier_nested(case):
    site, rank = case.pick("inner_barrier")
    case.instead(site, ["CULPRIT(__LINE__);"], here(1) + " && omp_get_ancestor_thread_num(1) == 1")
    return Truth({rank}, lines=[site, *case.regions_of(site.part), *case.ends_of(site.part)], threads=True, here=True)


@fault("barrier_in_critical", "critical", is_openmp=True)
def barrier_in_critical(case):
    """The others wait for the critical section, in which one waits for them."""
    site, rank = case.pick("critical")
    thread = case.random.randrange(case.threads)
    function = case.text("""
static volatile int is_inside;
static __attribute__((noinline)) void meet(void)
{
    is_inside = 1;
    AT(__LINE__ + 1);
#pragma omp barrier
}
""")
    case.program.before_main += function
    (before,) = case.sites_of(site.part, "before_critical")
    case.before(before, ["while (!is_inside)", "    usleep(500);"], f"FAULTY && omp_get_thread_num() != {thread}")
    new = case.before(site, ["CULPRIT(__LINE__);", "meet();"], here(thread) + " && i == 0")
    return Truth({rank}, lines=[*function, *new, site, *case.pragmas_of(site.part, "critical")], threads=True, here=True, why=WAITERS)


def stay(case, names, condition, text=STUCK):
    site, rank = case.pick(*names)
    function = case.text(text)
    case.program.before_main += function
    new = case.before(site, ["CULPRIT(__LINE__);", "stuck();"], condition)
    return Truth({rank}, lines=[*function, *new], threads=True)


@fault("stuck_master", "body", is_openmp=True)
def stuck_master(case):
    return stay(case, ("body",), here(0), case.random.choice((STUCK, ASLEEP)))


@fault("stuck_worker", "body", is_openmp=True)
def stuck_worker(case):
    return stay(case, ("body",), here(case.random.randrange(1, case.threads)), case.random.choice((STUCK, ASLEEP)))


@fault("flag_never_set", "body", is_openmp=True)
def flag_never_set(case):
    site, rank = case.pick("body")
    case.program.before_main += case.text("static int never;")
    new = case.before(site, ["CULPRIT(__LINE__);", "while (!__atomic_load_n(&never, __ATOMIC_ACQUIRE))", "    continue;"],
                      here(case.random.randrange(case.threads)))
    return Truth({rank}, lines=new, threads=True)


def put_barrier_behind(case, site):
    """Sometimes, where the others would wait at the end of the region."""
    (behind,) = case.sites_of(site.part, "behind_nowait")
    if case.random.random() < 0.5:
        site.part.replace(behind, ["#pragma omp barrier", behind])


@fault("nowait_stuck", "nowait", is_openmp=True)
def nowait_stuck(case):
    """The others are through with the loop and wait at the end of the region, or at the barrier behind the loop."""
    truth = stay(case, ("nowait",), "FAULTY && i == 1", case.random.choice((STUCK, ASLEEP)))
    put_barrier_behind(case, case.program.sites("nowait")[0])
    return truth


@fault("nowait_locked", "nowait", is_openmp=True)
def nowait_locked(case):
    site, rank = case.pick("nowait")
    case.program.before_main += case.text("static omp_lock_t never;")
    new = case.before(site, ["omp_init_lock(&never);", "omp_set_lock(&never);", "CULPRIT(__LINE__ + 2);", "AT(__LINE__ + 1);",
                             "omp_set_lock(&never);"], "FAULTY && i == 1")
    put_barrier_behind(case, site)
    return Truth({rank}, lines=new, threads=True)


@fault("critical_stuck", "critical", is_openmp=True)
def critical_stuck(case):
    return stay(case, ("critical",), here(case.random.randrange(case.threads)))


@fault("single_stuck", "single", is_openmp=True)
def single_stuck(case):
    return stay(case, ("single",), "FAULTY")


@fault("section_stuck", "section", is_openmp=True)
def section_stuck(case):
    return stay(case, ("section",), "FAULTY")


@fault("ordered_stuck", "ordered", is_openmp=True)
def ordered_stuck(case):
    return stay(case, ("ordered",), "FAULTY && i == 1")


@fault("task_stuck", "task", is_openmp=True)
def task_stuck(case):
    return stay(case, ("task",), "FAULTY && i == 1")


@fault("cancelled_stuck", "before_cancel", is_openmp=True, compiler="gcc")
def cancelled_stuck(case):
    """The others have cancelled the region and wait at its end."""
    thread = (case.step + 1) % case.threads
    return stay(case, ("before_cancel",), here(thread))


# ---- locks

@fault("lock_cycle", "set_lock", is_openmp=True)
def lock_cycle(case):
    site, rank = case.pick("set_lock")
    name = f"lock_{site.part.index}"
    case.program.before_main += case.text("static volatile int has[2];")
    case.before(site, ["while (!has[0] || !has[1])", "    usleep(500);"], "FAULTY && omp_get_thread_num() >= 2")
    new = case.before(site, [f"int own = omp_get_thread_num();", f"omp_set_lock(&{name}[own]);", "has[own] = 1;",
                             "while (!has[!own])", "    usleep(500);", "CULPRIT(__LINE__);",
                             f"AT(__LINE__ + 1);", f"omp_set_lock(&{name}[!own]);"], "FAULTY && omp_get_thread_num() < 2")
    return Truth({rank}, lines=new, threads=True, here=True, why="Either thread of the cycle is a culprit.")


@fault("lock_owner_ended", "set_lock", is_openmp=True)
def lock_owner_ended(case):
    site, rank = case.pick("set_lock")
    function = case.text(f"""
static void *take_and_end(void *unused)
{{
    omp_set_lock(&lock_{site.part.index}[0]);
    CULPRIT(__LINE__ - 1);
    return unused;
}}
""")
    site.part.shared += function
    case.before(site, ["pthread_t thread;", "pthread_create(&thread, NULL, take_and_end, NULL);",
                       "pthread_join(thread, NULL);"], here(case.random.randrange(case.threads)))
    return Truth({rank}, lines=[site, *function], threads=True, here=True, why=WAITERS)


@fault("lock_kept", "unset_lock", is_openmp=True)
def lock_kept(case):
    site, rank = case.pick("unset_lock")
    case.instead(site, ["CULPRIT(__LINE__);"], here(case.random.randrange(case.threads)))
    return Truth({rank}, lines=[site, *case.sites_of(site.part, "set_lock", "behind_lock")], threads=True, here=True, why=WAITERS)


@fault("lock_twice", "set_second", is_openmp=True)
def lock_twice(case):
    site, rank = case.pick("set_second")
    new = case.before(site, ["CULPRIT(__LINE__);", f"omp_set_lock(&lock_{site.part.index}[0]);"],
                      here(case.random.randrange(case.threads)))
    return Truth({rank}, lines=new, threads=True)


# ---- what never comes

@fault("doacross_unposted", "source", is_openmp=True)
def doacross_unposted(case):
    site, rank = case.pick("source")
    case.instead(site, ["CULPRIT(__LINE__);"], "FAULTY && i == 2")
    return Truth({rank}, lines=[site, *case.sites_of(site.part, "sink")], threads=True, here=True, why=WAITERS)


@fault("copyprivate_skipped", "copyprivate", is_openmp=True)
def copyprivate_skipped(case):
    site, rank = case.pick("copyprivate")
    (given,) = case.sites_of(site.part, "given")
    thread = case.random.randrange(case.threads)
    site.part.replace(site, [f"if ({here(thread)}) {{", "    CULPRIT(__LINE__);", "} else {", site])
    site.part.replace(given, [given, "}"])
    return Truth({rank}, lines=[site, given, *case.pragmas_of(site.part, "single"), *case.regions_of(site.part),
                                *case.ends_of(site.part)], threads=True, here=True, why=WAITERS)


@fault("task_unfulfilled", "tasks_begin", is_openmp=True)
def task_unfulfilled(case):
    """A task whose event nobody fulfils: no thread is the culprit."""
    site, rank = case.pick("tasks_begin")
    new = case.before(site, ["omp_event_handle_t event;", "CULPRIT(__LINE__ + 1);", "#pragma omp task detach(event)", "work(10);"])
    return Truth({rank}, lines=[*new, *case.sites_of(site.part, "taskwait")],
                 why="The task is the culprit: its line or that of the taskwait counts, and no thread is asked for.")


@fault("dependence_unfulfilled", "tasks_begin", is_openmp=True)
def dependence_unfulfilled(case):
    site, rank = case.pick("tasks_begin")
    new = case.before(site, ["omp_event_handle_t event;", "int never = 0;", "CULPRIT(__LINE__ + 1);",
                             "#pragma omp task detach(event) depend(out : never)", "work(10);",
                             "#pragma omp task depend(in : never)", "work(10);", "(void)never;"])
    return Truth({rank}, lines=[*new, *case.sites_of(site.part, "taskwait")],
                 why="The first task is the culprit: the lines of the tasks and of the taskwait count, and no thread is "
                     "asked for.")


@fault("thread_crash", "body", is_openmp=True)
def thread_crash(case):
    site, rank = case.pick("body")
    new = case.before(site, ["CULPRIT(__LINE__);", "*(volatile int *)64 = step;"], here(case.random.randrange(1, case.threads)))
    return Truth({rank}, lines=new, threads=True, reason="SIGSEGV")


@fault("lock_polled", "set_lock", is_openmp=True)
def lock_polled(case):
    """One thread keeps a lock that the others ask for by omp_test_lock in a loop."""
    site, rank = case.pick("set_lock")
    name = f"lock_{site.part.index}"
    case.program.before_main += case.text("static volatile int has;")
    keep = case.before(site, [f"omp_set_lock(&{name}[0]);", "CULPRIT(__LINE__ - 1);", "has = 1;", "for (;;)", "    usleep(500);"],
                       here(case.random.randrange(case.threads)))
    polls = case.before(site, ["while (!has)", "    usleep(500);", f"AT(__LINE__ + 1);", f"while (!omp_test_lock(&{name}[0]))",
                               "    usleep(200);"])
    return Truth({rank}, lines=[*keep, *polls], threads=True, here=True, why=WAITERS)
