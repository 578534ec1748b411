"""The paper's experiments: one module per figure, run by `thresher reproduce`.

Everything here is research on data that need no protection: noise is seeded, and errors are
computed from the records. It needs `pip install 'thresher[experiments]'`.

Nothing is imported here: processes that only run tasks do without the plotting libraries.
"""
