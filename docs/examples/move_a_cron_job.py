"""Copy the lines of a file into a topic, each line once, however often this program is killed and started again.

python move_a_cron_job.py LINES STORE [COUNTER]

COUNTER is the file in which the job of before counted the lines that it had done. It is read once: from then on the
store knows. A line counts once it is whole, so a program may append to the file at any time.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from gcom import topics


class Lines:
    """The lines of a file; a line's position is its number. The first `done` of them are not wanted."""

    def __init__(self, path: str, done: int) -> None:
        self.path, self.done = path, done
        self.begin = 0

    def seek(self, position: int | None) -> None:
        self.begin = self.done if position is None else position + 1

    def read(self) -> Iterator[tuple[int, bytes]]:
        with open(self.path, "rb") as file:
            for number, line in enumerate(file):
                if number >= self.begin and line.endswith(b"\n"):
                    yield number, line.rstrip(b"\n")


def main() -> None:
    path, database, *counter = sys.argv[1:]
    done = int(Path(counter[0]).read_text() or 0) if counter and Path(counter[0]).exists() else 0
    with topics.open(database) as store:
        # The producer has this name for ever: under it the store knows what it has.
        count = store.topic("lines").producer(path).run(Lines(path, done))
    print(f"{count} new lines")


if __name__ == "__main__":
    main()
