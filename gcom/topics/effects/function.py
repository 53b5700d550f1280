"""Functions: `def process(text): return text + "!"`, from topics to a topic of the same store.

The function is computed without a lock. Then one transaction moves the input's cursor on, by compare-and-set, and
stores the outputs: killed anywhere, each input has its outputs once. Each input has a producer of its own at the
output, whose sequences are the input's offset × 65,536 + the output's place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from time import monotonic
from types import TracebackType

from gcom.errors import BadValue
from gcom.runtime.user_process.entry import interruptible, uninterrupted
from gcom.topics.reading import IDLE_S
from gcom.topics.storage import appends, subscriptions
from gcom.topics.storage.appends import ProducerClaim, Target
from gcom.topics.storage.transaction import job
from gcom.topics.subscription import Consumer, Leases
from gcom.topics.values import Entry, TopicMessage, checked_body

FAN_OUT_MAX = 2**16  # outputs of one input

FunctionOutput = bytes | str | None
TopicProcess = Callable[[str], FunctionOutput | Iterable[bytes | str]]


class TopicFunction:
    """A function over topics. `run` works until it is interrupted; `run(follow=False)` until the inputs are drained."""

    def __init__(self, process: TopicProcess, inputs: Sequence[Consumer], target: Target | None, name: str) -> None:
        self._process, self._inputs, self._target, self.name = process, inputs, target, name

    @uninterrupted()
    def run(self, *, follow: bool = True) -> int:
        """TopicProcess what there is, and with `follow` what comes; return how many inputs that were.

        What the function raises comes out of here, with a note that names the message; its input is not taken.
        """
        access = self._inputs[0].access
        steps = [_FunctionInput(self._process, it, self._target, self.name) for it in self._inputs]
        count, idle_since = 0, monotonic()
        try:
            while True:
                seen = access.commits
                done = sum(step.go() for step in steps)
                count += done
                if done:
                    idle_since = monotonic()
                elif not follow:
                    return count
                else:
                    access.wait_for_news(seen, monotonic() - idle_since >= IDLE_S, None)
        finally:
            for it in self._inputs:
                it.close()


class _FunctionInput:
    """An input of a running function."""

    def __init__(self, process: TopicProcess, consumer: Consumer, target: Target | None, name: str) -> None:
        self._process, self._sub, self._target = process, consumer.sub, target
        self._access = consumer.access
        self._leases = Leases(consumer)
        self._producer = f"function:{name}:{consumer.sub.topic_name}"
        self._claim: ProducerClaim | None = None

    def go(self) -> int:
        """TopicProcess a batch; return how many inputs were done."""
        if not self._leases.mine():
            return 0
        if self._claim is None and self._target is not None:
            self._claim = self._access.call(job(appends.claim, self._target.topic, self._producer))
        high, messages, upto = self._access.ask(job(subscriptions.look_on, self._sub, 0))
        if upto == high:
            return 0
        entries = [entry for message in messages for entry in interruptible(self._entries, message)]
        step = job(subscriptions.process, self._sub, (high, upto), self._target, self._claim, entries)
        done = self._access.call(step)
        return len(messages) if done else 0

    def _entries(self, message: TopicMessage) -> list[Entry]:
        with _Note(message):
            result = self._process(message.text)
            if result is None:
                return []
            if isinstance(result, bytes | str):
                result = [result]
            if not isinstance(result, Iterable):
                raise BadValue(f"a function returns text, bytes, None, or several of them; got {type(result).__name__}")
            begin = message.offset * FAN_OUT_MAX
            outputs = enumerate(islice(result, FAN_OUT_MAX), start=begin)
            return [Entry(seq, checked_body(body), message.key) for seq, body in outputs]


class _Note:
    """Adds the message to what the function raises."""

    def __init__(self, message: TopicMessage) -> None:
        self._message = message

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            error.add_note(f"the input was message {self._message.offset} of topic {self._message.topic!r}")
