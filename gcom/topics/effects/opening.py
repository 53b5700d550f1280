"""The databases that effects may be in, opened by what a program gives as `db`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from gcom.errors import BadValue
from gcom.topics.access import StoreAccess
from gcom.topics.storage import sqlite_effects
from gcom.topics.storage.commits import Commits
from gcom.topics.storage.effects import EffectDatabase, EffectRows
from gcom.topics.storage.store_effects import InStore, StoreEffectFile
from gcom.topics.storage.subscriptions import Sub

POSTGRES = ("postgresql://", "postgres://")
S = TypeVar("S", bound=InStore)


def effects_in(place: str) -> EffectRows:
    """Return what a file, or a PostgreSQL database, says of effects. Raises BadValue for one that says nothing."""
    if not place.startswith(POSTGRES):
        return sqlite_effects.effects_in_file(Path(place))
    with _needing_psycopg():
        from gcom.topics.storage.postgres_effects import effects_in_postgres
    return effects_in_postgres(place)


def open_effects(db: Any, access: StoreAccess, sub: Sub, wait_ms: int) -> EffectDatabase:
    """Open what `Subscription.run` was given. Raises BadValue for what no effects can be in."""
    audited = access.records is not None
    there = getattr(db, "access", None)
    if there is not None:
        return _in_store(there, access, sub, wait_ms)
    if isinstance(db, str) and db.startswith(POSTGRES):
        return _in_postgres(db, wait_ms, audited)
    if isinstance(db, sqlite_effects.SqlitePlace):
        if str(sqlite_effects.path_of(db)) == access.name:
            raise BadValue(f"{access.name!r} is the store's own file: give run() the store, or another file")
        return sqlite_effects.EffectFile(db, audited=audited)
    if type(db).__module__.partition(".")[0] == "psycopg" and hasattr(db, "cursor") and not hasattr(db, "__aenter__"):
        return _in_postgres(db, wait_ms, audited)
    raise BadValue(
        "db must be the path of a SQLite file, postgresql://…, a connection of sqlite3 or psycopg, or the store; "
        f"got {type(db).__name__}"
    )


def _in_store(there: StoreAccess, access: StoreAccess, sub: Sub, wait_ms: int) -> EffectDatabase:
    if there.root is not access.root or not isinstance(access, Commits):
        raise BadValue(
            f"{there.name!r} is another store, or at a server: effects in a store's own database need it opened here; "
            "give run() a database of your own"
        )
    audited = access.records is not None
    if access.is_file:
        return _of(sub, StoreEffectFile(access.place, audited=audited))
    with _needing_psycopg():
        from gcom.topics.storage.postgres_effects import StorePostgresEffects
    return _of(sub, StorePostgresEffects(access.place, wait_ms, audited=audited))


def _of(sub: Sub, effects: S) -> S:
    effects.sub = sub
    return effects


def _in_postgres(place: Any, wait_ms: int, audited: bool) -> EffectDatabase:
    with _needing_psycopg():
        from gcom.topics.storage.postgres_effects import PostgresEffects
    return PostgresEffects(place, wait_ms, audited=audited)


@contextmanager
def _needing_psycopg() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise BadValue(f"PostgreSQL needs the package psycopg ({error}): pip install 'gcom[postgres]'") from error
