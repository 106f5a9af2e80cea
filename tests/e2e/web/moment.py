#!/usr/bin/env python3
"""A moment inside of a hang, where no event is: waits are told as long as they had lasted then, by `at=` and by `goto`. Not
beyond the last event, of which nothing is known."""
import time

from web_page import Web, check, fixture


def ask(page, path):
    until = time.monotonic() + 60
    while (document := page.get(path)[1]).get("pending"):
        check(time.monotonic() < until, f"{path} does not come")
        time.sleep(0.02)
    return document


def texts(document):
    return " ".join(finding["text"] for finding in document["findings"])


def main():
    web = Web(fixture("mortem-disagree"))
    web.page.enter()
    inside = ask(web.page, "/data/verdict?at=4500000000")
    check("waiting for a message" in texts(inside) and "for 4.49" in texts(inside), f"inside: {inside}")
    check(inside["moment"] == 4500000000, f"the moment is not the chosen one: {inside}")
    early = ask(web.page, "/data/verdict?at=1500000000")
    check(not early["findings"], f"a wait of 1.5 s is told: {early}")
    beyond = ask(web.page, "/data/verdict?at=90000000000")
    check("for 5.99" in texts(beyond), f"beyond the end: {beyond}")

    web.page.run("goto 4.5s")
    told = ask(web.page, "/data/verdict")
    check(texts(told) == texts(inside) and told["moment"] == 4500000000, f"goto: {told}")
    check("as of 4.500000 s" in web.page.run("where")["text"], "where says another moment")
    web.page.run("next")
    check("for 5.99" in texts(ask(web.page, "/data/verdict")), "the next event is judged as of the moment before")
    check(web.end() == 0, "the end")


main()
