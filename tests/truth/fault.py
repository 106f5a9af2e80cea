"""The table of faults."""
from dataclasses import dataclass
from typing import Callable


@dataclass(frozen=True)
class Fault:
    """SITES: names of which the program needs one. PUT changes a case and returns its truth."""
    kind: str
    sites: tuple
    put: Callable
    is_openmp: bool = False
    is_large: bool = False  # messages that wait for their receive
    least_ranks: int = 2
    compiler: str = None  # the only one whose runtime can do it
    needs: str = None  # a function that not every MPI library has
    where: Callable = None  # a site -> whether it suits

    def suits(self, site, part):
        return site.site in self.sites and (self.where is None or self.where(site))


FAULTS = {}


def fault(kind, *sites, **more):
    def add(put):
        FAULTS[kind] = Fault(kind, sites, put, **more)
        return put
    return add
