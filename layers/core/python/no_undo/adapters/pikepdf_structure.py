"""Reads every string, name and stream of a PDF's objects with pikepdf; child process only."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pikepdf

from no_undo.adapters.redaction_reports import compare_passages, to_json
from no_undo.domain.errors import InvalidRequestError
from no_undo.domain.redaction import ChannelResult, ChannelVerdict, Passage, squash

READER: Final = f"pikepdf {pikepdf.__version__}"

_MAX_STREAM_BYTES: Final = 128 * 1024 * 1024
_CHANNELS: Final = (
    "annotations",
    "form_fields",
    "outlines",
    "structure_text",
    "metadata",
    "attachments",
    "names",
    "other_objects",
    "other_streams",
    "content_streams",
)
_MARKS: Final[tuple[tuple[str, tuple[set[str], ...]], ...]] = (
    ("attachments", ({"/EF"},)),
    ("form_fields", ({"/FT"}, {"/T", "/Kids"}, {"/V", "/Kids"}, {"/TU", "/Kids"})),
    ("annotations", ({"/Rect", "/Subtype"},)),
    ("outlines", ({"/Title"},)),
    ("structure_text", ({"/ActualText"}, {"/Alt"}, {"/E"}, {"/S", "/P"})),
)
_FRAGMENT_CHANNELS: Final = ("annotations", "form_fields")
_ACTIVE: Final = {
    "JS": "javascript",
    "JavaScript": "javascript",
    "Launch": "launch",
    "SubmitForm": "submit_form",
    "ImportData": "import_data",
    "RichMedia": "rich_media",
    "XFA": "xfa",
    "EmbeddedFile": "attachment",
    "EmbeddedFiles": "attachment",
}
# What pikepdf raises on damaged data, foreign filters, and JBIG2 without its outside decoder.
UNDECODABLE: Final = (
    pikepdf.PdfError,
    pikepdf.DependencyError,
    NotImplementedError,
    RuntimeError,
    TypeError,
)
FONT_HINT: Final = "An embedded font still lists the letters of a removed value in order of use."
_HINT: Final = 6  # letters in the value's own order; shorter runs are in any text
_MAP_SECTIONS: Final = re.compile(rb"beginbfchar(.*?)endbfchar", re.DOTALL)
_MAP_CODES: Final = re.compile(rb"<((?:[0-9A-Fa-f]{2})+)>")
_SHOWS_TEXT: Final = frozenset({"Tj", "TJ", "'", '"'})
_PRINTABLE: Final = bytes(range(0x20, 0x7F)) + b"\t\r\n\x00"
_TEXT_SHARE: Final = 0.85


def open_structure(content: bytes) -> pikepdf.Pdf:
    """Open a PDF for reading its objects, with qpdf's guards set.

    Raises:
        InvalidRequestError: It is encrypted or broken; field `document`.
    """
    pikepdf.settings.set_qpdf_limits(
        parser_max_errors=0,  # otherwise the rest of a damaged content stream is skipped silently
        flate_max_memory=_MAX_STREAM_BYTES,
        run_length_max_memory=_MAX_STREAM_BYTES,
        png_max_memory=_MAX_STREAM_BYTES,
        tiff_max_memory=_MAX_STREAM_BYTES,
        dct_max_memory=_MAX_STREAM_BYTES,
    )
    try:
        pdf = pikepdf.open(io.BytesIO(content), suppress_warnings=True)
    except pikepdf.PasswordError as error:
        raise _refused("it is encrypted; remove the password and submit it again") from error
    except pikepdf.PdfError as error:
        raise _refused("it is broken and cannot be opened as a PDF") from error
    if pdf.is_encrypted:
        raise _refused("it is encrypted; remove the protection and submit it again")
    return pdf


def _refused(why: str) -> InvalidRequestError:
    return InvalidRequestError(f"The document was refused: {why}.", field="document")


def active_content(content: bytes) -> list[str]:
    """Return the names of active features in a PDF, sorted; nothing is run."""
    with open_structure(content) as pdf:
        found = {
            _ACTIVE[word] for root in pdf.objects for word in _readable_names(root) & _ACTIVE.keys()
        }
    return sorted(found)


def _readable_names(root: object) -> set[str]:
    try:
        return set(_texts_in(root).names)
    except UnicodeDecodeError:  # a name that is no UTF-8 is none of ours
        return set()


def search_structure(
    arguments: Mapping[str, Any], documents: Sequence[bytes]
) -> tuple[dict[str, Any], Sequence[bytes]]:
    """Look for values in every object and stream of two PDFs.

    Args:
        arguments: `values`, value to kind.
        documents: The original and the redacted PDF.
    """
    before, after = documents
    with open_structure(before) as pdf:
        old = StructureReading(pdf)
        old_fields = signature_field_names(pdf)
    with open_structure(after) as pdf:
        new = StructureReading(pdf)
        new_fields = signature_field_names(pdf)
        marks = _staged_marks(pdf)
        fonts = _fonts_row(pdf, list(arguments["values"]))
    report = compare_passages(
        READER,
        arguments["values"],
        old.passages,
        new.passages,
        channels=_CHANNELS,
        fragment_channels=_FRAGMENT_CHANNELS,
    )
    rows = tuple(_judged_unreadable(row, new.unreadable) for row in report.rows)
    facts = {"signature_fields": [old_fields, new_fields]}
    return to_json(replace(report, rows=(*rows, marks, fonts), facts=facts)), ()


@dataclass(slots=True)
class _Texts:
    """Strings and names of one object, its indirect children left out."""

    strings: list[str] = field(default_factory=list[str])
    names: list[str] = field(default_factory=list[str])


def _texts_in(root: object) -> _Texts:
    """Collect every string, name and key of one object, however deep."""
    texts = _Texts()
    waiting = [root]
    while waiting:
        thing = waiting.pop()
        if isinstance(thing, pikepdf.String):
            texts.strings += _string_readings(thing)
        elif isinstance(thing, pikepdf.Name):
            texts.names.append(_plain_name(str(thing)))
        elif isinstance(thing, pikepdf.Dictionary | pikepdf.Stream):
            texts.names += [_plain_name(key) for key in thing.keys()]  # noqa: SIM118 - no mapping
            waiting += [value for _, value in thing.items() if not _is_indirect(value)]
        elif isinstance(thing, pikepdf.Array):
            waiting += [value for value in reversed(list(thing)) if not _is_indirect(value)]
    return texts


def _is_indirect(value: object) -> bool:
    return isinstance(value, pikepdf.Object) and value.is_indirect


def _plain_name(name: str) -> str:
    """Undo the escapes of a name, ISO 32000-1 7.3.5: `/a#40b` is a@b."""
    return re.sub(r"#([0-9A-Fa-f]{2})", lambda match: chr(int(match[1], 16)), name[1:])


def _string_readings(string: pikepdf.String) -> list[str]:
    """Return a string as PDF text and, where that differs, as plain bytes."""
    return list(dict.fromkeys((str(string), _decoded(bytes(string)))))


def _decoded(data: bytes) -> str:
    """Decode bytes whose encoding nobody states."""
    if data.startswith((b"\xfe\xff", b"\xff\xfe")):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


class StructureReading:
    """Everything the objects and streams of one PDF say.

    Attributes:
        passages: By channel, with the page where one is known.
        unreadable: Channel to how many of its parts could not be read.
    """

    def __init__(self, pdf: pikepdf.Pdf) -> None:
        self.passages: list[Passage] = []
        self.unreadable: Counter[str] = Counter()
        self._pages = dict(_page_indexes(pdf))
        self._page_contents = {stream.objgen for page in pdf.pages for stream in _contents(page)}
        self._attachments = set(_embedded_files(pdf))
        info = pdf.trailer.get("/Info")
        self._info = info.objgen if isinstance(info, pikepdf.Dictionary) else None
        for page in pdf.pages:
            self._read_shown_text(page, page.index)
        for root in (*pdf.objects, pdf.trailer):
            try:
                self._read_object(root)
            except UnicodeDecodeError:  # a name that is no UTF-8
                self.unreadable["other_objects"] += 1

    def _read_object(self, root: object) -> None:
        texts = _texts_in(root)
        channel = self._channel(root)
        page_index = self._pages.get(root.objgen) if isinstance(root, pikepdf.Object) else None
        self.passages.append(Passage(channel, "\n".join(texts.strings), page_index))
        self.passages.append(Passage("names", "\n".join(texts.names), page_index, syntax=True))
        if isinstance(root, pikepdf.Stream):
            self._read_stream(root)

    def _channel(self, root: object) -> str:
        """Name the channel of an object's strings, by what marks it (ISO 32000-1)."""
        if not isinstance(root, pikepdf.Dictionary | pikepdf.Stream):
            return "other_objects"
        keys = set(root.keys())
        if root.objgen == self._info or root.get("/Type") == "/Metadata":
            return "metadata"
        if root.objgen in self._attachments:
            return "attachments"
        marked = (channel for channel, marks in _MARKS if any(keys >= mark for mark in marks))
        return next(marked, "other_objects")

    def _read_stream(self, stream: pikepdf.Stream) -> None:
        if stream.objgen in self._page_contents or _is_binary_by_nature(stream):
            return
        channel = "other_streams"
        if stream.objgen in self._attachments:
            channel = "attachments"
        elif stream.get("/Type") == "/Metadata":
            channel = "metadata"
        try:
            data = stream.read_bytes()
        except UNDECODABLE:
            self.unreadable[channel] += 1
            return
        if channel == "other_streams" and _shows_text(stream, data):
            self._read_shown_text(stream, None)
        elif _is_text(data):
            self.passages.append(Passage(channel, _decoded(data), syntax=b"begincmap" in data))
        elif channel == "attachments":
            self.unreadable[channel] += 1

    def _read_shown_text(
        self, source: pikepdf.Page | pikepdf.Stream, page_index: int | None
    ) -> None:
        """Join the strings that a content stream shows, as bytes, fonts left out of account."""
        try:
            instructions = pikepdf.parse_content_stream(source)
            shown = "".join(_operand_text(each) for each in instructions)
        except UNDECODABLE:
            self.unreadable["content_streams"] += 1
            return
        self.passages.append(Passage("content_streams", shown, page_index))


