"""What the machine under a test can do, asked of the machine itself and never of tollgate (tests/programs/machine.c)."""
import errno
import functools
import os
import subprocess
import sys
import tempfile


def make_and_run(source, arguments, flags, text=None):
    """The exit status of a program made here; None where it cannot be executed."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "machine")
        subprocess.run(["cc", "-D_GNU_SOURCE", "-O1", "-x", "c", source, "-o", program, *flags], input=text, text=True,
                       capture_output=True, check=True)
        try:
            return subprocess.run([program, *arguments], timeout=60).returncode
        except OSError as error:
            if error.errno == errno.ENOEXEC:
                return None
            raise


def can(what):
    status = make_and_run(os.path.join(os.environ["TG_SOURCE"], "tests/programs/machine.c"), [what], [])
    if status not in (0, 1):
        sys.exit(f"FAILED: the machine's {what} are unknown: {status}")
    return status == 0


@functools.lru_cache
def counts_breakpoints():
    """Whether perf_event_open counts what a thread executes at an address."""
    return can("breakpoints")


@functools.lru_cache
def reports_watchpoints():
    """Whether a debug register that ptrace writes reports a write."""
    return can("watchpoints")


@functools.lru_cache
def can_forbid_clock():
    """Whether PR_SET_TSC makes reading the time stamp counter fatal; virtual machines may accept it and let it be read."""
    return can("clock")


@functools.lru_cache
def executes_32_bits():
    """Whether 32-bit programs can be executed, where the compiler makes any."""
    status = make_and_run("-", [], ["-m32"], "int main(void) { return 4; }\n")
    if status not in (4, None):
        sys.exit(f"FAILED: a 32-bit program ended with {status}")
    return status is not None
