#!/usr/bin/env python3
"""Each line of tests/left_to_gcc.txt names tests, and none has parentheses, of which CTest takes few.

usage: left_to_gcc.py SOURCE_DIRECTORY BUILD_DIRECTORY CTEST
"""
import re
import subprocess
import sys


def main(source, build, ctest):
    listed = subprocess.run([ctest, "--test-dir", build, "-N"], capture_output=True, text=True, check=True).stdout
    tests = re.findall(r"Test +#\d+: (\S+)", listed)
    with open(f"{source}/tests/left_to_gcc.txt", encoding="utf-8") as file:
        lines = [line for line in file.read().splitlines() if line and not line.startswith("#")]
    wrong = [f"{line}: has parentheses" for line in lines if re.search("[()]", line)]
    wrong += [f"{line}: there is no such test" for line in lines if not any(re.search(line, test) for test in tests)]
    print("\n".join(wrong) or f"{len(lines)} lines for {sum(any(re.search(line, test) for line in lines) for test in tests)} tests")
    return 1 if wrong or not lines else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
