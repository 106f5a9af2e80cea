"""A page's server for tests: HTTP without a browser."""
import atexit
import http.client
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time

TOLLGATE = os.environ["TG_TOLLGATE"]
SOURCE = os.environ["TG_SOURCE"]
TIME_LIMIT_S = 60


def check(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


def fixture(name):
    """The trace NAME.tgt of a fixture."""
    subprocess.run([os.environ["TG_TRACE_FROM_JSON"], os.path.join(SOURCE, f"tests/golden/fixtures/{name}.jsonl"),
                    f"{name}.tgt"], check=True)
    return f"{name}.tgt"


def children_of(pid):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                if int(stat.read().rsplit(")", 1)[1].split()[1]) == pid:
                    found.append(int(name))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def server_of(pid):
    """The process that serves the page of the session PID; None: there is none."""
    for child in children_of(pid):
        with open(f"/proc/{child}/cmdline", "rb") as words:
            if b"--serve" in words.read().split(b"\0"):
                return child
    return None


def memory_mb(pid):
    """What PID has of its own, and shares with others."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        sizes = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in status if line.startswith("Rss")}
    return f"{sizes['RssAnon']:.0f} MB of its own and {sizes['RssShmem'] + sizes['RssFile']:.0f} MB shared"


class Page:
    """What a browser would do with a link."""

    def __init__(self, link):
        match = re.fullmatch(r"http://([^/]+):(\d+)(/\?token=([0-9a-f]{32}))", link)
        check(match, f"no link: {link}")
        self.link, self.host, self.port, self.path, self.token = link, match[1], int(match[2]), match[3], match[4]
        self.cookie = None

    def ask(self, method, path, body=None, headers=(), cookie=True, host=None, port=None):
        """Status, headers, body."""
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=TIME_LIMIT_S)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        sent = {"Host": host or f"127.0.0.1:{self.port}", **dict(headers)}
        if cookie and self.cookie:
            sent["Cookie"] = self.cookie
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
            sent["Content-Length"] = str(len(body))
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        result = answer.status, dict(answer.getheaders()), answer.read()
        connection.close()
        return result

    def enter(self):
        """Opens the link, and keeps the cookie."""
        status, headers, body = self.ask("GET", self.path)
        check(status == 200, f"the link: {status} {body}")
        self.cookie = headers["Set-Cookie"].split(";")[0]
        return headers, body

    def get(self, path, **more):
        status, _, body = self.ask("GET", path, **more)
        return status, json.loads(body)

    def post(self, what, line, **more):
        status, _, body = self.ask("POST", f"/{what}", json.dumps({"line": line}).encode(), **more)
        return status, json.loads(body)

    def run(self, line):
        """The result of a command."""
        status, result = self.post("command", line)
        check(status == 200, f"{line}: {status} {result}")
        return result


class Events:
    """A stream of events."""

    def __init__(self, page):
        self.socket = socket.create_connection(("127.0.0.1", page.port), timeout=TIME_LIMIT_S)
        self.socket.sendall(f"GET /events HTTP/1.1\r\nHost: localhost:{page.port}\r\nCookie: {page.cookie}\r\n\r\n".encode())
        self.text, self.count = b"", 0

    def wait(self, condition, limit_s=TIME_LIMIT_S):
        """The first piece of news for which CONDITION holds; None: none came in time."""
        until = time.monotonic() + limit_s
        while True:
            while b"\n\n" in self.text:
                event, self.text = self.text.split(b"\n\n", 1)
                match = re.search(rb"^event: changed\r?\ndata: (.*)$", event, re.M)
                if match:
                    self.count += 1
                    news = json.loads(match[1])
                    if condition(news):
                        return news
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.socket], [], [], left)[0]:
                return None
            more = self.socket.recv(1 << 16)
            if not more:
                return None
            self.text += more


class Web:
    """`tollgate web`."""

    def __init__(self, trace, *options):
        self.process = subprocess.Popen([TOLLGATE, "web", *options, trace], stdout=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)
        self.page = Page(self.process.stdout.readline().strip())

    def end(self, how=signal.SIGINT):
        server = server_of(self.process.pid)
        self.process.send_signal(how)
        status = self.process.wait(TIME_LIMIT_S)
        self.process.stdout.close()
        check(server is None or not os.path.exists(f"/proc/{server}"), "the server outlives its session")
        return status
