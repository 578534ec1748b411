"""The paper's experiments, one module per figure: what `thresher reproduce` runs and draws.

This is research on data that need no protection: noise is seeded, and errors are computed from the
records. It needs `pip install 'thresher[experiments]'`.

What all figures share:

- `paper_numbers`: what the paper prints, and what follows from it.
- `scales`: the parameters of every experiment, as in the paper and at two smaller scales.
- `practice`, `variants`: what the authors' code does and the text does not say, and the noise that
  Algorithm 4 prints. These variants of RAP exist here only.
- `data`: ADULT, LOANS, the made-up data set that stands in for it, an extract of Lending Club's.
- `tasks`: one run: fit, and compute present error, future error and time. `norms` has errors in ℓ1
  and ℓ2; `training` looks at D' during a fit; `reference` is RAP as the paper implements it, in
  JAX; `query_forms` times single queries in several forms.
- `running`: tasks, and a file of results that only grows. `workforce` runs tasks on many cores and
  machines.
- `paper_figure`, `plots`, `regression`: tables, plots and the regression of the appendix.
- `verdicts`, `present_claims`, `future_claims`, `claims`: the paper's claims, checked by rule.
- `figures`: all figures by name, and `reproduce`, which runs what they need and draws them.
  `stored` draws them at the largest scale that is stored, `provenance` counts what results tell,
  `page` puts tables into a page.

The figures, in the paper's order: `runtime`, `memory`, `present_error`, `printed_osas`,
`adaptivity`, `filtering`, `thresholds`, `synthetic_rows`, `drift_shapes`, `future_error`,
`training_progress`, `overfitting`, `drift_effect`, `advice` and `practice_effects`. `norms_table`
has the errors of `present_error` in other norms.

Nothing is imported here: processes that only run tasks do without the plotting libraries.
"""
