"""What the stand-in refuses, split by the HTTP status the vendor gives for it."""

from __future__ import annotations


class SandboxError(Exception):
    """Base of every refusal; `status` is the HTTP status the route answers with.

    Attributes:
        status: HTTP status.
        code: Short machine word for `errorDetails.code`.
        path: The failing part of the request, or an empty string.
    """

    status = 500
    code = "internal_error"

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class BadRequestError(SandboxError):
    """The request is malformed: instructions, schema, unknown preset. HTTP 400."""

    status = 400
    code = "invalid_request"


class UnsupportedFileError(SandboxError):
    """The part is not a PDF that can be opened. HTTP 400."""

    status = 400
    code = "unsupported_file"


class TooLargeError(SandboxError):
    """The file is larger or longer than this service takes. HTTP 413."""

    status = 413
    code = "file_too_large"


class UnprocessableError(SandboxError):
    """The file opens but cannot be worked on within the limits. HTTP 422."""

    status = 422
    code = "processing_failed"
