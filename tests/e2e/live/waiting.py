#!/usr/bin/env python3
"""`where` of a live job that hangs: what everybody waits for, of a running and of a stopped job, as the report says it;
of an attached one, where everybody is by its stacks. What tollgate itself kills is not blamed on others."""
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


def main():
    if shutil.which("mpicc.openmpi") is None or shutil.which("mpirun.openmpi") is None:
        print("there is no Open MPI")
        sys.exit(77)
    subprocess.run(["mpicc.openmpi", "-g", "-O0", "-x", "c", "-", "-o", "hangs"], input=SOURCE.encode(), check=True)
    launched()
    quiet()
    attached()


main()
