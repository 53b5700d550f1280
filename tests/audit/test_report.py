"""The page: small whatever the logs hold, whole by itself, and deaf to what names in the logs would have it do."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from gcom.audit.applications.table import APPLICATION_RULES
from gcom.audit.explain.evidence import AROUND, EVENTS, INCIDENTS, evidence_of
from gcom.audit.explain.lookup import LogLookup
from gcom.audit.explain.plain import PLAIN
from gcom.audit.explain.result import AuditResult, GroupResult, result_of
from gcom.audit.input.catalogue import Catalogue, catalogue
from gcom.audit.input.reading import list_segments
from gcom.audit.plan.run import run
from gcom.audit.report.page import render
from gcom.audit.rules.table import RULES
from tests.audit.lives import BREAKS, VIEWS, Group, broken, live, write_lives
from tests.cases import daily_and_rest

SIX_MB = 6_000_000
VOID = frozenset(("meta", "input", "circle", "line", "rect", "path", "use"))
NASTY = "</script><img src=x onerror=alert(1)>'\"&<b>{{7*7}}\u202e"


class Page(HTMLParser):
    """The elements of a page; fails where one is not closed by its own end."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.handlers: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [str(value) for name, value in attrs if name in ("src", "href", "xlink:href", "action")]
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text += data


def _audited(folder: Path) -> tuple[AuditResult, Catalogue]:
    found = catalogue(list_segments([str(folder)]))
    return result_of(run(found)), found


def _page(folder: Path) -> str:
    result, found = _audited(folder)
    return render(result, evidence_of(result, LogLookup(found)), title=str(folder))


@pytest.fixture(scope="module")
def torn_apart(tmp_path_factory: pytest.TempPathFactory) -> tuple[AuditResult, Catalogue]:
    return _audited(broken(tmp_path_factory.mktemp("logs"), "SERIAL_UNIQUE", "CLOCK", "NO_DUPLICATION"))


def test_a_run_without_fault_says_so_first(tmp_path: Path) -> None:
    page = Page(_page(broken(tmp_path)))
    assert page.text.partition("◐")[2].lstrip().startswith("PASS")
    assert "None. Every promise held." in page.text
    assert page.tags.count("details") == 2  # the group's, and what each rule says
    assert "section" in page.tags


@pytest.mark.slow
@pytest.mark.parametrize("rule", sorted(BREAKS))
def test_a_fault_is_shown_with_its_surroundings(tmp_path: Path, rule: str) -> None:
    result, found = _audited(broken(tmp_path, rule))
    assert result.verdict == "FAIL"
    evidence = evidence_of(result, LogLookup(found))
    page = Page(render(result, evidence))
    first = next(incident for incident in result.incidents if incident.expected)
    assert first.sentence in page.text
    # Twice: at the top, for a reader who knows no rule, and where the incident is.
    assert page.text.count(PLAIN[first.rule].headline) >= 2
    assert page.text.count(PLAIN[first.rule].meaning) >= 2
    assert first.id in page.text
    assert all(sum(map(len, each.events.values())) <= EVENTS for each in evidence.values())
    assert all(len(events) <= 2 * AROUND for each in evidence.values() for events in each.events.values())
    assert "numbered send to own delivery" in page.text


def test_violated_rules_come_first_and_what_they_say_is_read_without_pointing_at_them(tmp_path: Path) -> None:
    page = Page(text := _page(broken(tmp_path, "CLOCK")))
    columns = re.findall(r'<th class="rule"[^>]*><span>([^<]*)', text)
    cells = re.findall(r'<td class="cell (\w+)[^>]* data-rule="([^"]*)"', text)
    assert columns == [rule for _, rule in cells]
    assert cells[0] == ("FAIL", "clock")
    assert sorted(columns) == sorted(rule.replace("_", " ").lower() for rule in RULES)
    assert all(rule.means in page.text for rule in RULES.values())
    # Under the incident too, which is where it is asked for.
    assert page.text.count(RULES["CLOCK"].means) == 2


def test_each_rule_has_plain_words() -> None:
    assert PLAIN.keys() == {**RULES, **APPLICATION_RULES}.keys()
    for words in PLAIN.values():
        assert all(len(sentence.split()) <= 25 for sentence in words.meaning.split(". "))


