"""The pages are written in short sentences, paragraphs and rows; a page with longer ones may not get more of them."""

from __future__ import annotations

import pytest

from tests.tidy.words import LongText, counts, recorded, too_long


def test_no_page_has_more_that_is_too_long_than_before() -> None:
    allowed = recorded()
    found = {page: (count, allowed.get(page, 0)) for page, count in counts().items()}
    print("\n".join(f"{count:4} of {most:4} {page}" for page, (count, most) in found.items()))
    worse = [f"{page}: {count}, not {most}" for page, (count, most) in found.items() if count > most]
    assert not worse, f"python -m tests.tidy.words PAGE prints the places: {'; '.join(worse)}"


WORDS = " ".join(["word"] * 26)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{WORDS}.", [(1, "sentence", 26)]),
        (f"One. Then {WORDS[10:]}. Two.", []),
        (f"- one\n- {WORDS}", [(2, "sentence", 26)]),
        ("a b.\n" * 6, [(1, "paragraph", 6)]),
        ("a b.\n" * 5 + "\n" + "a b.\n" * 5, []),
        (f"| {WORDS} | {WORDS[:75]} |", [(1, "row", 41)]),
        (f"| {WORDS} |\n|---|", []),
        (f"```\n{WORDS}\n```\n# {WORDS}\n\n    {WORDS}\n<!-- {WORDS} -->", []),
        (f"see [{WORDS[5:]}](a/b.md) now", [(1, "sentence", 27)]),
    ],
)
def test_the_measure_itself(text: str, found: list[tuple[int, str, int]]) -> None:
    assert [(place.line, place.kind, place.size) for place in too_long(text)] == found


def test_a_place_is_printed_with_its_line() -> None:
    assert str(LongText(3, "row", 41, "| a |")) == "3: row of 41: | a |"
