"""A recorder in miniature: makes the directory that agents look for, and reads the rings that they leave there.

It follows recorder/agent/contract.h independently of the recorder's own code.
"""
import collections
import ctypes
import fcntl
import mmap
import os
import re
import struct
import tempfile

MAGIC_CONTROL, MAGIC_RING = 0x314c525443544754, 0x31474e4952544754
HEADER_BYTES, REPEATS, REPEAT_BYTES = 4096, 128, 128
DATA_OFFSET = HEADER_BYTES + REPEATS * REPEAT_BYTES
CONTROL_BYTES = 4096 + 512 * 128 + 4096 * 16 + (1 << 14)  # with room for gates, slots and the filter
LOSSY, HIDE, OPENMP, MPI, DLOPEN, LOADS = 1, 2, 4, 8, 16, 64
KIND_THREAD, KIND_LOADER = 0, 1
MONOTONIC, TSC = 0, 1
FUTEX_WAKE, SYS_FUTEX = 1, 202

# team: its low 28 bits; tid: of the THREAD record before it in its ring, None without one
Record = collections.namedtuple("Record", "ticks kind arguments pid tid team thread_num")

_libc = ctypes.CDLL(None, use_errno=True)


def contract():
    with open(os.path.join(os.environ["TG_SOURCE"], "recorder/agent/contract.h")) as file:
        return file.read()


def record_kinds():
    """Names of the kinds as the contract lists them."""
    text = contract()
    listed = text[text.index("#define TG_AGENT_RECORDS(X)"):text.index("enum tg_agent_record")]
    return ["NONE"] + re.findall(r"\bX\((\w+),[\s\\]*\d+\)", listed)


PROTOCOL = int(re.search(r"#define TG_AGENT_PROTOCOL +(\d+)", contract()).group(1))
KINDS = record_kinds()
# the argument that is moved by the number of a record which comes again, the kinds whose team is, the kinds where the number's
# highest bit says which of the two, and the argument that such a record has of its own
COUNTED = {"MPI_ENTER": 2, **{f"OMP_{name}": 1 for name in (
    "PARALLEL_BEGIN", "PARALLEL_END", "IMPLICIT_BEGIN", "SYNC_BEGIN", "SYNC_END", "TASK_CREATE", "TASK_BEGIN", "TASK_END")}}
TEAMS = {f"OMP_{name}" for name in (
    "IMPLICIT_BEGIN", "IMPLICIT_END", "ZONE_BEGIN", "ZONE_END", "SECTION", "CHUNK", "MUTEX_WAIT", "MUTEX_ENTER", "MUTEX_LEAVE")}
EITHER = {"OMP_SYNC_BEGIN", "OMP_SYNC_END"}
OWN = {"OMP_TASK_CREATE": 2}


def move(kind, word, arguments, number):
    """The second word and the arguments of what an AGAIN record with NUMBER stands for."""
    bits, moves_team = 21, kind in TEAMS
    if kind in EITHER:
        bits, moves_team, number = 20, number >> 20 != 0, number & (1 << 20) - 1
    arguments = list(arguments)
    if moves_team:
        number -= (number >> (bits - 1)) << bits  # it has a sign
        word = (word + (number << 36)) % (1 << 64)
    if kind in COUNTED and not (kind in EITHER and moves_team):
        arguments[COUNTED[kind]] = (arguments[COUNTED[kind]] + number) % (1 << 64)
    return word, arguments


def string(words):
    """The string argument in WORDS."""
    return struct.pack(f"<{len(words)}Q", *words).split(b"\0")[0].decode()


def is_ready(path):
    """The magic number is what a ring's maker writes last."""
    with open(path, "rb") as file:
        return file.read(8).strip(b"\0") != b""


