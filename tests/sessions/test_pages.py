"""The example of web pages, as two processes: a page after a form is never stale."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterator
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

import gcom
from tests.running import ROOT, Child, environment

PAGES = str(ROOT / "docs" / "examples" / "bank_pages.py")
LIMIT_S = 60.0


@pytest.fixture(scope="module")
def places() -> Iterator[list[str]]:
    with gcom.embedded() as registry:
        env = environment(GCOM_REGISTRY=registry.address)
        with (
            Child([sys.executable, PAGES, "alice", "0"], env) as a,
            Child([sys.executable, PAGES, "bob", "0"], env) as b,
        ):
            for child in (a, b):
                child.until(lambda child=child: child.out, "page")  # type: ignore[misc]
            yield [re.findall(r"http://\S+/", child.out[0])[0] for child in (a, b)]
            for child in (a, b):
                child.signal(signal.SIGINT)
                assert child.end() == 0
                assert child.errors == []


def ask(place: str, path: str, token: str | None = None, method: str = "GET") -> tuple[int, str, str | None]:
    request = Request(place + path, method=method, headers={"Session": token} if token else {})
    try:
        with urlopen(request, timeout=LIMIT_S) as answer:
            return answer.status, answer.read().decode(), answer.headers["Session"]
    except HTTPError as error:
        with error:
            return error.code, error.read().decode(), error.headers["Session"]


def test_a_page_after_a_form_is_never_stale(places: list[str]) -> None:
    token = ask(places[0], "accounts/9?money=0", None, "POST")[2]
    for number in range(1, 31):
        here, there = places[number % 2], places[1 - number % 2]
        page, before = (200, f"account 1: {number}\n"), token
        assert ask(here, "accounts/1?money=1", before, "POST")[:2] == page
        # The same form once more, as after a lost answer: the same page, and nothing is paid in twice.
        *again, token = ask(there, "accounts/1?money=1", before, "POST")
        assert tuple(again) == page
        assert ask(here, "accounts/1", token)[:2] == page


def test_what_cannot_be_is_told_by_its_status(places: list[str]) -> None:
    token = ask(places[0], "accounts/2?money=5", None, "POST")[2]
    assert token is not None
    assert ask(places[1], "accounts/2", token[:-4])[0] == 400
    assert ask(places[1], "accounts/2?money=-5", token, "POST")[0] == 422
    assert ask(places[1], "accounts/x", token)[0] == 400
    assert ask(places[0], "accounts/2?money=6", token, "POST")[0] == 409
