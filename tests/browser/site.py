"""An origin that exists only inside the browser: serves rendered pages with their real headers."""

from __future__ import annotations

from dataclasses import dataclass, field
from io import BytesIO
from urllib.parse import parse_qs, urlsplit

import pypdfium2
from playwright.sync_api import ConsoleMessage, Page, Request, Route

from no_undo.adapters.jinja_pages import HtmlPage
from no_undo.entrypoint.pages import file_headers, page_headers

ORIGIN = "https://approvals.example"


def a_picture() -> bytes:
    """Return a white A4 page as PNG."""
    document = pypdfium2.PdfDocument.new()
    document.new_page(595, 842)
    picture = document[0].render(scale=1).to_pil()
    with BytesIO() as png:
        picture.save(png, "PNG")
        return png.getvalue()


@dataclass  # without slots: Playwright keeps a mark on the handler's owner
class Site:
    """Answers every request of one browser page; nothing leaves the machine.

    Attributes:
        pages: Path to page.
        asked: Every URL the browser asked for.
        posts: Every form posted, decoded.
        complaints: Console messages: script errors and policy violations among them.
    """

    pages: dict[str, HtmlPage]
    picture: bytes
    asked: list[str] = field(default_factory=list[str])
    posts: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    complaints: list[str] = field(default_factory=list[str])
    referrers: list[str] = field(default_factory=list[str])

    def attach(self, page: Page) -> None:
        """Serve this browser page."""
        page.route("**/*", self._answer)
        page.on("console", self._complain)

    def _complain(self, message: ConsoleMessage) -> None:
        self.complaints.append(message.text)

    def _answer(self, route: Route) -> None:
        request = route.request
        self.asked.append(request.url)
        self.referrers.append(request.headers.get("referer", ""))
        if request.method == "POST":
            self.posts.append(_form_of(request))
        path = urlsplit(request.url).path
        if path.endswith(".png"):
            route.fulfill(body=self.picture, headers=file_headers("image/png"))
        elif path in self.pages:
            page = self.pages[path]
            route.fulfill(body=page.html, headers=page_headers(page.style_source))
        else:
            route.fulfill(status=404, body="")


def _form_of(request: Request) -> dict[str, str]:
    fields = parse_qs(request.post_data or "", keep_blank_values=True)
    return {name: values[-1] for name, values in fields.items()}
