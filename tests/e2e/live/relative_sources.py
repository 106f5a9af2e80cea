#!/usr/bin/env python3
"""dlist finds the source of a program that was compiled by a relative path, from wherever the console was started."""
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


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part in ("project/src/solver", "project/bin", "elsewhere"):
            (folder / part).mkdir(parents=True)
        (folder / "project/src/solver/main.c").write_text(PROGRAM)
        for dwarf in ("4", "5"):
            subprocess.run(["cc", "-g", f"-gdwarf-{dwarf}", "-o", "bin/app", "src/solver/main.c"],
                           cwd=folder / "project", check=True)
            done = subprocess.run(
                [TOLLGATE, "live", "-q", "--no-rc", "--force", "-o", str(folder / "x.tgt"), "-e", "dbreak main", "-e", "dcont",
                 "-e", "dlist", "--", str(folder / "project/bin/app")],
                cwd=folder / "elsewhere", capture_output=True, text=True, check=False)
            if "here it ends" not in done.stdout:
                sys.exit(f"DWARF {dwarf}: {done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
