"""Counts the words of many files: a tuple for each file, threads that take them, and a tuple for each result.

    python examples/python/word_count.py [directory]
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections import Counter
from pathlib import Path

import quintet

DIRECTORY = Path("/usr/share/common-licenses")
THREADS = 4
SHOWN = 10
WITHIN_S = 60.0


def count(space: quintet.Space) -> None:
    """Counts the words of files until there are no more. A result is put when its file is acknowledged, or not at all."""
    while True:
        with space.lease("file", str) as task:
            _, path = task
            if not path:
                return
            words = Counter(re.findall(r"[a-z]+", Path(path).read_text(errors="replace").lower()))
            task.acknowledge(("words", path, json.dumps(words).encode()))


def main() -> int:
    """Prints the most frequent words. Returns the exit status: 1 if there are no files."""
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else DIRECTORY
    paths = [str(path) for path in sorted(directory.glob("*")) if path.is_file()]
    if not paths:
        print(f"no files in {directory}", file=sys.stderr)
        return 1
    total: Counter[str] = Counter()
    with quintet.connect() as lab:
        space = lab.space
        space.out_many([("file", path) for path in paths] + [("file", "")] * THREADS)
        threads = [threading.Thread(target=count, args=(space,)) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for path in paths:
            _, _, words = space.take("words", path, bytes, timeout=WITHIN_S)
            total.update(json.loads(words))
        for thread in threads:
            thread.join()
    print(f"{sum(total.values())} words in {len(paths)} files")
    for word, number in total.most_common(SHOWN):
        print(f"{number:8} {word}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
