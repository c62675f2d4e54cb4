"""Reads a page as a browser would parse it: elements with attributes and text."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "img", "input", "br", "col"}


@dataclass
class Element:
    """An element of the page."""

    tag: str
    attributes: dict[str, str | None]
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text inside, with single spaces."""
        return " ".join("".join(c if isinstance(c, str) else f" {c.text} " for c in self.children).split())

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Every element below with this tag and these attributes; `class_` must be among the classes."""
        wanted = attributes.pop("class_", None)
        found = []
        for child in self.children:
            if isinstance(child, str):
                continue
            fits = all(child.attributes.get(key) == value for key, value in attributes.items())
            classes = (child.attributes.get("class") or "").split()
            if child.tag == tag and fits and (wanted is None or wanted in classes):
                found.append(child)
            found += child.all(tag, **attributes, **({} if wanted is None else {"class_": wanted}))
        return found

    def one(self, tag: str, **attributes: str) -> Element:
        """The only such element."""
        (found,) = self.all(tag, **attributes)
        return found


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("root", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
            self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read_page(text: str) -> Element:
    """The elements of a page; every one must be closed where it should be."""
    parser = _Parser()
    parser.feed(text)
    parser.close()
    assert parser.open == [parser.root], f"<{parser.open[-1].tag}> is never closed"
    return parser.root
