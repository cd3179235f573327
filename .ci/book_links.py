"""Follows every link of a folder of pages for a browser that leads to another file there, and says which lead nowhere.

    book_links.py FOLDER

`cargo xtask check` does so for the sources; this is for what a renderer makes of them.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page, and the places in it to which others may lead."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if place := attributes.get("id"):
            self.places.add(place)
        if tag == "a" and (link := attributes.get("href")):
            self.links.append(link)


def fault(link: str, path: Path, pages: dict[Path, Page]) -> str | None:
    """What is wrong with a link of the page at `path`."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not to.is_file():
        return f"{link} leads to nothing"
    if parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].places:
        return f"{link}: no such place in that page"
    return None


def main() -> int:
    """Returns the exit status."""
    folder = Path(sys.argv[1]).resolve()
    # The list of all pages is part of each, and the page for what is missing may be shown anywhere.
    whole = [path for path in folder.rglob("*.html") if path.name not in ("toc.html", "404.html")]
    pages = {path: Page(path) for path in whole}
    faults = [(path, found) for path, page in pages.items() for link in page.links if (found := fault(link, path, pages))]
    for path, found in faults:
        print(f"{path.relative_to(folder)}: {found}", file=sys.stderr)
    print(f"{len(pages)} pages, {len(faults)} links that lead nowhere")
    return 1 if faults or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