def test_a_group_of_which_not_all_is_known_says_why(tmp_path: Path) -> None:
    folder = broken(tmp_path)
    next(folder.glob("dave/1/*.jsonl")).unlink()
    assert "news NO_CREATION: there is no readable log of dave#1" in Page(_page(folder)).text


def test_what_a_process_lacks_stands_in_the_strips_though_only_the_other_has_it(tmp_path: Path) -> None:
    """A watcher joined later, and is not blamed: it cannot show what was before it came."""
    two_and_a_watcher = Group([["alice", "bob"], ["alice", "bob", "watcher"]], messages=60)
    lives = live(two_and_a_watcher)
    records = lives["bob"].records
    del records[max(place for place, each in enumerate(records) if each["type"] == "deliver" and each["view"] == 1)]
    found = catalogue(list_segments([str(write_lives(tmp_path, lives))]))
    result = result_of(run(found))
    told = [each for each in evidence_of(result, LogLookup(found)).values() if each.incident.messages]
    assert told
    for each in told:
        assert set(each.incident.messages) <= set(each.columns)


def test_the_strip_shows_who_deviates(torn_apart: tuple[AuditResult, Catalogue]) -> None:
    result, found = torn_apart
    for each in evidence_of(result, LogLookup(found)).values():
        cells = {strip.process: set(strip.cells) for strip in each.strips}
        if each.incident.rule == "NO_DUPLICATION":
            assert "twice" in cells["bob#1"]
        if each.incident.rule == "SERIAL_UNIQUE":
            assert "moved" in cells["bob#1"]
        assert cells[each.reference] <= {"same", "missing"}


def test_the_page_needs_nothing_from_elsewhere(torn_apart: tuple[AuditResult, Catalogue]) -> None:
    result, found = torn_apart
    text = render(result, evidence_of(result, LogLookup(found)))
    page = Page(text)
    assert all(link.startswith("#") for link in page.links)
    assert not re.search(r"url\((?!#)|@import|https?://(?!www\.w3\.org/)", text)
    assert not page.handlers
    assert page.tags.count("script") == 1
    assert not {"img", "iframe", "object", "link"} & set(page.tags)
    script = text.rpartition("<script>")[2].partition("</script>")[0]
    digest = re.search(r"script-src 'sha256-([^']+)'", text)
    assert digest is not None
    assert _sha256(script) == digest[1]


def _sha256(text: str) -> str:
    import base64

    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_names_from_the_logs_are_only_text(tmp_path: Path) -> None:
    nasty = [[name + NASTY if name == "bob" else name for name in names] for names in VIEWS]
    group = Group(nasty, group=f"news{NASTY}")
    folder = broken(tmp_path, "SERIAL_UNIQUE", "CLOCK", member="alice", group=group)
    text = _page(folder)
    page = Page(text)
    assert not {"img", "b{{7*7}}"} & set(page.tags)
    assert not page.handlers
    assert page.tags.count("script") == 1
    assert f"news{NASTY}" in page.text
    assert "49" not in page.text.partition("news</script>")[2][:60]


def _many(result: AuditResult, groups: int, name: str) -> Iterator[GroupResult]:
    (one,) = result.groups
    for place in range(groups):
        incidents = [
            replace(each, id=f"{place:06x}{each.id[:6]}", group=name, sentence=f"{name}: {each.sentence}")
            for each in one.incidents
        ]
        yield replace(one, group=f"{name}{place}", incidents=incidents)


