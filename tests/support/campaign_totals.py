# SPDX-License-Identifier: BSD-2-Clause
"""Prints the totals of the campaigns on this machine, as the table of docs/how/campaigns.md."""

import json
from pathlib import Path

from quintet.boards.virtual.cache import default_folder


def main():
    for path in sorted((Path(default_folder()) / "campaigns").glob("*.json")):
        totals = json.loads(path.read_text())
        # A link's campaign counts frames beside its seeds, and some of them those that were spoilt.
        frames, spoilt = (
            {
                key.replace(f" {what}/", "/"): count
                for key, count in totals.items()
                if f" {what}/" in key
            }
            for what in ("frames", "spoilt")
        )
        totals, what = (frames, "frames") if frames else (totals, "programs")
        print(
            f"{path.stem}: {sum(totals.values())} {what}\n\n| build | seed base | {what} |\n"
            f"|---|---|---|"
        )
        for key, count in sorted(totals.items()):
            build, base = key.rsplit("/", 1)
            print(
                f"| {build} | {base} | "
                f"{count:,}{f', {spoilt[key]:,} of them spoilt' if key in spoilt else ''} |"
            )


if __name__ == "__main__":
    main()
