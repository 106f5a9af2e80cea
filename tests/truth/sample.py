"""The cases that ./check runs: (kind, toolchain, seed, ends)."""
SAMPLE = {
    "correct": [],
    "mpi": [],
    "openmp": [],
}
