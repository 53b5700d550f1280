"""The input: completion with its list, and long lines, which are folded where nobody sees it."""

from __future__ import annotations

from gcom_chat.model.text import FOLDED_CHARS, folded, unfolded
from gcom_chat.view.writing.message_input import MessageInput
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget


def _input() -> MessageInput:
    box = MessageInput(lambda: ["bob", "bert", "carol"], lambda: ["news"])
    box.resize(400, 60)
    box.show()
    return box


def test_tab_goes_through_a_list_of_names(qapp: object) -> None:
    assert qapp
    box = _input()
    QTest.keyClicks(box, "b")
    QTest.keyClick(box, Qt.Key.Key_Tab)
    names = box._list
    assert (box.toPlainText(), names.isVisible(), names.count()) == ("bob: ", True, 2)
    QTest.keyClick(box, Qt.Key.Key_Tab)
    assert (box.toPlainText(), names.currentItem().text()) == ("bert: ", "bert")
    QTest.keyClick(box, Qt.Key.Key_Backtab)
    assert box.toPlainText() == "bob: "
    names.clicked.emit(names.model().index(1, 0))
    assert (box.toPlainText(), names.isVisible()) == ("bert: ", False)
    box.close()


def test_one_name_needs_no_list_and_typing_on_closes_it(qapp: object) -> None:
    assert qapp
    box = _input()
    QTest.keyClicks(box, "hi ca")
    QTest.keyClick(box, Qt.Key.Key_Tab)
    assert (box.toPlainText(), box._list.isVisible()) == ("hi carol ", False)
    QTest.keyClick(box, Qt.Key.Key_Tab)
    box.setPlainText("hi ")
    box.moveCursor(box.textCursor().MoveOperation.End)
    box.end_completion()
    QTest.keyClick(box, Qt.Key.Key_Tab)
    assert box._list.isVisible()
    QTest.keyClicks(box, "x")
    assert not box._list.isVisible()
    box.close()


def test_a_megabyte_in_one_line_is_folded_and_comes_back_as_it_was(qapp: object) -> None:
    assert qapp
    box, text = _input(), "word " * (1 << 18) + "\nend"
    data = QMimeData()
    data.setText(text)
    box.insertFromMimeData(data)
    assert box.toPlainText() == text
    assert max(block.length() for block in _blocks(box)) <= FOLDED_CHARS + 2
    box.undo()
    box.redo()
    assert box.toPlainText() == text
    box.selectAll()
    assert box.createMimeDataFromSelection().text() == text
    box.close()


def test_folding_changes_no_text() -> None:
    for text in ("", "a", "a\n\nb", "x" * FOLDED_CHARS, "x" * (FOLDED_CHARS + 1), "\n" * 5_000, "é" * 9_999 + "\n"):
        assert unfolded(folded(text)) == text


def _blocks(box: MessageInput) -> list:  # type: ignore[type-arg]
    block, found = box.document().firstBlock(), []
    while block.isValid():
        found.append(block)
        block = block.next()
    return found


def test_the_input_grows_with_its_lines_typed_or_wrapped(qapp: object) -> None:
    assert qapp
    field = _input()
    heights = [field.height()]
    for text in ("one", "two", "three"):
        QTest.keyClicks(field, text)
        QTest.keyClick(field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
        heights.append(field.height())
    assert heights == sorted(set(heights))
    assert field.toPlainText() == "one\ntwo\nthree\n"
    assert field.blockCount() == 4  # Up goes from line to line, and only from the first to what was sent before
    field.setPlainText("word " * 200)
    assert field.height() > heights[0]
    field.setPlainText("")
    assert field.height() == heights[0]


def test_tab_goes_on_where_there_is_nothing_to_complete(qapp: object) -> None:
    assert qapp
    both = QWidget()
    layout = QVBoxLayout(both)
    field, following = MessageInput(list, list, both), QLineEdit(both)
    layout.addWidget(field)
    layout.addWidget(following)
    both.show()
    field.setFocus()
    QTest.keyClick(field, Qt.Key.Key_Tab)
    assert both.focusWidget() is following
    both.close()
