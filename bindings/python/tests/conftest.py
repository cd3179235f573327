"""What the tests stand on: a space in this process, and one that another process serves."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import quintet

LONG_S = 30.0
"""Longer than anything takes: a wait that ends so has failed."""

SERVE = """
import sys, quintet
with quintet.serve(sys.argv[1]) as server:
    print(server.address, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test sees a server or a cluster by chance."""
    for name in ("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path_factory.getbasetemp() / "nothing"))
    for name in [name for name in os.environ if name.startswith("QUINTET_")]:
        monkeypatch.delenv(name)


@contextlib.contextmanager
def serving(address: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that serves a space, and where it does."""
    command = [sys.executable, "-c", SERVE, address]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield server, server.stdout.readline().strip()
    server.communicate()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that serves a space."""
    with serving(str(tmp_path / "space")) as (server, address):
        assert address == f"shm:{tmp_path}/space"
        yield server


@pytest.fixture
def socket(server: subprocess.Popen[str], tmp_path: Path) -> Path:
    """The socket of a space that another process serves."""
    return tmp_path / "space"


@pytest.fixture(scope="session")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An identity of a cluster, made by another program than ours: what a file must hold is no secret of the command's."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("identity")

    def openssl(*arguments: str) -> bytes:
        return subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True).stdout

    for name in ["authority", "machine"]:
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", f"{name}.key")
    key = openssl("pkey", "-in", "authority.key", "-pubout", "-outform", "DER")
    cluster = hashlib.sha256(key).hexdigest()[:32] + ".quintet.internal"
    openssl("req", "-x509", "-new", "-key", "authority.key", "-subj", "/CN=authority", "-days", "2", "-out", "authority.pem")
    openssl("req", "-new", "-key", "machine.key", "-subj", "/CN=machine", "-out", "machine.csr")
    (folder / "extensions").write_text(
        f"subjectAltName=DNS:{cluster}\nextendedKeyUsage=clientAuth,serverAuth\nbasicConstraints=CA:FALSE\n"
    )
    authority = ["-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial"]
    limits = ["-days", "1", "-extfile", "extensions", "-out", "machine.pem"]
    openssl("x509", "-req", "-in", "machine.csr", *authority, *limits)
    made = folder / "machine.identity"
    parts = ["machine.pem", "authority.pem", "machine.key"]
    made.write_text("".join((folder / part).read_text() for part in parts))
    made.chmod(0o600)
    return made


@pytest.fixture(params=["embedded", "shm:{}/space", "unix:{}/space", "tcp:127.0.0.1:0", "tls:127.0.0.1:0"])
def client(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], quintet.Lab]]:
    """Makes clients of one space, each with a connection of its own where there are connections."""
    if request.param == "embedded":
        lab = quintet.connect()
        yield lambda: lab
        lab.close()
        return
    if request.param.startswith("tls:"):
        monkeypatch.setenv("QUINTET_IDENTITY", str(request.getfixturevalue("identity")))
    labs: list[quintet.Lab] = []
    with serving(request.param.format(tmp_path)) as (_, address):

        def connect() -> quintet.Lab:
            labs.append(quintet.connect(address))
            return labs[-1]

        yield connect
        for lab in labs:
            lab.close()


@pytest.fixture
def worker(socket: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts workers of the served space, which is the environment's from then on."""
    monkeypatch.setenv("QUINTET_SPACE", str(socket))
    workers: list[subprocess.Popen[str]] = []

    def start(**settings: str) -> subprocess.Popen[str]:
        tests = str(Path(__file__).parent)
        environment = {**os.environ, "QUINTET_RANK": str(len(workers)), "PYTHONPATH": tests, **settings}
        command = [sys.executable, "-m", "quintet.worker"]
        workers.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True))
        return workers[-1]

    yield start
    for process in workers:
        process.terminate()
        process.communicate(timeout=LONG_S)
