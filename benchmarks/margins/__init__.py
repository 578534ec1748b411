"""How often margins of error hold the truth, and how wide they are, by kind of query."""
