"""The page of `tollgate where`: its policy allows its own style, by its hash, and nothing else; it has no script and asks for
nothing.

usage: where_page_test.py EXPECTED, what the golden test compares the page with
"""
import base64
import hashlib
import re
import sys

with open(sys.argv[1]) as file:
    page = file.read()
style = re.search("<style>(.*?)</style>", page, re.S).group(1)
digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
if f"default-src 'none'; style-src 'sha256-{digest}'\"" not in page:
    sys.exit(f"STYLE_HASH ought to be sha256-{digest}")
loaded = re.findall(r"<script|\s(?:src|href|on\w+|style)=|url\(", page)
if loaded:
    sys.exit(f"the page loads or runs something: {loaded}")
