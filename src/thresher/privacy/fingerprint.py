"""A keyed fingerprint of the records, by which a ledger or a journal recognises its data.

A budget belongs to one data set, and an interrupted fit to the records it began with. So the
first spend writes a fingerprint of the records into the ledger, and a journal has one too. Later
spends, and a fit that goes on, are refused if the records have another fingerprint.

What is hashed: the fingerprint of the schema, n, and the coded columns in the order of the schema.
So another spelling of a cell that has the same code makes no difference. Another order of the
records does, as does any change of a code.

What it reveals, and to whom. The hash (BLAKE2b) has a secret key, which is made anew for each
ledger and each journal and stands in the same file. Whoever does not have the file learns nothing:
the fingerprint is in no release and no message, and two files have different fingerprints for the
same records. Whoever can read the file can test a guess of *all* records at once. That confirms
nothing to somebody who does not know them all, but does so about the last record to somebody who
knows all the others: exactly the adversary of the promise. So ledgers and journals are private
files, readable by their owner only, and are not to be published. They were private before: a
ledger tells what was asked for when, and a journal has results that were never released.
"""

import hashlib

from thresher.data.records import Records

KEY_BYTES = 32


def fingerprint(records: Records, key: bytes) -> str:
    """The fingerprint of records under a secret key, in hexadecimal digits.

    Example:
        >>> from thresher.data import datasets
        >>> adult = datasets.adult()
        >>> fingerprint(adult, b"one key") == fingerprint(adult, b"one key")
        True
        >>> fingerprint(adult, b"one key") == fingerprint(adult, b"another key")
        False
    """
    digest = hashlib.blake2b(f"{records.schema.fingerprint} {records.n}".encode(), key=key)
    for column in records.columns:
        # The same bytes on every machine; the width of a code follows from the schema.
        digest.update(column.astype(column.dtype.newbyteorder("<"), copy=False).data)
    return digest.hexdigest()[: 2 * KEY_BYTES]
