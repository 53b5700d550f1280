"""What a name may be (decision 0031), and the one form in which it is kept."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcom.core.codec.kinds import GROUP, PROCESS
from gcom.errors import BadValue, PeerError
from gcom.trace.segment import folder_name
from gcom.values import identity, names, rights, spelling

NFD = "Jo\u0308rg Mu\u0308ller"
PEOPLE = [
    "Zoë",
    "Jörg Müller",
    "Nguyễn Văn",
    "Μαρία",
    "Владимир",
    "Демʼян",
    "李雷",
    "山田 太郎",
    "ジョン",
    "佐々木",
    "김철수",
    "مريم",
    "מרים",
    "नरेंद्र मोदी",
    "น้ำ",
    "தமிழ்",
    "አማርኛ",
    "ქართული",
    "Հայ",
    "বাংলা",
    "မြန်မာ",
    "日本Team",
    "alice_2",
]
REFUSED = {
    "": "1 to 32 characters",
    "x" * 33: "got 33, of 33 bytes",
    "Ж" * 32 + "Ж": "got 33",
    "語" * 25: "of 75 bytes",
    " a": "a letter or digit first",
    "-a": "a letter or digit first",
    "a ": "spaces inside only",
    "a  b": "one at a time",
    "a\tb": "expected letters, digits",
    "a\nb": "expected letters, digits",
    "a#b": "NUMBER SIGN",
    "a/b": "SOLIDUS",
    "a\u2215b": "DIVISION SLASH",
    "a\u200bb": "ZERO WIDTH SPACE",
    "a\u200db": "ZERO WIDTH JOINER",
    "a\u00a0b": "NO-BREAK SPACE",
    "a\u202eb": "RIGHT-TO-LEFT OVERRIDE",
    "a\ufe0fb": "can be seen",
    "a\u3164b": "can be seen",
    "a\U000e0101b": "can be seen",
    "😀": "GRINNING FACE",
    "O\u2019Brien": "RIGHT SINGLE QUOTATION MARK",
    "ᴺame": "write 'N'",
    "Ａlice": "write 'A'",
    "ﬁn": "write 'fi'",
    "𝐀lice": "write 'A'",
    "ǀa": "DENTAL CLICK",
    "ــ": "TATWEEL",
    "p\u0430ul": "'p' (Latin) and 'а' (Cyrillic)",
    "Ωmega": "'Ω' (Greek) and 'm' (Latin)",
    "مريمa": "of one alphabet",
    "x" + "\u0323\u0325\u0326\u0327\u0328": "at most 4 accents",
    ".\u0301": "a letter before each accent",
    "\ud800": "expected letters, digits",
    "\u0378": "a character without a name",
}


@pytest.mark.parametrize("name", PEOPLE)
def test_names_of_people_are_names_of_members(name: str) -> None:
    assert names.member_name(name) == names.member_name(unicodedata.normalize("NFD", name)) == name
    assert names.unescaped(names.escaped(name)) == name
    assert len(folder_name(name)) <= 255
    who = identity.member(name, admin=True)
    assert identity.from_uris(who.uris) == who
    assert all(uri.isascii() for uri in who.uris)
    assert str(who) == f"member/{name}, admin/{name}"


@pytest.mark.parametrize(("name", "why"), REFUSED.items())
def test_the_rest_is_refused_with_what_is_wrong(name: str, why: str) -> None:
    with pytest.raises(BadValue, match=r"^member name .* is not allowed: expected ") as refused:
        names.member_name(name)
    assert why in str(refused.value)
    assert str(refused.value).isprintable()


def test_a_group_has_no_spaces() -> None:
    assert names.group_name("ko\u0308ln-新聞") == "köln-新聞"
    with pytest.raises(BadValue, match=r"group name 'a b' is not allowed: .*\(SPACE\)"):
        names.group_name("a b")


letters = st.characters(categories=("L", "M", "Nd")) | st.sampled_from(" ._-") | st.characters()


@given(st.text(letters, min_size=1, max_size=8))
def test_what_is_accepted_is_in_one_form_and_fits_everywhere(text: str) -> None:
    try:
        name = names.member_name(text)
    except BadValue:
        return
    assert names.member_name(name) == name == unicodedata.normalize("NFC", name)
    assert name.isprintable()
    assert not set(name) & set("#@/,:;<>|*\"'\\")
    assert names.unescaped(names.escaped(name)) == name
    assert len(names.escaped(name)) <= 3 * names.NAME_BYTES_MAX
    assert names.same_process(f"{name}#1") == f"{name}#1"


def test_a_peer_may_not_use_another_form() -> None:
    assert PROCESS.decode("Jörg Müller#7f3a") == "Jörg Müller#7f3a"
    for kind, given_name in ((PROCESS, f"{NFD}#7f3a"), (GROUP, "ko\u0308ln"), (PROCESS, "a#b#c"), (PROCESS, "a#")):
        with pytest.raises((BadValue, PeerError)):
            kind.decode(given_name)


@pytest.mark.parametrize("uri", ["gcom://member/Jo%CC%88rg", "gcom://member/Jörg", "gcom://member/%61lice"])
def test_a_certificate_may_not_either(uri: str) -> None:
    assert identity.from_uris([uri]) == identity.NOBODY


def test_rules_about_rights_match_whichever_form_they_are_written_in() -> None:
    rule = rights.rule_of(True, ["join"], [NFD, "Zoe\u0308*", "Jo\u0308rg *"], ["ko\u0308ln-*"])
    assert rule.members == ("Jörg Müller", "Zoë*", "Jörg *")
    assert rule.is_about(rights.Right.JOIN, "Jörg Müller", "köln-新聞")
    wrong = {"a\u200b*": "ZERO WIDTH", "p\u0430*": "one alphabet", "": "1 to 63", "*" * 64: "1 to 63"}
    for pattern, why in wrong.items():
        with pytest.raises(BadValue, match=why):
            rights.rule_of(True, ["join"], [pattern], ["*"])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("alice#1 and Ольга#2", "alice#1 and Ольга#2"),
        ("סבתא#1a2b had 2", "\u2068סבתא\u2069#1a2b had 2"),
        ("\u2068סבתא 2\u2069 and סבתא", "\u2068סבתא 2\u2069 and \u2068סבתא\u2069"),
        ("علي بن-7#3 and סבתא 2 times", "\u2068علي بن-7\u2069#3 and \u2068סבתא\u2069 2 times"),
    ],
)
def test_a_name_from_the_right_is_isolated_from_what_stands_beside_it(text: str, shown: str) -> None:
    assert spelling.isolated(text) == shown
