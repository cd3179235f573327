"""How a space is."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class SignatureStatus:
    """The tuples of one signature."""

    signature: str
    """The types of their fields, as "(str, int)"."""
    tuples: int
    """Tuples that can be taken."""
    hidden: int
    """Tuples under a lease or in delivery."""
    waiters: int
    """Takes and reads that wait."""


@dataclass(frozen=True)
class Status:
    """The numbers of a space."""

    tuples: int
    """Tuples that can be taken."""
    bytes: int
    """Bytes of the tuples and of those under a lease, with what each takes beside its own: they count for the quota."""
    index_bytes: int
    """Bytes of indexes beyond two a signature: they count for the quota as well."""
    hidden: int
    """Tuples under a lease or in delivery."""
    waiters: int
    """Takes and reads that wait."""
    leases: int
    """Leases held."""
    parked: int
    """Requests that wait for room."""
    redone: int
    """Leases that ended without an acknowledgement, so far."""
    dead_letters: int
    """Dead letters made so far."""
    signatures: int
    """Signatures known."""
    rows: tuple[SignatureStatus, ...]
    """One row for each of the first signatures."""

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a table, by signature. Raises ImportError, saying what to do, where pandas is not installed."""
        rows = [dataclasses.asdict(row) for row in self.rows]
        names = [field.name for field in dataclasses.fields(SignatureStatus)]
        return table({name: [row[name] for row in rows] for name in names}).set_index("signature")


def table(columns: dict[str, Any], index: tuple[str, Any] | None = None) -> pandas.DataFrame:
    """A pandas DataFrame of columns, by the name and the values of an index. Raises ImportError where pandas is not installed."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas() needs pandas: pip install pandas") from error
    if index is None:
        return pandas.DataFrame(columns)
    name, values = index
    return pandas.DataFrame(columns, index=pandas.Index(values, name=name))


@dataclass(frozen=True)
class NamedSpace:
    """A named space, as `Lab.spaces` lists it."""

    name: str
    """What it is called."""
    policy: str
    """What holds its tuples: "volatile", the server's memory; "logged", also its log; "replicated=N", the logs of N servers."""
    max_bytes: int
    """Bytes that it may hold."""
    max_tuples: int
    """Tuples that it may hold."""
    tuples: int
    """Tuples that can be taken."""
    bytes: int
    """Bytes that count for its quota."""
    hidden: int
    """Tuples under a lease or in delivery."""
    waiters: int
    """Takes and reads that wait."""
    leases: int
    """Leases held."""
    parked: int
    """Requests that wait for room."""
    allow: tuple[bytes, ...] | None
    """The identities of the machines whose programs may use it, 32 bytes each; None: all may who may use the server."""
    allow_own_machine: bool
    """Whether the programs of the server's own machine may, which come without a proof."""


@dataclass(frozen=True)
class KeptSpace:
    """A space that machines of a cluster keep on their disks, as `Lab.kept_spaces` lists it."""

    name: str
    """What it is called."""
    policy: str
    """"logged", or "replicated=N"."""
    max_bytes: int
    """Bytes that it may hold."""
    max_tuples: int
    """Tuples that it may hold."""
    nodes: tuple[int, ...]
    """The numbers of the machines that keep it."""
    allow: tuple[int, ...] | None
    """Those of the machines whose programs may use it; None: all of the cluster."""
