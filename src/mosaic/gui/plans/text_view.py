"""PlanText: the text of a plan with line numbers, light colours, and marks where something is
wrong."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QMimeData, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QHelpEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QSyntaxHighlighter,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QToolTip, QWidget

from mosaic.front.plan_check import MOST_BYTES, PlanProblem
from mosaic.gui.plans.model.places import marked_span, utf16_length
from mosaic.gui.plans.model.syntax import Part, spans_of
from mosaic.gui.theme.theme import Theme
from mosaic.gui.theme.tokens import Palette
from mosaic.gui.widgets.roles import with_role

_INDENT = "    "
_GUTTER_EDGE = 6
_MARK_WIDTH = 14
_IN_COMMENT = 1


def _colours(palette: Palette) -> dict[Part, str]:
    return {
        Part.COMMENT: palette.muted,
        Part.STRING: palette.good,
        Part.NUMBER: palette.good,
        Part.WORD: palette.accent,
        Part.VARIABLE: palette.warning,
        Part.ACTION: palette.accent,
        Part.LABEL: palette.muted,
        Part.SIGN: palette.text,
    }


class PlanColours(QSyntaxHighlighter):
    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document)
        self._theme = theme
        self._formats: dict[Part, QTextCharFormat] = {}
        theme.changed.connect(self._on_theme_changed)
        self._make_formats()

    def highlightBlock(self, text: str) -> None:
        spans, is_in_comment = spans_of(text, self.previousBlockState() == _IN_COMMENT)
        is_plain = text.isascii()
        for begin, end, part in spans:
            first = begin if is_plain else utf16_length(text[:begin])
            length = end - begin if is_plain else utf16_length(text[begin:end])
            self.setFormat(first, length, self._formats[part])
        self.setCurrentBlockState(_IN_COMMENT if is_in_comment else 0)

    def _on_theme_changed(self) -> None:
        self._make_formats()
        self.rehighlight()

    def _make_formats(self) -> None:
        for part, colour in _colours(self._theme.palette).items():
            found = QTextCharFormat()
            found.setForeground(QColor(colour))
            if part in (Part.WORD, Part.SIGN):
                found.setFontWeight(QFont.Weight.Bold)
            found.setFontItalic(part is Part.COMMENT)
            self._formats[part] = found


class _Gutter(QWidget):
    """Line numbers, and beside them a sign where something is wrong."""

    def __init__(self, view: PlanText) -> None:
        super().__init__(view)
        self._view = view

    def sizeHint(self) -> QSize:
        return QSize(self._view.gutter_width, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        self._view.paint_gutter(event)


class PlanText(QPlainTextEdit):
    refused = Signal(str)  # a text that is too long: a sentence

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        with_role(self, "code")
        self._theme = theme
        self._problems: tuple[PlanProblem, ...] = ()
        self.setObjectName("plan-text")
        self.setAccessibleName("Plan in AgentSpeak")
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFont(theme.mono_font(13))
        self.setTabStopDistance(self.fontMetrics().horizontalAdvance(_INDENT))
        self._colours = PlanColours(self.document(), theme)
        self._gutter = _Gutter(self)
        self.blockCountChanged.connect(self._place_gutter)
        self.updateRequest.connect(self._on_update_request)
        theme.changed.connect(self._mark)
        self._place_gutter()

    # The text

    @property
    def text(self) -> str:
        """As it was typed: `toPlainText` would make other blanks of some."""
        return self.document().toRawText().replace("\u2029", "\n")

    def show_text(self, text: str) -> None:
        self._problems = ()
        self.setPlainText(text)
        self.moveCursor(QTextCursor.MoveOperation.Start)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Plain text, and never more than a plan may have."""
        if not source.hasText():
            return
        text = source.text()
        if len(text) + self.document().characterCount() > MOST_BYTES:
            self.refused.emit(f"A plan has at most {MOST_BYTES:,} characters: nothing was pasted")
            return
        self.insertPlainText(text.replace("\0", "\N{REPLACEMENT CHARACTER}"))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Tab indents, Enter keeps the indent."""
        keys, plain = Qt.Key, Qt.KeyboardModifier.NoModifier
        if event.key() == keys.Key_Tab and event.modifiers() == plain:
            self.insertPlainText(_INDENT)
        elif event.key() in (keys.Key_Return, keys.Key_Enter) and event.modifiers() == plain:
            before = self.textCursor().block().text()[: self.textCursor().positionInBlock()]
            indent = before[: len(before) - len(before.lstrip(" \t"))]
            self.insertPlainText(f"\n{indent}")
            self.ensureCursorVisible()
        elif event.modifiers() & Qt.KeyboardModifier.ControlModifier and event.key() in (
            keys.Key_Return,
            keys.Key_Enter,
        ):
            event.ignore()  # it sends the plan, wherever the cursor is
        else:
            super().keyPressEvent(event)

    def focusNextPrevChild(self, is_next: bool) -> bool:
        """Tab is a part of the text; Shift+Tab leads out of it."""
        return not is_next and QWidget.focusNextPrevChild(self, False)

    # What is wrong with it

    def show_problems(self, problems: tuple[PlanProblem, ...]) -> None:
        if problems != self._problems:
            self._problems = problems
            self._mark()

    def go_to(self, problem: PlanProblem) -> None:
        block = self.document().findBlockByNumber(max(0, problem.line - 1))
        if problem.line and block.isValid():
            begin, _ = marked_span(block.text(), problem.column)
            cursor = QTextCursor(block)
            cursor.setPosition(block.position() + min(begin, block.length() - 1))
            self.setTextCursor(cursor)
            self.centerCursor()
        self.setFocus()

    def problem_at(self, line: int) -> PlanProblem | None:
        """The worst one of a line."""
        found = [problem for problem in self._problems if problem.line == line]
        return max(found, key=lambda problem: problem.is_error, default=None)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            place = self.viewport().mapFromGlobal(event.globalPos())
            line = self.cursorForPosition(place).blockNumber() + 1
            messages = [item.message for item in self._problems if item.line == line]
            if messages:
                QToolTip.showText(event.globalPos(), "\n".join(messages), self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    def _mark(self) -> None:
        palette = self._theme.palette
        selections = []
        for problem in self._problems:
            block = self.document().findBlockByNumber(problem.line - 1)
            if not problem.line or not block.isValid():
                continue
            begin, end = marked_span(block.text(), problem.column)
            found = QTextEdit.ExtraSelection()
            style = QTextCharFormat()
            styles = QTextCharFormat.UnderlineStyle
            # Two shapes: nobody has to tell two colours apart.
            style.setUnderlineStyle(
                styles.WaveUnderline if problem.is_error else styles.DashUnderline
            )
            style.setUnderlineColor(QColor(palette.bad if problem.is_error else palette.warning))
            cursor = QTextCursor(block)
            cursor.setPosition(block.position() + begin)
            cursor.setPosition(block.position() + end, QTextCursor.MoveMode.KeepAnchor)
            found.format, found.cursor = style, cursor
            selections.append(found)
        self.setExtraSelections(selections)
        self._gutter.update()

    # Line numbers

    @property
    def gutter_width(self) -> int:
        digits = max(3, len(str(self.blockCount())))
        number = QFontMetrics(self._theme.mono_font(11)).horizontalAdvance("0") * digits
        return _MARK_WIDTH + number + 2 * _GUTTER_EDGE

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_gutter()

    def _place_gutter(self) -> None:
        self.setViewportMargins(self.gutter_width, 0, 0, 0)
        inside = self.contentsRect()
        self._gutter.setGeometry(
            QRect(inside.left(), inside.top(), self.gutter_width, inside.height())
        )

    def _on_update_request(self, rect: QRect, dy: int) -> None:
        if dy:
            self._gutter.scroll(0, dy)
        else:
            self._gutter.update(0, rect.y(), self._gutter.width(), rect.height())

    def paint_gutter(self, event: QPaintEvent) -> None:
        palette = self._theme.palette
        with QPainter(self._gutter) as painter:
            painter.setFont(self._theme.mono_font(11))
            block = self.firstVisibleBlock()
            while block.isValid():
                top = self.blockBoundingGeometry(block).translated(self.contentOffset()).top()
                height = self.blockBoundingRect(block).height()
                if top > event.rect().bottom():
                    return
                self._paint_line(painter, palette, block, QRect(0, round(top), 0, round(height)))
                block = block.next()

    def _paint_line(
        self, painter: QPainter, palette: Palette, block: QTextBlock, row: QRect
    ) -> None:
        line = block.blockNumber() + 1
        problem = self.problem_at(line)
        if problem is not None:
            painter.setPen(QColor(palette.bad if problem.is_error else palette.warning))
            mark = QRect(_GUTTER_EDGE - 2, row.top(), _MARK_WIDTH, row.height())
            painter.drawText(mark, Qt.AlignmentFlag.AlignCenter, "×" if problem.is_error else "!")
        is_here = line == self.textCursor().blockNumber() + 1
        if problem is None:
            painter.setPen(QColor(palette.text if is_here else palette.muted))
        number = QRect(0, row.top(), self.gutter_width - _GUTTER_EDGE, row.height())
        flags = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(number, flags, str(line))
