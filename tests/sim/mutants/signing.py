"""Mutants of signed groups: runs that come without what their receivers need to judge them, and runs not judged."""

from __future__ import annotations

from dataclasses import replace

from gcom.core.intake import Intake
from gcom.core.multicast.signing import RunSigner, Signatures
from gcom.core.streams import Streams
from gcom.sim.plan.events import Fault
from gcom.sim.plan.plan import Plan
from gcom.values.definition import Multicast
from gcom.values.names import GroupName, InstanceId, Process
from gcom.values.run import Run
from tests.core import test_signed
from tests.sim.mutants.table import Patch, basic, dynamic, lossy, mutant, of_three, reliable, told_by


def signed(plan: Plan) -> Plan:
    return replace(plan, definition=replace(plan.definition, signed=True))


def overtaken(plan: Plan) -> bool:
    return bool(plan.rates.get(Fault.REORDERING))


@mutant(reliable, dynamic, of_three, aim=signed)
def who_was_told_a_key_in_an_earlier_view_is_not_told_again(patch: Patch) -> None:
    """A newcomer was not there."""
    patch.setattr(Signatures, "install", lambda self: None)


@mutant(basic, lossy, aim=signed)
def over_basic_the_first_run_alone_has_a_credential(patch: Patch) -> None:
    seal = Signatures.seal

    def once(self: Signatures, encoded: bytes) -> object:
        self._always = False
        return seal(self, encoded)

    patch.setattr(Signatures, "seal", once)


@mutant(reliable, overtaken, aim=signed)
def a_run_is_judged_before_those_that_it_follows_are_here(patch: Patch) -> None:
    """One that overtook the view's first comes without a credential."""

    def is_forged(self: Streams, run: Run) -> bool:
        return self._signatures is not None and self._signatures.is_forged(run)

    patch.setattr(Streams, "is_forged", is_forged)


@told_by(test_signed.test_a_leader_that_forges_is_put_out, Multicast.RELIABLE, test_signed._by_own_key)
def whatever_has_a_seal_is_believed(patch: Patch) -> None:
    patch.setattr(Signatures, "is_forged", lambda self, run: run.seal is None)


@told_by(test_signed.test_a_leader_that_forges_is_put_out, Multicast.RELIABLE, test_signed._unsigned)
def who_brings_a_forged_run_is_not_suspected(patch: Patch) -> None:
    take_run = Intake._take_run

    def drop(self: Intake, run: Run, by: set[Process], now_ms: int) -> object:
        return [] if self._streams.is_forged(run) else take_run(self, run, by, now_ms)

    patch.setattr(Intake, "_take_run", drop)


@told_by(test_signed.test_a_run_of_one_group_or_instance_is_none_of_another, "g", "i2")
def the_instance_is_not_signed(patch: Patch) -> None:
    init = Signatures.__init__

    def of_any(
        self: Signatures, signer: RunSigner, process: Process, group: GroupName, instance: InstanceId, *, may_lose: bool
    ) -> None:
        init(self, signer, process, group, InstanceId(""), may_lose=may_lose)

    patch.setattr(Signatures, "__init__", of_any)
