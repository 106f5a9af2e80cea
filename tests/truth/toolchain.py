"""Compilers, MPI libraries and OpenMP runtimes: how a case is compiled and started."""
import functools
import hashlib
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
COMPILERS = {"gcc": "gcc", "clang": "clang-14"}
MPI = {
    "openmpi": ("mpicc.openmpi", "OMPI_CC", ["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]),
    "mpich": ("mpicc.mpich", "MPICH_CC", ["mpiexec.mpich"]),
}
TOOLCHAINS = ["openmpi-gcc", "openmpi-clang", "mpich-gcc", "mpich-clang", "gcc", "clang"]
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "UCX_LOG_LEVEL": "fatal",
               "OMP_CANCELLATION": "true", "OMP_WAIT_POLICY": "passive"}


def parts_of(toolchain):
    """(name in MPI or None, name in COMPILERS)"""
    mpi, _, compiler = toolchain.rpartition("-")
    return mpi or None, compiler


def missing(toolchain):
    """The program that TOOLCHAIN needs and that is not installed, or None."""
    mpi, compiler = parts_of(toolchain)
    programs = [COMPILERS[compiler]] + ([MPI[mpi][0], MPI[mpi][2][0]] if mpi else [])
    return next((program for program in programs if shutil.which(program) is None), None)


@functools.lru_cache(None)
def has_function(toolchain, function):
    """Whether the MPI library of TOOLCHAIN has FUNCTION (None: nothing is asked for)."""
    mpi, _ = parts_of(toolchain)
    if function is None or mpi is None or missing(toolchain):
        return function is None
    text = f"#include <mpi.h>\nvoid *there = (void *)&{function};\n"
    return subprocess.run([MPI[mpi][0], "-fsyntax-only", "-x", "c", "-"], input=text, text=True,
                          stderr=subprocess.DEVNULL).returncode == 0


def compile_case(case, directory):
    """The program of CASE in DIRECTORY, made unless the same text was compiled there before. Returns its path."""
    mpi, compiler = parts_of(case.toolchain)
    level = ("-O0", "-O1", "-O2")[case.seed % 3]
    options = [level, "-g", "-fopenmp", "-pthread", "-Wno-infinite-recursion", "-I", HERE]
    with open(os.path.join(HERE, "witness.h"), "rb") as header:
        key = hashlib.sha1(case.text.encode() + header.read() + " ".join([case.toolchain, *options]).encode()).hexdigest()[:16]
    folder = os.path.join(directory, f"{case.name}-{key}")
    program = os.path.join(folder, "program")
    if os.path.exists(program):
        return program
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "program.c"), "w") as file:
        file.write(case.text)
    command = [COMPILERS[compiler], *options, "program.c", "-o", "program.new"]
    environment = dict(os.environ)
    if mpi:
        command[0] = MPI[mpi][0]
        environment[MPI[mpi][1]] = COMPILERS[compiler]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    if made.returncode != 0:
        raise RuntimeError(f"{folder}: {made.stderr}")
    os.rename(program + ".new", program)
    return program


def job(case, program):
    """The command that starts PROGRAM of CASE."""
    mpi, _ = parts_of(case.toolchain)
    return [*MPI[mpi][2], "-n", str(case.size), program] if mpi else [program]
