"""Findings of `gcom doctor` and `gcom-registry doctor`, and how they are shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from gcom.cli.output import Output


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `code` names it for programs. A `warning` is good now, and will fail later."""

    code: str
    good: bool
    text: str
    warning: bool = False


def show(found: Iterable[Finding], output: Output, as_json: bool) -> bool:
    """Print each finding as it comes; tell whether all are good."""
    good = True
    for one in found:
        good = good and one.good
        if as_json:
            output.row(asdict(one))
        else:
            output.text(f"{'WRONG' if not one.good else 'warn ' if one.warning else 'ok   '}  {one.text}")
        output.flush()  # a look may take seconds
    return good


def lifetime(code: str, days: float, text: str, mend: str) -> Finding:
    """Return the warning about a certificate that has so many days left."""
    # In hours where days would be none or one: then it matters whether it ends tonight.
    left = f"{days:.0f} days" if days >= 2 else f"{days * 24:.0f} hours"
    return Finding(code, True, f"{text} ends in {left}, past two thirds of its life: {mend}", warning=True)
