"""How a program comes to a lab."""

from __future__ import annotations

import atexit
import os
import weakref

from quintet._native import Lab, Server
from quintet.errors import BadValue, Code

SCHEME = "quintet://"
DEFAULT_LEASE_MS = 10_000
DEFAULT_WINDOW_FRAMES = 256
DEFAULT_WINDOW_BYTES = 1 << 20
DEFAULT_SPIN_US = 8

_open: weakref.WeakSet[Lab] = weakref.WeakSet()


def connect(address: str | None = None) -> Lab:
    """Connects to a space.

    `address` is "quintet:///path/to/socket". Without one the environment decides: QUINTET_SOCKET (a path), QUINTET_CLUSTER
    (decimal, default 0) and QUINTET_LEASE_MS (default 10000: how long a leased tuple stays hidden after this process was
    last heard). Without QUINTET_SOCKET the lab is embedded in this process. QUINTET_LINK_WINDOW_FRAMES,
    QUINTET_LINK_WINDOW_BYTES and QUINTET_LINK_SPIN_US are as docs/settings.md says.

    Raises BadValue for an address or a setting that cannot be read; Unreachable, NotAllowed, WrongCluster,
    VersionMismatch or Resource.
    """
    socket = os.environ.get("QUINTET_SOCKET") if address is None else _path(address)
    if socket:
        lab = Lab.link(
            socket,
            _setting("QUINTET_CLUSTER", 0),
            _setting("QUINTET_LEASE_MS", DEFAULT_LEASE_MS),
            window_frames=_setting("QUINTET_LINK_WINDOW_FRAMES", DEFAULT_WINDOW_FRAMES),
            window_bytes=_setting("QUINTET_LINK_WINDOW_BYTES", DEFAULT_WINDOW_BYTES),
            spin_us=_setting("QUINTET_LINK_SPIN_US", DEFAULT_SPIN_US),
        )
    else:
        lab = Lab.embedded()
    _open.add(lab)
    return lab


def serve(
    socket: str | os.PathLike[str], cluster: int = 0, *, max_bytes: int | None = None, max_tuples: int | None = None
) -> Server:
    """Serves a space to the processes of this user at `socket`, from a thread of this process.

    It holds `max_bytes` bytes of tuples at most, default 1 GiB, and `max_tuples` tuples, default 16777216: an out that finds
    no room waits.

    Raises Error if the socket is in use or cannot be made.
    """
    return Server(socket, cluster, max_bytes=max_bytes, max_tuples=max_tuples)


def _path(address: str) -> str:
    path = address[len(SCHEME) :]
    if not address.startswith(SCHEME) or not path.startswith("/"):
        raise BadValue(Code.BadValue, f"the address {address!r}; a socket of this machine is quintet:///path/to/socket")
    return path


def _setting(name: str, default: int) -> int:
    text = os.environ.get(name) or str(default)
    if not text.isdecimal():
        raise BadValue(Code.BadValue, f"{name}={text!r} is not a decimal number")
    return int(text)


@atexit.register
def _close_all() -> None:
    """Ends every wait of the threads that are left, before the interpreter goes."""
    for lab in list(_open):
        lab.close()
