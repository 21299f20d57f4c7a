# SPDX-License-Identifier: BSD-2-Clause
"""Prints what the campaigns on this machine have run, as the table of docs/campaigns.md."""
import json
from pathlib import Path

from quintet.boards.virtual.cache import default_folder


def main():
    for path in sorted((Path(default_folder()) / "campaigns").glob("*.json")):
        totals = json.loads(path.read_text())
        print(f"{path.stem}: {sum(totals.values())} programs\n\n| build | seed base | programs |\n|---|---|---|")
        for key, count in sorted(totals.items()):
            build, base = key.rsplit("/", 1)
            print(f"| {build} | {base} | {count:,} |")


if __name__ == "__main__":
    main()
