"""A keyed fingerprint of the records, by which a ledger or a journal recognises its data.

A budget belongs to one data set, and an interrupted fit to the records it began with. So the
first spend writes a fingerprint of the records into the ledger, and a journal has one too. Later
spends, and a fit that goes on, are refused if the records have another fingerprint.

What is hashed: the fingerprint of the schema, n, and the exact counts of every value of every
feature. They come with the tables that a fit counts anyway, so there is no second pass, and they
are the same wherever the records are: in a file, or loaded into a database in another order. Any
replaced record changes them unless it has the same values, or unless other records change with it
so that every count stays. So data that were confused are recognised; data that were forged with
care need not be.

What it reveals, and to whom. The hash (BLAKE2b) has a secret key, which is made anew for each
ledger and each journal and stands in the same file. Whoever does not have the file learns nothing:
the fingerprint is in no release and no message, and two files have different fingerprints for the
same records. Whoever can read the file can test guesses of the counts, and learns up to 20 bits
about them, which no noise covers. So ledgers and journals are private files, readable by their
owner only, and are not to be published. They are private for other reasons, too: a ledger tells
what was asked for when, and a journal has results that were never released.
"""

import hashlib

import numpy as np

from thresher.privacy.counted import CountedTables

KEY_BYTES = 32
DIGITS = 5
"""Hexadecimal digits of a fingerprint: 20 bits.

Other data are taken for the same with a chance of one in a million, and whoever has the file learns
20 bits about the counts at most. All digits of the hash would tell all counts of a small table.
"""


def fingerprint(counted: CountedTables, key: bytes) -> str:
    """The fingerprint of private data under a secret key.

    Example:
        >>> from thresher.data import datasets
        >>> adult = CountedTables(datasets.adult())
        >>> fingerprint(adult, b"one key") == fingerprint(adult, b"one key")
        True
        >>> fingerprint(adult, b"one key") == fingerprint(adult, b"another key")
        False
    """
    schema = counted.schema
    digest = hashlib.blake2b(f"{schema.fingerprint} {counted.records}".encode(), key=key)
    for table in counted.one_way():
        for numbers in ([len(table)], table.cells, table.counts):
            digest.update(np.asarray(numbers, dtype="<i8").tobytes())
    for number in counted.rows_of_persons():
        digest.update(np.asarray(number, dtype="<i8").tobytes())
    return f"counts-{digest.hexdigest()[:DIGITS]}"
