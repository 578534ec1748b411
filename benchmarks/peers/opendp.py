"""AIM and MST as OpenDP has them: `pip install 'opendp[mbi]'`.

Its privacy unit is one contribution, which is one record added or removed; `budgets` says what
it gets for one replaced. Its noise cannot be seeded: another seed is another repetition.
"""

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.peers.budgets import added_or_removed, replaced
from benchmarks.peers.fitted import Columns, Fitted, Task, answers_from


def aim(task: Task) -> Fitted:
    """AIM, told the marginals over the features of each threshold."""
    import opendp.prelude as dp

    queries = [dp.mbi.Count(by=names) for names in task.marginals]
    return _fit(task, task.names, dp.mbi.AIM(queries=queries))


def mst(task: Task) -> Fitted:
    """MST, which is not told what will be asked and so models all features.

    It divides the budget of its choices by their number, and rounds each share down by one unit in
    the last place. On 5,000 records of ADULT their sum, rounded up, is still above the whole, and
    OpenDP 0.16 refuses its query: "insufficient budget". Here it rounds down by a billionth.
    """
    import opendp.prelude as dp

    with patch("opendp.extras.mbi._mst.prior", lambda share: share * (1 - 1e-9)):
        return _fit(task, task.data.schema.names, dp.mbi.MST())


def _fit(task: Task, names: Sequence[str], algorithm: Any) -> Fitted:
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    data = task.data
    frame = pl.DataFrame({name: data.codes(name).astype(np.int64) for name in names})
    context = dp.Context.compositor(
        data=frame.lazy(),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=added_or_removed(replaced(data, task.epsilon))),
        split_evenly_over=1,
    )
    keys = {name: list(range(data.schema[name].size)) for name in names}
    query = context.query().select(*names)
    table = query.contingency_table(keys=keys, algorithm=algorithm).release()

    def sample(count: int, seed: int) -> Columns:
        records = table.synthesize(rows=count)
        # The unknown is no value of the schema; where a record has it, take the first.
        return {name: records[name].fill_null(0).to_numpy() for name in names}

    return Fitted(answers_from(table.project, data.schema), sample)
