#!/usr/bin/env python3
"""Who is let in: requests of other pages, of other users, and of nobody's program are refused before anything is done for
them; slow, huge and many ones take nobody's place."""
import json
import os
import signal
import socket
import time

from web_page import Events, Web, check, fixture, server_of

POLICY = {"default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"}


def refused(page, status, method, path, **more):
    got, headers, body = page.ask(method, path, **more)
    check(got == status, f"{method} {path} {more}: {got} and not {status}: {body[:200]}")
    check("Set-Cookie" not in headers and page.token.encode() not in body, "a refusal gives something away")


def check_entrance(page):
    refused(page, 401, "GET", "/")
    refused(page, 401, "GET", "/?token=" + "0" * 32)
    refused(page, 401, "GET", "/?token=" + page.token[:-1])
    refused(page, 401, "GET", page.path.replace("/?", "/data/session?"))  # the token opens the page, nothing else
    refused(page, 401, "GET", "/events")
    refused(page, 401, "POST", "/command", body=b'{"line": "quit"}')
    headers, _ = page.enter()
    cookie = headers["Set-Cookie"]
    check(cookie.startswith(f"tollgate-{page.port}=") and "HttpOnly" in cookie and "SameSite=Strict" in cookie and
          page.token not in cookie, f"the cookie: {cookie}")
    check(POLICY <= set(part.strip() for part in headers["Content-Security-Policy"].split(";")) and
          "unsafe" not in headers["Content-Security-Policy"], f"the policy: {headers}")
    check(headers["Referrer-Policy"] == "no-referrer" and headers["X-Content-Type-Options"] == "nosniff", f"{headers}")
    check(page.get("/data/session")[0] == 200, "the cookie is not enough")
    name, value = page.cookie.split("=")
    for wrong in (f"{name}={value[:-1]}", f"{name}={value}0", f"{name}=", f"other={value}", f"{name}x={value}"):
        refused(page, 401, "GET", "/data/session", headers={"Cookie": wrong}, cookie=False)
    check(page.ask("GET", "/data/session", headers={"Cookie": f"a=b; {page.cookie}; c"}, cookie=False)[0] == 200,
          "among other cookies")


def check_names(page):
    """DNS rebinding: the page of evil.test, which is 127.0.0.1 by now. A tunnel may change the port."""
    for host in ("evil.test", f"evil.test:{page.port}", f"localhost.evil.test:{page.port}", "localhost:80:80", "127.0.0.1x",
                 "192.0.2.1", "[::1", "", f"localhost@evil.test:{page.port}"):
        refused(page, 421 if host else 400, "GET", "/data/session", host=host or None, headers={} if host else {"Host": None})
        refused(page, 421 if host else 400, "GET", page.path, host=host or None, headers={} if host else {"Host": None})
    for host in (f"localhost:{page.port}", "LOCALHOST:1234", "127.0.0.1", f"[::1]:{page.port}"):
        check(page.ask("GET", "/data/session", host=host)[0] == 200, f"refused: {host}")


def check_other_pages(page):
    own = f"http://127.0.0.1:{page.port}"
    body = json.dumps({"line": "focus rank 2"}).encode()
    before = page.get("/data/session")[1]["focus"]
    for headers in ({"Origin": "http://evil.test"}, {"Origin": "null"}, {"Origin": own.replace("http", "https")},
                    {"Origin": f"http://127.0.0.1:{page.port + 1}"}, {"Sec-Fetch-Site": "cross-site"},
                    {"Sec-Fetch-Site": "same-site"}, {"Origin": own, "Sec-Fetch-Site": "cross-site"}):
        refused(page, 403, "POST", "/command", body=body, headers=headers)
        refused(page, 403, "GET", "/data/session", headers=headers)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""):
        refused(page, 415, "POST", "/command", body=body, headers={"Content-Type": kind or None})
    refused(page, 405, "PUT", "/command", body=body)
    refused(page, 405, "OPTIONS", "/command", headers={"Origin": own, "Access-Control-Request-Method": "POST"})
    # framed, or fetched as a picture by another page; only a link there may lead here, and only to the page itself
    refused(page, 403, "GET", page.path, headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate",
                                                  "Sec-Fetch-Dest": "iframe"})
    refused(page, 403, "GET", "/data/session", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate",
                                                        "Sec-Fetch-Dest": "document"})
    check(page.ask("GET", page.path, headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate",
                                              "Sec-Fetch-Dest": "document"})[0] == 200, "a link in a letter")
    check(page.get("/data/session")[1]["focus"] == before, "a refused command was run")
    check(page.ask("POST", "/command", body, headers={"Origin": own, "Sec-Fetch-Site": "same-origin"})[0] == 200,
          "the page's own command")
    check(page.get("/data/session")[1]["focus"] != before, "the page's own command was not run")


