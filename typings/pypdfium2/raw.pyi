"""pdfium's C functions through ctypes: anything goes in, anything comes out."""

from typing import Any

def __getattr__(name: str) -> Any: ...
