"""Why a request was refused, always in one shape of JSON."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from thresher.errors import ThresherError

CODES = {
    400: "bad_request",
    404: "not_found",
    405: "method_not_allowed",
    408: "too_slow_to_read",
    413: "too_large",
    421: "unknown_host",
    422: "invalid",
    429: "busy",
    500: "failed",
}
"""The statuses of refusals, and their names."""


class Fault(BaseModel):
    """What was wrong, for programs (`code`) and for people (`message`)."""

    code: str
    message: str


class Refused(BaseModel):
    """The body of every response that is not a success."""

    error: Fault


class Refusal(HTTPException):
    """A request that is not served, for a reason that its sender can mend.

    Args:
        status: The HTTP status.
        message: What was wrong and what to do.
        code: Its name for programs; that of the status if not given.
        headers: Further headers of the response.
    """

    def __init__(
        self,
        status: int,
        message: str,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, message, headers)
        self.code = code or CODES[status]

    def response(self) -> Response:
        """The refusal as a response."""
        fault = {"code": self.code, "message": self.detail}
        return JSONResponse({"error": fault}, self.status_code, self.headers)


def first_line(words: str) -> str:
    """The first line of an error; a mistake in a query has a picture of its place below it."""
    return words.partition("\n  ")[0]


def refuse_in_one_shape(app: FastAPI) -> None:
    """Let every error of an application have the one shape."""

    async def by_framework(request: Request, fault: Exception) -> Response:
        assert isinstance(fault, HTTPException)
        if isinstance(fault, Refusal):
            return fault.response()
        code = CODES.get(fault.status_code, "error")
        return Refusal(fault.status_code, fault.detail, code, fault.headers).response()

    async def by_library(request: Request, fault: Exception) -> Response:
        assert isinstance(fault, ThresherError)
        return Refusal(422, first_line(str(fault))).response()

    async def by_model(request: Request, fault: Exception) -> Response:
        assert isinstance(fault, RequestValidationError)
        return Refusal(422, _first_of(fault.errors()[0])).response()

    async def by_mistake_of_ours(request: Request, fault: Exception) -> Response:
        return Refusal(500, "the service failed; its log says why").response()

    app.add_exception_handler(HTTPException, by_framework)
    app.add_exception_handler(ThresherError, by_library)
    app.add_exception_handler(RequestValidationError, by_model)
    app.add_exception_handler(Exception, by_mistake_of_ours)


def _first_of(error: Mapping[str, Any]) -> str:
    """One of pydantic's errors in a line: where, and what."""
    place = ".".join(str(part) for part in error["loc"] if part not in ("query", "body", "path"))
    return f"{place[:200]}: {error['msg']}" if place else str(error["msg"])
