"""joblib's backend, with workers in threads and in processes."""

from __future__ import annotations

import contextlib
import logging
import os
import threading

import joblib
import pytest
from conftest import LONG_S

import quintet
from quintet import presence, tasks


@pytest.fixture(params=["embedded", "served"])
def workers(request):
    if request.param == "served":
        start = request.getfixturevalue("worker")
        start()
        start()
    return request.param


def square(number):
    return number * number


def test_calls_in_order(workers):
    with joblib.parallel_config(backend="quintet"):
        results = joblib.Parallel()(joblib.delayed(square)(n) for n in range(50))
    assert results == [n * n for n in range(50)]


def test_small_calls_go_in_batches(worker, monkeypatch):
    monkeypatch.setenv("QUINTET_EVENTS", "1")
    worker()
    with joblib.parallel_config(backend="quintet", n_jobs=2):
        assert joblib.Parallel()(joblib.delayed(square)(n) for n in range(2000)) == [n * n for n in range(2000)]
    with quintet.connect() as lab:
        assert lab.space.count(tasks.EVENT, tasks.SUBMITTED, -1, int, int) < 1000


def test_an_exception_comes_back(workers):
    def fail(number):
        if number == 3:
            raise KeyError("three")
        return number

    with joblib.parallel_config(backend="quintet"), pytest.raises(KeyError, match="three"):
        joblib.Parallel()(joblib.delayed(fail)(n) for n in range(20))


def test_each_task_is_told_of_when_events_are_wanted(worker, monkeypatch):
    monkeypatch.setenv("QUINTET_EVENTS", "1")
    worker()
    with joblib.parallel_config(backend="quintet", n_jobs=2):
        assert joblib.Parallel(batch_size=1)(joblib.delayed(square)(n) for n in range(5)) == [0, 1, 4, 9, 16]
    with quintet.connect() as lab:
        for what, rank in ((tasks.SUBMITTED, -1), (tasks.HOLDING, 0), (tasks.DONE, 0)):
            assert lab.space.count(tasks.EVENT, what, rank, int, int) == 5


def test_a_killed_worker_is_no_job(worker, monkeypatch):
    from quintet.joblib_backend import QuintetBackend

    monkeypatch.setenv("QUINTET_WORKERS", "3")
    first, second = worker(), worker()
    backend = QuintetBackend()
    with quintet.connect() as lab:
        for process in (first, second):
            lab.space.read(tasks.WORKER, int, process.pid, timeout=LONG_S)
        assert backend.effective_n_jobs(-1) == 3, "the third is on its way"
        first.kill()
        lab.space.read(presence.PRESENCE, 0, first.pid, str, timeout=LONG_S)
        assert backend.effective_n_jobs(-1) == 2
    backend.terminate()


def test_scikit_learn_finds_the_same(workers):
    from sklearn.datasets import load_iris
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    features, labels = load_iris(return_X_y=True)

    def search():
        return GridSearchCV(SVC(), {"C": [0.1, 1, 10], "gamma": [0.01, 0.1]}, cv=3).fit(features, labels)

    serial = search()
    with joblib.parallel_config(backend="quintet"):
        parallel = search()
    assert parallel.best_params_ == serial.best_params_
    for column in serial.cv_results_:
        if "score" in column and "time" not in column:
            assert (parallel.cv_results_[column] == serial.cv_results_[column]).all()


def test_no_more_tasks_are_with_workers_than_jobs_were_asked_for(socket, monkeypatch):
    monkeypatch.setenv("QUINTET_SPACE", str(socket))
    seen = []

    def run_all(lab):
        """A worker that sees how many tasks it could have had."""
        with contextlib.suppress(*quintet.errors.GONE):
            collect(lab)

    def collect(lab):
        while True:
            held = [lab.space.lease(tasks.TASK, str, int, bytes)]
            while lab.space.count(tasks.TASK, str, int, bytes) > 0:
                held.append(lab.space.lease(tasks.TASK, str, int, bytes))
            seen.append(len(held))
            for task in held:
                task.acknowledge((tasks.RESULT, task[1], task[2], *tasks.run(task[3]), 0, 1))

    with quintet.connect() as lab:
        threading.Thread(target=run_all, args=(lab,), daemon=True).start()
        with joblib.parallel_config(backend="quintet", n_jobs=2):
            assert joblib.Parallel(pre_dispatch="all", batch_size=1)(joblib.delayed(square)(n) for n in range(30)) == [
                n * n for n in range(30)
            ]
    assert max(seen) <= 2


@pytest.mark.parametrize("jobs, effective", [(-1, 5), (-2, 4), (-5, 1), (-9, 1), (3, 3), (None, 5)])
def test_jobs_count_from_the_workers_as_joblibs(socket, monkeypatch, jobs, effective):
    from quintet.joblib_backend import QuintetBackend

    monkeypatch.setenv("QUINTET_SPACE", str(socket))
    monkeypatch.setenv("QUINTET_WORKERS", "5")
    backend = QuintetBackend()
    assert backend.effective_n_jobs(jobs) == effective
    backend.terminate()


def test_no_jobs_are_refused(workers):
    with joblib.parallel_config(backend="quintet"), pytest.raises(ValueError, match="n_jobs == 0"):
        joblib.Parallel(n_jobs=0)(joblib.delayed(square)(n) for n in range(3))


def pid_of(_number):
    return os.getpid()


def test_a_single_worker_does_the_calls(worker, monkeypatch):
    monkeypatch.setenv("QUINTET_WORKERS", "1")
    process = worker()
    with joblib.parallel_config(backend="quintet"):
        assert set(joblib.Parallel()(joblib.delayed(pid_of)(n) for n in range(10))) == {process.pid}


def test_without_workers_it_is_said_who_computes(socket, monkeypatch, caplog):
    monkeypatch.setenv("QUINTET_SPACE", str(socket))
    monkeypatch.setenv("QUINTET_WORKERS", "0")
    with caplog.at_level(logging.WARNING, logger="quintet"), joblib.parallel_config(backend="quintet"):
        assert set(joblib.Parallel()(joblib.delayed(pid_of)(n) for n in range(3))) == {os.getpid()}
    assert f"there is no worker at shm:{socket}: joblib computes in this process" in caplog.text


def test_the_first_worker_of_a_space_is_waited_for(worker):
    threading.Timer(0.1, worker).start()
    with joblib.parallel_config(backend="quintet"):
        assert os.getpid() not in joblib.Parallel()(joblib.delayed(pid_of)(n) for n in range(3))
