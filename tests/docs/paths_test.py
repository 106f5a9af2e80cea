"""Every path of the source tree that a document or a comment mentions exists, and every tg_... that a document mentions
is in the sources. Where a document says "`name()` in `path`", it is there. docs/architecture.md has every folder of
cmake/folders.txt, and the index of docs/decisions.md every decision. Links between documents lead somewhere.

A NAME.c or NAME.h without a top folder, * and {a,b} included, exists too: in a comment of a source it is relative to the
folder of that source, in a document or a test any file of that name does. A place in a traced program (solver.c#12) and a
quoted name ('file.c'::x) are not looked for.

A path is a word that begins with a folder of the tree (as analyzer/, docs/) and ends with a suffix of a file, with a
slash, or with a folder's name; {a,b} and * may be in it as in a shell. Generated files are not looked for.

usage: paths_test.py SOURCE_DIRECTORY
"""
import fnmatch
import functools
import glob
import itertools
import os
import re
import sys

TOP = ("format", "recorder", "analyzer", "live", "tests", "docs", "cmake", "completions")
PATH = re.compile(r"(?<![\w/.$}>~-])((?:%s)/[\w./*{},+-]*)" % "|".join(TOP))
SUFFIX = re.compile(r"\.(?:[chS]|md|1|py|sh|txt|cmake|jsonl|tcl|svg|png|html|bash|supp)$")
COMMENT = {".c": r"/\*.*?\*/|//[^\n]*", ".h": r"/\*.*?\*/|//[^\n]*", ".S": r"/\*.*?\*/",
           ".py": r"#[^\n]*|(?:\A|:\n\s*)\"\"\".*?\"\"\"", ".sh": r"#[^\n]*", ".cmake": r"#[^\n]*", ".txt": r"#[^\n]*"}

NAME = re.compile(r"(?<![\w/.$<*{}>~'\"-])([a-z_*][\w*{},/-]*\.[ch])\b(?![\w*:#]|\.\w|[,.]?\d)")
# Files of others; one that each of several folders has; a name of former times.
NAMES_ELSEWHERE = {"main.c", "mpi.h", "mpif.h", "omp-tools.h", "commands.h", "sequence_svg.c",
                   "include/linux/errno.h", "elf/dl-tls.c"}


def expanded(path):
    """The paths that PATH with its braces stands for."""
    parts = re.split(r"\{([^{}]*)\}", path)
    choices = [part.split(",") if i % 2 else [part] for i, part in enumerate(parts)]
    return ["".join(choice) for choice in itertools.product(*choices)]


def mentions(text):
    """(line, path) of every mention in TEXT."""
    for match in PATH.finditer(text):
        path = match.group(1)
        while path.count("{") != path.count("}") or path[-1] in ".,-":
            path = path[:-1]
        yield text.count("\n", 0, match.start()) + 1, path


def missing_names(path, text, names):
    """(line, name) of what TEXT of PATH names without a top folder and is not there; NAMES are those of all files."""
    if not path.endswith((".c", ".h", ".S", ".md", ".1")):
        return
    for match in NAME.finditer(text):
        for name in expanded(match.group(1)):
            if name in NAMES_ELSEWHERE or name.startswith(tuple(top + "/" for top in TOP)):
                continue
            is_here = glob.glob(os.path.join(os.path.dirname(path), name))
            is_anywhere = path.startswith(("tests/", "docs/")) or "/" not in path
            if not is_here and not (is_anywhere and fnmatch.filter(names, name)):
                yield text.count("\n", 0, match.start()) + 1, name


def is_claim(path):
    """Whether PATH is said to be in the tree, rather than a placeholder like docs/man/tollgate-NAME.1, or a name that
    happens to have a slash: of a test, or a choice such as live/replay."""
    if re.search(r"(?:^|/)[^/]*[A-Z]{3,}[^/]*(?:/|$)", path) and "CMakeLists" not in path:
        return False
    return path.endswith("/") or SUFFIX.search(path) or path.count("/") >= 2


@functools.cache
def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    suffix = os.path.splitext(path)[1]
    if suffix not in COMMENT:
        return text
    # of everything but comments the line ends are kept, so that line numbers stay
    kept, at = [], 0
    for match in re.finditer(COMMENT[suffix], text, re.S):
        kept.append(" " + "\n" * text.count("\n", at, match.start()) + " ")
        kept.append(match.group(0))
        at = match.end()
    return "".join(kept)


@functools.cache
def anchors_of(path):
    """The anchors that GitHub gives the headings of PATH."""
    headings = re.findall(r"^#+ (.*)$", text_of(path), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(path)):
        if re.match(r"\w+:", target):
            continue
        file, _, anchor = target.partition("#")
        file = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if not os.path.exists(file) or (anchor and anchor not in anchors_of(file)):
            yield f"{path}: the link {target} leads nowhere"


def main():
    os.chdir(sys.argv[1])
    files = ["README.md", "CONTRIBUTING.md", "CMakeLists.txt", "main.c", "check", "demo"]
    files += [path for top in TOP for path in glob.glob(top + "/**/*", recursive=True)]
    problems, found = [], 0
    identifiers = set()
    names = {os.path.basename(path) for path in files}
    for path in files:
        if path.endswith((".c", ".h", ".S", "CMakeLists.txt", ".cmake")):
            with open(path, encoding="utf-8", errors="replace") as file:
                identifiers |= set(re.findall(r"\btg_\w+", file.read()))
    for path in files:
        if path == "tests/layering/layers_test.py":  # made-up trees
            continue
        is_document = path.endswith((".md", ".1")) or path in ("check", "demo")
        if not is_document and os.path.splitext(path)[1] not in COMMENT or not os.path.isfile(path):
            continue
        if path.endswith(".md"):
            problems += broken_links(path)
            for name in set(re.findall(r"\btg_\w+(?![\w*{])", text_of(path))) - identifiers - {"tg_noun_verb"}:
                problems.append(f"{path}: there is no {name}")
            for name, where in re.findall(r"`(\w+)(?:\(\))?` in\s`([\w/.]+\.[ch])`", text_of(path)):
                if os.path.exists(where) and not re.search(r"\b%s\b" % name, open(where, encoding="utf-8").read()):
                    problems.append(f"{path}: {name} is not in {where}")
        for line, name in missing_names(path, text_of(path), names):
            problems.append(f"{path}:{line}: there is no {name}; write its whole path")
        for line, mention in mentions(text_of(path)):
            if not is_claim(mention):
                continue
            found += 1
            for one in expanded(mention):
                if not glob.glob(one) and not glob.glob(one + ".[ch]"):
                    problems.append(f"{path}:{line}: there is no {one}")
    decisions = text_of("docs/decisions.md")
    for number, title in re.findall(r"^## (\d+)\. (.*)$", decisions, re.M):
        if f"- [{number}. {title}](#" not in decisions:
            problems.append(f"docs/decisions.md: {number}. {title} is missing in the index")
    with open("docs/architecture.md", encoding="utf-8") as file:
        architecture = file.read()
    with open("cmake/folders.txt", encoding="utf-8") as file:
        for folder in re.findall(r"^(\w[\w/]*):", file.read(), re.M):
            if f"`{folder}/`" not in architecture:
                problems.append(f"docs/architecture.md: the folder {folder} is missing")
    if found < 100:
        problems.append("mentions of paths were not recognized by this test")
    print("\n".join(problems))
    return 1 if problems else 0


sys.exit(main())
