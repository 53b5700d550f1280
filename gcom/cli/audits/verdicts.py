"""`gcom audit`: the judgement of delivery logs, and what is written of it.

Only what is used is imported: Spark's Java takes some seconds to start, Matplotlib one, and small logs are judged in
less than that.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from traceback import print_exc

from gcom.audit.explain.evidence import evidence_of
from gcom.audit.explain.lookup import LogLookup
from gcom.audit.explain.result import IMPOSSIBLE, AuditResult
from gcom.audit.imports.consumers import KAFKA, NATS, import_consumers
from gcom.audit.imports.jepsen import import_jepsen
from gcom.audit.imports.porcupine import import_porcupine
from gcom.audit.imports.shiviz import SHIVIZ, import_shiviz
from gcom.audit.input.catalogue import Catalogue, catalogue
from gcom.audit.input.reading import compact, list_segments
from gcom.cli.audits.judging import Judging, judged, step_progress
from gcom.cli.audits.verdict_tables import show
from gcom.cli.output import Output, OutputClosed, notice
from gcom.cli.wording import many
from gcom.errors import AuditUnavailable, BadValue, GComError, NotALog

_FORMS = ("shiviz", "jepsen", "porcupine", "kafka", "nats")


@dataclass(frozen=True, slots=True)
class Outputs:
    """The files and folders that were asked for."""

    json: str | None = None
    report: str | None = None
    witness: str | None = None
    junit: str | None = None
    parquet: str | None = None

    def check(self) -> None:
        """Raise OSError or BadValue for what cannot be written: better now than after all has been judged."""
        for name in (self.json, self.report, self.witness, self.junit, self.parquet):
            if name is not None and name.startswith("--"):
                raise BadValue(f"expected a file or folder, got {name}: the option before it needs one")
        # Not --parquet and --witness: these are folders, which are made where they are missing.
        for path in [Path(name) for name in (self.json, self.report, self.junit) if name is not None]:
            wrong = errno.EISDIR if path.is_dir() else 0 if path.parent.is_dir() else errno.ENOENT
            # Folders that are wrong, and no trial of writing: an old report stays whole until there is a new one.
            if wrong:
                raise OSError(wrong, os.strerror(wrong), str(path))


def audit(
    folders: list[str],
    how: Judging,
    outputs: Outputs,
    *,
    allow_unknown: bool,
    verbose: bool = False,
    quiet: bool = False,
) -> int:
    """Judge the logs, print and write what was found, and return the exit status."""

    def judge() -> int:
        # Before the logs are even listed: judging may take minutes, and a mistyped path must not cost them.
        outputs.check()
        found = catalogue(list_segments(folders))
        result = judged(found, how)
        show(result, verbose=verbose, quiet=quiet)
        _write(result, found, outputs, ", ".join(folders), allow_unknown=allow_unknown)
        return result.exit_status(allow_unknown)

    return attempt(judge)


def attempt(work: Callable[[], int]) -> int:
    """Return the status of the work; if it failed, print why and return the status for that."""
    try:
        return work()
    except (NotALog, AuditUnavailable, BadValue) as error:
        notice(" ".join(str(error).split()))
    except OSError as error:
        notice(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (GComError, OutputClosed):
        raise
    except Exception:  # outermost: of the command
        print_exc()
        notice("a defect of the audit, not of the logs: please report it with what stands above")
    # 3, and never 1: a script that asks whether a promise was broken must not be told so by a full disk, or a defect.
    return IMPOSSIBLE


def _write(result: AuditResult, found: Catalogue, outputs: Outputs, title: str, *, allow_unknown: bool) -> None:
    witnesses: dict[str, str] = {}
    if outputs.json is not None:
        with _naming(outputs.json):
            Path(outputs.json).write_text(json.dumps(result.as_json(), indent=1) + "\n")
    if outputs.junit is not None:
        from gcom.audit.report.exports import junit_of

        with _naming(outputs.junit):
            Path(outputs.junit).write_bytes(junit_of(result, allow_unknown=allow_unknown))
    if outputs.parquet is not None:
        from gcom.audit.report.exports import write_tables

        with _naming(outputs.parquet):
            write_tables(result, Path(outputs.parquet))
    if outputs.witness is not None:
        from gcom.audit.explain.witness import write_witnesses

        with _naming(outputs.witness):
            witnesses = write_witnesses(result, found, Path(outputs.witness))
    if outputs.report is not None:
        from gcom.audit.report.page import render

        # Last: it shows where the witnesses are.
        page = render(result, evidence_of(result, LogLookup(found)), witnesses, title)
        with _naming(outputs.report):
            Path(outputs.report).write_bytes(page.encode("utf-8", "replace"))
        notice(f"the report is in {outputs.report}: open it in a browser")


@contextmanager
def _naming(path: str) -> Iterator[None]:
    """Add the file's name to the block's OSError where it has none, as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            raise OSError(error.errno, error.strerror or str(error), path) from error
        raise


def compact_logs(folders: list[str], into: Path) -> int:
    return attempt(lambda: _compact(folders, into))


def _compact(folders: list[str], into: Path) -> int:
    listing = list_segments(folders)
    with step_progress() as tell:
        size = compact(listing, into, tell)
    before = sum(listing.sizes.values())
    segments = many(len(listing.sizes), "segment")
    output = Output()
    output.text(f"{segments}, {before:,} bytes, now {size:,} bytes in {into}: {_saved(size / max(before, 1))}")
    output.flush()
    return 0


def _saved(share: float) -> str:
    # Tell either way: whoever compacts small segments is to know that it does not pay.
    if share < 1:
        return f"{share:.0%} of the space"
    return f"{share:.1f} times the space, as each file has a head of its own: it pays for segments of megabytes"


def import_log(form: str, files: list[Path], into: Path, regex: str | None, *, as_json: bool) -> int:
    if form not in _FORMS:
        raise BadValue(f"FORM must be one of {', '.join(_FORMS)}; got {form!r}")
    if regex is not None and form != "shiviz":
        raise BadValue(f"--regex is for shiviz: expected none for {form}; leave it out")
    if len(files) > 1 and form in ("shiviz", "jepsen", "porcupine"):
        raise BadValue(f"{form} reads one file: expected FILE, got {len(files)}; import each into a folder of its own")
    return attempt(lambda: _import(form, files, into, regex, as_json))


def _import(form: str, files: list[Path], into: Path, regex: str | None, as_json: bool) -> int:
    match form:
        case "shiviz":
            imported = import_shiviz(files[0], into, regex or SHIVIZ)
        case "jepsen":
            imported = import_jepsen(files[0], into)
        case "porcupine":
            imported = import_porcupine(files[0], into)
        case _:
            imported = import_consumers(KAFKA if form == "kafka" else NATS, files, into)
    output = Output()
    if as_json:
        output.row({"form": form, "into": str(into), **asdict(imported)})
    else:
        for note in imported.notes:
            notice(note)
        events = f"{many(imported.events, 'event')} of {many(imported.processes, 'process')}"
        output.text(f"{events} {'is' if imported.events == 1 else 'are'} in {into}: gcom audit {into}")
        output.text(f"their records can carry {', '.join(imported.rules)}; no other rule is judged")
    output.flush()
    return 0
