"""Advice: the reasons why a verdict is UNKNOWN or VACUOUS, and the remedy for each."""

from __future__ import annotations

from collections.abc import Set

from gcom.audit.explain.result import AuditResult, GroupResult
from gcom.audit.input.reading import NO_SEGMENT
from gcom.audit.rules.views.succession import NAME
from gcom.trace.segment import folder_name

_NAMES_MAX = 5  # processes in one line
_ACCEPT = "--allow-unknown accepts what stays unknown"
_WHOLE = f"Audit a whole copy of it, or {_ACCEPT}"


def advice_of(result: AuditResult) -> list[str]:
    """Return, for a verdict of UNKNOWN or VACUOUS, a line per kind of cause: the missing logs or records, and the
    remedy. Empty for other verdicts.
    """
    if result.verdict == "VACUOUS":
        quiet = [group for group in result.deciding if group.verdict == "VACUOUS"]
        # What the logs of the others show stands.
        some = _names([f"{each.group} ({each.instance})" for each in quiet]) if len(quiet) < len(result.groups) else ""
        shown = f"the promises of {some}" if some else "promises"
        return [
            f"Nothing shows whether {shown} hold: audit logs of a run in which members of a group delivered messages.",
            *_of_unfinished(result, {process for group in quiet for process in group.processes}),
        ]
    if result.verdict != "UNKNOWN":
        return []
    doubted = [group for group in result.groups if group.verdict == "UNKNOWN"]
    wanted = {process for group in doubted for process in group.processes}
    absent = sorted(wanted - result.coverage.keys())
    found = []
    if absent:
        # A wrong folder is the most common cause, and the cheapest to mend: it comes first.
        found.append(f"No log of {_names(absent)} is here: name the folder that has it beside the others.")
    found += _of_gaps(result, [who for who, state in sorted(result.coverage.items()) if state == "lost"])
    # Files that were listed and could not be read. `unread` also names processes with gaps, in words that no note has:
    # _of_gaps reports these.
    files = [each for each in result.unread if each in result.notes]
    if absent:  # the folders without a segment are theirs
        files = [each for each in files if not each.endswith(NO_SEGMENT)]
    if files and result.groups:
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        found.append(f"A log could not be read, nor whose it is: {files[0]}{more}. {_WHOLE}.")
    if result.contradictions:
        why = "It was changed, or its writer has a defect"
        found.append(f"A log contradicts itself: {result.contradictions[0]}. {why}. {_WHOLE}.")
    found += _of_unfinished(result, result.coverage.keys())
    found += _of_instances(doubted)
    return found or [f"The logs do not tell more: {_ACCEPT}."]


def _of_unfinished(result: AuditResult, processes: Set[str]) -> list[str]:
    """Return advice about those of the processes whose logs have no end."""
    unfinished = sorted(who for who in processes if result.coverage.get(who) in ("open", "torn"))
    if not unfinished:
        return []
    return [
        f"No close ends the log of {_names(unfinished)}: if it still runs, audit again when it has left; if it "
        f"crashed, its last records are lost, and {_ACCEPT}."
    ]


def _of_instances(doubted: list[GroupResult]) -> list[str]:
    """Return advice about instances of one name whose logs do not tell which succeeded which."""
    names = sorted({each.group for each in doubted if each.reason is not None and each.reason.startswith(NAME)})
    about = f"The order of instances of {_names(names)} is not told: name the folders with the logs of all of them"
    others = "of runs that are strangers, of sides of a PARTITIONABLE group that never met again, or of an older GCom"
    return [f"{about}; {others}, {_ACCEPT}."] if names else []


def _of_gaps(result: AuditResult, lost: list[str]) -> list[str]:
    """Return at most one line of advice: about the processes whose logs lack records (`lost`), with the first note
    about one of them; where the audit found no group at all, with its first note.
    """
    if not lost and result.groups:
        return []
    for process in lost:
        # The first note about a log says where the damage begins; the later ones are consequences.
        note = next((note for note in result.notes if _is_about(note, process)), None)
        if note is not None:
            return [f"Records are missing in the log of {_names(lost)}: {note}. {_WHOLE}."]
    if result.groups:
        return [f"The log of {_names(lost)} says itself that records were dropped when they came too fast: {_ACCEPT}."]
    return [f"No log could be used: {result.notes[0]}. Audit a whole copy of it."] if result.notes else []


def _is_about(note: str, process: str) -> bool:
    if note.endswith(("it counts once", "is read instead")):  # a copy was passed over: no record is missing
        return False
    member, _, incarnation = process.partition("#")
    return process in note or f"/{folder_name(member)}/{folder_name(incarnation)}/" in note


def _names(processes: list[str]) -> str:
    more = f" and {len(processes) - _NAMES_MAX} more" if len(processes) > _NAMES_MAX else ""
    return f"{', '.join(processes[:_NAMES_MAX])}{more}"
