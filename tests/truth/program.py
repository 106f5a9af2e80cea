"""A generated program: parts, each made of a pattern (C text with $values), called one after another in a loop of steps.

A pattern's line may end in `//@ NAME KEY=VALUE...`: a site, where a fault can be put. BY= is the ranks that get there (all
by default), TO= and FROM= the peer: Python expressions of the rank r and the number of ranks n.
"""
import re
import string
from dataclasses import dataclass, field

CALL = re.compile(r"(\s*)(MPI_\w+\(.*\));$")
ARGUMENTS = {
    "MPI_Send": "buffer count type to tag comm",
    "MPI_Recv": "buffer count type from tag comm status",
    "MPI_Isend": "buffer count type to tag comm request",
    "MPI_Irecv": "buffer count type from tag comm request",
    "MPI_Sendrecv": "buffer count type to tag buffer2 count2 type2 from tag2 comm status",
    "MPI_Sendrecv_replace": "buffer count type to tag from tag2 comm status",
    "MPI_Barrier": "comm",
    "MPI_Bcast": "buffer count type root comm",
    "MPI_Reduce": "buffer buffer2 count type op root comm",
    "MPI_Allreduce": "buffer buffer2 count type op comm",
    "MPI_Scan": "buffer buffer2 count type op comm",
    "MPI_Gather": "buffer count type buffer2 count2 type2 root comm",
    "MPI_Scatter": "buffer count type buffer2 count2 type2 root comm",
    "MPI_Allgather": "buffer count type buffer2 count2 type2 comm",
    "MPI_Alltoall": "buffer count type buffer2 count2 type2 comm",
}
for same in ("MPI_Ssend", "MPI_Bsend"):
    ARGUMENTS[same] = ARGUMENTS["MPI_Send"]


@dataclass(eq=False)
class Line:
    """A line of C; NUMBER is set when the program is written."""
    text: str
    site: str = None
    notes: dict = field(default_factory=dict)
    part: object = None
    number: int = 0

    @property
    def call(self):
        """(indentation, call without semicolon) of an MPI call on a line of its own, or None."""
        match = CALL.match(self.text)
        return match and match.groups()

    @property
    def function(self):
        return self.call[1].split("(")[0]

    @property
    def arguments(self):
        """The call's arguments by name, in order."""
        inside, depth, parts = self.call[1].split("(", 1)[1][:-1], 0, [""]
        for letter in inside:
            depth += (letter in "([{") - (letter in ")]}")
            if letter == "," and depth == 0:
                parts.append("")
            else:
                parts[-1] += letter
        return dict(zip(ARGUMENTS[self.function].split(), map(str.strip, parts)))

    def with_arguments(self, function=None, **changed):
        """The same call with other arguments, as C text without indentation."""
        arguments = dict(self.arguments, **changed)
        return f"{function or self.function}({', '.join(arguments.values())});"

    def value(self, key, rank, size):
        return eval(self.notes[key], {"r": rank, "n": size, "range": range})  # the patterns' own text

    def ranks(self, size):
        """The ranks that get here."""
        found = self.value("by", 0, size) if "by" in self.notes else range(size)
        return list(found) if hasattr(found, "__iter__") else [found]

    def written(self):
        if self.call is None:
            return self.text
        indentation, call = self.call
        return f"{indentation}DO({call});"


@dataclass(frozen=True)
class Pattern:
    """C text: SHARED at file level, SETUP and FINISH once, STEP in each step."""
    name: str
    step: str
    shared: str = ""
    setup: str = ""
    finish: str = ""
    values: dict = field(default_factory=dict)  # choices by name; the others are made by program.py's users
    is_openmp: bool = False
    even: bool = False  # wants an even number of ranks
    compiler: str = None  # the only one whose runtime can do it
    multiple: bool = False  # calls MPI in several threads at a time
    needs: str = None  # a function that not every MPI library has


