"""Tables over views of features, from counts of the features themselves.

Private data know nothing of views: their columns are counted, and views follow by adding up.
"""

from collections.abc import Sequence

from thresher.data.private import FeatureSet, PrivateData
from thresher.schema import Schema, View
from thresher.tables.sparse import SparseTable


def views_among(schema: Schema, features: FeatureSet) -> list[View | None]:
    """For each of some names the view, or None if it is a feature.

    Example:
        >>> from thresher.data import datasets
        >>> views_among(datasets.adult_schema(), ("sex", "age"))
        [None, None]
    """
    found = (schema[name] for name in features)
    return [feature if isinstance(feature, View) else None for feature in found]


def counts_of(
    data: PrivateData, schema: Schema, feature_sets: Sequence[FeatureSet]
) -> list[SparseTable]:
    """Count marginal tables over features and views, in one pass over the records. Not private.

    Args:
        data: The private data.
        schema: Their schema, with the views.
        feature_sets: The features and views of each table, in the order of its axes.
    """
    tables = data.counts([schema.bases(features) for features in feature_sets])
    return [
        table.seen_through(views_among(schema, features))
        for table, features in zip(tables, feature_sets, strict=True)
    ]
