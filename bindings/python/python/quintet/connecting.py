"""How a program comes to a lab."""

from __future__ import annotations

import atexit
import logging
import os
import weakref
from collections.abc import Sequence

from quintet import _native
from quintet._native import Lab, Server, Settings
from quintet.errors import Unreachable

_logger = logging.getLogger("quintet")
_open: weakref.WeakSet[Lab] = weakref.WeakSet()
_has_compared = False


def connect(address: str | None = None) -> Lab:
    """Connects to a space.

    `address` is "quintet://lab" for the space of the cluster `lab`, on every machine that belongs to it ("quintet:///path" by the path
    of its folder); "shm:PATH" for shared memory, "unix:PATH" for a Unix socket, "tcp:HOST:PORT", "tls:HOST:PORT" for the machines of a
    cluster (the setting cluster.identity, QUINTET_IDENTITY, names what this one proves itself with), or a path with a slash, which
    means shared memory; "quintet:///path/to/socket" is the same. A path with a colon needs a slash or a kind before it: "./a:b",
    "shm:a:b". Without one the settings decide: the space is at space.address
    (QUINTET_SPACE_ADDRESS or QUINTET_SPACE) if the environment or quintet.toml in the working folder gives it, else where `quintet status`
    finds one: that of the cluster whose agent runs here, or that of `quintet serve` at its default socket. Where there is none either the lab
    is embedded in this process, and its `why_embedded` says where was looked; so does the logger "quintet", at level INFO. The settings cluster.id, space.lease_ms and those of link count for every connection;
    docs/settings.md lists them. QUINTET_CLUSTER, a number below 2**128, goes before cluster.id; with quintet://lab neither counts.

    A connection belongs to the process that made it. In a forked child (os.fork, multiprocessing) whatever is done with it
    raises Closed, and nothing there disturbs the parent's; the child connects again. The child keeps the descriptors open
    until it ends: if the parent dies before it, the space notices that when the leases run out. Arrays that were taken or put
    stay there as they were at the fork; what is written to one of `quintet.empty` that was not put yet, both see.

    Raises BadValue for an address or a setting that cannot be read, BadFile for a settings file or an identity; Unreachable, PeerSilent,
    NotAllowed, WrongCluster, VersionMismatch or Resource.
    """
    _compare_versions()
    settings = Settings()
    address = settings.address if address is None else address
    lab = _found(settings) if address is None else Lab.link(address, settings)
    _open.add(lab)
    return lab


def _compare_versions() -> None:
    """Says, once in a program, that the command `quintet run` that started it is of another version. What the command started beside it says
    nothing: a job's workers have ranks.
    """
    global _has_compared
    command = os.environ.get("QUINTET_VERSION")
    if _has_compared or command is None or "QUINTET_RANK" in os.environ:
        return
    _has_compared = True
    if command != _native.VERSION:
        text = "the command quintet that started this job is %s, and the Python package is %s: install both from one release"
        _logger.warning(text, command, _native.VERSION)


def _found(settings: Settings) -> Lab:
    """The lab of a server that nobody had to name, else an embedded one."""
    cluster = _native.running_cluster()
    if cluster is not None:
        return Lab.link(cluster, settings)
    try:
        return Lab.link(settings.default_address, settings)
    except Unreachable:
        why = (
            "no space is named (QUINTET_SPACE, or space.address in quintet.toml), no cluster's agent runs on this machine, "
            f"and no server listens at {settings.default_address}"
        )
        _logger.info("the lab is embedded in this process: %s", why)
        return Lab.embedded(why)


def is_named() -> bool:
    """Whether the environment or quintet.toml in the working folder names a space. Raises BadValue, or BadFile."""
    return Settings().address is not None


def embedded() -> Lab:
    """A lab in this process, whatever the settings name."""
    lab = Lab.embedded()
    _open.add(lab)
    return lab


def serve(
    address: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    cluster: int = 0,
    *,
    max_bytes: int | None = None,
    max_tuples: int | None = None,
    max_attempts: int | None = None,
    max_waiting: int | None = None,
    max_spaces: int | None = None,
    max_spaces_bytes: int | None = None,
    log_dir: str | os.PathLike[str] | None = None,
    managers: int = 1,
    hot_key_requests: int | None = None,
    manager: int | None = None,
    peers: Sequence[str] | None = None,
    replica: int | None = None,
    replicas: Sequence[str] | None = None,
) -> Server:
    """Serves a space at `address`, from a thread of this process: a path object, a path without a colon, or what `connect` takes; or at several.

    It is for the processes of this user on this machine, and TCP is listened at on loopback only; over "tls:HOST:PORT" it is for
    whoever has an identity of the same cluster (QUINTET_IDENTITY). Port 0 is a free one: the server's `address` says which. The settings of
    link in the environment and quintet.toml count.

    It holds `max_bytes` bytes of tuples at most, default 1 GiB, and `max_tuples` tuples, default 16777216: an out that finds
    no room waits. After `max_attempts` leases that ended without an acknowledgement, default 5, a tuple becomes a dead letter. `max_waiting` requests of one client may wait, default 65536. There may
    be `max_spaces` named spaces, default 256, which are promised `max_spaces_bytes` together, default 4 GiB.

    With `log_dir`, a folder, every request is in a log there before it is answered: who serves from it again, after this process
    has ended in whichever way, goes on where it ended. It returns once the log is read. Without it the space ends with the server.

    `replicas` says where three or five servers serve that keep one space together, each with a log of its own, as ["HOST:PORT", ...] or ["tls:HOST:PORT", ...], the same for each
    of them; `replica` which of them this one is, from 1. It serves there unless an address says otherwise.

    `managers`, up to 16, is over how many managers the space is spread, each on a thread of its own. A manager that is asked less than
    `hot_key_requests` times in a quarter of a second, default 2,000, keeps its hot keys. Where each manager is in a process of its own, `peers` says where all of them serve, and `manager`
    which one this is, from 1; programs connect to the first. With several there is no log.

    Raises BadFile for a log that is damaged or another cluster's, AddressInUse for one that another process keeps. Raises BadValue for what is no address, and for what does not go together,
    AddressInUse if another process listens there, another Error if it cannot be listened at.
    """
    addresses = [address] if isinstance(address, (str, os.PathLike)) else list(address)
    served = {
        "cluster": cluster,
        "max_bytes": max_bytes,
        "max_tuples": max_tuples,
        "max_attempts": max_attempts,
        "max_waiting": max_waiting,
        "max_spaces": max_spaces,
        "max_spaces_bytes": max_spaces_bytes,
        "log_dir": log_dir,
        "managers": managers,
        "hot_key_requests": hot_key_requests,
        "manager": manager,
        "peers": peers,
        "replica": replica,
        "replicas": replicas,
    }
    return Server(addresses, served)


def _leave_to_the_parent() -> None:
    """In a forked child: the connections are the parent's."""
    _native.forked()
    _open.clear()


os.register_at_fork(before=_native.before_fork, after_in_child=_leave_to_the_parent)


@atexit.register
def _close_all() -> None:
    """Ends every wait of the threads that are left, before the interpreter goes."""
    for lab in list(_open):
        lab.close()