def _operand_text(
    instruction: pikepdf.ContentStreamInstruction | pikepdf.ContentStreamInlineImage,
) -> str:
    """Return the text operands of one instruction; property lists stand on lines of their own."""
    if isinstance(instruction, pikepdf.ContentStreamInlineImage):
        return ""
    texts = _Texts()
    for operand in instruction.operands:
        texts.strings += _shown_strings(operand)
    joined = "".join(texts.strings)
    return joined if str(instruction.operator) in _SHOWS_TEXT or not joined else f"\n{joined}\n"


def _shown_strings(operand: object) -> list[str]:
    if isinstance(operand, pikepdf.String):
        return [bytes(operand).decode("latin-1")]
    if isinstance(operand, pikepdf.Array):
        return [text for item in operand for text in _shown_strings(item)]
    if isinstance(operand, pikepdf.Dictionary):
        return _texts_in(operand).strings
    return []


def _page_indexes(pdf: pikepdf.Pdf) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield the object ids of pages and of their annotations, with the page index."""
    for page in pdf.pages:
        yield page.obj.objgen, page.index
        for annotation in _items(page.obj.get("/Annots")):
            if annotation.is_indirect:
                yield annotation.objgen, page.index


def _contents(page: pikepdf.Page) -> list[pikepdf.Object]:
    contents = page.obj.get("/Contents")
    return [contents] if isinstance(contents, pikepdf.Stream) else _items(contents)


def _items(value: object) -> list[pikepdf.Object]:
    """Return the objects of an array, or nothing when it is no array."""
    if not isinstance(value, pikepdf.Array):
        return []
    items: list[object] = list(value)  # numbers and the like arrive as plain Python values
    return [item for item in items if isinstance(item, pikepdf.Object)]


def _embedded_files(pdf: pikepdf.Pdf) -> Iterator[tuple[int, int]]:
    for root in pdf.objects:
        if isinstance(root, pikepdf.Stream) and root.get("/Type") == "/EmbeddedFile":
            yield root.objgen
        elif isinstance(root, pikepdf.Dictionary):
            files = root.get("/EF")
            if isinstance(files, pikepdf.Dictionary):
                yield from (
                    item.objgen for _, item in files.items() if isinstance(item, pikepdf.Stream)
                )


def _is_binary_by_nature(stream: pikepdf.Stream) -> bool:
    """Say whether a stream holds pixels, a font program, a colour profile or cross references.

    Pixels are the picture readers' task; the byte reader searches the others.
    """
    keys = set(stream.keys())
    return (
        stream.get("/Subtype") in ("/Image", "/Type1C", "/CIDFontType0C", "/OpenType")
        or bool(keys & {"/Length1", "/Length2", "/Length3"})
        or {"/N", "/Alternate"} <= keys
        or stream.get("/Type") in ("/XRef", "/ObjStm")
    )


def _shows_text(stream: pikepdf.Stream, data: bytes) -> bool:
    return stream.get("/Subtype") == "/Form" or (b"BT" in data and b"ET" in data)


def _is_text(data: bytes) -> bool:
    """Say whether bytes read as text; UTF-8 and UTF-16 count by their ASCII share or validity."""
    sample = data[:65536]
    if not sample:
        return True
    printable = len(sample) - len(sample.translate(None, _PRINTABLE))
    if printable / len(sample) >= _TEXT_SHARE:
        return True
    try:
        sample[:-4].decode()
    except UnicodeDecodeError:
        return False
    return b"\x00" not in sample


def signature_field_names(pdf: pikepdf.Pdf) -> list[str]:
    """Return the names of the form's signature fields, sorted."""
    return sorted(
        str(root.get("/T", ""))
        for root in pdf.objects
        if isinstance(root, pikepdf.Dictionary) and root.get("/FT") == "/Sig"
    )


