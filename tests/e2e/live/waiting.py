#!/usr/bin/env python3
"""`where` of a live job that hangs: what everybody waits for, of a running and of a stopped job, as the report says it;
of an attached one, where everybody is by its stacks. What tollgate itself kills is not blamed on others. Ranks of a job that
another one has spawned are told with their job."""
import os
import re
import shutil
import signal
import subprocess
import sys

SOURCE = r"""
#include <mpi.h>
#include <stdio.h>
void late(void)
{
}
int main(int argc, char **argv)
{
    int rank, in = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1)
        late();
    printf("rank %d: %d\n", rank, (int)MPI_Barrier(MPI_COMM_WORLD));
    fflush(stdout);
    MPI_Recv(&in, 1, MPI_INT, !rank, 98 + rank, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* HANGS */
    MPI_Finalize();
    return 0;
}
"""
LINE = SOURCE[: SOURCE.index("/* HANGS */")].count("\n") + 1
SPAWNS = r"""
#include <mpi.h>
#include <unistd.h>
void child_work(void)
{
}
int main(int argc, char **argv)
{
    MPI_Comm parent, other;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
        (void)!nice(19); /* who waits spins */
        MPI_Barrier(other);
    } else {
        child_work();
        MPI_Barrier(parent);
    }
    MPI_Finalize();
    return 0;
}
"""
LAUNCH = ["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n", "2", "./hangs"]
TOLLGATE = os.environ["TG_TOLLGATE"]
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

LAUNCHED = """
dcont
dgo
while {![string match "*Deadlock*" [set running [where]]]} {catch {dwait -timeout 0.05}}
puts "RUNNING: $running"
dhalt; dwait
puts "STOPPED: [where]"
quit -kill
"""
# nothing happens any more while rank 1 is stopped: what `where` says is of now, not of the last event
QUIET = """
dbreak late -pending
dcont
dcont -any
while {![string match "*Rank 1 is missing*" [set quiet [where]]]} {catch {dwait -timeout 0.1}}
puts "QUIET: $quiet"
dhalt; dwait
quit -kill
"""
# a wait of two jobs: ranks by the same number are told apart
SPAWNED = r"""
dbreak child_work -pending
dcont
for {set i 0} {$i < 20 && ![regexp {breakpoint: [12]:} [dfocus a {dstatus -group_by thread_state}]]} {incr i} {catch {dcont -any}}
for {set i 0} {$i < 100 && [regexp -all -line {^\d+ +[01] .*MPI_Barrier} [info mpi]] < 2} {incr i} {catch {dwait -timeout 0.1}}
catch {dwait -timeout 4}
quit -kill
"""
ATTACHED = """
puts "STOPPED: [where]"
dfocus a dgo
puts "RUNNING: [where]"
quit -detach
"""


def live(script, *arguments):
    done = subprocess.run([TOLLGATE, "live", "-q", "-o", "trace.tgt", "--force", "-e", script, *arguments], env=ENVIRONMENT,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr


def report():
    return subprocess.run([TOLLGATE, "report", "trace.tgt"], capture_output=True, text=True, check=True).stdout


def check(holds, what, output):
    if not holds:
        sys.exit(f"FAILED: {what}:\n{output}")


def finding(text, start):
    match = re.search(rf"^\d+\. ({start}.*)$", text, re.M)
    return match and match[1]


def same(said, reported):
    """Whether both say the same, a microsecond aside: a trace's times are rounded (to 16 or 64 ns), a running job's not."""
    time = r"\d+\.\d{6} s"
    if re.sub(time, "T", said or "") != re.sub(time, "T", reported):
        return False
    pairs = zip(re.findall(time, said), re.findall(time, reported))
    return all(abs(float(one[:-2]) - float(other[:-2])) < 1.5e-6 for one, other in pairs)


def launched():
    output = live(LAUNCHED, "--", *LAUNCH)
    text = report()
    parts = re.split(r"^(?:RUNNING|STOPPED): ", output, flags=re.M)[1:]
    check(len(parts) == 2, "two answers of where", output)
    ring = finding(text, "Deadlock between rank 0 and rank 1")
    check(ring is not None, "the report has no deadlock", text)
    for part in parts:
        check(same(finding(part, "Deadlock"), ring), f"where does not say what the report says ({ring})", output)
    check("sender unknown" not in text and "SIGKILL from tollgate (pid " in text, "the kill is not tollgate's", text)


def quiet():
    output = live(QUIET, "--", *LAUNCH)
    said = finding(output.partition("QUIET: ")[2], "Rank 0 has been waiting in MPI_Barrier")
    check(said is not None, "rank 0 waits for rank 1", output)


def spawned():
    subprocess.run(["mpicc.openmpi", "-g", "-O0", "-x", "c", "-", "-o", "spawns"], input=SPAWNS.encode(), check=True)
    output = live(SPAWNED, "--", *LAUNCH[:-1], os.path.abspath("spawns"))
    if "unable to reach each other" in output:  # Open MPI 5 wants a network for that
        print("MPI_Comm_spawn does not work here")
        sys.exit(77)
    job = r"rank [01] of job \d+"
    told = set(re.findall(rf"^({job}) runs: in MPI_Barrier .*; ({job}), which is stopped, has not reached that MPI_Barrier", output, re.M))
    jobs = {tuple(name.split()[-1] for name in pair) for pair in told}
    check(len(told) == 2 and len(jobs) == 1 and len(set(jobs.pop())) == 2, "ranks of two jobs", output)


def attached():
    with subprocess.Popen(LAUNCH, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, start_new_session=True) as job:
        try:
            for _ in range(2):
                job.stdout.readline()
            output = live(ATTACHED, "-p", str(job.pid))
        finally:
            os.killpg(job.pid, signal.SIGTERM)
            job.communicate(timeout=60)
    for part in re.split(r"^(?:RUNNING|STOPPED): ", output, flags=re.M)[1:]:
        said = finding(part, "By the stacks at")
        check(said is not None and "who waits for whom is unknown" in part, "what is known of an attached job", output)
        place = rf"MPI_Recv\(.*\), called from main \(<stdin>:{LINE}\)"
        check(re.search(rf"Ranks 0-1 are in {place}", said), f"no {place}", output)
    check("RUNNING: " in output, "where of a running job", output)
    check(not re.search(r"(STOPPED|RUNNING): event \d", output), "where begins with the latest event", output)


def main():
    if shutil.which("mpicc.openmpi") is None or shutil.which("mpirun.openmpi") is None:
        print("there is no Open MPI")
        sys.exit(77)
    subprocess.run(["mpicc.openmpi", "-g", "-O0", "-x", "c", "-", "-o", "hangs"], input=SOURCE.encode(), check=True)
    launched()
    quiet()
    attached()
    spawned()


main()
