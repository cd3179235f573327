"""Command-line options that every peer in Python understands, as options.h has them for those in C; README.md describes them."""

import argparse
import sys

# Exit statuses, from sysexits(3).
EXIT_USAGE = 64
EXIT_PEER_MISSING = 69
EXIT_BROKEN = 70


class Parser(argparse.ArgumentParser):
    """Ends with the status that every peer uses for a wrong option."""

    def error(self, message):
        print(message, file=sys.stderr)
        sys.exit(EXIT_USAGE)


def positive(text):
    """A number of at least one."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, got {number}")
    return number


def processors(text):
    """Processor numbers, such as 0,1."""
    return [int(part) for part in text.split(",")]


def parser_of(description, *, rounds=11, warmup=1000, iterations=20_000, cpus=processors):
    """A parser of the options that every peer takes, with this one's defaults; to be given those that are its own."""
    parser = Parser(description=description, allow_abbrev=False)
    parser.add_argument("--rounds", type=positive, default=rounds)
    parser.add_argument("--warmup", type=int, default=warmup)
    parser.add_argument("--iterations", type=positive, default=iterations)
    parser.add_argument("--cpus", type=cpus, default=None)
    parser.add_argument("--case", default=None)
    return parser
