"""What is true of a generated case, as its generator and the running program know it."""
from dataclasses import dataclass, field


@dataclass
class Truth:
    """RANKS: of each one it is right to say that it is the culprit. ALSO: ranks that an answer may name beside it, since
    they are the other half of the same mistake. LINES: program.Line objects, of which the answer has to name one; by the
    board also LAST_LINE: of the culprit's last call; HERE: of the call in which it is at the end; WAITERS: of those in
    which the others are. THREADS: the culprit thread has to be named as well. REASON: a regular expression that the answer
    has to match. WHY: of what is ambiguous by nature, which answers count and why."""
    ranks: set = field(default_factory=set)
    also: set = field(default_factory=set)
    lines: list = field(default_factory=list)
    last_line: bool = False
    here: bool = False
    waiters: bool = False
    threads: bool = False
    line_matters: bool = True
    signal_from_outside: str = None
    reason: str = ""
    why: str = ""
