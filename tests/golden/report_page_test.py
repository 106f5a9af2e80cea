"""The page that `report --html` writes: its policy allows its own script and style by their hashes, and nothing else; it asks
for nothing; hostile names are text. In a headless Chromium each part has content, and the strip zooms, opens rows, and is
worked by keys.

usage: report_page_test.py TOLLGATE TRACE_FROM_JSON CHROMIUM FIXTURE...     (CHROMIUM may be "")
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

sys.dont_write_bytecode = True
from browser import Browser  # noqa: E402

# Parts that each fixture's page shows.
PARTS = {"hung": "verdict strip stacks diagram", "stacks": "verdict strip stacks", "heap": "verdict strip heap",
         "filter-medium": "verdict strip filter", "hostile": "verdict strip", "hybrid": "verdict strip", "ranks": "verdict strip"}


class Page(html.parser.HTMLParser):
    """Documents, the content of script and style, and everything that could load something."""

    def __init__(self):
        super().__init__()
        self.documents, self.raw, self.inside, self.policy, self.loads = {}, {}, None, "", []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.loads += [f"{tag} {name}={value}" for name, value in attributes.items()
                       if (name in ("src", "href", "action", "srcset") and not value.startswith(("#", "data:,")))
                       or name.startswith("on") or name == "style"]
        if attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = attributes["content"]
        if tag in ("script", "style"):
            self.inside = attributes.get("id", tag)

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.inside = None

    def handle_data(self, data):
        if self.inside:
            self.raw[self.inside] = self.raw.get(self.inside, "") + data


def check_text(text, where):
    page, problems = Page(), []
    page.feed(text)
    for tag in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(page.raw[tag].encode()).digest()).decode()
        if f"{tag}-src 'sha256-{digest}'" not in page.policy:
            problems.append(f"{where}: the policy does not allow the page's own {tag}")
    if not page.policy.startswith("default-src 'none'; "):
        problems.append(f"{where}: the policy is {page.policy}")
    if page.loads:
        problems.append(f"{where}: loads or runs {page.loads}")
    for name, content in page.raw.items():
        if name.startswith("data-"):
            if "<" in content:
                problems.append(f"{where}: {name} has a <")
            json.loads(content)
    return problems


def check_in_browser(browser, path, name):
    problems = []

    def expect(what, value, expected=True):
        if value != expected:
            problems.append(f"{name}: {what}: {value!r}, not {expected!r}")

    browser.open(f"file://{path}")
    expect("is ready", browser.wait("document.body.dataset.ready === 'yes'"))
    seen = browser.ask("Array.from(document.querySelectorAll('main section')).filter(s => !s.hidden).map(s => s.id).join(' ')").split()
    for part in PARTS[name].split():
        expect(f"{part} is shown", part in seen)
        expect(f"{part} has content", browser.ask(f"document.querySelector('#{part} .body').childElementCount > 0"))
    expect("there are no elements from names", browser.ask("document.querySelectorAll('main b, main i:not([aria-hidden]), main img').length"), 0)
    expect("nothing turns the direction of text", browser.ask(
        "/[\\u001b\\u202a-\\u202e\\u2066-\\u2069]/.test(document.querySelector('main').textContent)"), False)
    expect("the message line is empty", browser.ask("document.getElementById('message').textContent"), "")
    if name != "hung":
        return problems
    colour = "getComputedStyle(document.querySelector('.finding.error')).backgroundColor"
    paper = []
    for scheme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": scheme}])
        paper.append(browser.ask(colour))
    expect("who likes it dark prints as others do", paper[1], paper[0])
    browser.call("Emulation.setEmulatedMedia", media="", features=[])
    browser.ask("window.on_paper = []; addEventListener('beforeprint', () => on_paper.push(document.querySelectorAll("
                "'.finding.error details:not([open])').length))")
    before = browser.ask("document.querySelectorAll('.finding details[open]').length")
    browser.call("Page.printToPDF")
    expect("evidence is open on paper", browser.ask("on_paper"), [0])
    expect("and as before afterwards", browser.ask("document.querySelectorAll('.finding details[open]').length"), before)
    expect("the graph has its cycle", browser.ask("document.querySelectorAll('.graph .edge.ring').length"), 2)
    expect("the first problem is open", browser.ask("document.querySelector('.finding.error details').open"))
    expect("the canvas is drawn", browser.ask(
        "(c => new Set(c.getContext('2d').getImageData(0, 30, c.width, c.height - 30).data).size > 8)(document.querySelector('#strip canvas'))"))
    shown = "document.querySelector('#strip .window').textContent"
    whole = browser.ask(shown)
    browser.ask("document.querySelector('#strip canvas').focus()")
    browser.key("+")
    expect("a key zooms", browser.ask(shown) != whole)
    browser.key("0")
    expect("and back", browser.ask(shown), whole)
    rows = browser.ask("document.querySelectorAll('#strip .strip-head').length")
    browser.ask("document.querySelector('#strip .strip-head button').click()")
    expect("a row closes", browser.ask("document.querySelectorAll('#strip .strip-head').length"), rows - 3)
    place = browser.ask("(b => [b.left + b.width / 2, b.top + 40])(document.querySelector('#strip canvas').getBoundingClientRect())")
    browser.mouse("mouseMoved", *place)
    expect("pointing tells", browser.wait("/rank 0/.test(document.querySelector('#strip .tip').textContent)"))
    browser.mouse("mouseWheel", *place, deltaX=0, deltaY=-300, modifiers=2)
    expect("the wheel zooms", browser.wait(f"{shown} !== {json.dumps(whole)}"))
    return problems


def main():
    tollgate, trace_from_json, chromium, *fixtures = sys.argv[1:]
    problems = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        pages = []
        for fixture in fixtures:
            name = re.sub(r"\.jsonl$", "", os.path.basename(fixture))
            trace, page = f"{directory}/{name}.tgt", f"{directory}/{name}.html"
            subprocess.run([trace_from_json, fixture, trace], check=True)
            subprocess.run([tollgate, "report", "--html", page, trace], check=True)
            with open(page, encoding="utf-8") as file:
                problems += check_text(file.read(), name)
            pages.append((page, name))
        if chromium:
            browser = Browser(chromium, directory)
            try:
                browser.call("Emulation.setDeviceMetricsOverride", width=1366, height=900, deviceScaleFactor=1, mobile=False)
                for page, name in pages:
                    problems += check_in_browser(browser, page, name)
                problems += [f"a request: {url}" for url in browser.requests if not url.startswith(("file:///", "about:", "data:,"))]
                problems += browser.problems
            finally:
                browser.close()
    print("\n".join(problems))
    return 1 if problems else 0


sys.exit(main())
