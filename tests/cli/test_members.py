"""Members at shells: real processes, as many as a group needs."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from gcom.values import limits
from tests.cli.commands import Command, environment, gcom_command, no_traceback, run_gcom

pytestmark = pytest.mark.slow
LINES = 4000


def some_lines(name: str, count: int) -> list[str]:
    """Lines that tell each other apart, some of them of the awkward kinds."""
    odd = {3: "", 5: "å∑🙂", 7: 'a "quoted" \\ line', 9: "tab\tand \x1b[31mred"}
    return [odd.get(i, f"{name} says {i}") for i in range(count)]


def by_sender(command: Command) -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for row in command.rows("delivery"):
        found[row["sender"]].append(row["text"])
    return dict(found)


def test_three_shells_deliver_every_line_of_each_once_and_in_order(registry: str, tmp_path: Path) -> None:
    sent = {name: some_lines(name, LINES) for name in ("alice", "bob", "carol")}
    for name, lines in sent.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n", "utf-8")
    words = ["--create", "--ordering", "FIFO", "--multicast", "reliable", "--json", "--wait", "3", "--linger", "2"]
    words.append("--log-dir")
    commands: list[Command] = []
    try:
        for name in sent:
            with (tmp_path / name).open("rb") as stdin:
                words_of = ["join", "news", "--name", name, *words, str(tmp_path / "logs")]
                commands.append(Command(*words_of, registry=registry, stdin=stdin))
        assert [(command.end(), command.errors) for command in commands] == [(0, [])] * 3
    finally:
        for command in commands:
            command.__exit__(None, None, None)
    assert [by_sender(command) for command in commands] == [sent] * 3
    assert {path.name for path in (tmp_path / "logs").iterdir()} == set(sent)
    for command in commands:
        rows = command.rows()
        assert rows[0]["type"] == "ready"
        assert rows[-1]["type"] == "left"
        numbers = [row["number"] for row in rows if row["type"] == "delivery" and row["sender"] == "bob"]
        assert numbers == list(range(1, LINES + 1))
        assert no_traceback(*command.errors)


def test_plain_output_is_a_line_a_delivery_and_notices_go_elsewhere(registry: str) -> None:
    stdin = "hello\n\nå\n".encode() + b"\xff raw\n" + b"no end"
    done = run_gcom("join", "news", "--name", "alice", "--create", "--linger", "0.2", registry=registry, stdin=stdin)
    assert done.returncode == 0
    assert done.stdout == "alice: hello\nalice: \nalice: å\n".encode() + b"alice: \xff raw\nalice: no end\n"
    assert b"view 1: alice" in done.stderr
    assert b"left group 'news'" in done.stderr


def test_a_line_over_the_limit_is_refused_by_number(registry: str) -> None:
    stdin = b"one\n" + b"x" * (limits.MESSAGE_BYTES_MAX + 1) + b"\nthree\n"
    done = run_gcom("join", "news", "--name", "alice", "--create", "--linger", "0.2", registry=registry, stdin=stdin)
    assert done.returncode == 2
    assert done.stdout == b"alice: one\nalice: three\n"
    assert b"line 2 is" in done.stderr


def test_racing_creates_make_one_group(registry: str) -> None:
    words = ["--create", "--json", "--wait", "3", "--linger", "1"]
    commands = [Command("join", "news", "--name", name, *words, registry=registry) for name in ("a", "b", "c")]
    try:
        for command in commands:
            assert command.process.stdin is not None
            command.process.stdin.close()
        assert [(command.end(), command.errors) for command in commands] == [(0, [])] * 3
    finally:
        for command in commands:
            command.__exit__(None, None, None)
    assert len({row["instance"] for command in commands for row in command.rows("ready")}) == 1


def test_racing_creates_of_different_definitions_leave_one(registry: str) -> None:
    orders = ("FIFO", "NONORDERED")
    racers = [
        subprocess.Popen(
            gcom_command("create", "news", "--ordering", order),
            env=environment(registry),
            stderr=subprocess.PIPE,
        )
        for order in orders
    ]
    told = [racer.communicate(timeout=300)[1] for racer in racers]
    assert sorted(racer.returncode for racer in racers) == [0, 1]
    assert sum(b"another definition" in text for text in told) == 1


def test_a_name_is_taken_while_its_holder_answers(registry: str) -> None:
    with Command("tail", "news", "--name", "alice", "--json", registry=registry) as stranger:
        assert stranger.end() == 1
        assert "no group 'news'" in stranger.errors[0]
    with Command("join", "news", "--name", "alice", "--create", "--json", registry=registry) as holder:
        holder.until_members(1)
        second = run_gcom("join", "news", "--name", "alice", registry=registry)
        assert second.returncode == 1
        assert b"'alice'" in second.stderr
        assert second.stderr.count(b"\n") == 1
        holder.signal(signal.SIGTERM)
        assert holder.end() == 0
    again = run_gcom("join", "news", "--name", "alice", "--create", "--linger", "0", registry=registry)
    assert again.returncode == 0


def test_a_static_group_admits_its_names_only(registry: str) -> None:
    assert run_gcom("create", "club", "--static", "alice,bob", registry=registry).returncode == 0
    done = run_gcom("join", "club", "--name", "mallory", registry=registry)
    assert done.returncode == 1
    assert b"mallory" in done.stderr
    assert b"alice, bob" in done.stderr
    assert done.stderr.count(b"\n") == 1
    created = run_gcom("join", "pub", "--name", "mallory", "--create", "--static", "alice,bob", registry=registry)
    assert created.returncode == 1


def test_no_registry_is_told() -> None:
    done = run_gcom("join", "news", "--name", "alice", "--create", registry="127.0.0.1:1")
    assert done.returncode == 69
    assert b"127.0.0.1:1" in done.stderr
    assert b"gcom-registry" in done.stderr
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
@pytest.mark.parametrize("command", ["join", "tail"])
def test_a_signal_leaves_the_group_in_good_order(
    command: str, number: signal.Signals, status: int, registry: str
) -> None:
    with Command("join", "news", "--name", "stays", "--create", "--json", registry=registry) as sessions:
        sessions.until_members(1)
        with Command(command, "news", "--name", "goes", "--json", registry=registry) as goes:
            goes.until_members(2)
            goes.signal(number)
            goes.signal(number)  # as a supervisor does, which signals a process and its group
            assert goes.end() == status
            assert goes.rows()[-1]["type"] == "left"
            assert goes.errors == []
        # Without --linger a member stays when its input ends, and says so.
        assert sessions.process.stdin is not None
        sessions.process.stdin.close()
        sessions.until(lambda: any("stays and prints" in line for line in sessions.errors), "the word that it stays")
        sessions.until(
            lambda: any("request" in row.get("left", {}).values() for row in sessions.rows("view")), "the leave"
        )


def test_a_signal_ends_a_join_that_waits_for_members(registry: str) -> None:
    with Command("join", "news", "--name", "a", "--create", "--wait", "3", "--json", registry=registry) as waits:
        waits.until_members(1)
        waits.write(b"too soon\n")
        waits.signal(signal.SIGINT)
        assert waits.end() == 130
        assert waits.rows("delivery") == []


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_closed_output_leaves_the_group_in_good_order(form: list[str], registry: str) -> None:
    with Command("join", "news", "--name", "stays", "--create", "--json", registry=registry) as sessions:
        sessions.until_members(1)
        source, sink = os.pipe()
        goes = subprocess.Popen(
            gcom_command("tail", "news", "--name", "goes", *form),
            stdout=sink,
            stderr=subprocess.PIPE,
            env=environment(registry),
        )
        os.close(sink)
        sessions.until_members(2)
        os.close(source)
        sessions.write(b"anybody there?\n")
        _, errors = goes.communicate(timeout=300)
        assert goes.returncode == 0
        assert no_traceback(errors.decode())
        sessions.until(
            lambda: any("request" in row.get("left", {}).values() for row in sessions.rows("view")), "the leave"
        )


def test_a_signal_gets_through_an_output_that_nobody_reads(registry: str, tmp_path: Path) -> None:
    (tmp_path / "many").write_bytes(b"a line that fills the pipe\n" * 20_000)
    with (tmp_path / "many").open("rb") as stdin:
        stuck = subprocess.Popen(
            gcom_command("join", "news", "--name", "stuck", "--create"),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(registry),
        )
    assert stuck.stdout is not None
    assert stuck.stderr is not None
    with stuck.stdout, stuck.stderr:
        assert stuck.stdout.readline().startswith(b"stuck: ")  # it prints by now, and soon fills the pipe
        stuck.send_signal(signal.SIGTERM)
        assert stuck.wait(300) == 0
        assert no_traceback(stuck.stderr.read().decode())


def test_send_is_delivered_by_those_who_are_there(registry: str) -> None:
    with Command("join", "news", "--name", "alice", "--create", "--json", registry=registry) as alice:
        alice.until_members(1)
        assert run_gcom("send", "news", "--name", "bob", "hi, all", registry=registry).returncode == 0
        alice.until(lambda: alice.rows("delivery"), "delivery")
        (row,) = alice.rows("delivery")
        assert (row["sender"], row["text"], row["number"]) == ("bob", "hi, all", 1)
        assert row["process"].startswith("bob#")
        members = run_gcom("members", "news", "--json", registry=registry)
        assert b'"alice"' in members.stdout
        assert run_gcom("remove", "news", registry=registry).returncode == 1


def test_closed_standard_descriptors_do_no_harm(registry: str) -> None:
    command = " ".join(gcom_command("join", "news", "--name", "a", "--create", "--linger", "0"))
    done = subprocess.run(
        ["sh", "-c", f"{command} <&- >&- 2>&-"], env=environment(registry), timeout=300, capture_output=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
