"""The inbox page shows captured mail and does not run what is in it."""

import asyncio

import httpx

from local.stack.inbox import create_app

MESSAGE = {
    "MessageId": "one@example.com",
    "Source": "No Undo <no-undo@example.com>",
    "To": ["alice@example.com"],
    "Subject": "Approve <b>now</b>",
    "BodyText": "Open https://example.com/approvals/abc today",
    "BodyHtml": "<p onclick='x'>Hello</p><script>alert(1)</script>",
    "Timestamp": 1_700_000_000.0,
}


def get(path: str) -> httpx.Response:
    """Ask an inbox that holds one message."""

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(create_app(lambda: [MESSAGE]))
        async with httpx.AsyncClient(transport=transport, base_url="http://inbox") as client:
            return await client.get(path)

    return asyncio.run(ask())


def test_the_list_names_subject_and_recipient_as_text() -> None:
    page = get("/").text

    assert "Approve &lt;b&gt;now&lt;/b&gt;" in page
    assert "alice@example.com" in page


def test_links_in_the_text_can_be_followed() -> None:
    page = get("/messages/one@example.com").text

    assert '<a href="https://example.com/approvals/abc">' in page


def test_html_is_shown_in_a_frame_without_scripts() -> None:
    page = get("/messages/one@example.com").text

    assert '<iframe sandbox="allow-popups" srcdoc="' in page
    assert "<script>" not in page


def test_a_message_that_is_not_there_is_not_found() -> None:
    assert get("/messages/other").status_code == 404


def test_programs_get_the_messages_as_json() -> None:
    assert get("/messages.json").json() == {"messages": [MESSAGE]}
