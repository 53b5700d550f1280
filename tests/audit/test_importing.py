"""ShiViz and GoVector logs become delivery logs, and the rules find clocks that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcom.audit.explain.result import result_of
from gcom.audit.imports.shiviz import SHIVIZ, import_shiviz
from gcom.audit.rules.judgement import verdict_of
from gcom.errors import BadValue, NotALog
from tests.audit.here import audit

# Two hosts as GoVector's documentation lays a log out: host and clock on a line, the event's text on the next.
GOVECTOR = """\
client {"client":1}
Initialization Complete
server {"server":1}
Initialization Complete
client {"client":2}
Sending request
server {"client":2, "server":2}
Received request
server {"client":2, "server":3}
Sending answer
client {"client":3, "server":3}
Received answer
"""


def _verdicts(tmp_path: Path, text: str, regex: str = SHIVIZ) -> dict[str, str]:
    (tmp_path / "log").write_text(text)
    import_shiviz(tmp_path / "log", tmp_path / "logs", regex)
    (judgement,) = audit(tmp_path / "logs").judgements
    return {rule: verdict_of(judgement.tallies[rule]) for rule in judgement.expected - {"CONTINUITY"}}


def test_a_sound_log_passes(tmp_path: Path) -> None:
    verdicts = _verdicts(tmp_path, GOVECTOR)
    assert set(verdicts.values()) == {"PASS"}
    assert "CAUSAL" in verdicts


def test_a_name_that_two_hosts_spell_in_two_ways_is_one_and_told(tmp_path: Path) -> None:
    composed, apart = "Zo\u00eb", "Zoe\u0308"  # as Linux and a Mac type it
    text = GOVECTOR.replace("client", composed).replace(f'"{composed}":2, "server"', f'"{apart}":2, "server"')
    (tmp_path / "log").write_text(text)
    imported = import_shiviz(tmp_path / "log", tmp_path / "logs")
    assert imported.notes == [f"1 name spelled in another form than NFC, and brought into it: {composed}"]
    (judgement,) = audit(tmp_path / "logs").judgements
    assert verdict_of(judgement.tallies["CAUSAL"]) == "PASS"
    (tmp_path / "log").write_text(f'{composed} {{"{composed}":1, "{apart}":2}}\nevent\n')
    with pytest.raises(NotALog, match="it has two entries for one name"):
        import_shiviz(tmp_path / "log", tmp_path / "others")


def test_a_clock_that_forgets_what_its_cause_knew_is_found(tmp_path: Path) -> None:
    text = GOVECTOR + 'other {"other":1, "server":3}\nHeard of the answer, not of the request\n'
    assert _verdicts(tmp_path, text)["CAUSAL"] == "FAIL"


@pytest.mark.parametrize(
    "line", ['client {"client":5, "server":3}\nSkipped one\n', 'client {"client":4, "server":9}\nKnows the future\n']
)
def test_a_clock_of_events_that_are_not_there_is_found(tmp_path: Path, line: str) -> None:
    assert _verdicts(tmp_path, GOVECTOR + line)["NO_CREATION"] == "FAIL"


def test_a_regex_as_shiviz_has_it(tmp_path: Path) -> None:
    lines = GOVECTOR.splitlines()
    text = "".join(f"{event} | {place}\n" for place, event in zip(lines[::2], lines[1::2], strict=True))
    assert set(_verdicts(tmp_path, text, r"(?<event>.*) \| (?<host>\S*) (?<clock>{.*})").values()) == {"PASS"}


def test_lines_that_are_not_in_the_order_of_their_own_clock_are_put_into_it_and_said(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text('h {"h":1}\na\nh {"h":3}\nc\nh {"h":2}\nb\n')
    imported = import_shiviz(log, tmp_path / "logs")
    assert imported.notes == ["h: 1 of its lines stand behind later events, the first behind line 3; its clock counts"]
    assert result_of(audit(tmp_path / "logs")).verdict == "PASS"


def test_lines_that_fit_no_event_are_counted_and_told(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(f"a heading\n\n{GOVECTOR}\nan ending\nof two lines\n")
    imported = import_shiviz(log, tmp_path / "logs")
    told = f"{log}:1: 3 of 15 lines fit no event, and are left out; the first is 'a heading'"
    assert (imported.events, imported.notes) == (6, [told])
    assert result_of(audit(tmp_path / "logs")).verdict == "PASS"


def test_a_log_of_which_half_fits_no_event_is_refused(tmp_path: Path) -> None:
    """As of a log with the event before its clock, in which one line fits by chance."""
    log = tmp_path / "log"
    log.write_text(GOVECTOR + "".join(f"event {n} of host\n" for n in range(12)))
    with pytest.raises(NotALog, match=r"log:13: 12 of 24 lines fit no event: expected .*, got 'event 0 .*--regex"):
        import_shiviz(log, tmp_path / "logs")
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize(
    ("text", "regex", "error", "said"),
    [
        ("", SHIVIZ, NotALog, "log is empty: expected events"),
        (
            "\nhello\nyou\n",
            SHIVIZ,
            NotALog,
            "log:2: no event in the file: expected .*, got 'hello'; give a --regex that fits",
        ),
        ("a {broken}\nx\n", SHIVIZ, NotALog, ":1: the clock is no JSON"),
        ('a {"a":"1"}\nx\n', SHIVIZ, NotALog, "expected a map of host to number"),
        ('a {"b":1}\nx\n', SHIVIZ, NotALog, "expected an entry for a itself"),
        (GOVECTOR, "(", BadValue, "--regex must be a regular expression"),
        (GOVECTOR, "(?<host>.*)", BadValue, "lacks clock"),
    ],
)
def test_bad_input_is_named(tmp_path: Path, text: str, regex: str, error: type[Exception], said: str) -> None:
    (tmp_path / "log").write_text(text)
    with pytest.raises(error, match=said):
        import_shiviz(tmp_path / "log", tmp_path / "logs", regex)
