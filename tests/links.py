"""The links of a built site (`make docs`): python -m tests.links FOLDER prints each that leads nowhere.

Sphinx looks at the links that it resolves itself; this looks at the pages as a browser does, anchors and pictures too.
Links to other sites are counted, and not asked for: a build needs no network.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag


@dataclass
class HtmlPage(HTMLParser):
    """One page: the anchors that it has, and the places that it links to."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag names, and where it leads."""
        found = {name: value for name, value in attrs if value}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        # Icons are drawn by `use`, and stand in the page itself.
        self.links += [found[name] for name in ("href", "src") if name in found and tag != "use"]


def read(path: Path) -> HtmlPage:
    """Return a page's anchors and links."""
    page = HtmlPage()
    page.feed(path.read_text("utf-8"))
    return page


def broken(folder: Path) -> list[str]:
    """Return a sentence for each link within the site that leads nowhere."""
    pages = {path.resolve(): read(path) for path in sorted(folder.rglob("*.html"))}
    found: list[str] = []
    for path, page in pages.items():
        for link in page.links:
            if "://" in link or link.startswith(("mailto:", "data:")):
                continue
            place, anchor = urldefrag(link)
            target = (path.parent / unquote(place.partition("?")[0])).resolve() if place else path
            if not target.exists():
                found.append(f"{path.relative_to(folder.resolve())}: {link}: no such file")
            elif anchor and target in pages and unquote(anchor) not in pages[target].anchors:
                found.append(f"{path.relative_to(folder.resolve())}: {link}: no such anchor")
    return found


def main() -> int:
    """Print what is broken; return 1 if anything is."""
    folder = Path(sys.argv[1])
    found = broken(folder)
    print("\n".join(found) if found else f"links: {len(list(folder.rglob('*.html')))} pages, none is broken")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
