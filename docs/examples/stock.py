"""A stock of nails that several processes sell from: start it in as many shells as you like, and kill any of them.

gcom-registry &
python docs/examples/stock.py alice
python docs/examples/stock.py bob
"""

import sys

import gcom
import gcom.replicated


class Stock(gcom.replicated.Machine):
    def __init__(self) -> None:
        self.pieces = {"nails": 1000}
        self.sold: dict[str, int] = {}

    @gcom.replicated.command
    def take(self, item: str, count: int) -> int:
        if self.pieces.get(item, 0) < count:
            raise gcom.replicated.Refused(f"{self.pieces.get(item, 0)} {item} are left")
        self.pieces[item] -= count
        self.sold[self.context.member] = self.sold.get(self.context.member, 0) + count
        return self.pieces[item]

    @gcom.replicated.query
    def sales(self) -> dict[str, int]:
        return self.sold


with gcom.connect(sys.argv[1]) as node, gcom.replicated.open(node, "stock", Stock) as stock:
    try:
        while True:
            print(stock.take("nails", 1), "nails left", flush=True)
    except gcom.replicated.Refused as refusal:
        print(refusal, stock.fresh().sales(), flush=True)
