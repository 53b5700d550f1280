"""Figures of a store of topics, as a scraper gets them."""

from __future__ import annotations

from pathlib import Path
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from gcom import topics
from gcom.metrics.topics import serve_topics

LABELS = ("topic", "subscription", "le")


def scraped(url: str) -> dict[tuple[str, ...], float]:
    with urlopen(url, timeout=10) as answer:
        text = answer.read().decode()
    samples = [it for family in text_string_to_metric_families(text) for it in family.samples]
    ours = [it for it in samples if it.name.startswith("gcom_")]
    return {(it.name, *(it.labels[label] for label in LABELS if label in it.labels)): it.value for it in ours}


def test_figures_of_a_store(tmp_path: Path) -> None:
    with topics.open(tmp_path / "app.db") as store, serve_topics(store) as server:
        orders = store.topic("orders")
        billing = orders.subscribe("billing")
        producer = orders.producer("import")
        producer.send_many([(seq, "text") for seq in range(10)])
        producer.send("text", seq=9)
        first, *_ = billing.receive_many(4, timeout_s=0)
        first.ack()
        found = scraped(server.url)
        assert found["gcom_topics_up",] == 1
        assert found["gcom_topic_messages", "orders"] == found["gcom_topic_next_offset", "orders"] == 10
        assert found["gcom_topic_bytes", "orders"] == 40
        assert found["gcom_topic_subscription_lag_messages", "orders", "billing"] == 9
        assert found["gcom_topic_subscription_handed_messages", "orders", "billing"] == 9
        assert 0 <= found["gcom_topic_subscription_oldest_seconds", "orders", "billing"] < 600
        assert found["gcom_topic_duplicates_total", "orders"] == 1
        assert found["gcom_topics_commit_seconds_count",] >= 4
        assert found["gcom_topics_commit_seconds_sum",] > 0
        store.close()
        assert scraped(server.url)["gcom_topics_up",] == 0
