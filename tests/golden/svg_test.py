"""The svg format's pictures are well-formed, complete in themselves, and no text lies on another or outside of the picture, and no arrow goes up.

usage: svg_test.py TOLLGATE TRACE_FROM_JSON FIXTURE...
"""
import itertools
import os
import re
import subprocess
import sys
import tempfile
import unicodedata
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"
CHARACTER, ASCENT, DESCENT = 6.7, 9, 2  # of the 11 pixel font


def texts(element, y=0):
    """(left, top, right, bottom, text) of every text."""
    match = re.match(r"translate\(0 (-?\d+)\)", element.get("transform", ""))
    y += int(match.group(1)) if match else 0
    if element.tag == SVG + "text":
        text = "".join(element.itertext())
        width = CHARACTER * sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
        classes = element.get("class").split()
        x = float(element.get("x")) - (width / 2 if "m" in classes else width if "t" in classes else 0)
        base = y + float(element.get("y"))
        yield x, base - ASCENT, x + width, base + DESCENT, text
    for child in element:
        yield from texts(child, y)


def check(path):
    root = tree.parse(path).getroot()
    left, _, width, height = (float(number) for number in root.get("viewBox").split())
    problems = []
    for element in root.iter():
        for name in element.attrib:
            if "href" in name or name.startswith("on"):
                problems.append(f"{path}: {element.tag} has {name}")
        if element.tag in (SVG + "script", SVG + "foreignObject", SVG + "image"):
            problems.append(f"{path}: {element.tag}")
    for element in root.iter(SVG + "path"):  # between rows; those inside of rows are level
        ends = re.fullmatch(r"M(-?\d+) (-?\d+)L(-?\d+) (-?\d+)", element.get("d"))
        if "slope" in element.get("class", "") and (not ends or int(ends.group(4)) < int(ends.group(2))):
            problems.append(f"{path}: an arrow goes up: {element.get('d')}")
    found = sorted(texts(root), key=lambda text: text[1])
    for text in found:
        if text[0] < left or text[2] > left + width or text[1] < 0 or text[3] > height:
            problems.append(f"{path}: outside: {text}")
    for i, one in enumerate(found):
        for other in itertools.takewhile(lambda text: text[1] < one[3], found[i + 1:]):
            if one[0] < other[2] and other[0] < one[2]:
                problems.append(f"{path}: {one} lies on {other}")
    return problems, len(found)


def main():
    tollgate, trace_from_json, *fixtures = sys.argv[1:]
    problems, n_texts = [], 0
    with tempfile.TemporaryDirectory() as directory:
        trace = f"{directory}/a.tgt"
        for fixture in fixtures:
            subprocess.run([trace_from_json, fixture, trace], check=True)
            for options in ([], ["--all"], ["--all", "--by", "worker"]):
                picture = f"{directory}/{os.path.basename(fixture)}{''.join(options)}.svg"
                subprocess.run([tollgate, "sequence", *options, "-o", picture, trace], check=True,
                               stdout=subprocess.DEVNULL)
                more, n = check(picture)
                problems += more
                n_texts += n
    print("\n".join(problems))
    print(f"{n_texts} texts")
    return 1 if problems or n_texts < 100 else 0


sys.exit(main())
