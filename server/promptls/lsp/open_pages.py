"""The pages of a connection, with the decisions of the user about the items of a prompt."""

from __future__ import annotations

import re
from collections import OrderedDict
from urllib.parse import quote

from msgspec import Struct

from promptls.api.messages.params import Json
from promptls.api.pages import Group, Page, RelatedItems
from promptls.lsp.handlers import PAGE_SCHEME

MAX_PAGES = 20
"""Number of pages that are kept; the oldest is forgotten."""


class OpenPage(Struct, frozen=True):
    """A page, the params of its request, and the user's decisions."""

    kind: str
    params: Json
    follows_document: bool  # whether the message is the current text of the document that the params name
    page: Page
    result: Json
    pinned: tuple[Group, ...] = ()
    dropped: tuple[Group, ...] = ()
    related: RelatedItems = {}  # the lists that are open below items

    @property
    def is_incomplete(self) -> bool:
        """Whether the page shows a prompt that was built from an incomplete index."""
        return self.kind == "prompt" and bool(self.result["index"]["complete"] < 1)


class OpenPages:
    """The pages of a connection by URI, the newest last."""

    def __init__(self) -> None:
        self._pages: OrderedDict[str, OpenPage] = OrderedDict()
        self._count = 0

    def get(self, uri: str) -> OpenPage | None:
        """Return a page, None if it is not kept."""
        return self._pages.get(uri)

    def put(self, uri: str | None, page: OpenPage) -> str:
        """Keep a page, under a new URI if there is none, and return its URI."""
        if uri is None or uri not in self._pages:
            self._count += 1
            name = quote(re.sub(r"[^\w .-]+", " ", page.page.title).strip() or page.kind)
            uri = f"{PAGE_SCHEME}:/{self._count}/{name}.md"
        self._pages[uri] = page
        self._pages.move_to_end(uri)
        while len(self._pages) > MAX_PAGES:
            self._pages.popitem(last=False)
        return uri

    def incomplete(self) -> list[str]:
        """Return the URIs of prompts that were built from an incomplete index."""
        return [uri for uri, page in self._pages.items() if page.is_incomplete]