def raw(page, text, wait_s=10):
    """What is answered to TEXT, b"" where the connection is ended without."""
    with socket.create_connection(("127.0.0.1", page.port), timeout=wait_s) as connection:
        try:
            connection.sendall(text)
            return connection.recv(100)
        except (ConnectionError, socket.timeout):
            return b""


def check_limits(page):
    head = f"GET /data/session HTTP/1.1\r\nHost: localhost\r\nCookie: {page.cookie}\r\n"
    check(b" 200 " in raw(page, (head + "\r\n").encode()), "a plain request")
    check(b" 400 " in raw(page, (head + "Host: evil.test\r\n\r\n").encode()), "two names")
    check(b" 400 " in raw(page, (head + f"Cookie: {page.cookie}\r\n\r\n").encode()), "two lines of cookies")
    check(b" 200 " not in raw(page, (head + "A: " + "x" * 100000 + "\r\n\r\n").encode()), "a header of 100 KB")
    check(b" 200 " not in raw(page, b"\x16\x03\x01\x02\x00\x01" * 100), "no HTTP")
    check(page.ask("GET", "/data/verdict?" + "x" * 5000)[0] == 414, "a query of 5 KB")
    check(page.ask("POST", "/command", b'{"line": "' + b"x" * 70000 + b'"}')[0] == 413, "a body of 70 KB")
    for body in (b"", b"{", b"[]", b'{"line": 7}', b'"line"', b'{"line": "a", "line": "b"}', b'{"line": "a\\u0000b"}'):
        check(page.ask("POST", "/command", body)[0] == 400, f"{body}")
    for path in ("/../../etc/passwd", "/%2e%2e/", "/data/", "/data/../session", "/data/nothing", "/nothing", "/command"):
        check(page.ask("GET", path)[0] == 404, path)


def open_slow(page):
    """Fifty connections on which hardly anything comes."""
    slow = [socket.create_connection(("127.0.0.1", page.port), timeout=60) for _ in range(50)]
    for connection in slow:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: loc")
    begun = time.monotonic()
    check(page.get("/data/session")[0] == 200 and time.monotonic() - begun < 5, "50 slow connections keep others out")
    return slow


def check_slow_end(slow):
    """The server ends them, although a byte comes from time to time."""
    until = time.monotonic() + 60
    for connection in slow[:3]:
        connection.settimeout(0.3)
        while time.monotonic() < until:
            try:
                connection.sendall(b"x")
                if connection.recv(100) == b"":
                    break
            except socket.timeout:
                continue
            except ConnectionError:
                break
        check(time.monotonic() < until, "a request may take a minute to come")
    for connection in slow:
        connection.close()


def check_streams(page):
    """Readers that vanish, or do not read, are not waited for."""
    streams = [Events(page) for _ in range(8)]
    for stream in streams[4:]:
        stream.socket.close()
    page.run("focus all")
    page.run("focus rank 1")
    for stream in streams[:2]:
        check(stream.wait(lambda news: "r1" in news["focus"] or "rank 1" in news["focus"]), "a stream is not told")
    return streams[:4]


def main():
    web = Web(fixture("hung"))
    page = web.page
    check_entrance(page)
    slow = open_slow(page)
    check_names(page)
    check_other_pages(page)
    check_limits(page)
    streams = check_streams(page)
    check_slow_end(slow)
    server = server_of(web.process.pid)
    with open(f"/proc/{server}/cmdline", "rb") as words, open(f"/proc/{server}/environ", "rb") as environment:
        check(page.token.encode() not in words.read() + environment.read(), "everybody on the machine sees the token")
    check(web.end() == 0, "the interrupt key")
    check(streams[0].wait(lambda news: False) is None, "a stream goes on behind the end")
    web = Web("hung.tgt", "--view-only")
    web.page.enter()
    status, answer = web.page.post("command", "goto 1")
    check(status == 403 and web.page.get("/data/session")[1]["view_only"], f"--view-only: {status} {answer}")
    os.kill(server_of(web.process.pid), signal.SIGKILL)
    check(web.process.wait(60) == 2, "the end of the server is no error of `tollgate web`")


main()
