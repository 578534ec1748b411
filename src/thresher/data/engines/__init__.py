"""Records where they are: a table of DuckDB, of PostgreSQL, of any Ibis backend, or of Spark."""
