"""Reads rendered HTML back, so that tests ask about elements and text instead of strings."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})


@dataclass(slots=True)
class Element:
    """One element in document order, with the text inside it."""

    tag: str
    attributes: dict[str, str]
    text: str = ""
    children: list[Element] = field(default_factory=list["Element"])

    def __getitem__(self, name: str) -> str:
        return self.attributes[name]


class Page(HTMLParser):
    """A parsed page.

    Attributes:
        elements: Every element, in document order.
        text: All text outside the stylesheet, with white space collapsed.
    """

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self._texts: list[str] = []
        self.feed(html)
        self.close()

    @property
    def text(self) -> str:
        return " ".join(" ".join(self._texts).split())

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        """Every tag with its attribute names: what a value must not be able to change."""
        return [(one.tag, tuple(one.attributes)) for one in self.elements]

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Return the elements of a tag whose attributes have these values."""
        return [
            one
            for one in self.elements
            if one.tag == tag and attributes.items() <= one.attributes.items()
        ]

    def one(self, tag: str, **attributes: str) -> Element:
        """Return the only such element."""
        [element] = self.all(tag, **attributes)
        return element

    def by_id(self, identifier: str) -> Element:
        """Return the only element with this id."""
        [element] = [one for one in self.elements if one.attributes.get("id") == identifier]
        return element

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if self._open:
            self._open[-1].children.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        # Strict on purpose: our templates close what they open.
        assert self._open, f"</{tag}> closes nothing"
        assert self._open[-1].tag == tag, f"</{tag}> closes <{self._open[-1].tag}>"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data
        if not any(element.tag == "style" for element in self._open):
            self._texts.append(data)
