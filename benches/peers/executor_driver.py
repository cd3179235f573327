"""The program that executor_machines.py starts on the first of two machines: it submits tasks to the workers of both, and measures."""

import json
import sys
import time

import executor_tasks
from executor_work import spin, where
from options import EXIT_BROKEN, parser_of

# How long workers may take to be there, and a look at who takes part.
START_S = 120
LOOK_S = 0.02


class Quintet(executor_tasks.Quintet):
    """quintet.Executor in a job of `quintet run`: the workers of the job."""

    def make(self, _):
        import quintet

        return quintet.Executor()


class Dask(executor_tasks.Dask):
    """dask.distributed with a scheduler that is there."""

    def make(self, address):
        from distributed import Client

        client = Client(address, timeout=START_S)
        client.wait_for_workers(executor_tasks.WORKERS, timeout=START_S)
        return client

    def close(self):
        self.executor.close()


class Ray(executor_tasks.Ray):
    """Ray with a cluster that is there."""

    def make(self, address):
        import ray

        ray.init(address=address, log_to_driver=False, logging_level="error")
        return ray


PRODUCTS = {"quintet": Quintet, "dask": Dask, "ray": Ray}


def take_part(product):
    """Return when workers on two machines do tasks.

    Raises RuntimeError if they do not.
    """
    limit = time.monotonic() + START_S
    while True:
        machines = set(product.map(where, [LOOK_S] * (10 * executor_tasks.WORKERS)))
        if len(machines) == executor_tasks.WORKERS:
            return
        if time.monotonic() > limit:
            raise RuntimeError(f"tasks are done on {', '.join(sorted(machines))} only")


def main():
    parser = parser_of("Submit tasks to workers on two machines.", warmup=200, iterations=5000)
    parser.add_argument("--with", dest="product", choices=sorted(PRODUCTS), required=True)
    parser.add_argument("--address", default=None)
    options = parser.parse_args()
    product = PRODUCTS[options.product](options.address)
    unit, measure = executor_tasks.CASES[options.case]
    try:
        take_part(product)
        product.map(spin, [0.0] * options.warmup)
        for _ in range(options.rounds):
            value = measure(product, options.iterations)
            for statistic in ("mean", "p50"):
                line = {"peer": options.product, "case": options.case, "unit": unit, "statistic": statistic, "value": round(value, 3)}
                print(json.dumps(line), flush=True)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return EXIT_BROKEN
    product.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
