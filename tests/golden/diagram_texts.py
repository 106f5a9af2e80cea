"""Strict readers of the Mermaid and PlantUML that tollgate writes: of the parts of these languages that it uses, with every
character accounted for; and seqdiag itself. Each returns the problems of a text, [] where it is fine.
"""
import functools
import os
import re
import sys
import tempfile

try:
    from seqdiag import builder, command, parser
except ImportError:
    command = None

# Mermaid reads #35; as a character everywhere; a bare "end" as a word ends a fragment, ; a line, # begins a comment.
MERMAID_TEXT = re.compile(r"(?:[A-Za-z0-9 _.,/()@+*=-]|[^\x00-\x7f]|#[0-9]+;)+\Z")
MERMAID_LINES = {
    "title": re.compile(r"  title (.+)\Z"),
    "participant": re.compile(r"  participant (w[0-9]+) as (.+)\Z"),
    "message": re.compile(r" *(w[0-9]+)(?:->>|-->>|-\)|-x)(w[0-9]+): (.+)\Z"),
    "note": re.compile(r" *Note over (w[0-9]+)(?:,(w[0-9]+))?: (.+)\Z"),
    "open": re.compile(r" *(?:loop|critical|par|opt) (.+)\Z"),
    "close": re.compile(r" *end\Z"),
    "comment": re.compile(r" *%% .*\Z"),
}

# Creole and the preprocessor see none of these.
PLANTUML_TEXT = re.compile(r"(?:[A-Za-z0-9 .,()+]|[^\x00-\x7f]|<U\+[0-9A-F]{4,6}>)+\Z")
PLANTUML_LINES = {
    "title": re.compile(r"title (.+)\Z"),
    "participant": re.compile(r'participant "([^"]+)" as (w[0-9]+)\Z'),
    "message": re.compile(r" *(w[0-9]+) (?:->|-->|->>|->x) (w[0-9]+)(?: : (.+))?\Z"),
    "note": re.compile(r" *note over (w[0-9]+)(?:, (w[0-9]+))? : (.+)\Z"),
    "divider": re.compile(r" *== (.+) ==\Z"),
    "delay": re.compile(r" *\.\.\. (.+) \.\.\.\Z"),
    "open": re.compile(r" *(?:loop|critical|par|opt) (.+)\Z"),
    "close": re.compile(r" *end\Z"),
}

DECEIVING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def kind_of(line, kinds):
    for kind, pattern in kinds.items():
        match = pattern.match(line)
        if match:
            return kind, match.groups()
    return None, ()


def read(lines, kinds, text_of, name_at):
    """LINES without the ones that frame them."""
    problems, known, depth = [], set(), 0
    for number, line in enumerate(lines, 2):
        kind, words = kind_of(line, kinds)
        if kind is None:
            problems.append(f"line {number} is nothing known: {line!r}")
            continue
        depth += (kind == "open") - (kind == "close")
        if depth < 0:
            problems.append(f"line {number} closes what is not open")
        if kind == "participant":
            known.add(words[name_at])
            words = [words[1 - name_at]]
        for word in words:
            if word is None or kind == "comment":
                continue
            if re.fullmatch("w[0-9]+", word):
                if word not in known:
                    problems.append(f"line {number}: {word} was never named")
            elif not text_of.match(word):
                problems.append(f"line {number}: not only text: {word!r}")
    if depth != 0:
        problems.append(f"{depth} fragments stay open")
    if not known:
        problems.append("nobody takes part")
    return problems


def check_mermaid(text):
    lines = text.split("\n")
    problems = [f"deceives: {match!r}" for match in DECEIVING.findall(text)]
    if lines[0] != "sequenceDiagram" or lines[-1] != "":
        problems.append("no diagram")
    for line in lines[1:-1]:
        if re.search(r"(?<![A-Za-z0-9])end(?![A-Za-z0-9])", line, re.I) and line.strip() != "end":
            problems.append(f"the word `end` in {line!r}")
    return problems + read(lines[1:-1], MERMAID_LINES, MERMAID_TEXT, 0)


def check_plantuml(text):
    lines = text.split("\n")
    problems = [f"deceives: {match!r}" for match in DECEIVING.findall(text)]
    if lines[0] != "@startuml" or lines[-2:] != ["@enduml", ""]:
        problems.append("no diagram")
    return problems + read(lines[1:-2], PLANTUML_LINES, PLANTUML_TEXT, 1)


@functools.cache
def load_seqdiag():
    """Draws a first diagram here: seqdiag loads when it draws, which takes longer than to draw, and children then have it."""
    with tempfile.TemporaryDirectory() as directory:
        text_file = os.path.join(directory, "a.diag")
        with open(text_file, "w", encoding="utf-8") as file:
            file.write("seqdiag { a -> b; }\n")
        command.main(["-T", "svg", "-o", os.path.join(directory, "a.svg"), text_file])


def run_seqdiag(arguments, errors):
    """Status of seqdiag in a child of this process."""
    load_seqdiag()
    child = os.fork()
    if child == 0:
        os.dup2(errors.fileno(), 2)
        status = 1
        try:
            status = command.main(arguments)
        finally:
            sys.stderr.flush()
            os._exit(status or 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def laid_out_by_seqdiag(text):
    """As check_seqdiag, without the picture, which takes 20 times as long as the rest."""
    try:
        if command is not None:
            builder.ScreenNodeBuilder.build(parser.parse_string(text))
    except (parser.ParseException, AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        return [f"seqdiag: {error!r}"]
    return []


def check_seqdiag(text):
    """[] also where there is no seqdiag."""
    if command is None:
        return []
    with tempfile.TemporaryDirectory() as directory:
        text_file, picture = os.path.join(directory, "a.diag"), os.path.join(directory, "a.svg")
        with open(text_file, "w", encoding="utf-8") as file:
            file.write(text)
        with open(os.path.join(directory, "errors"), "w+", encoding="utf-8") as errors:
            status = run_seqdiag(["-T", "svg", "-o", picture, text_file], errors)
            errors.seek(0)
            said = errors.read()
        # seqdiag says "ERROR" where it gave up, sometimes with status 0
        fine = status == 0 and "ERROR" not in said and os.path.exists(picture)
        return [] if fine else [said or f"seqdiag ended with {status}"]
