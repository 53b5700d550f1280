"""DELIVERY_LOG.md, sentence by sentence: each has a log that breaks it, or stands in docs/audit.md as not checked.

Every word of the contract is in one of four tables: BROKEN has a log for it that neither the audit nor the oracle
passes, UNCHECKED is read from the audit's page, SAYS are words that ask nothing of a log, and ELSEWHERE names tests.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gcom.audit.explain.result import result_of
from tests.audit import contract_applications, contract_records, contract_rules
from tests.audit.contract_logs import BROKEN, QUOTES, dead_delivered, segments
from tests.audit.here import audit
from tests.oracle import judge
from tests.oracle.build import A, B, deliver, life, send, skip, view, write
from tests.oracle.rules import RULES

DOCS = Path(__file__).parents[2] / "docs"
MODULES = (contract_applications, contract_records, contract_rules)  # their logs are in the tables


def test_the_logs_that_are_broken_here_are_sound(tmp_path: Path) -> None:
    write(tmp_path / "life", life())
    segments(tmp_path / "segments", {})
    for folder in (tmp_path / "life", tmp_path / "segments"):
        assert (result_of(audit(folder)).verdict, judge(folder).verdict) == ("PASS", "PASS")


def test_a_payload_that_died_with_the_process_that_had_delivered_it_is_a_no_op_without_blame(tmp_path: Path) -> None:
    dead_delivered(tmp_path, skip(1, serial=1), ordering="TOTAL", multicast="RELIABLE")
    (group,) = result_of(audit(tmp_path)).groups
    verdicts = {rule.rule: rule.verdict for rule in group.rules}
    assert verdicts["SERIAL_UNIQUE"] == judge(tmp_path).group("g").verdicts()["SERIAL_UNIQUE"] == "PASS"
    assert "FAIL" not in verdicts.values()


def test_a_rule_that_is_not_promised_decides_nothing(tmp_path: Path) -> None:
    loose = view(1, A, B, ordering="NONORDERED", multicast="BASIC")
    say = [send(1, 1, {}), send(1, 2, {}), deliver(1, A, 2), deliver(1, A, 1)]
    result = result_of(audit(write(tmp_path, {A: [loose, *say], B: [loose]})))
    (fifo,) = [rule for rule in result.groups[0].rules if rule.rule == "FIFO"]
    assert (fifo.verdict, fifo.expected, result.verdict) == ("FAIL", False, "PASS")


@pytest.mark.parametrize("name", BROKEN)
def test_a_log_that_breaks_the_contract_does_not_pass(name: str, tmp_path: Path) -> None:
    BROKEN[name](tmp_path)
    verdict = result_of(audit(tmp_path)).verdict
    assert verdict != "PASS"
    assert verdict == judge(tmp_path).verdict


# The walk


SAYS = (
    "What members write and the audit reads.",
    "It is a contract: writers, readers, importers and tests outside this project rely on it.",
    "Order between groups means nothing. Nothing else orders events: `t` and `wall_ns` are for people.",
    "`t` (microseconds since this segment's `open`, monotonic) is optional.",
    "Readers of sealed logs may ignore dot files;",
    "All messages of a run share it.",
    "given up by rule:",
    "Unknown fields are kept and ignored; unknown types are counted in the report.",
    "Runs are an encoding only: how messages are cut into runs changes no verdict.",
    "The payload may have died with the process that had delivered it:",
    "Per (group, instance). A message is (sender, number).",
    "*Section* (p, W): p's records from installing W to its next view or the end of its stay.",
    "*next* (p, W): the view p installs after W; for a leaver with `settled`, that number; END if p is `closed` and "
    "never left; else none. *Class*: the processes with equal (W, next), next not none.",
    "*Class* crosses instances: for `detach` or `leave` with `into` J, next = (J, 1).",
    "| as AGREEMENT",
    "· never |",
    "over the instances of a name.",
    "BASIC: (a) and (c).",
    "What only `gives_up` hold is exempt, and counted",
    "**Verdict** of a rule: FAIL if a case fails;",
    *("type", "further fields", "rule", "holds when", "UNKNOWN when · VACUOUS when", "CONTINUITY", *RULES),
    *contract_applications.SAYS,
)
# Of what the audit makes of its rules: tests of other files.
ELSEWHERE = {
    "test_promises.py::test_the_audit_expects_what_is_promised": (
        "**Expected** of a group: always NO_CREATION, NO_DUPLICATION, SENDING_VIEW, CLOCK, VIEW_AGREEMENT, ONE_LEADER, "
        "CONTINUITY, and INTEGRITY if any digest is logged.",
        "RELIABLE: SELF_DELIVERY, AGREEMENT, VIRTUAL_SYNCHRONY. FIFO: FIFO. CAUSAL: FIFO, CAUSAL. TOTAL: TOTAL, "
        "SERIAL_UNIQUE, SERIAL_CONTIGUOUS, and TOTAL_GAP_FREE if RELIABLE. CAUSALTOTAL: all of these.",
    ),
    "test_contract.py::test_a_rule_that_is_not_promised_decides_nothing": (
        "Others are computed, shown, and decide nothing.",
    ),
    "test_readings.py::test_a_reading": (
        "Cases come from records that are there: a crashed process's missing tail is no case.",
    ),
    "test_advice.py::test_a_life_in_which_nothing_was_delivered_decides_where_nothing_was_in_any": (
        "An expected rule that is VACUOUS because the group gave no occasion (one member, no digests, no view change) "
        "decides nothing;",
        "A headline never says that every promise held where an expected rule was not judged.",
    ),
}


def _flat(text: str) -> str:
    return " ".join(text.split())


def _contract() -> str:
    """The contract without its headings and its example."""
    text = (DOCS / "DELIVERY_LOG.md").read_text()
    return _flat(re.sub(r"(?m)^(#.*|    \{.*)$", "", text))


def _unchecked() -> dict[str, str]:
    """Return the sentences that, as the audit's page says, nobody checks, and why."""
    page = (DOCS / "audit.md").read_text().partition("## What is not checked")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    return {_flat(quote): why for quote, why in rows[1:]}


def test_every_word_of_the_contract_is_checked_or_marked_as_not_checked() -> None:
    text = _contract()
    covered = bytearray(len(text))
    elsewhere = [quote for quotes in ELSEWHERE.values() for quote in quotes]
    for quote in sorted({*map(_flat, QUOTES), *_unchecked(), *SAYS, *elsewhere}):
        assert quote in text, quote
        for match in re.finditer(re.escape(quote), text):
            covered[match.start() : match.end()] = b"\1" * len(quote)
    left_out = "".join("|" if covered[place] else letter for place, letter in enumerate(text))
    # Lone names of fields and of record types are in the tables; what is said of them is in the words.
    assert [piece for piece in re.sub(r"`[^`|]*`", "", left_out).split("|") if re.search(r"\w", piece)] == []


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_is_tested_elsewhere_is_there(name: str) -> None:
    file, _, test = name.partition("::")
    assert f"def {test}(" in (Path(__file__).parent / file).read_text()
