"""Patterns of correct OpenMP programs. $T: threads of a team, $M: iterations, $WORK: most microseconds of work, $SCHEDULE."""
from program import Pattern


def pattern(name, step, **more):
    return Pattern(name, step, is_openmp=True, **more)


LOOP = pattern("loop", """
#pragma omp parallel num_threads($T)
    {
#pragma omp for schedule($SCHEDULE)
        for (int i = 0; i < $M; i++)
            work($WORK);
        work($WORK);
#pragma omp for schedule($SCHEDULE)
        for (int i = 0; i < $M; i++)
            work($WORK);
    }
""")

NOWAIT = pattern("nowait", """
#pragma omp parallel num_threads($T)
    {
#pragma omp for schedule($SCHEDULE) nowait
        for (int i = 0; i < $M; i++)
            work($WORK); //@ nowait
#pragma omp for schedule(static) nowait
        for (int i = 0; i < $M; i++)
            work($WORK); //@ nowait
        work($WORK); //@ behind_nowait
    }
""")

BARRIERS = pattern("barriers", """
#pragma omp parallel num_threads($T)
    {
        work($WORK);
        AT(__LINE__ + 1);
#pragma omp barrier //@ barrier
        work($WORK);
        AT(__LINE__ + 1);
#pragma omp barrier //@ barrier
        work($WORK); //@ body
    }
""")

SECTIONS = pattern("sections", """
#pragma omp parallel sections num_threads($T)
    {
#pragma omp section
        work($WORK);
#pragma omp section
        work($WORK); //@ section
#pragma omp section
        work($WORK);
    }
""")

SINGLE = pattern("single", """
    static int given;
#pragma omp parallel num_threads($T)
    {
        int x = 0;
        work($WORK);
        AT(__LINE__ + 1);
#pragma omp single copyprivate(x) //@ copyprivate
        x = step + 1; //@ given
        work($WORK);
#pragma omp single
        {
            given += x; //@ single
            work($WORK);
        }
    }
""")

MASTER = pattern("master", """
#pragma omp parallel num_threads($T)
    {
        work($WORK);
#pragma omp master
        work($WORK);
        AT(__LINE__ + 1);
#pragma omp barrier //@ barrier
        work($WORK); //@ body
    }
""")

FIB = pattern("fib", """
    int result;
#pragma omp parallel num_threads($T)
#pragma omp single
    result = fib_$I($FIB);
    (void)result;
""", shared="""
static int fib_$I(int n)
{
    int a, b;
    if (n < 2) {
        work($WORK / 10);
        return n;
    }
#pragma omp task shared(a)
    a = fib_$I(n - 1);
#pragma omp task shared(b)
    b = fib_$I(n - 2);
#pragma omp taskwait
    return a + b;
}
""")

TASKS = pattern("tasks", """
#pragma omp parallel num_threads($T)
#pragma omp single
    {
        work($WORK / 10); //@ tasks_begin
        for (int i = 0; i < $M; i++)
#pragma omp task
            work($WORK); //@ task
        AT(__LINE__ + 1);
#pragma omp taskwait //@ taskwait
        work($WORK / 10);
    }
""")

TASKLOOP = pattern("taskloop", """
#pragma omp parallel num_threads($T)
#pragma omp single
    {
#pragma omp taskloop grainsize(2)
        for (int i = 0; i < $M; i++)
            work($WORK);
    }
""")

DEPENDENCES = pattern("dependences", """
    int chain = 0, other = 0;
#pragma omp parallel num_threads($T)
#pragma omp single
    {
        for (int i = 0; i < $M; i++) {
#pragma omp task depend(inout : chain)
            work($WORK / 4);
#pragma omp task depend(in : chain) depend(out : other)
            work($WORK / 4);
        }
#pragma omp taskwait
    }
    (void)chain, (void)other;
""")

TASKGROUP = pattern("taskgroup", """
#pragma omp parallel num_threads($T)
#pragma omp master
    {
        AT(__LINE__ + 1);
#pragma omp taskgroup
        {
            for (int i = 0; i < $M; i++)
#pragma omp task
                work($WORK); //@ task
        }
        work($WORK);
    }
""")

