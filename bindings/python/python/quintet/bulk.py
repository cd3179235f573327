"""Large arrays of arguments and results: each is a tuple of its own, ("quintet.bulk", pool, key, bytes as an array of u1).

Where a pickle has an array of `SHORTEST_BYTES` or more, it has a key in its place (`Pickled`). The tuple is put with the task or the
result, and lies where workers look at it without a copy. A worker's arguments are such views, which cannot be written; what a
task gives back is copied once more, so that whoever gets it can write it.

Within one `Executor.map` or one call of joblib's Parallel an array that several tasks have goes once, with the first of them, and the
others name it (`Sharing`), if the second of them comes soon: one that none of the next tasks has leaves the space when its own task is done, so
that its memory is used again. It is known by where it lies. Where the calls come one by one, as joblib's do, what lies there is compared
with what was sent: a buffer that is filled anew for each call is sent anew.
"""

from __future__ import annotations

import itertools
import pickle
import threading
import weakref
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Any

from quintet._native import MAX_BYTES, Space
from quintet.errors import GONE, Code, TooLarge

BULK = "quintet.bulk"

SHORTEST_BYTES = 64 * 1024
"""Below it an array is copied into the pickle: a tuple of its own would cost more."""

APART_BYTES = 1 << 20
"""From here on an array is put by itself: what one request has of several tuples is copied together, which then takes longer than a request."""

INITIALIZER = "initializer"
"""The key under which a pool's pickled initializer and its arguments lie."""

CACHED_ARRAYS = 8
"""How many shared arrays a worker keeps, those used last."""

OFFERED_TASKS = 3
"""An array stays for so many tasks after its own before another one has to have named it. Few, as each keeps memory from being used again, in
which the next would be written without asking the system for it; more than one, for arrays that are in turn."""

READ_WITHIN_S = 60.0
"""An array was put no later than the task that names it. If it is not there its task was given up meanwhile."""


class InitializerFailed(Exception):
    """An initializer raised in a worker; the text says what."""


@dataclass(frozen=True)
class Pickled:
    """A pickle with arrays apart."""

    body: bytes
    keys: list[str]
    """Of the arrays, in the pickle's order."""
    shared: list[bool]
    """Whether an earlier task named it already, so that later ones may as well."""
    is_prepared: bool = False
    """Whether the pool has an initializer, which the worker runs before its first task."""


class Packer:
    """Pickles, and keeps the large arrays of what it pickles apart."""

    def __init__(self) -> None:
        self.views: list[memoryview] = []

    def keep(self, buffer: pickle.PickleBuffer) -> bool:
        """For `pickle.dumps`: whether the buffer stays in the pickle. Raises TooLarge."""
        try:
            view = buffer.raw()
        except BufferError:
            return True  # Not in one piece.
        if view.nbytes < SHORTEST_BYTES:
            return True
        if view.nbytes > MAX_BYTES:
            raise TooLarge(Code.TooLarge, f"an array of {view.nbytes} bytes; {MAX_BYTES} may travel")
        self.views.append(view)
        return False


def tuple_of(pool: str, key: str, view: memoryview) -> tuple[str, str, str, Any]:
    """The tuple with these bytes, copied now."""
    return (BULK, pool, key, _copied(view))


def _copied(view: memoryview) -> Any:
    import numpy

    from quintet._native import empty

    array = empty(view.nbytes, "u1")
    array[:] = numpy.frombuffer(view, "u1")
    return array


def split(tuples: list[tuple[Any, ...]]) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Those that are to be put each by itself, and the others."""
    apart = [fields for fields in tuples if fields[3].nbytes >= APART_BYTES]
    return apart, [fields for fields in tuples if fields[3].nbytes < APART_BYTES]


def template_of(pool: str, key: str) -> tuple[Any, ...]:
    """What matches the tuple."""
    from quintet._native import array

    return (BULK, pool, key, array("u1", 1))


def take_away(space: Space, pool: str, keys: list[str]) -> None:
    """Removes the tuples, if they are there and the space is."""
    try:
        for key in keys:
            space.take_if(*template_of(pool, key))
    except GONE:
        return


Place = tuple[int, int]
"""Where an array lies, and how many bytes it has."""


class Sharing:
    """The arrays of the tasks of one call, by where they lie."""

    def __init__(self, *, compares: bool) -> None:
        """`compares`: an array may have been changed since an earlier task had it."""
        self._keys: dict[Place, str] = {}
        self._roots: dict[Place, Any] = {}
        self._sent: dict[Place, Any] | None = {} if compares else None
        """What workers see of those, where it is compared."""
        self._tasks = 0
        """How many there were so far."""
        self._once: dict[Place, int] = {}
        """Arrays that only one task has named: which."""
        self.dropped: deque[str] = deque()
        """Keys of arrays that are no more: no further task can have them."""
        self.has_ended = False

    def begin_task(self) -> None:
        """The next task names its arrays from now on. Drops those that none of the last ones has named again."""
        self._tasks += 1
        for place, task in list(self._once.items()):
            if self._tasks - task > OFFERED_TASKS:
                self._drop(place)

    def key(self, view: memoryview) -> str | None:
        """The array's key, if an earlier task had it."""
        place = _place(view)
        if self._sent is not None and place in self._sent and not _is_equal(view, self._sent[place]):
            self._drop(place)
        self._once.pop(place, None)
        return self._keys.get(place)

    def name(self, view: memoryview, key: str, sent: Any) -> bool:
        """Has later tasks name it, `sent` being what workers see of it. False if it cannot be known again."""
        import numpy

        root = view.obj
        if not isinstance(root, numpy.ndarray):
            return False
        while isinstance(root.base, numpy.ndarray):
            root = root.base
        place = _place(view)
        self._keys[place] = key
        self._once[place] = self._tasks
        if self._sent is not None:
            self._sent[place] = sent
        # Before its memory can be another array's.
        self._roots[place] = weakref.ref(root, lambda _gone: self._drop(place))
        return True

    def end(self) -> None:
        """No further task comes."""
        for place in list(self._keys):
            self._drop(place)
        self.has_ended = True

    def _drop(self, place: Place) -> None:
        self._roots.pop(place, None)
        self._once.pop(place, None)
        if self._sent is not None:
            self._sent.pop(place, None)
        key = self._keys.pop(place, None)
        if key is not None:
            self.dropped.append(key)


