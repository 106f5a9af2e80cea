"""The cases that ./check runs: (kind, toolchain, seed, ends). Small ones, of each toolchain and of many kinds of answers."""
from case import CORRECT

SAMPLE = {
    "correct": [(CORRECT, "openmpi-gcc", 6, False), (CORRECT, "openmpi-clang", 13, False), (CORRECT, "mpich-gcc", 8, False),
                (CORRECT, "mpich-clang", 3, True), (CORRECT, "gcc", 10, False), (CORRECT, "gcc", 4, False),
                (CORRECT, "clang", 11, False), (CORRECT, "clang", 23, False)],
    "mpi": [(kind, toolchain, seed, False) for kind, toolchain, seed in (
        ("collective_skipped", "openmpi-gcc", 2), ("tag_wrong", "mpich-gcc", 1), ("send_send", "mpich-clang", 4),
        ("rank_invalid", "openmpi-clang", 1), ("exit_3", "mpich-gcc", 1), ("segfault", "openmpi-gcc", 2))],
    "openmp": [(kind, toolchain, seed, False) for kind, toolchain, seed in (
        ("barrier_middle", "gcc", 1), ("barrier_last", "clang", 2), ("lock_cycle", "gcc", 1), ("lock_owner_ended", "clang", 2),
        ("copyprivate_skipped", "gcc", 1), ("barrier_in_critical", "clang", 2), ("stuck_worker", "gcc", 1))],
}
