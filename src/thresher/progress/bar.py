"""A bar in a terminal, drawn by rich. It is transient: nothing of it stays."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

if TYPE_CHECKING:
    from thresher.progress.display import Shown

WHOLE = 1000


class _ShownBar(Progress):
    """A bar that looks at the work whenever it is drawn."""

    def __init__(self, now: "Callable[[], Shown]") -> None:
        self._shown = now
        super().__init__(console=Console(stderr=True, highlight=False), transient=True)
        self.add_task("")

    def get_renderables(self) -> Iterable[RenderableType]:
        """The bar as it is now."""
        for task in self.tasks:
            self._draw(task, self._shown())
        yield from super().get_renderables()

    def _draw(self, task: Task, shown: "Shown") -> None:
        text = TextColumn("{task.description}", markup=False)
        if shown.share is None:
            self.columns = (SpinnerColumn(), text, TimeElapsedColumn())
            task.description, task.total = shown.line, None
            return
        head = TextColumn("{task.fields[doing]}", markup=False)
        self.columns = (head, BarColumn(), TaskProgressColumn(), text, TimeElapsedColumn())
        task.fields["doing"] = shown.doing
        task.description = f"{shown.words}; {shown.left} left" if shown.words else shown.left
        task.total, task.completed = WHOLE, WHOLE * shown.share


def bar_of(now: "Callable[[], Shown]") -> Progress:
    """A bar, as a context.

    Args:
        now: Says what there is to show.
    """
    return _ShownBar(now)
