"""Private values do not leave the wall with an exception.

A traceback keeps the frames it came through, and loggers and debuggers may show their local
variables: among them counts, or the cells of all records inside a library that sorts them.
"""

import traceback
from collections.abc import Iterator
from contextlib import suppress
from types import FrameType

# As the language keeps them: a class of the caller's can say otherwise.
_TRACEBACK, _CONTEXT, _CAUSE = (
    vars(BaseException)[name] for name in ("__traceback__", "__context__", "__cause__")
)


def frames_behind(fault: BaseException | None) -> list[FrameType]:
    """All frames of an exception, and of those that it came with, whatever its class says."""
    return [frame for found in _chained(fault) for frame in _frames(found)]


def forget_locals(fault: BaseException, spared: list[FrameType]) -> None:
    """Empty all frames behind an exception, whatever module they belong to.

    Args:
        fault: What was raised behind the wall.
        spared: Frames that were there before the wall was entered: those of what the caller was
            handling. They stay as they are.
    """
    for frame in frames_behind(fault):
        if not any(frame is other for other in spared):
            with suppress(RuntimeError):  # a frame that is still running
                frame.clear()


def _chained(fault: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    waiting = [fault]
    while waiting:
        found = waiting.pop()
        if found is not None and id(found) not in seen:
            seen.add(id(found))
            yield found
            waiting += (_CONTEXT.__get__(found), _CAUSE.__get__(found))


def _frames(fault: BaseException) -> Iterator[FrameType]:
    return (frame for frame, _ in traceback.walk_tb(_TRACEBACK.__get__(fault)))
