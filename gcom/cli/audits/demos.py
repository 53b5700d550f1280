"""The audit's word at the end of a demonstration, on the logs of its processes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

from gcom.cli import extras
from gcom.cli.output import Output, notice
from gcom.errors import ExtraMissing, GComError


def kept_if_wrong(given: Path | None, demo: Callable[[Path], bool]) -> int:
    """Run a demonstration in the folder that was given, or in one of its own; return the exit status.

    Its own folder is deleted if all was right, or it was broken off; else it is named: what went wrong is in it.
    """
    if given is not None:
        return 0 if demo(given) else 1
    folder, wrong = Path(mkdtemp(prefix="gcom-demo-")), False
    try:
        wrong = not demo(folder)
    except GComError:
        wrong = any(folder.iterdir())  # else it was refused before it began
        raise
    finally:
        if wrong:
            notice(f"what went wrong is in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return int(wrong)


def passes_audit(logs: Path, *, as_json: bool) -> bool:
    """Judge the logs, and print the verdict; tell whether it is PASS, or nobody can judge here."""
    try:
        extras.need("audit", "numpy", "pyarrow")
    except ExtraMissing as error:
        notice(f"the logs are not judged: {error}")
        return True
    from gcom.audit import audit
    from gcom.cli.audits.verdict_tables import show

    result = audit([str(logs)])
    if as_json:
        output = Output()
        output.row({"type": "audit", "verdict": result.verdict, "headline": result.headline()})
        output.flush()
    else:
        show(result, quiet=True)
    return result.verdict == "PASS"
