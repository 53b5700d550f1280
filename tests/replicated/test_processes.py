"""Replicated state in processes of their own, of which one is killed."""

from __future__ import annotations

import re
import signal
import sys

import gcom
from tests.running import ROOT, Child, environment

STOCK = str(ROOT / "docs" / "examples" / "stock.py")


def sold(child: Child) -> int:
    return sum(line.endswith("nails left") for line in child.out)


def test_a_stock_is_sold_out_once_though_a_seller_is_killed() -> None:
    with gcom.embedded() as registry:
        env = environment(GCOM_REGISTRY=registry.address)
        with (
            Child([sys.executable, STOCK, "alice"], env) as alice,
            Child([sys.executable, STOCK, "bob"], env) as bob,
            Child([sys.executable, STOCK, "carol"], env) as carol,
        ):
            for child in (alice, bob, carol):
                child.until(lambda child=child: sold(child) > 20, "sales")  # type: ignore[misc]
            bob.signal(signal.SIGKILL)
            bob.end()
            assert [alice.end(), carol.end()] == [0, 0]
            sales = {it: int(count) for it, count in re.findall(r"'(\w+)': (\d+)", alice.out[-1])}
        left = [int(line.split()[0]) for child in (alice, bob, carol) for line in child.out if line.endswith("left")]
    assert alice.out[-1].startswith("0 nails are left")
    assert sum(sales.values()) == 1000
    assert len(left) == len(set(left))  # each nail was sold once
    assert (sales["alice"], sales["carol"]) == (sold(alice), sold(carol))
    assert sales["bob"] - sold(bob) in (0, 1)  # bob was killed before it could say so
    assert [*alice.errors, *carol.errors] == []