def _staged_marks(pdf: pikepdf.Pdf) -> ChannelVerdict:
    """Look for redaction annotations: they mark text that is still there."""
    count = sum(
        isinstance(root, pikepdf.Dictionary) and root.get("/Subtype") == "/Redact"
        for root in pdf.objects
    ) + sum(
        annotation.get("/Subtype") == "/Redact"
        for page in pdf.pages
        for annotation in _items(page.obj.get("/Annots"))
        if isinstance(annotation, pikepdf.Dictionary) and not annotation.is_indirect
    )
    if count:
        return ChannelVerdict(
            "redaction_marks",
            READER,
            ChannelResult.FOUND,
            f"{count} redaction marks are staged, not applied",
        )
    return ChannelVerdict("redaction_marks", READER, ChannelResult.GONE, "no mark is left")


def _fonts_row(pdf: pikepdf.Pdf, values: Sequence[str]) -> ChannelVerdict:
    """Find fonts whose character map still lists the letters of a value in its own order.

    A subset lists the characters of a text in order of first use. That is a hint at what stood
    there, not the text, and cutting it out would take a new font: it is a warning.
    """
    orders = [order for value in values if len(order := _first_uses(squash(value))) >= _HINT]
    hinting = 0
    for root in pdf.objects:
        if isinstance(root, pikepdf.Dictionary) and isinstance(
            cmap := root.get("/ToUnicode"), pikepdf.Stream
        ):
            listed = _first_uses(squash(_mapped_text(cmap)))
            hinting += any(
                order[at : at + _HINT] in listed
                for order in orders
                for at in range(len(order) - _HINT + 1)
            )
    if not hinting:
        return ChannelVerdict("font_maps", READER, ChannelResult.GONE, "no font lists a value")
    detail = f"{hinting} fonts list letters in the order of a removed value"
    return ChannelVerdict("font_maps", READER, ChannelResult.GONE, detail, warning=FONT_HINT)


def _mapped_text(cmap: pikepdf.Stream) -> str:
    """Return the characters that a ToUnicode map lists, in its order; empty when undecodable."""
    try:
        data = cmap.read_bytes()
    except UNDECODABLE:
        return ""
    texts: list[str] = []
    for section in _MAP_SECTIONS.findall(data):
        codes = [bytes.fromhex(code.decode()) for code in _MAP_CODES.findall(section)]
        texts += [code.decode("utf-16-be", errors="replace") for code in codes[1::2]]
    return "".join(texts)


def _first_uses(squashed: str) -> str:
    return "".join(dict.fromkeys(squashed))


def _judged_unreadable(row: ChannelVerdict, unreadable: Mapping[str, int]) -> ChannelVerdict:
    """Turn a clean row into not proven where parts of its channel could not be read."""
    if row.result is ChannelResult.FOUND or not unreadable.get(row.channel):
        return row
    return replace(
        row,
        result=ChannelResult.NOT_PROVEN,
        detail=f"{unreadable[row.channel]} parts could not be read",
    )