def _is_equal(view: memoryview, sent: Any) -> bool:
    """Whether both have the same bytes: as many."""
    import numpy

    here, whole = numpy.frombuffer(view, "u1"), view.nbytes // 8 * 8
    is_same = numpy.array_equal(here[:whole].view("u8"), sent[:whole].view("u8")) and numpy.array_equal(here[whole:], sent[whole:])
    return bool(is_same)


def _place(view: memoryview) -> Place:
    import numpy

    return (numpy.frombuffer(view, "u1").__array_interface__["data"][0], view.nbytes)


class Uses:
    """Which arrays of a pool lie in its space, and how many have to do with each: its tasks, and the call that shares it."""

    def __init__(self, space: Space, pool: str, most_bytes: int) -> None:
        self._space, self._pool, self._most_bytes = space, pool, most_bytes
        self._numbers = itertools.count(1)
        self._uses: dict[str, int] = {}
        self._shared: dict[str, int] = {}
        """The bytes of those that are shared."""
        self._sharings: list[Sharing] = []
        self._lock = threading.Lock()

    def share(self, *, compares: bool) -> Sharing:
        """For the tasks of one call; to be ended."""
        sharing = Sharing(compares=compares)
        with self._lock:
            self._sharings.append(sharing)
        return sharing

    def pack(self, views: list[memoryview], sharing: Sharing | None) -> tuple[list[str], list[memoryview | None]]:
        """The keys of a task's arrays, and of each that is not there the array."""
        if sharing is not None:
            sharing.begin_task()
        self.tidy()
        keys, absent = [], []
        for view in views:
            key = None if sharing is None else sharing.key(view)
            with self._lock:
                # Where the call was ended meanwhile, it may be gone.
                is_there = key in self._uses
                keys.append(key if key is not None and is_there else str(next(self._numbers)))
                self._uses[keys[-1]] = self._uses.get(keys[-1], 0) + 1
            absent.append(None if is_there else view)
        return keys, absent

    def offer(self, view: memoryview, key: str, sharing: Sharing, sent: Any) -> None:
        """Has later tasks name an array that was put, in this form. It stays as long as there may be some, unless that would be too many bytes."""
        with self._lock:
            if self._shared and sum(self._shared.values()) + view.nbytes > self._most_bytes:
                return
            if key not in self._uses or not sharing.name(view, key, sent):
                return
            self._uses[key] += 1
            self._shared[key] = view.nbytes

    def tidy(self) -> None:
        """Removes what was shared and is no more."""
        dropped = []
        with self._lock:
            for sharing in self._sharings:
                # Asked before: what is dropped later is seen the next time.
                is_last = sharing.has_ended
                while sharing.dropped:
                    dropped.append(sharing.dropped.popleft())
                if is_last:
                    self._sharings = [other for other in self._sharings if other is not sharing]
        self.release(dropped)

    def put_initializer(self, pickled: bytes) -> None:
        """Puts a pickled initializer and its arguments, for as long as there are tasks. Raises as `Space.out`."""
        self._space.out(*tuple_of(self._pool, INITIALIZER, memoryview(pickled)))
        self._uses[INITIALIZER] = 1

    def release(self, keys: list[str]) -> None:
        """One fewer has to do with each; those that nobody has are removed."""
        unused = []
        with self._lock:
            for key in keys:
                if key not in self._uses:
                    continue  # All was removed.
                self._uses[key] -= 1
                if self._uses[key] == 0:
                    del self._uses[key]
                    self._shared.pop(key, None)
                    unused.append(key)
        take_away(self._space, self._pool, unused)

    def end(self) -> None:
        """Removes all."""
        with self._lock:
            left, self._uses = list(self._uses), {}
        take_away(self._space, self._pool, left)


class Reader:
    """A worker's view of the arrays of its tasks."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._cached: OrderedDict[tuple[str, str], Any] = OrderedDict()
        self._initialized: set[str] = set()

    def arrays(self, pool: str, pickled: Pickled) -> list[Any]:
        """The arrays of a task's pickle, which cannot be written. Runs the pool's initializer if that was not done. Raises as
        `Space.read`; InitializerFailed.
        """
        if pickled.is_prepared and pool not in self._initialized:
            self._initialize(pool)
        return [self._array(pool, key, shared) for key, shared in zip(pickled.keys, pickled.shared)]

    def _initialize(self, pool: str) -> None:
        try:
            initializer, arguments = pickle.loads(self._array(pool, INITIALIZER, False))
            initializer(*arguments)
        except Exception as error:
            raise InitializerFailed(f"{type(error).__name__}: {error}") from error
        self._initialized.add(pool)

    def _array(self, pool: str, key: str, is_shared: bool) -> Any:
        found = self._cached.pop((pool, key), None)
        if found is None:
            found = self._space.read(*template_of(pool, key), timeout=READ_WITHIN_S)[3]
        if is_shared:
            self._cached[pool, key] = found
            if len(self._cached) > CACHED_ARRAYS:
                self._cached.popitem(last=False)
        return found

    def forget(self) -> None:
        """Keeps none any more."""
        self._cached.clear()
