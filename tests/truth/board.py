"""The board of a running case (witness.h): where each thread of the program is, and who is the culprit, as the program
itself writes it."""
import collections
import mmap
import os
import struct

CULPRITS, RANKS, THREADS = 8, 8, 64
HEADER, CULPRIT, PLACE = struct.Struct("8i"), struct.Struct("8i"), struct.Struct("8i")
SIZE = HEADER.size + CULPRITS * CULPRIT.size + 4 * RANKS + RANKS * THREADS * PLACE.size

Culprit = collections.namedtuple("Culprit", "rank thread tid pid line last_line")
Place = collections.namedtuple("Place", "rank thread tid pid line is_inside calls")


class Board:
    def __init__(self, path):
        with open(path, "wb") as file:
            file.truncate(SIZE)
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), SIZE)
        self.path = os.path.abspath(path)

    @property
    def has_begun(self):
        return HEADER.unpack_from(self.memory)[0] != 0

    @property
    def finished(self):
        """How many processes are through with their last step."""
        return HEADER.unpack_from(self.memory)[2]

    def culprits(self):
        found = []
        for i in range(CULPRITS):
            is_set, *fields, _ = CULPRIT.unpack_from(self.memory, HEADER.size + i * CULPRIT.size)
            if is_set:
                found.append(Culprit(*fields))
        return found

    def places(self):
        """Of each thread that has made a call, its current or last one."""
        begin = HEADER.size + CULPRITS * CULPRIT.size
        found = []
        for rank in range(RANKS):
            count = min(struct.unpack_from("i", self.memory, begin + 4 * rank)[0], THREADS)
            for thread in range(count):
                line, number, tid, pid, calls, *_ = PLACE.unpack_from(
                    self.memory, begin + 4 * RANKS + (rank * THREADS + thread) * PLACE.size)
                found.append(Place(rank, number, tid, pid, abs(line), line > 0, calls))
        return found

    def activity(self):
        """A number that grows while anybody of the program makes calls."""
        return sum(place.calls for place in self.places())

    def close(self):
        self.memory.close()
