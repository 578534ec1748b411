"""Private values do not leave the wall with an exception.

A traceback keeps the frames it came through, and loggers and debuggers may show their local
variables: among them counts, or the cells of all records inside a library that sorts them.
"""

import traceback
from contextlib import suppress

# As the language keeps them: a class of the caller's can say otherwise.
_TRACEBACK, _CONTEXT, _CAUSE = (
    vars(BaseException)[name] for name in ("__traceback__", "__context__", "__cause__")
)


def forget_locals(fault: BaseException, handled: BaseException | None) -> None:
    """Empty all frames behind an exception, whatever module they belong to.

    Args:
        fault: What was raised behind the wall.
        handled: What the caller was handling when it called; its frames stay as they are.
    """
    seen: set[int] = set()
    waiting: list[BaseException | None] = [fault]
    while waiting:
        found = waiting.pop()
        if found is None or found is handled or id(found) in seen:
            continue
        seen.add(id(found))
        for frame, _ in traceback.walk_tb(_TRACEBACK.__get__(found)):
            with suppress(RuntimeError):  # a frame that is still running
                frame.clear()
        waiting += (_CONTEXT.__get__(found), _CAUSE.__get__(found))
