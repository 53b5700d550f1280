"""A race: many new topics, each with its first messages through several proxies at once. Each must get one owner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from gcom import topics
from gcom.demo.kills import worker
from gcom.demo.kills.servers import DemoServers, stores_of
from gcom.topics.dump import record_store

CLIENTS = 8  # threads at each proxy
NAMES = ("a", "b")


@dataclass(frozen=True, slots=True)
class RaceResult:
    """The topics after a race."""

    topics: int
    proxies: int
    owned_once: int
    lost: int
    doubled: int
    by_owner: dict[str, int]

    @property
    def is_exact(self) -> bool:
        return self.owned_once == self.topics and not (self.lost or self.doubled)

    def row(self) -> dict[str, object]:
        """Return the result as one JSON object."""
        counts = {"topics": self.topics, "proxies": self.proxies, "owned_once": self.owned_once}
        return {"type": "race", **counts, "lost": self.lost, "doubled": self.doubled, "owners": self.by_owner}


def run_race(count: int, proxies: int, folder: Path, place: str | None, tell: Callable[[str], object]) -> RaceResult:
    """Send a first message to `count` topics through each proxy, all at once, and look at what came of it."""
    folder.mkdir(parents=True, exist_ok=True)
    logs = folder / worker.LOGS
    names = [f"race {number}" for number in range(count)]
    with DemoServers(stores_of(place, str(folder), NAMES), proxies) as servers:
        tell(f"{count} topics, {proxies} proxies, {len(NAMES)} servers")
        with ThreadPoolExecutor(proxies) as pool:
            list(pool.map(lambda proxy: _send_all(servers.place([proxy]), proxy, names, logs), servers.proxies))
        tell("all are sent")
        with topics.open(servers.place()) as store:
            sent = [_sent(store.topic(name)) for name in names]
        for at in dict.fromkeys(servers.stores.values()):
            with topics.open(at) as store:
                record_store(store, logs)
        owners = {topic: found for topic, found in servers.owners().items() if topic in set(names)}
    lost = sum(proxy not in found for found in sent for proxy in servers.proxies)
    doubled = sum(max(0, number - 1) for found in sent for number in found.values())
    once = sum(len(owners.get(name, ())) == 1 for name in names)
    return RaceResult(count, proxies, once, lost, doubled, dict(sorted(Counter(_flat(owners)).items())))


def _send_all(place: str, proxy: str, names: list[str], logs: Path) -> None:
    with topics.open(place, log_dir=logs) as store, ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(lambda name: store.topic(name).producer(proxy).send(proxy, seq=1), names))


def _sent(topic: topics.Topic) -> Counter[str]:
    return Counter(it.text for it in topic.read())


def _flat(owners: dict[str, list[str]]) -> Iterator[str]:
    for found in owners.values():
        yield from found
