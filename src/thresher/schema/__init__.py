"""The public description of a table of people, and how its cells become codes."""

from thresher.schema.features import Bins, Categorical, Codes, Feature, IntegerRange
from thresher.schema.schema import Schema

__all__ = ["Bins", "Categorical", "Codes", "Feature", "IntegerRange", "Schema"]
