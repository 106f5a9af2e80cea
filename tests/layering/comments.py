#!/usr/bin/env python3
"""Checks that no comment of the product begins with a pronoun whose noun is elsewhere: it names what it is about.

usage: comments.py ROOT      prints one line per finding; exit 1 where there is any
"""

import pathlib
import re
import sys

FOLDERS = ("format", "recorder", "analyzer", "live")
SUFFIXES = {".c", ".h", ".def", ".S"}
PRONOUNS = {"he", "his", "it", "its", "she", "that", "their", "they", "those", "who", "whoever", "whom"}
# What may begin a comment all the same, in small letters: none so far.
ALLOWED = ()
# A string, a character or a comment: "/*" in a string begins none.
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|/\*.*?\*/|//[^\n]*', re.DOTALL)
START = re.compile(r"/[/*][\s*<!-]*([A-Za-z]+)")


def check_text(name, text):
    for token in TOKEN.finditer(text):
        start = START.match(token.group())
        if start is None or start.group(1).lower() not in PRONOUNS:
            continue
        words = " ".join(re.sub(r"\n\s*\*|\*/", " ", token.group()[start.start(1) :]).split())
        if not words.lower().startswith(ALLOWED):
            line = text.count("\n", 0, token.start()) + 1
            yield f'{name}:{line}: a comment begins with a pronoun: "{words[:60]}"'


def sources(root):
    yield root / "main.c"
    for folder in FOLDERS:
        yield from sorted(path for path in (root / folder).rglob("*") if path.suffix in SUFFIXES)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1]).resolve()
    count, findings = 0, []
    for path in sources(root):
        if path.is_file():
            count += 1
            text = path.read_text(encoding="utf-8", errors="surrogateescape")
            findings += check_text(path.relative_to(root).as_posix(), text)
    if count == 0:
        findings.append(f"{root}: no sources found")
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
