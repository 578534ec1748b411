"""The errors a user can meet: each names the culprit and the fix; none holds a private value."""


class ThresherError(ValueError):
    """A mistake that its reader can mend; the base of every error this package raises."""


class SchemaError(ThresherError):
    """The public description of the columns is wrong."""


class DataError(ThresherError):
    """The data do not have the shape that the schema promises; never: a private value is odd."""


class QueryError(ThresherError):
    """A threshold, query or workload is not well formed."""


class ParameterError(ThresherError):
    """A parameter is out of range."""


class BudgetError(ThresherError):
    """More privacy budget was asked for than there is, or the budget itself makes no sense."""


class LedgerError(ThresherError):
    """The ledger file cannot be used as it is."""


class ResourceError(ThresherError):
    """The work would not fit into the memory or time that there is."""


class ReleaseError(ThresherError):
    """A release folder is damaged, incomplete or of another kind."""
