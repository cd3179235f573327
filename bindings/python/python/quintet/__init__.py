"""Quintet coordinates a handful of machines: tuple spaces, executors, a joblib backend, and simulation.

    import quintet
    lab = quintet.connect()                       # in this process, nothing to start
    space = lab.space
    space.out("row", 3, 2.5)
    _, index, value = space.take("row", int, float)

A *tuple* is an ordered list of typed fields; a *template* has values, and types that stand for any value of theirs. They
match when number, types and values of the fields are equal.

| module | holds |
| --- | --- |
| `connecting` | `connect`, `serve`; read this first |
| `_native` | `Lab`, `Space`, `Begin`, `Pending`, `Lease`, `Messaging`, `Handler`, `Server`, `array`, `between`, `prefix`, `empty`: the Rust half |
| `status` | what `Space.status` gives |
| `evaluation`, `evaluating`, `live` | `Space.eval`: the future it gives; live tuples that workers evaluate, and what they come to |
| `collecting` | all tuples that match, a page at a time |
| `listing`, `watching` | what lies in a space, and what happens in it |
| `inspecting` | who waits in it, who is connected, how its tuples are used |
| `html` | what notebooks show |
| `errors` | one class for each error code |
| `handling` | how a handler's thread goes on from call to call |
| `isochrons`, `isochron`, `isonet_shape`, `variables` | operations of several processes at one instant, in one order: members, isochrons, what is said before, shared variables |
| `aio`, `aio_messaging`, `aio_isochrons`, `progress` | the same for asyncio |
| `executor`, `mapping`, `pool`, `tasks` | `Executor`, its `map`, its tasks under way, the tuples it speaks with |
| `bulk` | large arrays of tasks and results |
| `stalls` | says why nothing goes on |
| `masters` | what a program leaves that dies before its tasks |
| `leaving` | a program that ends waits for its tasks |
| `worker`, `ending`, `presence` | who does the work, how it is asked to end, who lives |
| `local`, `local_worker`, `cores` | workers of a program's own, such a process, how many there are by default |
| `worker_threads` | the threads that work in an embedded space |
| `simulate` | models and their runs, as NumPy arrays; needs no lab |
| `joblib_backend`, `registration` | joblib's backend "quintet" |

`python -m quintet` is the command.

Nothing here imports NumPy or joblib before it is needed.
"""

from typing import TYPE_CHECKING

from quintet import errors
from quintet._native import (
    DEAD_LETTER,
    MAX_BYTES,
    MAX_FIELDS,
    ArrayFormal,
    Begin,
    Call,
    Group,
    Handler,
    Lab,
    Lease,
    Messaging,
    Pending,
    PendingMessage,
    Range,
    Recipient,
    Server,
    Space,
    array,
    between,
    empty,
    prefix,
)
from quintet.connecting import connect, serve
from quintet.errors import (
    AddressInUse,
    BadFile,
    BadValue,
    Busy,
    Cancelled,
    Closed,
    Code,
    Conflict,
    DuplicateNode,
    Error,
    IntegerOverflow,
    LeaseLost,
    LimitReached,
    Malformed,
    Mismatch,
    NoHandler,
    NoSuchSpace,
    NoValue,
    NotAllowed,
    PeerDied,
    PeerSilent,
    Resource,
    SpaceExists,
    SpaceFull,
    TaskFailed,
    TimedOut,
    TooLarge,
    TooOld,
    Unanswered,
    Unreachable,
    ValueLost,
    VersionMismatch,
    ViewChanged,
    WriterDied,
    WrongCluster,
)
from quintet.inspecting import Client, HotKey, Partition, Replica, WaitingRequest
from quintet.registration import register_with_joblib
from quintet.status import KeptSpace, NamedSpace, SignatureStatus, Status
from quintet.variables import Variable

if TYPE_CHECKING:
    from quintet import aio, simulate
    from quintet.executor import Executor

__all__ = [
    "DEAD_LETTER", "MAX_BYTES", "MAX_FIELDS",
    "ArrayFormal", "Begin", "Call", "Client", "Executor", "Group", "Handler", "HotKey", "KeptSpace", "Lab", "Lease", "Messaging", "NamedSpace", "Partition", "Pending", "PendingMessage",
    "Range", "Recipient", "Replica", "Server", "SignatureStatus", "Space", "Status", "Variable", "WaitingRequest",
    "aio", "array", "between", "connect", "empty", "errors", "prefix", "serve", "simulate",
    "AddressInUse", "BadFile", "BadValue", "Busy", "Cancelled", "Closed", "Code", "Conflict", "DuplicateNode", "Error", "IntegerOverflow", "LeaseLost",
    "LimitReached", "Malformed", "Mismatch", "NoHandler", "NoSuchSpace", "NoValue", "NotAllowed", "PeerDied", "PeerSilent", "Resource", "SpaceExists", "SpaceFull", "TaskFailed", "TimedOut",
    "TooLarge", "TooOld", "Unanswered", "Unreachable", "ValueLost", "VersionMismatch", "ViewChanged", "WriterDied", "WrongCluster",
]  # fmt: skip

__version__ = "0.1.0"

register_with_joblib()


def __getattr__(name: str) -> object:
    """Imports `Executor`, `aio` and `simulate` when they are first used: they take longer to import than the rest."""
    if name == "Executor":
        from quintet.executor import Executor

        return Executor
    if name in ("aio", "simulate"):
        import importlib

        return importlib.import_module(f"quintet.{name}")
    raise AttributeError(f"module 'quintet' has no attribute {name!r}")


def __dir__() -> list[str]:
    """All names, those that are imported later among them."""
    return sorted({*globals(), *__all__})
