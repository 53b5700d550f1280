"""Runs `gcom audit` on delivery logs as a process of its own, and reads what it found."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path

from gcom_chat.model.insight.audit import AuditOutcome, NoAudit, parse_audit
from gcom_chat.model.texts.words import translate

COULD_NOT_RUN = 3  # the exit status of an audit without a verdict


class AuditFailed(Exception):
    """The audit could not be run; the text says why."""


class AuditRun:
    """An audit of a folder. `stop` ends it, from any thread.

    `report` is the page that it writes, which is there as long as this object is.
    """

    def __init__(self, folder: str, all_rules: bool) -> None:
        made = Path(tempfile.mkdtemp(prefix="gcom-audit-"))
        # Its report may be opened as long as somebody has this run, or until the chat ends.
        weakref.finalize(self, shutil.rmtree, made, ignore_errors=True)
        self.report, self._result = made / "report.html", made / "result.json"
        outputs = ["--json", str(self._result), "--report", str(self.report)]
        # A process of its own: an audit of large logs takes
        # gigabytes, and all processors, which a window needs as well.
        command = [sys.executable, "-m", "gcom.cli", "audit", folder, *outputs, *(["--all-rules"] if all_rules else [])]
        # Its output is in files: a pipe that nobody reads would fill, and the audit would wait for ever.
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def wait(self, tell: Callable[[str], None]) -> AuditOutcome:
        """Tell what the audit says of its progress, and return what it found; raises AuditFailed."""
        assert self._process.stderr is not None, "it was asked for"
        last = ""
        with self._process:
            for line in self._process.stderr:
                # The last line is kept: where the audit fails it says why.
                last = line.strip().removeprefix("gcom: ") or last
                tell(last)
        code = self._process.returncode
        # Ended by a signal, as `stop` does.
        if code < 0:
            raise AuditFailed(translate("audit", "it was stopped"))
        if code >= COULD_NOT_RUN or not self._result.exists():
            raise AuditFailed(last or translate("audit", "it ended with {}").format(code))
        try:
            return parse_audit(self._result.read_text("utf-8"))
        except (OSError, NoAudit) as error:
            raise AuditFailed(str(error)) from error

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
