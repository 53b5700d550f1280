"""The processes of a simulated group, as faults see them; the world is one."""

from __future__ import annotations

from typing import Protocol

from gcom.sim.network import NetworkNode
from gcom.sim.node import SimNode
from gcom.sim.plan.events import TroubleEvent


class Population(Protocol):
    """The processes that there are, and what faults may do to them."""

    @property
    def everybody(self) -> list[SimNode]: ...

    @property
    def living(self) -> list[SimNode]: ...

    @property
    def may_crash(self) -> bool: ...

    @property
    def may_leave(self) -> bool: ...

    def node(self, name: str) -> SimNode | None: ...

    def join(self, name: str, before: str = "") -> None: ...

    def intrude(self, name: str) -> None: ...

    def gather(self) -> None: ...

    def restart(self, node: NetworkNode, same_port: bool = False) -> None: ...

    def restart_later(self, node: NetworkNode, event: TroubleEvent) -> None: ...

    def come_back(self, node: SimNode) -> None: ...

    def describe(self) -> str: ...
