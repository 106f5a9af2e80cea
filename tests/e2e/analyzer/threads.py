#!/usr/bin/env python3
"""What a trace says does not depend on the number of processors that its reader may use: golden traces, those of the fuzzers, and long
ones that are cut and damaged. The argument N asks one in N of the questions, each trace some: a build with sanitizers is slow.
"""
import concurrent.futures
import glob
import os
import random
import subprocess
import sys

from interrupt_key import TOLLGATE, make

SOURCE = os.environ["TG_SOURCE"]
COMMANDS = (("report", "--all"), ("report", "--json"), ("dump",), ("dump", "--json"), ("dump", "--kind", "mpi_*"), ("heap", "--json"),
            ("sequence", "--print", "--all"), ("filter", "--json"))
FEW = COMMANDS[:4]


def run(words, processors):
    done = subprocess.run([TOLLGATE, *words], capture_output=True, timeout=200,
                          preexec_fn=lambda: os.sched_setaffinity(0, processors))
    return done.returncode, done.stdout, done.stderr


def compare(words, processors):
    """Why the answers differ, None where they do not."""
    one, many = run(words, processors[:1]), run(words, processors)
    return None if one == many and one[0] >= 0 else f"{words}: {one[0]} {one[2]} on one processor, {many[0]} {many[2]} on several"


def golden():
    """Traces of the golden tests."""
    for text in sorted(glob.glob(f"{SOURCE}/tests/golden/fixtures/*.jsonl")):
        name = os.path.basename(text)[:-6] + ".tgt"
        if subprocess.run([os.environ["TG_TRACE_FROM_JSON"], text, name], capture_output=True).returncode == 0:
            yield name


def damaged(count):
    """A trace of several chunks that is cut, has a flipped bit, or zeros at its end."""
    whole = open("many.tgt", "rb").read()
    for i in range(count):
        content = bytearray(whole)
        if i % 3 == 0:
            del content[random.randrange(len(content)):]
        elif i % 3 == 1:
            content[random.randrange(len(content))] ^= 1 << random.randrange(8)
        else:
            at = random.randrange(len(content))
            content[at:] = bytes(len(content) - at)
        name = f"damaged{i}.tgt"
        with open(name, "wb") as file:
            file.write(content)
        yield name


def main():
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        print("there is but one processor")
        return 77
    random.seed(7)
    make(15000)
    work = [(*words, "many.tgt") for words in COMMANDS]
    work += [(*words, path) for path in golden() for words in COMMANDS]
    work += [(*words, path) for path in (*sorted(glob.glob(f"{SOURCE}/tests/fuzz/corpus/trace_reader/*")), *damaged(12))
             for words in FEW]
    work = work[::int(sys.argv[1])]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        differ = [why for why in pool.map(lambda words: compare(words, processors), work) if why is not None]
    print(len(work), "answers twice")
    assert len(work) > 100
    return "\n".join(differ[:10]) if differ else 0


if __name__ == "__main__":
    sys.exit(main())
