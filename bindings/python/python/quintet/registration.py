"""Registers the backend "quintet" with joblib, without importing joblib."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import Any

_JOBLIB = "joblib.parallel"


def register_with_joblib() -> None:
    """Registers now if joblib is loaded, else as soon as the program imports it."""
    loaded = sys.modules.get(_JOBLIB)
    if loaded is not None and hasattr(loaded, "register_parallel_backend"):
        _register(loaded)
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _register(parallel: ModuleType) -> None:
    parallel.register_parallel_backend("quintet", _make_backend)


def _make_backend(**arguments: Any) -> Any:
    from quintet.joblib_backend import QuintetBackend

    return QuintetBackend(**arguments)


class _Finder(importlib.abc.MetaPathFinder):
    """Waits for the import of joblib, and registers at its end."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != _JOBLIB:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(importlib.abc.Loader):
    """Loads as the loader it stands for, then registers."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _register(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
