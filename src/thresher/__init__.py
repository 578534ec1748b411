"""Private, large-scale answers to r-of-k threshold queries."""
