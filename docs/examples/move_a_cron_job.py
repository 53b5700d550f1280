"""Copy the lines of a file into a topic, each line once, however often this program is killed and started again."""

import sys
from collections.abc import Iterator

from gcom import topics


class Lines:
    """The lines of a file; a line's position is its number."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.begin = 0

    def seek(self, position: int | None) -> None:
        self.begin = 0 if position is None else position + 1

    def read(self) -> Iterator[tuple[int, bytes]]:
        with open(self.path, "rb") as file:
            for number, line in enumerate(file):
                if number >= self.begin:
                    yield number, line.rstrip(b"\n")


def main() -> None:
    path, database = sys.argv[1:]
    with topics.open(database) as store:
        count = store.topic("lines").producer(path).run(Lines(path))
    print(f"{count} new lines")


if __name__ == "__main__":
    main()
