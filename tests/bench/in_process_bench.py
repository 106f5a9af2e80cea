#!/usr/bin/env python3
"""What does Medium mode cost where the agent decides in the process, beside Fast mode and Medium by stops?

Two programs: one dlopens N generated libraries once each and times its own loop; one is the start of Python with numpy.
Each runs natively and under `tollgate record`: Fast, Medium by stops, Medium decided in the process with a list that
matches nothing, and with one that matches one library. Runs are interleaved, figures are medians of the whole command's
time, of the storm also of its loop. Ratios to Fast are printed beside the aim (1.05); nothing fails here on timing.

    in_process_bench.py BUILD-DIRECTORY [--sizes 400,1600] [--rounds 9] [--json FILE]
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import make_libraries  # noqa: E402 (beside this file)

AIM = 1.05


def ways(build, one):
    record = [os.path.join(build, "tollgate"), "record", "--quiet", "--force", "-o", "trace.tgt"]
    return {
        "native": [],
        "fast": [*record, "--mode=fast", "--"],
        "fast, in process": [*record, "--mode=fast", "--dlopen=in-process", "--"],
        "medium by stops": [*record, "--match=*/libnothing.so", "--dlopen=stops", "--"],
        "medium in process": [*record, "--match=*/libnothing.so", "--"],
        "  one matches": [*record, f"--match={one}", "--"],
    }


def run_once(command, work):
    """(milliseconds of the command, those that the program measured itself or None)."""
    start = time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=work, timeout=300, check=False)
    took_ms = (time.monotonic() - start) * 1e3
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    try:
        return took_ms, float(done.stdout)
    except ValueError:
        return took_ms, None


def measure(build, program, one, rounds, work):
    samples = {name: [] for name in ways(build, one)}
    for _ in range(rounds):
        for name, command in ways(build, one).items():
            samples[name].append(run_once([*command, *program], work))
    return {name: {"total_ms": statistics.median(total for total, _ in runs),
                   "loop_ms": None if runs[0][1] is None else statistics.median(loop for _, loop in runs)}
            for name, runs in samples.items()}


def print_rows(title, rows):
    print(f"{title}\n{'':20} {'total ms':>9} {'/ fast':>7} {'loop ms':>9} {'/ fast':>7}")
    for name, row in rows.items():
        text = f"{name:20} {row['total_ms']:9.1f} {row['total_ms'] / rows['fast']['total_ms']:7.3f}"
        if row["loop_ms"] is not None:
            text += f" {row['loop_ms']:9.1f} {row['loop_ms'] / rows['fast']['loop_ms']:7.3f}"
        print(text)
    sys.stdout.flush()


def find_numpy():
    for python in ("/usr/bin/python3", sys.executable):
        if subprocess.run([python, "-c", "import numpy"], capture_output=True, check=False).returncode == 0:
            return python
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--sizes", default="400,1600")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    results = {}
    with tempfile.TemporaryDirectory() as work:
        for size in map(int, arguments.sizes.split(",")):
            libraries = os.path.join(work, f"libraries{size}")
            subprocess.run([sys.executable, make_libraries.__file__, libraries, str(size)], check=True)
            storm = [os.path.join(build, "tests/bench/dlopen_storm"), libraries, str(size)]
            results[f"storm of {size}"] = measure(build, storm, f"*/libbench_{size // 2:05}.so", arguments.rounds, work)
            print_rows(f"storm of {size}", results[f"storm of {size}"])
        python = find_numpy()
        if python is None:
            print("note: no Python with numpy here", file=sys.stderr)
        else:
            results["Python, numpy"] = measure(build, [python, "-c", "import numpy"], "*/_multiarray_umath*", arguments.rounds, work)
            print_rows("Python, numpy", results["Python, numpy"])
    print(f"aim: medium in process at most {AIM} times fast")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