class Ring:
    """One ring file; reads on from where it was."""

    def __init__(self, path):
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 0)
        magic, self.protocol, self.kind, self.data_bytes, self.pid = struct.unpack_from("<QIIQi", self.memory, 0)
        assert magic == MAGIC_RING and self.protocol == PROTOCOL, path
        assert self.data_bytes & (self.data_bytes - 1) == 0 and len(self.memory) == DATA_OFFSET + self.data_bytes
        self.instance, = struct.unpack_from("<Q", self.memory, 32)
        # these are written and read as a whole
        self.head = ctypes.c_uint64.from_buffer(self.memory, 64)
        self.waiting = ctypes.c_uint32.from_buffer(self.memory, 80)
        self.tail = ctypes.c_uint64.from_buffer(self.memory, 128)
        self.tid = None

    @property
    def lost(self):
        return struct.unpack_from("<Q", self.memory, 72)[0]

    def read(self):
        """The records that came since, which makes room for others."""
        records = []
        head, tail = self.head.value, self.tail.value
        while tail < head:
            at = DATA_OFFSET + tail % self.data_bytes
            ticks, word = struct.unpack_from("<QQ", self.memory, at)
            kind, n_words, number = word & 0xff, word >> 8 & 0xfff, None
            assert 2 <= n_words and n_words % 2 == 0 and tail % self.data_bytes + n_words * 8 <= self.data_bytes
            tail += n_words * 8
            if KINDS[kind] == "AGAIN":  # the other words are elsewhere
                named, number = word & (1 << 43) - 1, word >> 43
                own = struct.unpack_from("<Q", self.memory, at + 16)[0] if n_words == 4 else None
                at = HEADER_BYTES + (word >> 20 & 0x7f) * REPEAT_BYTES
                name, word = struct.unpack_from("<QQ", self.memory, at)
                assert name == named
                kind, n_words = word & 0xff, word >> 8 & 0xfff
            arguments = struct.unpack_from(f"<{n_words - 2}Q", self.memory, at + 16)
            if number is not None:
                word, arguments = move(KINDS[kind], word, arguments, number)
                if KINDS[kind] in OWN:
                    arguments[OWN[KINDS[kind]]] = own
                arguments = tuple(arguments)
            if KINDS[kind] == "THREAD":
                self.tid = arguments[0]
            if KINDS[kind] != "PAD":
                records.append(Record(ticks, KINDS[kind], arguments, self.pid, self.tid, word >> 36, word >> 20 & 0xffff))
        self.tail.value = tail
        if self.waiting.value:
            self.waiting.value = 0
            _libc.syscall(SYS_FUTEX, ctypes.byref(self.waiting), FUTEX_WAKE, 1, None, None, 0)
        return records


class Directory:
    """The shared directory; lives until its process ends or close()."""

    def __init__(self, flags=DLOPEN | LOADS, ring_bytes=1 << 20, clock=MONOTONIC, protocol=PROTOCOL, magic=MAGIC_CONTROL):
        self.path = tempfile.mkdtemp(prefix="tollgate-test-", dir="/dev/shm")
        self.control = os.path.join(self.path, "control")
        with open(self.control, "wb", opener=lambda path, how: os.open(path, how, 0o600)) as file:
            file.write(struct.pack("<QIIIIQ", magic, protocol, flags, clock, 0, ring_bytes).ljust(CONTROL_BYTES, b"\0"))
        self.lock = open(self.control, "r+b")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.rings = {}

    def environment(self, library):
        """What makes ld.so load LIBRARY, an auditor."""
        return {"LD_AUDIT": library, "TOLLGATE_AGENT": self.path,
                "GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=4608"}

    def control_field(self, offset):
        return struct.unpack_from("<I", os.pread(self.lock.fileno(), 4, offset))[0]

    def ring_files(self):
        return sorted(name for name in os.listdir(self.path) if name.startswith("ring."))

    def read_rings(self, take):
        """Calls TAKE with the name of each ring and what is new in it."""
        for name in self.ring_files():
            path = os.path.join(self.path, name)
            if name not in self.rings and not is_ready(path):
                continue
            if name not in self.rings:
                self.rings[name] = Ring(path)
            take(name, self.rings[name].read())

    def read(self):
        """What is new in all rings."""
        records = []
        self.read_rings(lambda name, new: records.extend(new))
        return records

    def leave(self):
        """As a recorder that dies: nobody holds the lock any more."""
        self.lock.close()

    def remove(self):
        for name in os.listdir(self.path):
            os.unlink(os.path.join(self.path, name))
        os.rmdir(self.path)
