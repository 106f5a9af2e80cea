#!/usr/bin/env python3
"""dlist and `opm next` find the source of a program that was compiled by a relative path, from wherever the console was started."""
import os
import pathlib
import subprocess
import sys
import tempfile

TOLLGATE = os.environ["TG_TOLLGATE"]

PROGRAM = """int main(void)
{
    return 0; /* here it ends */
}
"""

# GCC's code calls nothing for the loop: where it is, its source says alone.
LOOP = """int main(void)
{
#pragma omp parallel for
    for (int i = 0; i < 100; i++)
        __asm__ volatile("" : : "r"(i));
    return 0;
}
"""


def live(folder, *commands):
    done = subprocess.run(
        [TOLLGATE, "live", "-q", "--no-rc", "--force", "-o", str(folder / "x.tgt"), *(part for c in commands for part in ("-e", c)),
         "--", str(folder / "project/bin/app")],
        cwd=folder / "elsewhere", capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part in ("project/src/solver", "project/bin", "elsewhere"):
            (folder / part).mkdir(parents=True)
        (folder / "project/src/solver/main.c").write_text(PROGRAM)
        for dwarf in ("4", "5"):
            subprocess.run(["cc", "-g", f"-gdwarf-{dwarf}", "-o", "bin/app", "src/solver/main.c"],
                           cwd=folder / "project", check=True)
            said = live(folder, "dbreak main", "dcont", "dlist")
            if "here it ends" not in said:
                sys.exit(f"DWARF {dwarf}: {said}")
        (folder / "project/src/solver/loop.c").write_text(LOOP)
        subprocess.run(["gcc", "-g", "-O2", "-fopenmp", "-o", "bin/app", "src/solver/loop.c"], cwd=folder / "project", check=True)
        said = live(folder, "dbreak main", "dcont", "opm next loop")
        if "reaches a loop" not in said:
            sys.exit(f"a loop: {said}")


if __name__ == "__main__":
    main()
