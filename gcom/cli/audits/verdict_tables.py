"""The output of `gcom audit`: the verdict, a line for each group, what was not kept, incidents and notes."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any

from rich.console import Console
from rich.table import Table

from gcom.audit.explain.advice import advice_of
from gcom.audit.explain.plain import PLAIN
from gcom.audit.explain.result import WORST_FIRST, AuditResult, GroupResult
from gcom.cli.output import Output, OutputClosed, harmless, notice
from gcom.cli.wording import many
from gcom.values.spelling import isolated

_SHOWN = 10  # incidents, notes and tables on the terminal; --json and the report have them all
_GROUPS_SHOWN = 20
_RULES_NAMED = 3  # in a group's line; of more it has the number
_NO_CASE = "no case: nothing happened that it is about"
_MARKS = {"PASS": "pass", "FAIL": "FAIL", "UNKNOWN": "?", "VACUOUS": "-"}
_COUNTED = {"FAIL": "violated", "UNKNOWN": "unknown", "PASS": "held", "VACUOUS": "without a case"}


def _line(text: str) -> str:
    """Return one line: logs may have names of any characters."""
    return isolated(harmless(text).replace("\n", " "))


def show(result: AuditResult, *, verbose: bool = False, quiet: bool = False) -> None:
    """Print the verdict and its parts; if `quiet`, nothing but the verdict and notes where it is PASS.

    A reader who has gone, as `head` does, has what it wanted: that changes neither the exit status nor the files.
    """
    output = Output()
    advice = advice_of(result)
    with suppress(OutputClosed):
        output.text(_line(result.headline()))
        for line in advice:
            output.text(f"  {_line(line)}")
        output.flush()
        if not (quiet and result.verdict == "PASS"):
            _show_groups(result, output, verbose)
            _show_applications(result, output, verbose)
        _show_incidents(result, output)
        output.flush()
    unfinished = [process for process, state in sorted(result.coverage.items()) if state in ("open", "torn")]
    if unfinished and not advice:
        more = f" and {len(unfinished) - _SHOWN} more" if len(unfinished) > _SHOWN else ""
        # Where the verdict is UNKNOWN the advice says it; of a PASS it is only worth a note.
        notice(_line(f"no close ends the log of {', '.join(unfinished[:_SHOWN])}{more}: its end may be missing"))
    for note in result.notes[:_SHOWN]:
        notice(_line(note))
    if len(result.notes) > _SHOWN:
        notice(f"and {many(len(result.notes) - _SHOWN, 'more note')}; --json has all")


def _show_groups(result: AuditResult, output: Output, verbose: bool) -> None:
    """Print a line for each group, the worst first, and a table of the rules that were not kept, or of all."""
    lives = Counter(group.group for group in result.groups)
    groups = sorted(result.groups, key=lambda group: (WORST_FIRST.index(group.verdict), group.group, group.instance))
    names = {id(each): each.group + (f" ({each.instance})" if lives[each.group] > 1 else "") for each in groups}
    shown = groups if verbose else groups[:_GROUPS_SHOWN]
    lines = Table(box=None, show_header=False, pad_edge=False)
    for group in shown:
        kind = f"{group.ordering} {group.multicast}"
        counted = _counted(group, alone=lives[group.group] == 1)
        lines.add_row(_line(names[id(group)]), group.verdict, kind, many(group.deliveries, "delivery"), counted)
    if shown:
        _print(output, lines)
    if len(groups) > len(shown):
        rest = Counter(group.verdict for group in groups[len(shown) :])
        told = ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(rest.items()))
        output.text(f"and {many(len(groups) - len(shown), 'more group')}: {told}; --verbose shows all")
    for group in groups if verbose else [group for group in groups if group.verdict != "PASS"][:_SHOWN]:
        _show_rules(group, names[id(group)], output, verbose)


def _show_applications(result: AuditResult, output: Output, verbose: bool) -> None:
    """Print a line for each state or topic, the worst first."""
    judged = sorted(result.applications, key=lambda each: (WORST_FIRST.index(each.verdict), each.about, each.name))
    shown = judged if verbose else judged[:_GROUPS_SHOWN]
    lines = Table(box=None, show_header=False, pad_edge=False)
    for each in shown:
        judged_by = [rule for rule in each.rules if rule.expected]
        found = [(what, [rule.rule for rule in judged_by if rule.verdict == it]) for it, what in _COUNTED.items()]
        shown_of = found if verbose else found[:-1]  # the last are without a case
        shown_of.append(("broken where not asked for", [rule.rule for rule in each.rules if not rule.expected]))
        words = "; ".join(f"{what}: {', '.join(names)}" for what, names in shown_of if names)
        lines.add_row(_line(each.name), each.verdict, each.about, many(each.records, "record"), words)
    if shown:
        _print(output, lines)
    if len(judged) > len(shown):
        output.text(f"and {len(judged) - len(shown)} more; --verbose shows all")


def _counted(group: GroupResult, *, alone: bool) -> str:
    """Return how many promised rules have which verdict; `alone`: its name has no other instance."""
    # Where a name has one instance nothing lies between instances.
    rules = [rule for rule in group.rules if rule.expected and not (alone and rule.rule == "CONTINUITY")]
    found = [(what, [rule.rule for rule in rules if rule.verdict == verdict]) for verdict, what in _COUNTED.items()]
    named = [(what, names, len(names) <= _RULES_NAMED and what != "held") for what, names in found if names]
    return "; ".join(f"{what}: {', '.join(names)}" if tell else f"{len(names)} {what}" for what, names, tell in named)


def _show_rules(group: GroupResult, name: str, output: Output, verbose: bool) -> None:
    rules = sorted(group.rules, key=lambda rule: (not rule.expected, WORST_FIRST.index(rule.verdict)))
    # What was not promised is of interest only where it is broken.
    rules = [rule for rule in rules if rule.expected or rule.verdict == "FAIL"]
    rules = [rule for rule in rules if verbose or rule.verdict in ("FAIL", "UNKNOWN")]
    if not rules:
        return
    table = Table("rule", "verdict", "evaluated", "violations", "", box=None)
    for rule in rules:
        remark = "" if rule.expected else "not promised"
        remark = _NO_CASE if rule.verdict == "VACUOUS" else remark
        mark = _MARKS[rule.verdict] if rule.expected else _MARKS[rule.verdict].lower()
        table.add_row(rule.rule, mark, f"{rule.evaluated:,}", f"{rule.violations:,}", _line(rule.reason or remark))
    _print(output, _line(f"{name}: {group.verdict}"), highlight=False, soft_wrap=True)  # a title breaks at its width
    _print(output, table)


def _show_incidents(result: AuditResult, output: Output) -> None:
    # Of a promise only: with --all-rules what nobody promised may break often, and would bury these.
    broken = [incident for incident in result.incidents if incident.expected]
    explained: set[str] = set()
    for incident in broken[:_SHOWN]:
        caused = f" This also breaks {', '.join(incident.caused)}." if incident.caused else ""
        where = f" ({incident.places[0][0]}:{incident.places[0][1]})" if incident.places else ""
        text = f"[{incident.id}] {incident.group}: {incident.rule}: {incident.sentence}{caused}{where}"
        _print(output, _line(text))
        # Once per rule: of ten incidents of one kind the meaning is one.
        if incident.rule not in explained:
            explained.add(incident.rule)
            _print(output, f"  {PLAIN[incident.rule].headline}. {PLAIN[incident.rule].meaning}")
    if len(broken) > _SHOWN:
        notice(f"and {many(len(broken) - _SHOWN, 'more incident')}; --json has all")


def _print(output: Output, thing: str | Table, **how: Any) -> None:
    """Print as Rich shows it; Rich itself would exit with 1 where nobody reads on, and 1 means `violated`."""
    # Without a terminal rich assumes 80 columns, and would cut rule names.
    width = None if output.terminal else 120
    terminal = output.terminal or None
    # markup=False: a group may be called "[red]", which once ended the audit, or vanished.
    console = Console(width=width, force_terminal=terminal, markup=False, emoji=False)  # names are no markup
    with console.capture() as capture:
        console.print(thing, **how)
    output.text("\n".join(line.rstrip() for line in capture.get().splitlines()))
