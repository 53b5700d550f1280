"""PostgreSQL: a server that is stopped under load, settings that are not safe, and a lost answer to a commit."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from gcom import topics
from gcom.errors import BadValue, Unavailable
from gcom.topics import ReceiptUnknown, TopicReceipt
from tests.topics.conftest import Server


def test_a_server_that_is_killed_and_comes_back(server: Server) -> None:
    """1. Messages are on their way. 2. The server ends at once. 3. It is back: what failed is sent again."""
    with topics.open(server.new_place()) as store:
        orders = store.topic("orders")
        producer = orders.producer("import")
        producer.send("0", seq=0)
        futures: dict[int, Future[TopicReceipt]] = {seq: producer.submit(str(seq), seq=seq) for seq in range(1, 300)}
        server.stop("immediate")
        failed = [seq for seq, future in futures.items() if future.exception() is not None]
        with pytest.raises(Unavailable, match="PostgreSQL at"):
            orders.send("while it is down")
        server.start()
        for seq in failed:
            producer.send(str(seq), seq=seq)
        producer.send("300", seq=300)
        assert [it.text for it in orders.read()] == [str(seq) for seq in range(301)]


def test_an_answer_to_a_commit_that_is_lost(server: Server) -> None:
    """1. The server commits. 2. The connection ends before it says so. 3. The sequence tells that it is stored."""
    from gcom.topics.storage import postgres

    class Lossy(postgres.PostgresDatabase):
        lose = False

        def commit(self) -> None:
            super().commit()
            if self.lose:
                self.lose = False
                self._connection.close()
                raise ReceiptUnknown("the connection of this test was lost at a commit")

    database = Lossy(server.new_place())
    with topics.TopicStore.of(database, postgres.WORDS) as store:
        producer = store.topic("orders").producer("import")
        producer.send("a", seq=1)
        database.lose = True
        with pytest.raises(ReceiptUnknown):
            producer.send("b", seq=2)
        assert producer.last_seq == 2
        assert producer.send("b", seq=2).duplicate
        assert not producer.send("c", seq=3).duplicate
        assert [it.text for it in store.topic("orders").read()] == ["a", "b", "c"]


def test_addresses_that_are_none(server: Server) -> None:
    with pytest.raises(BadValue, match="address of PostgreSQL is not one"):
        topics.open("postgresql://localhost/x?nonsense=1")
    with pytest.raises(Unavailable, match="refused, and nothing was stored"):
        topics.open(f"postgresql://gcom@/postgres?host={server.folder}/nowhere")
    with pytest.raises(Unavailable, match="refused") as caught:
        topics.open(f"postgresql://gcom:secret@/nowhere?host={server.folder}")
    assert "secret" not in str(caught.value)
