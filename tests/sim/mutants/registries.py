"""Mutants of several registries: a copy that decides, and a home whose word is not the last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gcom.core.directory import several
from gcom.core.directory.several import Answers, Homes
from gcom.core.directory.table import Directory
from gcom.core.messages.registry import Answer, Create, GroupInfo, Refusal, Register, Request
from gcom.values import lineage
from gcom.values.names import Address
from tests.core import test_several
from tests.sim.mutants.table import Patch, told_by


@told_by(test_several.test_the_home_alone_is_asked_for_what_decides)
def what_decides_is_asked_of_any_registry(patch: Patch) -> None:
    """1. One registry has noted a joiner. 2. Another, which has not, lets what is left go on without it."""
    patch.setattr(Homes, "of", lambda self, instance: test_several.TWO)


@told_by(test_several.test_a_copy_decides_nothing_whoever_asks_it)
def every_registry_is_told_that_it_is_the_home(patch: Patch) -> None:
    def for_registry(request: Request, at: Address) -> Request:
        if isinstance(request, Create | Register):
            return replace(request, definition=replace(request.definition, home=""))
        return request

    patch.setattr(several, "for_registry", for_registry)


@told_by(test_several.test_a_home_that_buried_a_group_counts_for_more_than_the_copy)
def a_copy_counts_beside_its_home(patch: Patch) -> None:
    """A newcomer asks the home for a name that the home has buried, and looks again, for ever."""

    def found_by(answers: Answers) -> Answer | None:
        entries = {at: answer for at, answer in answers.items() if isinstance(answer, GroupInfo)}
        return several._best(entries) or several._any(answers)

    patch.setattr(several, "found_by", found_by)


@told_by(test_several.test_no_name_is_founded_while_a_registry_starts_and_may_know_it)
def a_name_is_founded_while_a_registry_starts(patch: Patch) -> None:
    def is_unknown(answer: Answer | None) -> bool:
        return isinstance(answer, Refusal)

    patch.setattr(several, "_is_unknown", is_unknown)


@told_by(test_several.test_a_copy_buries_nobody)
def a_copy_buries_a_group(patch: Patch) -> None:
    bury = Directory.bury

    def all_the_same(self: Directory, group: str, instance: str, view: int, dead: Iterable[str]) -> bool:
        row = self._rows[group]
        self._rows[group] = replace(row, definition=replace(row.definition, home=""))
        return bury(self, group, instance, view, dead)

    patch.setattr(Directory, "bury", all_the_same)


@told_by(test_several.test_a_living_stranger_goes_before_an_older_one_of_whom_nobody_registers)
def the_older_stranger_counts_though_nobody_registers_it(patch: Patch) -> None:
    def order(entry: GroupInfo, at: Address) -> tuple[object, ...]:
        return (lineage.precedence(entry.instance), -entry.view)

    patch.setattr(several, "_order", order)


@told_by(test_several.test_one_whose_list_lacks_the_home_is_told_to_name_it)
def who_cannot_ask_the_home_is_let_in(patch: Patch) -> None:
    patch.setattr(several, "within", lambda found, registries: found)