@pytest.mark.slow
@pytest.mark.parametrize("name", daily_and_rest(["<&" * 2_000, "\U0001f600" * 2_000, "news"], 2))
def test_ten_thousand_incidents_fit(torn_apart: tuple[AuditResult, Catalogue], name: str) -> None:
    result, found = torn_apart
    wide = list(_many(result, 10_000 // len(result.incidents) + 1, name))
    evidence = evidence_of(result, LogLookup(found))
    coverage = {f"{name}{place}": "open" for place in range(10_000)}
    many = replace(result, groups=wide, coverage=coverage, notes=[name] * 10_000)
    text = render(many, evidence, title=name)
    assert len(many.incidents) >= 10_000
    assert len(text.encode()) < SIX_MB
    counted = sum(incident.expected for incident in many.incidents)
    assert f"of {counted:,} are listed" in Page(text).text


def test_the_surroundings_have_a_bound(tmp_path: Path) -> None:
    result, found = _audited(broken(tmp_path, *sorted(BREAKS)))
    assert 1 < len(evidence_of(result, LogLookup(found))) <= INCIDENTS


def test_ids_do_not_depend_on_the_run_or_the_folder(tmp_path: Path) -> None:
    one, _ = _audited(broken(tmp_path / "one", "SERIAL_UNIQUE", "CLOCK"))
    other, _ = _audited(broken(tmp_path / "other", "SERIAL_UNIQUE", "CLOCK"))
    assert [incident.id for incident in one.incidents] == [incident.id for incident in other.incidents]
    assert len({incident.id for incident in one.incidents}) == len(one.incidents)


def test_a_log_without_times_has_a_page(tmp_path: Path) -> None:
    broken(tmp_path, "CLOCK")
    for path in tmp_path.rglob("*.jsonl"):
        lines = [line for line in path.read_text().splitlines() if '"type":"close"' not in line]
        path.write_text("".join(re.sub(r'"t":\d+,', "", line) + "\n" for line in lines))
    assert "The log lines have no times." in Page(_page(tmp_path)).text


def test_who_lacks_a_message_is_shown_where_it_is_missing(tmp_path: Path) -> None:
    result, found = _audited(broken(tmp_path, "AGREEMENT"))
    (agreement,) = [
        each
        for each in evidence_of(result, LogLookup(found)).values()
        if "AGREEMENT" in (each.incident.rule, *each.incident.caused)
    ]
    strips = {strip.process: strip.cells for strip in agreement.strips}
    assert strips["bob#1"].count("missing") == 1
    assert all("missing" not in cells for who, cells in strips.items() if who != "bob#1")


@pytest.mark.slow
def test_the_same_logs_give_the_same_page(tmp_path: Path) -> None:
    folder = broken(tmp_path, "SERIAL_UNIQUE", "CLOCK")
    assert _page(folder) == _page(folder)


NUMBER = r"-?[0-9.]+"


def _labels(page: str) -> list[tuple[float, float, str]]:
    """Where each view's number begins, its baseline, and itself."""
    found = re.findall(rf'<text [^>]*?x="({NUMBER})" y="({NUMBER})"[^>]*>(view [0-9]+)</text>', page)
    assert found, "Matplotlib writes texts in another way"
    return [(float(x), float(y), text) for x, y, text in found]


def _bars(page: str) -> list[tuple[float, float, float]]:
    """Of each bar of deliveries its left and right side and its top."""
    found = []
    for path in re.findall(r'<path d="([^"]*)"[^>]*style="fill: var\(--accent\)', page):
        points = [(float(x), float(y)) for x, y in re.findall(rf"[ML] ({NUMBER}) ({NUMBER})", path)]
        found.append((min(x for x, _ in points), max(x for x, _ in points), min(y for _, y in points)))
    assert found, "Matplotlib writes bars in another way"
    return found


@pytest.mark.slow
@pytest.mark.parametrize("views", [3, 30])
def test_no_bar_covers_the_number_of_a_view(views: int, tmp_path: Path) -> None:
    group = Group([["alice", "bob"]] * views, 60)
    page = _page(broken(tmp_path, group=group))
    labels, bars = _labels(page), _bars(page)
    assert min(top for _, _, top in bars) > max(baseline for _, baseline, _ in labels)
    width = float(re.findall(rf'viewBox="0 0 ({NUMBER}) ', page)[-1])
    ends = [(x, x + 4.2 * len(text)) for x, _, text in sorted(labels)]
    assert all(end < begin for (_, end), (begin, _) in pairwise(ends))
    assert ends[-1][1] <= width


def test_a_log_that_is_not_there_is_not_complete(tmp_path: Path) -> None:
    folder = broken(tmp_path)
    (folder / "carol" / "1" / "000000.jsonl").unlink()
    text = " ".join(Page(_page(folder)).text.split())
    assert re.search(r"75% ?of the logs complete", text)
