"""The ways this stand-in can lie or fail, each off unless a test or an operator turns it on."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Switches(BaseModel):
    """What the vendor does wrong from now on.

    Attributes:
        staged_only: `/build` ignores `applyRedactions`: marks and black boxes over live text.
        boxes_only: `/build` paints boxes over live text and leaves no marks behind.
        preset_noop: Every preset answers 200 and matches nothing, as `vin` always does.
        miss_page: `/build` skips this page (from 1).
        miss_split_values: `/build` finds a value only where one text operator shows all of it.
        miss_metadata: `/build` cleans the pages and nothing else.
        keep_old_revision: `/build` appends its result to the original bytes.
        ocr_layer_left: `/build` leaves invisible text (render mode 3) where it is.
        watermark: `/build` stamps the evaluation notice on every page.
        drift: Another OCR snapshot: other page pictures, or other page segmentation.
        august: Answers shaped as before September 2026: missing fields left out, token ids.
        html_200: Every route answers 200 with an HTML page.
        admission_in_progress: `/build` answers 409 to asynchronous requests that bring a key.
        out_of_credits: Every route answers 402.
        remaining_credits: Credits left; None means no limit. Both products draw on their own.
        fail_status: Status of the next `fail_times` answers.
        fail_times: How many answers fail before the service works again.
        slow_seconds: Wait before every answer.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    staged_only: bool = False
    boxes_only: bool = False
    preset_noop: bool = False
    miss_page: int | None = Field(default=None, ge=1)
    miss_split_values: bool = False
    miss_metadata: bool = False
    keep_old_revision: bool = False
    ocr_layer_left: bool = False
    watermark: bool = False
    drift: Literal["none", "dpi", "segmentation"] = "none"
    august: bool = False
    html_200: bool = False
    admission_in_progress: bool = False
    out_of_credits: bool = False
    remaining_credits: float | None = Field(default=None, ge=0)
    fail_status: Literal[408, 429, 500, 502, 503, 504] = 503
    fail_times: int = Field(default=0, ge=0)
    slow_seconds: float = Field(default=0.0, ge=0.0, le=600.0)


HONEST = Switches()
