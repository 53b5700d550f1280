"""Calls that do not wait: each returns a Future."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Submitter(Protocol):
    """The part of a replicated state that takes commands and queries by name."""

    def submit(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Future[Any]: ...


class Submission:
    """Submits: `stock.submit.take("nails", 3)`, or, with types that mypy sees, `stock.submit(stock.take, "nails", 3)`.

    The Future has the result once it is confirmed. What is called back by it runs in the thread that applies commands,
    so it must not wait.
    """

    def __init__(self, state: Submitter) -> None:
        self._state = state

    def __call__(self, method: Callable[P, R], *arguments: P.args, **keywords: P.kwargs) -> Future[R]:
        """Submit a method of the opened state."""
        return self._state.submit(method.__name__, arguments, keywords)

    def __getattr__(self, name: str) -> Callable[..., Future[Any]]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **keywords: self._state.submit(name, arguments, keywords)
