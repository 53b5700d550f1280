"""Histories of Jepsen, and what consumers of Kafka and NATS had: judged by what their records can carry, no more."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import gcom.audit
from gcom.audit.explain.result import AuditResult
from gcom.audit.imports.consumers import KAFKA, NATS, ConsumerLayout, import_consumers
from gcom.audit.imports.edn import NoEdn, maps
from gcom.audit.imports.jepsen import import_jepsen
from gcom.audit.imports.lists import LIST_RULES
from gcom.audit.imports.writing import Imported
from gcom.errors import BadValue, NotALog
from tests.cli.commands import run_gcom

GOOD = """\
{:type :invoke, :process 0, :f :txn, :value [[:append 1 1] [:r 1 nil]], :time 100}
{:type :invoke, :process 1, :f :txn, :value [[:append 1 2]]}
{:type :info, :process :nemesis, :f :start-partition, :value "x"}
#jepsen.history.Op{:type :ok, :process 1, :f :txn, :value [[:append 1 2]], :index 2}
{:type :ok, :process 0, :f :txn, :value [[:append 1 1] [:r 1 [1]]]}
{:type :invoke, :process 2, :f :txn, :value [[:append 1 3]]}
{:type :fail, :process 2, :f :txn, :value [[:append 1 3]], :error [:conflict "a"]}
{:type :ok, :process 1, :f :txn, :value [[:r 1 [1 2]]]}
"""


def _jepsen(tmp_path: Path, text: str) -> tuple[Imported, AuditResult]:
    (tmp_path / "history.edn").write_text(text)
    imported = import_jepsen(tmp_path / "history.edn", tmp_path / "logs")
    return imported, gcom.audit.audit(tmp_path / "logs")


def test_a_sound_history_passes_by_the_rules_that_it_carries(tmp_path: Path) -> None:
    imported, result = _jepsen(tmp_path, GOOD)
    assert (imported.processes, imported.events, imported.left_out) == (3, 7, 0)
    assert (result.verdict, [*result.rules]) == ("PASS", imported.rules)
    assert "imported records carry no rules but NO_CREATION, NO_DUPLICATION, TOTAL, SERIAL_UNIQUE" in result.headline()
    judged = {rule.rule for rule in result.groups[0].rules if rule.verdict != "VACUOUS"}
    assert judged <= {*LIST_RULES}


@pytest.mark.parametrize(
    ("read", "rule"),
    [
        ("[2 1]", "SERIAL_UNIQUE"),  # another order than client 1 saw
        ("[1 2 2]", "NO_DUPLICATION"),
        ("[1 2 3]", "NO_CREATION"),  # of a transaction that failed
        ("[1 2 99]", "NO_CREATION"),  # that nobody appended
    ],
)
def test_an_anomaly_is_found(read: str, rule: str, tmp_path: Path) -> None:
    _, result = _jepsen(tmp_path, GOOD + f"{{:type :ok, :process 0, :f :txn, :value [[:r 1 {read}]]}}\n")
    assert result.verdict == "FAIL"
    assert result.incidents[0].rule == rule


def test_a_client_that_contradicts_itself_is_found(tmp_path: Path) -> None:
    """It alone reads, and reads twice: first without, then with another value in the middle."""
    lines = ["[[:append 1 1] [:append 1 2] [:append 1 3]]", "[[:r 1 [1 2]]]", "[[:r 1 [1 3 2]]]"]
    text = "".join(f"{{:type :ok, :process 0, :f :txn, :value {line}}}\n" for line in lines)
    _, result = _jepsen(tmp_path, text)
    assert result.incidents[0].rule == "SERIAL_UNIQUE"


@pytest.mark.parametrize("seed", range(3))
def test_no_false_alarm_of_a_serial_history(seed: int, tmp_path: Path) -> None:
    """Transactions one after the other, some of unknown outcome, some stale reads: that breaks no rule."""
    chance = random.Random(seed)
    lists: dict[int, list[int]] = defaultdict(list)
    lines = []
    for value in range(1, 300):
        client, key, fate = chance.randrange(5), chance.randrange(4), chance.choice(("ok", "ok", "info", "fail"))
        if chance.random() < 0.5:
            read = lists[key][: chance.choice((len(lists[key]), len(lists[key]) // 2))]
            lines.append(f"{{:type :ok, :process {client}, :f :txn, :value [[:r {key} [{' '.join(map(str, read))}]]]}}")
            continue
        steps = f":process {client}, :f :txn, :value [[:append {key} {value}]]"
        lines += [f"{{:type :invoke, {steps}}}", f"{{:type :{fate}, {steps}}}"]
        if fate == "ok" or (fate == "info" and chance.random() < 0.5):
            lists[key].append(value)
    _, result = _jepsen(tmp_path, "\n".join(lines))
    assert result.verdict == "PASS", result.headline()


def test_lines_that_are_no_operation_are_counted_and_told(tmp_path: Path) -> None:
    imported, _ = _jepsen(tmp_path, GOOD + "{:type :ok, :process 1, :value [[:r 1\n{:type :ok :process 1 :value 7}\n")
    (note,) = imported.notes
    assert imported.left_out == 2
    assert note.endswith("; 2 of 9 lines fit no event, and are left out")
    assert "history.edn:9: not whole: got '{:type :ok, :process 1, :value [[:r 1'" in note


@pytest.mark.parametrize("text", ["", "hello\n", '{"json": 1}\n', GOOD.replace(":append", ":write")])
def test_what_is_no_history_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(NotALog, match="expected operations of a list-append test"):
        _jepsen(tmp_path, text)
    assert not (tmp_path / "logs").exists()


def test_edn_as_clojure_writes_it() -> None:
    text = '[{:a "x ; \\" y", :b #{1 2} :c nil} ; a comment\n #_{:left out} {:d -3 :e [true 4.5 \\a]}\n'
    found = [*maps(text + '{:f (1 {:g #inst "2026"})}\n{:broken\n{:a}\n{:last 1}]\n')]
    assert [(line, each) for line, _, each in found if not isinstance(each, NoEdn)] == [
        (1, {"a": 'x ; \\" y', "b": [1, 2], "c": None}),
        (2, {"d": -3, "e": [True, "4.5", "\\a"]}),
        (3, {"f": [1, {"g": "2026"}]}),
        (6, {"last": 1}),
    ]
    assert [line for line, _, each in found if isinstance(each, NoEdn)] == [4, 5]


FORMS: dict[ConsumerLayout, dict[str, Any]] = {KAFKA: {"topic": "orders", "partition": 0}, NATS: {"stream": "ORDERS"}}


def _sent(layout: ConsumerLayout, number: int, **more: Any) -> dict[str, Any]:
    return {**FORMS[layout], layout.producer: "shop", layout.count: number, **more}


def _had(layout: ConsumerLayout, consumer: str, offset: int, number: int | None = None, **more: Any) -> dict[str, Any]:
    named = {} if number is None else {layout.producer: "shop", layout.count: number}
    return {**FORMS[layout], "consumer": consumer, layout.offset: offset, **named, **more}


def _consumers(tmp_path: Path, layout: ConsumerLayout, lines: list[dict[str, Any]]) -> tuple[Imported, AuditResult]:
    (tmp_path / "lines").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    imported = import_consumers(layout, [tmp_path / "lines"], tmp_path / "logs")
    return imported, gcom.audit.audit(tmp_path / "logs")


@pytest.mark.parametrize("layout", FORMS, ids=lambda it: it.form)
def test_consumers_pass_wherever_they_begin_and_whatever_offsets_are_left_out(
    layout: ConsumerLayout, tmp_path: Path
) -> None:
    lines = [_sent(layout, n) for n in (7, 8, 9, 10)]
    lines += [_had(layout, "a", offset, n) for offset, n in ((3, 7), (4, 8), (6, 9), (9, 10))]
    lines += [_had(layout, "b", offset, n) for offset, n in ((6, 9), (9, 10))]
    imported, result = _consumers(tmp_path, layout, lines)
    assert imported.rules == ["NO_CREATION", "NO_DUPLICATION", "FIFO", "TOTAL", "SERIAL_UNIQUE"]
    assert (result.verdict, [*result.rules]) == ("PASS", imported.rules)


@pytest.mark.parametrize("layout", FORMS, ids=lambda it: it.form)
@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ([("b", 11, 9)], "NO_DUPLICATION"),  # handed out again
        ([("b", 11, 12)], "NO_CREATION"),  # no producer has sent so many
        ([("c", 10, 9), ("c", 11, 10)], "SERIAL_UNIQUE"),  # at the offsets of others
        ([("c", 8, 8), ("c", 10, 10)], "FIFO"),  # one was left out
    ],
)
def test_what_a_consumer_must_not_have_is_found(
    layout: ConsumerLayout, more: list[tuple[str, int, int]], rule: str, tmp_path: Path
) -> None:
    lines = [_sent(layout, n) for n in range(1, 11)]
    lines += [_had(layout, "a", n, n) for n in range(1, 11)]
    lines += [_had(layout, "b", n, n) for n in range(6, 11)]
    lines += [_had(layout, *each) for each in more]
    _, result = _consumers(tmp_path, layout, lines)
    assert result.rules[rule] == "FAIL", result.headline()


def test_offsets_alone_show_what_came_twice_and_what_was_left_out(tmp_path: Path) -> None:
    lines = [_had(KAFKA, "a", offset) for offset in (0, 1, 4, 5)]
    imported, result = _consumers(tmp_path, KAFKA, [*lines, *(_had(KAFKA, "b", offset) for offset in (1, 4, 5))])
    assert (imported.rules, result.verdict) == (["NO_DUPLICATION", "FIFO"], "PASS")
    for name, offsets, rule in (("twice", (1, 4, 4), "NO_DUPLICATION"), ("gap", (1, 5), "FIFO")):
        (tmp_path / name).mkdir()
        _, result = _consumers(tmp_path / name, KAFKA, [*lines, *(_had(KAFKA, "b", offset) for offset in offsets)])
        assert result.incidents[0].rule == rule


def test_a_consumer_that_is_assigned_the_partition_again_begins_anew(tmp_path: Path) -> None:
    lines = [_had(KAFKA, "a", offset) for offset in range(10)]
    again = [_had(KAFKA, "b", n, session=1) for n in (2, 3)] + [_had(KAFKA, "b", n, session=2) for n in (7, 8, 9)]
    assert _consumers(tmp_path, KAFKA, lines + again)[1].verdict == "PASS"


def test_names_in_two_spellings_are_one(tmp_path: Path) -> None:
    composed, apart = "Zo\u00eb", "Zoe\u0308"
    lines = [_sent(KAFKA, n) | {"producer": name} for n, name in enumerate((composed, apart))]
    lines += [_had(KAFKA, "a", n, n) | {"producer": apart} for n in range(2)]
    imported, result = _consumers(tmp_path, KAFKA, lines)
    assert (imported.processes, result.verdict) == (2, "PASS")
    assert imported.notes == [f"1 name spelled in another form than NFC, and brought into it: {composed}"]


def test_a_changed_record_is_found_by_its_checksum(tmp_path: Path) -> None:
    lines = [_sent(KAFKA, n, crc32=n) for n in (1, 2)]
    imported, result = _consumers(
        tmp_path, KAFKA, [*lines, _had(KAFKA, "a", 0, 1, crc32=1), _had(KAFKA, "a", 1, 2, crc32=9)]
    )
    assert "INTEGRITY" in imported.rules
    assert result.incidents[0].rule == "INTEGRITY"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("oops", "no JSON"),
        ("[1]", "no JSON object"),
        ('{"consumer": "a", "topic": "orders", "partition": 0}', "it lacks offset"),
        ('{"consumer": "a#1", "topic": "orders", "partition": 0, "offset": 1}', "consumer is no text without #"),
        ('{"consumer": "a", "topic": "orders", "partition": 0, "offset": -1}', "offset is no number from 0 on"),
        (
            '{"consumer": "a", "topic": "o", "partition": 0, "offset": 1, "producer": "p"}',
            "it has one of producer and sequence",
        ),
    ],
)
def test_lines_that_fit_no_record_are_counted_and_told(line: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_text("".join(f"{json.dumps(_had(KAFKA, 'a', n))}\n" for n in range(3)) + f"{line}\n")
    imported = import_consumers(KAFKA, [file], tmp_path / "logs")
    (note,) = imported.notes
    assert f"lines:4: {why}: got " in note
    assert note.endswith("1 of 4 lines fit no event, and are left out")
    file.write_text(line)
    with pytest.raises(NotALog, match="1 of 1 lines fit no event: expected lines as"):
        import_consumers(KAFKA, [file], tmp_path / "others")


def test_producers_in_some_lines_only_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="expected all to have them, or none"):
        _consumers(tmp_path, KAFKA, [_had(KAFKA, "a", 1, 1), _had(KAFKA, "a", 2)])


def test_the_command_says_what_it_made_and_which_rules_count(tmp_path: Path) -> None:
    (tmp_path / "history.edn").write_text(GOOD)
    done = run_gcom("audit", "import", "jepsen", "history.edn", "--into", "logs", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["rules"] == LIST_RULES
    done = run_gcom("audit", "import", "jepsen", "history.edn", "--into", "more", cwd=tmp_path)
    told = f"their records can carry {', '.join(LIST_RULES)}; no other rule is judged"
    assert done.stdout.decode().splitlines()[1] == told
    done = run_gcom("audit", "import", "pulsar", "history.edn", "--into", "none", cwd=tmp_path)
    assert b"FORM must be one of shiviz, jepsen, porcupine, kafka, nats; got 'pulsar'" in done.stderr
