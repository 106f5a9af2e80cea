#!/usr/bin/env python3
"""What the start of tollgate costs: libraries that a command does not need are not loaded.

usage: start.py libraries
"""
import glob
import os
import re
import sys

from recording import TOLLGATE, check, run

ON_DEMAND = ("libcapstone", "libdw", "libedit", "libelf", "libjansson", "libm", "libmicrohttpd", "libtcl")


def loaded(*arguments):
    """The libraries that tollgate itself has loaded, with ARGUMENTS, from its start to its end."""
    environment = {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": os.path.abspath("files")}
    done = run([TOLLGATE, *arguments], environment)
    check(done.status == 0, arguments, done)
    words = ""
    for name in glob.glob("files.*"):
        with open(name, errors="replace") as file:
            text = file.read()
        os.remove(name)
        if f"initialize program: {TOLLGATE}" in text:
            words += text
    libraries = set(re.findall(r"calling init: .*/(lib[\w-]+?)[0-9.-]*\.so", words))
    check("libc" in libraries, "the loader tells nothing of tollgate", arguments, words[:2000])
    return libraries


def libraries():
    """None for a recording of a program that needs none; those that are needed elsewhere are loaded then."""
    check(not loaded("--version").intersection((*ON_DEMAND, "libzstd")), "--version")
    recorded = loaded("record", "--quiet", "-o", "T", "--", "true")
    # not libzstd either, but where an interrupted trace of another test is looked into
    check(not recorded.intersection(ON_DEMAND), "record", recorded)
    reported = loaded("report", "T")
    check("libzstd" in reported and not reported.intersection(ON_DEMAND), "report", reported)
    replayed = loaded("replay", "-e", "info processes", "T")
    check("libtcl" in replayed and "libmicrohttpd" not in replayed, "replay", replayed)


globals()[sys.argv[1]]()