NESTED = pattern("nested", """
#pragma omp parallel num_threads(2)
    {
        work($WORK);
#pragma omp parallel num_threads(2)
        {
            work($WORK);
            AT(__LINE__ + 1);
#pragma omp barrier //@ inner_barrier
            work($WORK);
        }
    }
""", setup="""
    omp_set_max_active_levels(2);
""")

CRITICALS = pattern("criticals", """
#pragma omp parallel num_threads($T)
    {
        for (int i = 0; i < 3; i++) {
            work($WORK); //@ before_critical
#pragma omp critical(first_$I)
            work($WORK / 4); //@ critical
#pragma omp critical
            work($WORK / 10);
        }
        AT(__LINE__ + 1);
#pragma omp barrier //@ behind_critical
    }
""")

LOCKS = pattern("locks", """
#pragma omp parallel num_threads($T)
    {
        work($WORK);
        AT(__LINE__ + 1);
        omp_set_lock(&lock_$I[0]); //@ set_lock
        omp_set_lock(&lock_$I[1]); //@ set_second
        work($WORK / 4);
        omp_unset_lock(&lock_$I[1]);
        omp_unset_lock(&lock_$I[0]); //@ unset_lock
        omp_set_nest_lock(&nest_$I);
        omp_set_nest_lock(&nest_$I);
        work($WORK / 4);
        omp_unset_nest_lock(&nest_$I);
        omp_unset_nest_lock(&nest_$I);
        AT(__LINE__ + 1);
#pragma omp barrier //@ behind_lock
        work($WORK / 4);
    }
""", shared="""
static omp_lock_t lock_$I[2];
static omp_nest_lock_t nest_$I;
""", setup="""
    omp_init_lock(&lock_$I[0]);
    omp_init_lock(&lock_$I[1]);
    omp_init_nest_lock(&nest_$I);
""")

ORDERED = pattern("ordered", """
#pragma omp parallel for ordered schedule(static, 1) num_threads($T)
    for (int i = 0; i < $M; i++) {
        work($WORK);
        AT(__LINE__ + 1);
#pragma omp ordered
        work($WORK / 4); //@ ordered
    }
""")

# no schedule: with chunks the libgomp of gcc 12 itself hangs
DOACROSS = pattern("doacross", """
#pragma omp parallel num_threads($T)
    {
#pragma omp for ordered(1)
        for (int i = 0; i < $M; i++) {
            work($WORK);
            AT(__LINE__ + 1);
#pragma omp ordered depend(sink : i - 1) //@ sink
            work($WORK / 4);
#pragma omp ordered depend(source) //@ source
        }
    }
""")

CANCEL = pattern("cancel", """
#pragma omp parallel num_threads($T)
    {
        work($WORK); //@ before_cancel
        if (omp_get_thread_num() == step % $T) {
#pragma omp cancel parallel
        }
        for (int i = 0; i < 5; i++) {
            work($WORK);
#pragma omp cancellation point parallel
        }
    }
""", compiler="gcc")  # libomp 14 itself hangs in it

# static: in other schedules libomp 14 itself aborts or hangs
CANCELLED_LOOP = pattern("cancelled_loop", """
#pragma omp parallel num_threads($T)
    {
#pragma omp for schedule(static)
        for (int i = 0; i < $M; i++) {
            work($WORK);
            if (i == $M / 2) {
#pragma omp cancel for
            }
#pragma omp cancellation point for
        }
        work($WORK);
    }
""")

REDUCTION = pattern("reduction", """
    long sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule($SCHEDULE) num_threads($T)
    for (int i = 0; i < $M; i++) {
        work($WORK);
        sum += i;
    }
    (void)sum;
""")

SMALL_REGIONS = pattern("small_regions", """
    for (int i = 0; i < 20; i++) {
#pragma omp parallel num_threads($T)
        work($WORK / 20);
    }
""")

SERIAL = pattern("serial", """
#pragma omp parallel num_threads($T)
    work($WORK);
    work($WORK * 4);
""")

PATTERNS = [LOOP, NOWAIT, BARRIERS, SECTIONS, SINGLE, MASTER, FIB, TASKS, TASKLOOP, DEPENDENCES, TASKGROUP, NESTED, CRITICALS,
            LOCKS, ORDERED, DOACROSS, CANCEL, CANCELLED_LOOP, REDUCTION, SMALL_REGIONS, SERIAL]
