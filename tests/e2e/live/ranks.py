#!/usr/bin/env python3
"""A rank that was left out at the start is taken under control while the job runs, by its number.

usage: ranks.py
"""
import os
import re
import shutil
import subprocess
import sys

from mpi_job import need_open_mpi_4

SOURCE = r"""
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
static void await_file(void) { while (access("go", F_OK) != 0) usleep(1000); }
static void make_file(void) { fclose(fopen("there", "w")); }
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1)
        make_file();
    await_file();
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d done\n", rank);
    MPI_Finalize();
    return 0;
}
"""

SCRIPT = """
while {![regexp {not selected} [info mpir]]} {catch {dwait -timeout 0.05}}
while {![file exists there]} {catch {dwait -timeout 0.05}}
# that it is left out is told before it has been let go
while {[catch {dattach -rank 1} message]} {if {![string match "*still being let go*" $message]} {error $message}}
dfocus r1 {dhalt; dwait} ;# with --run it runs on
puts "STACK [dfocus r1 dwhere]"
close [open go w]
dfocus a {dgo; dwait}
"""


def main():
    if shutil.which("mpicc.openmpi") is None or shutil.which("mpirun.openmpi") is None:
        print("there is no Open MPI")
        sys.exit(77)
    need_open_mpi_4()  # without a table nobody is left out
    subprocess.run(["mpicc.openmpi", "-g", "-x", "c", "-", "-o", "ranks"], input=SOURCE.encode(), check=True)
    with open("script.tcl", "w", encoding="utf-8") as script:
        script.write(SCRIPT)
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
    done = subprocess.run([os.environ["TG_TOLLGATE"], "live", "--ranks", "0", "--run", "-o", "trace.tgt", "-x", "script.tcl", "--", "mpirun.openmpi",
                           "-n", "2", "./ranks"], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100,
                          check=False)
    output = done.stdout + done.stderr
    for pattern in (r"^STACK ", r"\bmain +<stdin>#", r"^rank 0 done$", r"^rank 1 done$", r"(\(rank 1\)|^ranks 0-1 .*) exited with status 0"):
        if not re.search(pattern, output, re.MULTILINE):
            sys.exit(f"FAILED: {pattern} is not in, status {done.returncode}:\n{output}")
    if done.returncode != 0:
        sys.exit(f"FAILED: status {done.returncode}:\n{output}")


main()
