#!/usr/bin/env python3
"""Prints one table of what `tandem bench --json` wrote for several programs.

  bench_table.py FILE.json...

A row for each mode: time of a run, of the first mode's, and of the call of `execute_async` alone. Microseconds.
"""
import json
import sys
from pathlib import Path


def number(value) -> str:
    return "" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def rows_of(path: Path):
    """The rows of one file; a void table is one row that says why."""
    report = json.loads(path.read_text(encoding="utf-8"))
    if "error" in report:
        return [[path.stem, "failed: " + report["error"]["text"], "", "", ""]]
    if report.get("void"):
        return [[path.stem, "void: " + report["void"]["reason"], "", "", ""]]
    rows = []
    for mode in report["modes"]:
        ratio = mode.get("ratio") or {}
        call = (mode.get("enqueue_us") or {}).get("p50")
        rows.append(["" if rows else path.stem, mode["mode"], number(mode.get("time_us")),
                     f"{ratio['median']:.3f} [{ratio['lowest']:.3f}..{ratio['highest']:.3f}]" if ratio else "",
                     number(call)])
    return rows


def main(paths: list) -> int:
    if not paths:
        print(__doc__, file=sys.stderr)
        return 2
    print("| program | mode | us a run | of the first mode | us, the call alone |\n| --- | --- | --- | --- | --- |")
    for path in map(Path, paths):
        for row in rows_of(path):
            print("| " + " | ".join(row) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
