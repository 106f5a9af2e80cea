#!/usr/bin/env python3
"""The agent's descriptions of binary interfaces against each implementation's mpi.h.

usage: abi.py openmpi|mpich
"""
import os
import sys

from mpi_job import build, flavour_named, run_natively
from recording import check


def main(name):
    flavour = flavour_named(name)
    source = os.environ["TG_SOURCE"]
    program = build(flavour.c, ["mpi_abi_check.c", os.path.join(source, "recorder/agent/mpi/abi.c")], "abi_check",
                    "-I" + source, "-D_GNU_SOURCE")
    made = run_natively([program])
    check(made.status == 0 and made.output.endswith(": 0 problems\n"), made)
    print(made.output, end="")


if __name__ == "__main__":
    main(sys.argv[1])
