"""A case: a program from a seed, correct or with one fault, and the truth about it."""
import os
import random
import shutil

import mpi_patterns
import openmp_patterns
from fault import FAULTS
from program import Line, Part, Program
from toolchain import compile_case, has_function, job, parts_of
from truth import Truth

import mpi_faults  # noqa: F401 fills the table of faults, in the order in which it is shown
import openmp_faults  # noqa: F401

CORRECT = "correct"
STEPS_WITHOUT_END = 1000000
RING_LIKE = ("ring", "halo_irecv_send", "buffered")


def is_mpi(toolchain):
    return parts_of(toolchain)[0] is not None


class Case:
    """KIND is CORRECT or a fault; TOOLCHAIN one of toolchain.TOOLCHAINS; ENDS: a correct one that is not interrupted."""
    span_s = (0.0, 1.8)  # of the interruption, after the program's first step

    def __init__(self, kind, toolchain, seed, ends=False):
        self.kind, self.toolchain, self.seed, self.ends = kind, toolchain, seed, ends
        self.random = random.Random(f"{kind} {toolchain} {seed}")
        self.fault = None if kind == CORRECT else FAULTS[kind]
        self.has_mpi = is_mpi(toolchain)
        self.size = self.choose_size()
        self.threads = self.random.choice((2, 3)) if self.has_mpi else self.random.choice((2, 3, 4))
        if kind == "barrier_middle":
            self.threads = max(self.threads, 3)
        self.step = self.random.randint(2, 9)
        patterns = self.choose_patterns()
        self.rank = self.random.randrange(self.size)
        parts = [Part(pattern, i, self.choose_values(pattern, i)) for i, pattern in enumerate(patterns)]
        steps = STEPS_WITHOUT_END
        if kind != CORRECT or ends:
            steps = self.step + self.random.randint(4, 12)
        level = "MPI_THREAD_MULTIPLE" if any(pattern.multiple for pattern in patterns) else "MPI_THREAD_FUNNELED"
        self.program = Program(self.title, seed, parts, steps, self.has_mpi, self.size, level)
        self.truth = Truth() if self.fault is None else self.fault.put(self)
        if self.fault is not None:
            self.program.faulty = f"step == {self.step} && rank == {self.rank}"
        self.text = self.program.text()

    @property
    def title(self):
        return f"{self.kind} {self.toolchain} {self.seed}" + (" ends" if self.ends else "")

    @property
    def name(self):
        return self.title.replace(" ", "-")

    def prepare(self, programs, folder):
        """Compiles the program into PROGRAMS, with its source in FOLDER too. Returns the command that starts it."""
        program = compile_case(self, programs)
        shutil.copy(os.path.join(os.path.dirname(program), "program.c"), folder)
        return job(self, program)

    # ---- choices

    def choose_size(self):
        if not self.has_mpi:
            return 1
        sizes = (2, 4) if self.fault is not None and "order" in self.fault.sites else (2, 3, 4)
        least = 2 if self.fault is None else self.fault.least_ranks
        if self.fault is not None and self.fault.is_openmp:
            sizes = (2,)
        return self.random.choice([size for size in sizes if size >= least])

    def suits(self, pattern):
        return (not (pattern.even and self.size % 2 != 0) and pattern.compiler in (None, parts_of(self.toolchain)[1]) and
                has_function(self.toolchain, pattern.needs))

    def choose_patterns(self):
        mpi = [pattern for pattern in mpi_patterns.PATTERNS if self.has_mpi and self.suits(pattern)]
        openmp = [pattern for pattern in openmp_patterns.PATTERNS if self.suits(pattern)]
        chosen = []
        if self.fault is not None:
            chosen.append(self.random.choice(self.patterns_of_fault(openmp if self.fault.is_openmp else mpi)))
        if not self.has_mpi:
            chosen += self.random.sample(openmp, self.random.randint(1, 3) - len(chosen) // 2)
        else:
            chosen += self.random.sample(mpi, self.random.randint(0 if chosen else 1, 2))
            if self.random.random() < 0.35:
                chosen.append(self.random.choice(openmp))
            if self.fault is not None and self.fault.is_openmp and len(chosen) == 1:
                chosen.append(mpi_patterns.ALLREDUCE)
        if chosen.count(mpi_patterns.BUFFERED) > 1:
            chosen.remove(mpi_patterns.BUFFERED)  # a process attaches one buffer
        self.random.shuffle(chosen)
        return chosen

    def patterns_of_fault(self, known):
        """Those with a site for the fault."""
        found = []
        for pattern in known:
            part = Part(pattern, 0, self.choose_values(pattern, 0))
            if any(self.fault.suits(line, part) for line in part.step if line.site in self.fault.sites):
                found.append(pattern)
        return found

    def choose_values(self, pattern, index):
        pick = self.random.choice
        is_faulty, is_large = self.fault is not None, self.fault is not None and self.fault.is_large
        bytes_ = pick((8, 1024, 4096, 65536)) if is_faulty else pick((8, 1024, 65536, 1 << 20, 8 << 20, 32 << 20))
        bytes_ = pick((1 << 20, 4 << 20)) if is_large else bytes_
        return {
            "N": bytes_, "SMALL": pick((8, 1000, 4000)), "COUNT": pick((2, 100, 5000)), "ROOT": pick(range(self.size)),
            "TAG": f"(1000 * {index + 1} + {pick(('7', 'step % 500'))})", "STEP_TAG": f"(1000 * {index + 1} + step % 500)",
            "COMM": "MPI_COMM_WORLD",
            "WORK": pick((100, 1000, 4000)) if is_faulty else pick((100, 1000, 5000, 20000)),
            "T": self.threads, "M": pick((4, 9, 16)), "FIB": pick((4, 6, 8)),
            "SCHEDULE": pick(("static", "static, 1", "dynamic", "dynamic, 2", "guided")),
        }

    # ---- for faults

    def pick(self, *names, ranks=None):
        """A site of one of NAMES, and a rank that gets there; the fault is in that rank."""
        sites = [site for site in self.program.sites(*names) if self.fault.suits(site, site.part)]
        site = self.random.choice(sites)
        self.rank = self.random.choice(list(ranks(self.size) if ranks else site.ranks(self.size)))
        return site, self.rank

    @staticmethod
    def text(text):
        return [Line(line) for line in text.strip("\n").splitlines()]

    def before(self, site, texts, condition="FAULTY"):
        """Puts TEXTS before SITE, done where CONDITION holds. Returns their lines."""
        made = site.part.replace(site, ["{", f"    if ({condition}) {{", *("        " + text for text in texts), "    }", site, "}"])
        site.text = "    " + site.text
        return made[2:-3]

    def instead(self, site, texts, condition="FAULTY"):
        made = site.part.replace(site, ["{", f"    if ({condition}) {{", *("        " + text for text in texts), "    } else {",
                                        site, "    }", "}"])
        site.text = "        " + site.text
        return made[2:-4]

    def calls_of(self, part, *names):
        return [line for line in part.step if line.call is not None and (not names or line.site in names)]

    def sites_of(self, part, *names):
        return [line for line in part.step if line.site in names]

    def pragmas_of(self, part, word):
        return [line for line in part.step if line.text.strip().startswith("#pragma omp") and word in line.text]

    def regions_of(self, part):
        return self.pragmas_of(part, "parallel")

    def ends_of(self, part):
        return [line for line in part.step if line.text.strip() == "}"]

    def cycle(self, site):
        """The ranks that wait for each other where one message of SITE's part is missing."""
        return set(range(self.size)) if site.part.pattern.name in RING_LIKE else set()
