"""AIM as OpenDP has it, on the same workload and budget: `pip install 'opendp[mbi]'`.

Its privacy unit is two contributions, so that it protects against replacing a record, as we do.
"""

import numpy as np

import thresher as th
from thresher.data.records import Records
from thresher.tables import Answers, AnswersOf, Slab, Table, ThresholdTable
from thresher.tables.threshold_table import Axes


def aim_answers(data: Records, work: th.Workload, epsilon: float) -> AnswersOf:
    """The answers of AIM's model, fitted to the workload's marginals."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    budget = th.Budget.from_epsilon(epsilon, 1 / data.n**2)
    names = [name for name in data.schema.names if any(name in t.features for t in work)]
    frame = pl.DataFrame({name: data.codes(name).astype(np.int64) for name in names})
    context = dp.Context.compositor(
        data=frame.lazy(),
        privacy_unit=dp.unit_of(contributions=2),
        privacy_loss=dp.loss_of(rho=float(budget.rho)),
        split_evenly_over=1,
    )
    marginals = dict.fromkeys(tuple(sorted(t.features, key=names.index)) for t in work)
    algorithm = dp.mbi.AIM(queries=[dp.mbi.Count(by=features) for features in marginals])
    keys = {name: list(range(data.schema[name].size)) for name in names}
    table = (
        context.query().select(*names).contingency_table(keys=keys, algorithm=algorithm).release()
    )

    def answers_of(threshold: th.Threshold) -> Answers:
        shape = threshold.shape(data.schema)
        # Its tables have one more value per feature, for the unknown.
        counts = np.asarray(table.project(threshold.features))[tuple(map(slice, shape))]
        return ThresholdTable(_Marginals(counts / data.n), threshold.k, threshold.r)

    return answers_of


class _Marginals:
    """Marginals of one table, by summing axes out."""

    def __init__(self, shares: Table) -> None:
        self.shares = shares

    def marginal(self, axes: Axes, slab: Slab) -> Table:
        """The part of a marginal table that lies in a slab."""
        others = tuple(axis for axis in range(self.shares.ndim) if axis not in axes)
        summed = np.asarray(self.shares.sum(axis=others))
        return summed[tuple(slice(r.start, r.stop) for r in slab.ranges)].copy()
