"""The html format's page: its policy allows its own script and style, by their hashes, and nothing else; it asks for
nothing; hostile names stay text. Where a headless Chromium is, the page is opened in it: moved, zoomed, searched,
folded.

usage: page_test.py TOLLGATE TRACE_FROM_JSON CHROMIUM FIXTURE...     (CHROMIUM may be "")
"""
import base64
import hashlib
import html.parser
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from browser import Browser  # noqa: E402


class Page(html.parser.HTMLParser):
    """Elements, the content of script and style, and everything that could load something."""

    def __init__(self):
        super().__init__()
        self.raw, self.inside, self.policy, self.tags, self.loads = {}, None, "", [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        attributes = dict(attributes)
        self.loads += [f"{tag} {name}" for name in attributes
                       if not (attributes[name] or "").startswith(("#", "data:,")) and
                       name in ("src", "href", "xlink:href", "action", "data", "srcset", "poster")
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
        blocks = [block for block in page.raw.get(tag, []) if not block.startswith("{")]  # documents are data
        if len(blocks) != 1:
            problems.append(f"{where}: {len(blocks)} <{tag}>")
            continue
        digest = base64.b64encode(hashlib.sha256(blocks[0].encode()).digest()).decode()
        if f"{tag}-src 'sha256-{digest}'" not in page.policy:
            problems.append(f"{where}: the policy does not allow the page's own {tag}")
    if not page.policy.startswith("default-src 'none'; "):
        problems.append(f"{where}: the policy is {page.policy}")
    if page.loads:
        problems.append(f"{where}: loads or runs {page.loads}")
    allowed = {"html", "head", "meta", "link", "title", "style", "body", "a", "header", "h1", "p", "nav", "main", "section",
               "h2", "div", "script", "button"}
    if set(page.tags) - allowed:
        problems.append(f"{where}: elements {set(page.tags) - allowed}")
    return problems


WIDTH = "ROOT.getElementById('diagram').getBoundingClientRect().width"


def open_page(browser, path):
    """Opens the page, and waits until its diagram is there: in a tree of its own, ROOT."""
    browser.open(f"file://{path}")
    browser.wait("document.body.dataset.ready === 'yes'")
    browser.ask("window.ROOT = document.getElementById('diagram-view').shadowRoot")


def check_in_browser(browser, path):
    problems = []

    def expect(what, value, expected):
        if value != expected:
            problems.append(f"{path}: {what}: {value!r}, not {expected!r}")

    browser.call("Emulation.setDeviceMetricsOverride", width=420, height=420, deviceScaleFactor=1, mobile=False)
    open_page(browser, path)
    rows = browser.ask("ROOT.querySelectorAll('g.r').length")
    expect("rows are there", rows > 3, True)
    # search, and go to what is found
    browser.ask("ROOT.getElementById('query').focus()")
    browser.call("Input.insertText", text="CRITICAL")
    found = int(browser.ask("ROOT.getElementById('count').textContent").split()[0])
    expect("found rows are marked", browser.ask("ROOT.querySelectorAll('g.hit').length"), found)
    expect("something was found", found > 0, True)
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13)
    expect("what was found is shown", browser.ask("ROOT.querySelectorAll('g.now').length"), 1)
    expect("and is in sight", browser.ask(
        "(function () { var b = ROOT.querySelector('g.now text').getBoundingClientRect(),"
        " p = ROOT.getElementById('pane').getBoundingClientRect();"
        " return b.top >= p.top && b.bottom <= p.bottom && b.left < p.right && b.right > p.left; })()"), True)
    expect("and counted", browser.ask("ROOT.getElementById('count').textContent"), f"1 of {found}")
    browser.call("Input.insertText", text=" no such thing")
    expect("what is not there is not found", browser.ask("ROOT.getElementById('count').textContent"), "0 found")
    browser.ask("ROOT.getElementById('query').blur()")
    # move by dragging
    browser.ask("var pane = ROOT.getElementById('pane'); pane.scrollTop = 60; pane.scrollLeft = 40")
    browser.mouse("mousePressed", 200, 330, button="left", clickCount=1)
    browser.mouse("mouseMoved", 190, 300, button="left", buttons=1)
    browser.mouse("mouseReleased", 190, 300, button="left", clickCount=1)
    expect("dragging moves", browser.ask("[pane.scrollLeft, pane.scrollTop].join()"), "50,90")
    # zoom
    width = browser.ask(WIDTH)
    browser.ask("ROOT.getElementById('in').click()")
    wider = browser.ask(WIDTH)
    expect("the button zooms", abs(wider / width - 1.25) < 0.01, True)
    browser.ask("pane.focus()")
    browser.key("-")
    expect("and the keys", abs(browser.ask(WIDTH) / width - 1) < 0.01, True)
    browser.mouse("mouseWheel", 200, 330, deltaX=0, deltaY=-300, modifiers=2)
    expect("and the wheel", browser.wait(f"Math.abs({WIDTH} / {width} - Math.E) < 0.1"), True)
    browser.ask("ROOT.getElementById('fit').click()")
    # fold one, and all
    before = browser.ask("Number(ROOT.getElementById('diagram').getAttribute('viewBox').split(' ')[3])")
    hidden = "Array.from(ROOT.querySelectorAll('g.r')).filter(g => g.style.display === 'none').length"
    browser.ask("pane.scrollTop = 0")
    place = browser.ask("(function () { var b = ROOT.querySelector('g.folds text').getBoundingClientRect();"
                        " return [b.left + 4, b.top + b.height / 2]; })()")
    browser.mouse("mouseMoved", place[0] + 3, place[1])
    browser.mouse("mouseMoved", *place)
    expect("pointing tells", browser.ask("ROOT.getElementById('words').style.display"), "block")
    told = browser.ask("ROOT.getElementById('words').textContent")
    expect(f"when, how long and where in {told!r}",
           bool(re.search(r"[0-9] s( to |\n)", told) and re.search(r"[0-9] [mun]?s\b", told) and re.search(r"\nat (0x|\S+\+0x)", told)), True)
    browser.mouse("mousePressed", *place, button="left", clickCount=1)
    browser.mouse("mouseReleased", *place, button="left", clickCount=1)
    expect("a click folds", browser.ask(hidden) > 0, True)
    folded = browser.ask("Number(ROOT.getElementById('diagram').getAttribute('viewBox').split(' ')[3])")
    expect("what is folded is smaller", folded < before, True)
    browser.ask("ROOT.getElementById('unfold').click()")
    expect("all is unfolded", browser.ask(hidden), 0)
    expect("and as high as before",
           browser.ask("Number(ROOT.getElementById('diagram').getAttribute('viewBox').split(' ')[3])"), before)
    return problems


def check_slopes(browser, path):
    """Messages that cross: the ends of their arrows stay at the rows that send and receive when others are folded."""
    open_page(browser, path)
    astray = ("Array.from(ROOT.querySelectorAll('.slope')).filter(function (path) {"
              "  if (path.style.display === 'none') return false;"
              "  function y(i) { return Number(/ (-?[0-9]+)/.exec(ROOT.querySelector('g.r[data-i=\"' + i + '\"]')"
              "    .getAttribute('transform'))[1]); }"
              "  var ends = path.getAttribute('d').match(/-?[0-9]+/g).map(Number);"
              "  return ends[1] - y(path.dataset.from) !== 11 || ends[3] - y(path.dataset.to) !== 15; }).length")
    problems = []
    if browser.ask("ROOT.querySelectorAll('.slope').length") == 0:
        problems.append(f"{path}: there is no message that crosses another")
    for button in ("fold", "unfold"):
        browser.ask(f"ROOT.getElementById('{button}').click()")
        if browser.ask(astray) != 0:
            problems.append(f"{path}: after {button}: arrows that hang in the air")
    return problems


def check_dark(browser, path):
    """Dark where the system is, and text that can be read on it."""
    problems = []
    for scheme, ground in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 23, 28)")):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        open_page(browser, path)
        seen = browser.ask("[getComputedStyle(ROOT.querySelector('.ground')).fill,"
                           " getComputedStyle(document.body).backgroundColor].join(';')")
        if seen != f"{ground};{ground}":
            problems.append(f"{path}: {scheme}: {seen}")
    browser.call("Emulation.setEmulatedMedia", features=[])
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
                    if page.endswith("sequence-crossing.html"):
                        problems += check_slopes(browser, page)
                    elif page.endswith("sequence-hostile.html"):
                        problems += check_dark(browser, page)
                    elif page.endswith(("sequence-critical.html", "sequence-repeat.html")):
                        problems += check_in_browser(browser, page)
                    else:
                        open_page(browser, page)
                problems += [f"a request: {url}" for url in browser.requests
                             if not url.startswith(("file:///", "about:"))]
                problems += browser.problems
            finally:
                browser.close()
    print("\n".join(problems))
    return 1 if problems else 0


sys.exit(main())
