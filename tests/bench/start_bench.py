#!/usr/bin/env python3
"""What the start and the end of a recording cost: whole commands that do nothing, in turn, beside strace.

usage: start_bench.py BUILD [ROUNDS]      BUILD: a build directory

`record` of true beside true itself and `strace -f`; and `record` of an MPI program of four ranks that begins and ends, beside the
program alone, with each MPI that has a compiler here. Wall time of the command, medians of all rounds (15 unless given).
"""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAM = "#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); MPI_Finalize(); return 0; }\n"
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                   UCX_LOG_LEVEL="fatal")


def milliseconds(command):
    start = time.monotonic_ns()
    done = subprocess.run(command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          check=False)
    took = (time.monotonic_ns() - start) / 1e6
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.decode(errors='replace')}")
    return took


def compare(commands, rounds):
    """Prints a line for each of COMMANDS, {what: command}, with its ratio to the first one."""
    samples = {what: [] for what in commands}
    for i in range(rounds + 1):
        for what, command in commands.items():
            took = milliseconds(command)
            if i > 0:  # files are in memory from then on
                samples[what].append(took)
    first = statistics.median(next(iter(samples.values())))
    for what, times in samples.items():
        print(f"{what:44s} {statistics.median(times):8.2f} ms  (fastest {min(times):7.2f})  {statistics.median(times) / first:6.3f}")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    tollgate = os.path.join(os.path.abspath(sys.argv[1]), "tollgate")
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)

        def recorded(*command):
            return [tollgate, "record", "-q", "--force", "-o", "T", "--", *command]

        commands = {"true": ["true"], "record -- true": recorded("true"), "tollgate --version": [tollgate, "--version"]}
        if shutil.which("strace"):
            commands["strace -f true"] = ["strace", "-f", "-o", "S", "true"]
        compare(commands, rounds)
        with open("nothing.c", "w", encoding="ascii") as file:
            file.write(PROGRAM)
        for compiler, launcher in (("mpicc.openmpi", "mpirun.openmpi"), ("mpicc.mpich", "mpiexec.mpich")):
            if not shutil.which(compiler) or not shutil.which(launcher):
                continue
            program = f"./{compiler}.program"
            subprocess.run([compiler, "nothing.c", "-o", program], check=True)
            job = [launcher, "-n", "4", program]
            compare({launcher: job, f"record -- {launcher}": recorded(*job)}, rounds)
    print("load: " + " ".join(f"{load:.1f}" for load in os.getloadavg()))


if __name__ == "__main__":
    main()