def lines_of(text, values, part):
    made = []
    for raw in string.Template(text.strip("\n")).substitute(values).splitlines():
        code, _, note = raw.partition("//@")
        words = note.split()
        notes = dict(word.split("=", 1) for word in words[1:])
        made.append(Line(code.rstrip(), words[0] if words else None, notes, part))
    return made


class Part:
    """A pattern with its values."""

    def __init__(self, pattern, index, values):
        values = dict(values, I=index)
        self.pattern, self.index, self.values = pattern, index, values
        self.name = f"{pattern.name}_step_{index}"
        self.shared, self.setup, self.step, self.finish = (
            lines_of(text, values, self) for text in (pattern.shared, pattern.setup, pattern.step, pattern.finish))

    def replace(self, line, texts):
        """Puts TEXTS (str or Line) where LINE is, indented like it. Returns the new lines."""
        indentation = re.match(r"\s*", line.text)[0]
        new = [text if isinstance(text, Line) else Line(indentation + text, part=self) for text in texts]
        at = self.step.index(line)
        self.step[at:at + 1] = new
        return new


class Program:
    def __init__(self, title, seed, parts, steps, has_mpi, rank_count, level="MPI_THREAD_FUNNELED"):
        self.title, self.seed, self.parts, self.steps, self.has_mpi = title, seed, parts, steps, has_mpi
        self.rank_count, self.level = rank_count, level
        self.faulty = "0"  # C: the culprit rank's step in which the fault is
        self.before_main, self.after_loop = [], []
        self.lines = []

    def sites(self, *names):
        return [line for part in self.parts for line in part.step if line.site in names]

    def mpi_calls(self):
        """All calls of steps, at which a rank may end or stay."""
        return [line for part in self.parts for line in part.step if line.call is not None]

    def text(self):
        """The program; numbers its lines."""
        self.lines = [Line(text) for text in self.head()]
        for part in self.parts:
            self.lines += part.shared
        self.lines += self.before_main
        for part in self.parts:
            self.lines += [Line(""), Line(f"static void {part.name}(int step)"), Line("{"), Line("    (void)step;"),
                           *part.step, Line("}")]
        self.lines += self.main()
        for number, line in enumerate(self.lines, 1):
            line.number = number
        for line in self.lines:
            if line.text.strip() == "AT(__LINE__ + 1);":
                line.text = line.text.replace("__LINE__ + 1", str(self.waiting_line(line)))
        return "\n".join(line.written() for line in self.lines) + "\n"

    def waiting_line(self, line):
        """The line at which a thread may wait next, behind what a fault put before it."""
        return next(other.number for other in self.lines[line.number:]
                    if other.site is not None or re.match(r"\s*(#pragma omp|omp_set_)", other.text))

    def head(self):
        return [f"/* {self.title} */", "#define _GNU_SOURCE", f"#define WITNESS_SEED {self.seed}",
                *(["#include <mpi.h>"] if self.has_mpi else []), "#include <omp.h>", "#include <pthread.h>", "#include <signal.h>",
                '#include "witness.h"', "", f"#define FAULTY ({self.faulty})"]

    def main(self):
        begin = ["", "int main(int argc, char **argv)", "{", "    (void)argc, (void)argv;", "    witness_open();"]
        if self.has_mpi:
            begin += ["    int provided;", f"    (void)MPI_Init_thread(&argc, &argv, {self.level}, &provided);",
                      "    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank); /* before it the board has no row for this rank */",
                      "    (void)MPI_Comm_size(MPI_COMM_WORLD, &size);"]
        setup = [line for part in self.parts for line in part.setup]
        loop = ["    witness_begin();", f"    for (int step = 0; step < {self.steps}; step++) {{",
                *(f"        {part.name}(step);" for part in self.parts), "    }"]
        end = [line for part in self.parts for line in part.finish]
        last = (["    MPI_Finalize();"] if self.has_mpi else []) + ["    witness_finish();", "    return 0;", "}"]
        return [*map(Line, begin), *setup, *map(Line, loop), *self.after_loop, *end, *map(Line, last)]
