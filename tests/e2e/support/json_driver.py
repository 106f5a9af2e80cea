"""A driver of the console for programs: `tollgate replay --json` and `tollgate live --json`. Every line that comes is
compared with docs/json-console.md."""
import json
import os
import re
import select
import subprocess
import sys

TOLLGATE = os.environ["TG_TOLLGATE"]
SOURCE = os.environ["TG_SOURCE"]
DOCUMENT = open(os.path.join(SOURCE, "docs/json-console.md"), encoding="utf-8").read()


def documented(heading):
    """The names in the first column of the tables below HEADING."""
    section = re.split(r"^#+ ", DOCUMENT.split(heading + "\n", 1)[1], maxsplit=1, flags=re.M)[0]
    names = set()
    for row in re.findall(r"^\| (.*?) \|", section, re.M):
        names |= set(re.findall(r"`(\w+)`", row))
    return names


def event_members():
    """The members that each event can have."""
    section = DOCUMENT.split("### `event`\n")[1].split("\n### ")[0]
    kinds, common = section.split("| common member")
    shared = {name for row in re.findall(r"^\| (.*?) \|", common, re.M) for name in re.findall(r"`(\w+)`", row)}
    return {kind: shared | set(re.findall(r"`(\w+)`", own)) | {"type", "event"}
            for kind, own in re.findall(r"^\| `(\w+)` \| .*? \|(.*?)\|$", kinds, re.M)}


def data_members():
    """The members of each command's data, of all levels."""
    table = re.split(r"[Tt]hese commands have data:\n", DOCUMENT)[1].split("\n### ")[0]
    found, others = {}, {}
    for commands, row in re.findall(r"^\| (`.*?) \| (.*) \|$", table, re.M):
        for command in re.findall(r"`([a-z_ ]+)", commands):
            found.setdefault(command.strip(), set()).update(re.findall(r"`(\w+)`", row))
            others.setdefault(command.strip(), []).extend(re.findall(r"as of `(\w+)`", row))
    return {command: members.union(*(found[other] for other in others[command])) for command, members in found.items()}


EVENT_MEMBERS = event_members()
DATA_MEMBERS = data_members()
ANY_MEMBERS = {"next", "step", "back", "goto", "find", "opm", "info event", "alias"}  # those of events, or names
ALIASES = {"l": "dlist", "x": "dexamine", "p": "dprint", "w": "dwhere", "st": "dstatus", "ac": "dactions", "f": "dfocus"}


def words_of(command):
    """`dfocus r1 {l -n 2}` is a command of dlist."""
    words = command.replace("{", " ").replace("}", " ").split(";")[-1].split()
    while words and words[0] in ("dfocus", "f") and len(words) > 2:
        words = words[2:]
    return [ALIASES.get(words[0], words[0]), *words[1:]] if words else []


def keys_of(data):
    if isinstance(data, dict):
        return set(data).union(*map(keys_of, data.values()))
    return set().union(*map(keys_of, data)) if isinstance(data, list) else set()


def object_of(pairs):
    check(len(dict(pairs)) == len(pairs), f"a member is there twice: {pairs}")
    return dict(pairs)


MEMBERS = {
    "hello": documented("### `hello`"),
    "result": documented("### `result`"),
}


class Console:
    """A console whose lines are objects; every one is compared with the document."""

    def __init__(self, mode, *arguments, **options):
        self.events = []  # those that came between other lines
        self.process = subprocess.Popen([TOLLGATE, mode, "--json", *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0, **options)
        self.bytes = b""
        self.hello = self.read("hello")

    def read_line(self):
        while b"\n" not in self.bytes:
            if not select.select([self.process.stdout], [], [], 100)[0]:
                sys.exit(f"nothing comes, after {self.events}")
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            if not piece:
                sys.exit(f"ended: {self.process.stderr.read()!r}, after {self.events}")
            self.bytes += piece
        line, self.bytes = self.bytes.split(b"\n", 1)
        return line

    def read(self, kind):
        """The next line of KIND; events before it are kept."""
        while True:
            line = self.read_line()
            value = json.loads(line, object_pairs_hook=object_of)  # strict: one object a line, valid UTF-8
            self.check_line(kind, line, value)
            if value["type"] == "event":
                self.events.append(value)
            if value["type"] == kind:
                return value

    def check_line(self, kind, line, value):
        check(value["type"] in (kind, "event"), f"{kind}: {line}")
        kind = value["type"]
        if kind == "event":
            check(set(value) <= EVENT_MEMBERS.get(value["event"], set()), f"not in the document: {line}")
        elif kind in MEMBERS:
            check(set(value) - {"type"} <= MEMBERS[kind], f"not in the document: {line}")
        check(set(value.get("error", {})) <= {"code", "message", "file", "line", "in", "offset"}, f"{line}")

    def send(self, line):
        self.process.stdin.write(line if isinstance(line, bytes) else line.encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, command, **more):
        """The result of COMMAND, which must be done."""
        self.send(json.dumps({"command": command, "id": command, **more}))
        result = self.read("result")
        check(result["id"] == command and result["ok"], f"{command}: {result}")
        self.check_data(command, result)
        return result

    def check_data(self, command, result):
        words = words_of(command)
        name = " ".join(words[:2]) if words and words[0] in ("info", "dinfo", "gui") else "".join(words[:1])
        if "data" not in result or name in ANY_MEMBERS:
            return
        check(name in DATA_MEMBERS, f"no data of {name} in the document: {result}")
        undocumented = keys_of(result["data"]) - DATA_MEMBERS[name]
        check(not undocumented, f"{command}: not in the document: {undocumented}")

    def fails(self, command, code):
        self.send(json.dumps({"command": command}))
        result = self.read("result")
        check(not result["ok"] and result["error"]["code"] == code, f"{command}: {result}")
        return result["error"]

    def end(self, status=0):
        self.process.stdin.close()
        check(self.read("bye")["status"] == status, "bye")
        check(self.bytes + self.process.stdout.read() == b"", "something behind bye")
        check(self.process.wait() == status, "status")
        return self.process.stderr.read()


def check(condition, what):
    if not condition:
        sys.exit(f"wrong: {what}")
