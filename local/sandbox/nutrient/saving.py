"""Writes documents: as a whole new file, or (one of the lies) behind the old bytes."""

from __future__ import annotations

import io
import math
import re

import pikepdf
from pikepdf import Dictionary, Name

_NOTICE = "Evaluation version - created with a trial key"
_XREF_ENTRY = re.compile(rb"(\d{10}) (\d{5}) n")


def save(document: pikepdf.Pdf) -> bytes:
    """Return the document as one new revision: only what is reachable, compressed, unencrypted."""
    target = io.BytesIO()
    document.remove_unreferenced_resources()
    document.save(
        target,
        encryption=False,
        deterministic_id=True,
        object_stream_mode=pikepdf.ObjectStreamMode.generate,
    )
    return target.getvalue()


def append(original: bytes, document: pikepdf.Pdf) -> bytes:
    """Return the original bytes followed by the document as a further revision of them.

    Readers show the new revision; the old one can be cut out of the file with a text editor.
    """
    target = io.BytesIO()
    document.save(
        target,
        encryption=False,
        deterministic_id=True,
        object_stream_mode=pikepdf.ObjectStreamMode.disable,
    )
    base = original.rstrip() + b"\n"
    revision = target.getvalue()
    table = int(revision[revision.rindex(b"startxref") + 9 :].split()[0])
    body, xref = revision[:table], revision[table:]
    xref = _XREF_ENTRY.sub(lambda hit: b"%010d %s n" % (int(hit[1]) + len(base), hit[2]), xref)
    previous = int(base[base.rindex(b"startxref") + 9 :].split()[0])
    xref = xref.replace(b"trailer <<", b"trailer << /Prev %d" % previous, 1)
    start = xref.rindex(b"startxref")
    return base + body + xref[:start] + b"startxref\n%d\n%%%%EOF\n" % (table + len(base))


def stamp(document: pikepdf.Pdf) -> None:
    """Draw the trial's diagonal evaluation notice on every page."""
    turn = math.radians(45)
    font = Dictionary(Type=Name.Font, Subtype=Name.Type1, BaseFont=Name.Helvetica)
    for page in document.pages:
        name = page.add_resource(font, Name.Font)
        drawn = (
            f"q 0.7 g BT {name} 28 Tf {math.cos(turn):.4f} {math.sin(turn):.4f} "
            f"{-math.sin(turn):.4f} {math.cos(turn):.4f} 90 140 Tm ({_NOTICE}) Tj ET Q"
        )
        page.contents_add(document.make_stream(drawn.encode()))
