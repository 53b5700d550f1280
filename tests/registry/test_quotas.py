"""Quotas of groups: one member's groups leave room for those of others, and empty ones expire."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from time import monotonic

import pytest
from gcom_registry.operation.serving import quotas
from gcom_registry.operation.settings import settings
from gcom_registry.quotas import DAY_S, EmptyGroups, GroupQuotas
from gcom_registry.server import RegistryServer

from gcom.core.messages.registry import Refusal, Register
from gcom.errors import BadValue, Unavailable
from gcom.runtime.registry.directory_client import DirectoryClient
from gcom.values import identity
from gcom.values.definition import Definition
from gcom.values.view import View
from tests.runtime.authorities import TestAuthority

LIMIT_S = 60.0


class World:
    """A registry for certificates, with few groups of each member, and clients."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._stack, self._authority = stack, TestAuthority(folder)
        own = self._authority.credentials(identity.registry())
        self.registry = RegistryServer(credentials=own, quotas=GroupQuotas(in_all=5, each=3))
        self.registry.start()
        stack.enter_context(closing(self.registry))

    def client(self, name: str) -> DirectoryClient:
        credentials = self._authority.credentials(identity.member(name))
        client = DirectoryClient(self.registry.address, LIMIT_S, credentials=credentials)
        return self._stack.enter_context(closing(client))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(tmp_path, stack)


def test_a_member_has_so_many_groups_and_others_have_room(world: World) -> None:
    mallory, alice = world.client("mallory"), world.client("alice")
    for number in range(3):
        mallory.create(Definition.parse(f"m{number}"))
    with pytest.raises(Unavailable, match=r"no room for group 'm3': mallory has its 3 groups here; remove some"):
        mallory.create(Definition.parse("m3"))
    mallory.create(Definition.parse("m0"))  # it is there already
    alice.create(Definition.parse("a0"))
    mallory.remove("m1")
    mallory.create(Definition.parse("m3"))
    alice.create(Definition.parse("a1"))
    with pytest.raises(Unavailable, match="no room for group 'a2': the registry holds its 5 groups"):
        alice.create(Definition.parse("a2"))


def test_groups_that_a_member_registers_without_creating_them_count(world: World) -> None:
    mallory = world.client("mallory")

    def registered(number: int) -> object:
        view = View(1, ("mallory#a",), ("127.0.0.1:9",))
        return mallory.ask(Register(Definition.parse(f"m{number}"), f"{number:027x}", view, "mallory#a"))

    assert not any(isinstance(registered(number), Refusal) for number in (0, 1, 2, 0))
    refused = registered(3)
    assert isinstance(refused, Refusal)
    assert "mallory has its 3 groups here" in refused.text


def test_an_empty_group_expires_and_one_that_was_made_anew_does_not() -> None:
    empty = EmptyGroups(empty_s=100)
    assert empty.expired([("a", "1"), ("b", "1")], 0) == []
    assert empty.expired([("a", "1"), ("b", "2")], 99) == []  # b is another instance
    assert empty.expired([("a", "1"), ("b", "2")], 100) == ["a"]
    assert EmptyGroups(empty_s=0).expired([("a", "1")], 1e9) == []


def test_a_registry_removes_what_nobody_joined(tmp_path: Path) -> None:
    with closing(RegistryServer(data=tmp_path, quotas=GroupQuotas(empty_s=1e-9))) as registry:
        registry.start()
        with closing(DirectoryClient(registry.address, LIMIT_S)) as client:
            client.create(Definition.parse("news"))
            deadline = monotonic() + LIMIT_S
            while client.groups():
                assert monotonic() < deadline, "it stays"
    assert '"event": "expire", "group": "news"' in (tmp_path / "trail.jsonl").read_text()


def test_the_settings_are_checked() -> None:
    assert quotas(settings({}, {})) == GroupQuotas()
    given = {"groups_max": "9", "groups_each": "2", "empty_days": "0"}
    assert quotas(settings(given, {})) == GroupQuotas(9, 2, 0)
    assert quotas(settings({"empty_days": "30"}, {})).empty_s == 30 * DAY_S
    with pytest.raises(BadValue, match="--groups-max: '0' is no whole number from 1 to 10000"):
        settings({"groups_max": "0"}, {})
