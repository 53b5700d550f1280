"""The pages that are tables: what is held back, the order and who was heard, views and elections."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QHeaderView, QTableWidgetItem, QVBoxLayout, QWidget

from gcom_chat.model.insight.facts import HeldLine, heard_facts, held_lines, held_summary, order_facts
from gcom_chat.model.insight.group_insight import GroupInsight
from gcom_chat.model.insight.names import called, milliseconds
from gcom_chat.model.insight.timeline import EntryKind, TimelineEntry
from gcom_chat.view import colours
from gcom_chat.view.dock.page import FactTable, InsightPage, quiet_label

SERIALS_SHOWN = 50  # what a page has room for, twice
SIGNS = {
    EntryKind.VIEW: "●",
    EntryKind.ELECTION: "♛",
    EntryKind.SUSPICION: "◐",
    EntryKind.QUORUM: "!",
    EntryKind.DEPARTURE: "○",
}


class HeldPage(InsightPage):
    """Shows what is here and not delivered, what it waits for, and since when."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = self.tr("Held back")
        self.about = quiet_label(self)
        self.table = FactTable([self.tr("Message"), self.tr("Waits for"), self.tr("Since")], self.tr("Held back"), self)
        self.table.horizontalHeader().setStretchLastSection(False)
        self.table.horizontalHeader().setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.about)
        layout.addWidget(self.table, 1)

    def show_insight(self, insight: GroupInsight, now_ms: int) -> None:
        """Show the hold-back queue."""
        if insight.snapshot is None:
            return
        self.about.setText(held_summary(insight.snapshot))
        lines: list[HeldLine] = held_lines(insight.snapshot)
        self.table.show_rows([(line.message, line.waits_for, line.since) for line in lines])


class OrderPage(InsightPage):
    """Shows the sequencer, the serials, the own messages on their way, and who was heard when."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = self.tr("Order")
        self.facts = FactTable([self.tr("Now"), ""], self.tr("The order now"), self)
        self.heard = FactTable([self.tr("Member"), self.tr("Heard")], self.tr("Members heard"), self)
        self.serials = FactTable(
            [self.tr("Serial"), self.tr("Message"), self.tr("Held back")], self.tr("Serials"), self
        )
        self.serials.itemActivated.connect(self._on_activated)
        self.serials.setToolTip(self.tr("The newest messages; Enter or a double click shows one in the conversation."))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        for table, stretch in ((self.facts, 4), (self.heard, 3), (self.serials, 3)):
            layout.addWidget(table, stretch)

    def show_insight(self, insight: GroupInsight, now_ms: int) -> None:
        """Show what is known of the order."""
        if insight.snapshot is None:
            return
        self.facts.show_rows(order_facts(insight.snapshot))
        self.heard.show_rows(heard_facts(insight.snapshot))
        newest = list(insight.traces)[-SERIALS_SHOWN:][::-1]
        self.serials.show_rows(
            [
                (
                    f"{each.serial:,}" if each.serial else "–",
                    f"{called(each.sender)} {each.number}",
                    milliseconds(1000 * (each.delivered_s - each.received_s)),
                )
                for each in newest
            ]
        )
        for at, each in enumerate(newest):
            item = self.serials.item(at, 0)
            if item is not None:
                # With the item: four times a second the rows move on, and a number of a row would mean another message.
                item.setData(Qt.ItemDataRole.UserRole, (each.sender, each.number))

    def _on_activated(self, item: QTableWidgetItem) -> None:
        first = self.serials.item(item.row(), 0)
        if first is not None and (found := first.data(Qt.ItemDataRole.UserRole)):
            self.message_wanted.emit(*found)


class ViewsPage(InsightPage):
    """Shows views, elections, suspicions and quorums, newest first: who, why, when."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = self.tr("Views")
        heads = [self.tr("Time"), self.tr("View"), self.tr("What happened"), self.tr("Leader"), self.tr("Members")]
        self.table = FactTable(heads, self.tr("Views and elections"), self)
        self._shown: tuple[TimelineEntry, ...] = ()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.table)

    def show_insight(self, insight: GroupInsight, now_ms: int) -> None:
        """Show the timeline."""
        entries = tuple(reversed(insight.timeline.entries))
        if entries == self._shown:
            return
        self._shown = entries
        self.table.show_rows([self._row(entry) for entry in entries])
        for at, entry in enumerate(entries):
            self._style(at, entry.kind)

    def _row(self, entry: TimelineEntry) -> tuple[str, ...]:
        at = datetime.fromtimestamp(entry.at_ms / 1000).strftime("%H:%M:%S")
        view = str(entry.view) if entry.view else ""
        members = f"{len(entry.members)}: {', '.join(entry.members)}" if entry.members else ""
        return at, view, f"{SIGNS[entry.kind]} {entry.text}", entry.leader, members

    def _style(self, at: int, kind: EntryKind) -> None:
        palette = self.palette()
        colour = palette.text().color()
        if kind is EntryKind.ELECTION:
            colour = colours.accent(palette)
        elif kind is not EntryKind.VIEW:
            colour = colours.warning(palette)
        item = self.table.item(at, 2)
        if item is not None:
            item.setForeground(colour)
