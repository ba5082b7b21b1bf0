"""Routing the fields of one very long invoice, with every witness that costs nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from benchmarks.rows import Row, cpu_seconds
from no_undo.domain.extraction_schema import FREIGHT_INVOICE
from no_undo.domain.field_routing import Routing, Witness, route_fields
from no_undo.domain.field_witnesses import (
    DateWitness,
    PrintedArithmeticWitness,
    TextLayerWitness,
)
from no_undo.domain.floors import FLOORS
from no_undo.domain.form_witness import FormWitness

LINES = 3332  # three fields each, and seven more: over 10,000 fields
_AIM_SECONDS = 1.0
_CITED: Mapping[str, object] = {
    "match": "id_match",
    "confidence": 0.95,
    "recognitionScore": 0.95,
    "pageIndex": 0,
    "bbox": {"x": 10, "y": 10, "width": 50, "height": 10},
}


def measure() -> Iterator[Row]:
    """Measure the walk alone, and with witnesses."""
    rows = [
        {"description": f"Parcel {n}", "quantity": n % 9 + 1, "unit_price": n / 100}
        for n in range(LINES)
    ]
    page = "\n".join(
        f"Parcel {n}  {n % 9 + 1}  ${n / 100}  ${(n % 9 + 1) * n / 100:.2f}" for n in range(LINES)
    )
    witnesses: list[Witness] = [
        TextLayerWitness((page,), complete=True),
        PrintedArithmeticWitness((page,)),
        DateWitness(),
        FormWitness((page,)),
    ]
    data: Mapping[str, object] = {"line_items": rows}
    metadata: Mapping[str, object] = {"line_items": [dict.fromkeys(row, _CITED) for row in rows]}

    def route(heard: Sequence[Witness]) -> Routing:
        return route_fields(
            data, metadata, FREIGHT_INVOICE, floors=FLOORS["invoice"], witnesses=heard
        )

    count = len(route(()).fields)
    for name, heard in (("walk alone", ()), ("walk and four witnesses", witnesses)):
        taken = cpu_seconds(partial(route, heard), repeats=3)
        yield Row(
            name=f"routing, {name}",
            ours=taken,
            reference=None,
            unit="s",
            aim=_AIM_SECONDS,
            note=f"{count} fields of one answer, processor time, best of 3",
        )
