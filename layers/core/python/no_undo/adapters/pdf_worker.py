"""The child process that opens PDFs. Started by `pdf_sandboxed`, never imported by the product.

It limits itself first, then reads one request from standard input, runs one task and writes one
answer to standard output. Libraries are imported per task, so that a task pays only for its own.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final

from no_undo.adapters.pdf_sandboxed import pack, unpack
from no_undo.domain.errors import InvalidRequestError

type _Answer = tuple[object, Sequence[bytes]]
