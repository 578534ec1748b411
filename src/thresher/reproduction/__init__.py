"""The paper's experiments, one module per figure: what `thresher reproduce` runs and draws.

This is research on data that need no protection: noise is seeded, and errors are computed from the
records. It needs `pip install 'thresher[experiments]'`.

What all figures share:

- `scales`: the parameters of every experiment, as in the paper and at two smaller scales.
- `data`: ADULT, and LOANS or the made-up data set that stands in for it.
- `tasks`: one run: fit, and compute present error, future error and time. `training` looks at D'
  during a fit; `reference` is RAP as the paper implements it, in JAX; `query_forms` times single
  queries in several forms.
- `running`: runs tasks on many cores, and keeps their results in a file that only grows.
- `paper_figure`, `plots`, `regression`: tables, plots and the regression of the appendix.
- `figures`: all figures by name, and `reproduce`, which runs what they need and draws them.

The figures, in the paper's order: `runtime`, `present_error`, `adaptivity`, `filtering`,
`thresholds`, `synthetic_rows`, `drift_shapes`, `future_error`, `training_progress`, `overfitting`
and `drift_effect`.

Nothing is imported here: processes that only run tasks do without the plotting libraries.
"""
