"""A program of somebody else, taken to be correct: run by its command, interrupted, and any verdict about it is false."""
from case import CORRECT
from truth import Truth


class Foreign:
    kind, ends, has_mpi, truth = CORRECT, False, True, Truth()

    def __init__(self, name, command, seed, from_s, to_s):
        self.toolchain, self.words, self.seed, self.span_s = name, command, seed, (from_s, to_s)
        self.name = f"{name}-{seed}"

    def prepare(self, programs, folder):
        return self.words
