"""The html format's page: its policy allows its own script and style, by their hashes, and nothing else; it asks for
nothing; hostile names stay text. Where a headless Chromium is, the page is opened in it: moved, zoomed, searched,
folded.

usage: page_test.py TOLLGATE TRACE_FROM_JSON CHROMIUM FIXTURE...     (CHROMIUM may be "")
"""
import base64
import hashlib
import html.parser
import json
import os
import re
import subprocess
import sys
import tempfile


class Page(html.parser.HTMLParser):
    """Elements, the content of script and style, and everything that could load something."""

    def __init__(self):
        super().__init__()
        self.raw, self.inside, self.policy, self.tags, self.loads = {}, None, "", [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        attributes = dict(attributes)
        self.loads += [f"{tag} {name}" for name in attributes
                       if name in ("src", "href", "xlink:href", "action", "data", "srcset", "poster")
                       or name.startswith("on") or name == "style"]
        if attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = attributes["content"]
        if tag in ("script", "style"):
            self.inside = tag
            self.raw.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        if tag == self.inside:
            self.inside = None

    def handle_data(self, data):
        if self.inside:
            self.raw[self.inside][-1] += data


def check_page(text, where):
    page, problems = Page(), []
    page.feed(text)
    for tag in ("script", "style"):
        blocks = page.raw.get(tag, [])
        if len(blocks) != 1:
            problems.append(f"{where}: {len(blocks)} <{tag}>")
            continue
        digest = base64.b64encode(hashlib.sha256(blocks[0].encode()).digest()).decode()
        if f"{tag}-src 'sha256-{digest}'" not in page.policy:
            problems.append(f"{where}: {tag.upper()}_HASH in sequence_html.c ought to be sha256-{digest}")
    if not page.policy.startswith("default-src 'none'; "):
        problems.append(f"{where}: the policy is {page.policy}")
    if page.loads:
        problems.append(f"{where}: loads or runs {page.loads}")
    allowed = {"html", "head", "meta", "title", "style", "body", "header", "h1", "input", "output", "button", "div",
               "script", "svg", "rect", "text", "path", "g", "circle"}
    if set(page.tags) - allowed:
        problems.append(f"{where}: elements {set(page.tags) - allowed}")
    return problems


class Browser:
    """Chromium's own protocol over a pair of pipes."""

    def __init__(self, program, directory):
        to_browser, self.out = os.pipe()
        self.input, from_browser = os.pipe()

        def connect():
            os.dup2(to_browser, 13)
            os.dup2(from_browser, 14)
            os.dup2(13, 3)
            os.dup2(14, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
             "--disable-background-networking", f"--user-data-dir={directory}/profile", "about:blank"],
            preexec_fn=connect, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer, self.number, self.session, self.requests, self.problems = b"", 0, None, [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def read(self):
        while b"\0" not in self.buffer:
            more = os.read(self.input, 1 << 16)
            if not more:
                raise EOFError("the browser ended")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(message)
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        if message.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
            self.problems.append(json.dumps(message["params"])[:400])
        return message

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(answer["error"])
                return answer["result"]

    def open(self, url):
        self.call("Page.navigate", url=url)
        while self.read().get("method") != "Page.loadEventFired":
            pass

    def ask(self, expression):
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def close(self):
        self.process.kill()
        self.process.wait()


def check_in_browser(browser, path):
    problems = []

    def expect(what, value, expected):
        if value != expected:
            problems.append(f"{path}: {what}: {value!r}, not {expected!r}")

    browser.call("Emulation.setDeviceMetricsOverride", width=420, height=300, deviceScaleFactor=1, mobile=False)
    browser.open(f"file://{path}")
    rows = browser.ask("document.querySelectorAll('g.r').length")
    expect("rows are there", rows > 3, True)
    # search, and go to what is found
    browser.ask("document.getElementById('query').focus()")
    browser.call("Input.insertText", text="CRITICAL")
    found = int(browser.ask("document.getElementById('count').textContent").split()[0])
    expect("found rows are marked", browser.ask("document.querySelectorAll('g.hit').length"), found)
    expect("something was found", found > 0, True)
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13)
    expect("what was found is shown", browser.ask("document.querySelectorAll('g.now').length"), 1)
    # move by dragging
    browser.ask("var pane = document.getElementById('pane'); pane.scrollTop = 60; pane.scrollLeft = 40")
    browser.mouse("mousePressed", 200, 200, button="left", clickCount=1)
    browser.mouse("mouseMoved", 190, 170, button="left", buttons=1)
    browser.mouse("mouseReleased", 190, 170, button="left", clickCount=1)
    expect("dragging moves", browser.ask("[pane.scrollLeft, pane.scrollTop].join()"), "50,90")
    # zoom
    width = browser.ask("document.getElementById('diagram').getBoundingClientRect().width")
    browser.ask("document.getElementById('in').click()")
    wider = browser.ask("document.getElementById('diagram').getBoundingClientRect().width")
    expect("the button zooms", abs(wider / width - 1.25) < 0.01, True)
    browser.mouse("mouseWheel", 200, 200, deltaX=0, deltaY=300, modifiers=2)
    browser.ask("document.getElementById('fit').click()")
    # fold one, and all
    before = browser.ask("Number(document.getElementById('diagram').getAttribute('viewBox').split(' ')[3])")
    hidden = "Array.from(document.querySelectorAll('g.r')).filter(g => g.style.display === 'none').length"
    browser.ask("pane.scrollTop = 0")
    place = browser.ask("(function () { var b = document.querySelector('g.folds text').getBoundingClientRect();"
                        " return [b.left + 4, b.top + b.height / 2]; })()")
    browser.mouse("mouseMoved", *place)
    expect("pointing tells", browser.ask("document.getElementById('tip').style.display"), "block")
    browser.mouse("mousePressed", *place, button="left", clickCount=1)
    browser.mouse("mouseReleased", *place, button="left", clickCount=1)
    expect("a click folds", browser.ask(hidden) > 0, True)
    folded = browser.ask("Number(document.getElementById('diagram').getAttribute('viewBox').split(' ')[3])")
    expect("what is folded is smaller", folded < before, True)
    browser.ask("document.getElementById('unfold').click()")
    expect("all is unfolded", browser.ask(hidden), 0)
    expect("and as high as before",
           browser.ask("Number(document.getElementById('diagram').getAttribute('viewBox').split(' ')[3])"), before)
    return problems


def main():
    tollgate, trace_from_json, chromium, *fixtures = sys.argv[1:]
    problems = []
    with tempfile.TemporaryDirectory() as directory:
        pages = []
        for fixture in fixtures:
            name = re.sub(r"\.jsonl$", "", os.path.basename(fixture))
            trace, page = f"{directory}/{name}.tgt", f"{directory}/{name}.html"
            subprocess.run([trace_from_json, fixture, trace], check=True)
            subprocess.run([tollgate, "sequence", "--all", "--format", "html", trace], check=True,
                           stdout=subprocess.DEVNULL)
            with open(page, encoding="utf-8") as file:
                problems += check_page(file.read(), name)
            pages.append(page)
        if chromium:
            browser = Browser(chromium, directory)
            try:
                for page in pages:
                    if page.endswith(("sequence-critical.html", "sequence-repeat.html")):
                        problems += check_in_browser(browser, page)
                    else:
                        browser.open(f"file://{page}")
                problems += [f"a request: {url}" for url in browser.requests
                             if not url.startswith(("file:///", "about:"))]
                problems += browser.problems
            finally:
                browser.close()
    print("\n".join(problems))
    return 1 if problems else 0


sys.exit(main())
