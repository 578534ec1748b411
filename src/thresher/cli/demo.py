"""`thresher demo`: built-in ADULT, end to end."""

from thresher.cli.console import show
from thresher.data import datasets
from thresher.queries import Workload
from thresher.tables import exact_answer


def demo() -> None:
    """Look at the built-in ADULT data: how many queries there are, and a few exact answers."""
    records = datasets.adult()
    show(str(records))
    for k in (2, 3, 4):
        show(f"all {k}-way marginals: {Workload.all(records.schema, k)}")
    show("Exact answers (not private, not for publication):")
    for query in ("2 of: race=Black, sex=Female, income=>50K", "all of: age=65.., income=>50K"):
        show(f"  {query}: {exact_answer(records, query):.4f}")
