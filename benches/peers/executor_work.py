"""What the tasks of executor_tasks.py do: a module of its own, as a program's would be, which workers import."""

import socket
import time


def spin(duration_s):
    """Uses so much processor time, whoever else wants the processor; 0: returns at once."""
    if duration_s == 0:
        return duration_s
    end = time.thread_time() + duration_s
    while time.thread_time() < end:
        pass
    return duration_s


def where(duration_s):
    """The name of the machine on which this is done, in so much processor time."""
    spin(duration_s)
    return socket.gethostname()


def total(array):
    """Looks at a float64 array of any shape; the sum of some of its numbers."""
    return float(array[::4096].sum())
