#!/usr/bin/env python3
"""Times programs that answer on demand, in turns, so that what disturbs one disturbs all.

  bench/alternate.py [--blocks 20] [--calls 50] [--json] NAME=COMMAND...

A COMMAND prints one line when it is ready; answers each "run K" on its input with a line of JSON that has "times_us", K
numbers, and "wrong", how many results were wrong; and ends at "quit": build/cuda/bench/tandem_serve does, and so can
another runtime's program. A block asks each in turn, every second block in the reverse order. Ratios are to the first.

  bench/alternate.py a="build/cuda/bench/tandem_serve FOLDER --device cuda:0" b="other FOLDER"
"""
import argparse
import json
import statistics
import subprocess
import sys


class Server:
    def __init__(self, name, command):
        self.name = name
        self.process = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.times, self.medians, self.wrong = [], [], 0
        self.ready = self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"alternate: {self.name} ended with status {self.process.wait()}")
        return line.strip()

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def run(self, calls):
        self.tell(f"run {calls}")
        answer = json.loads(self.read())
        self.times += answer["times_us"]
        self.medians.append(statistics.median(answer["times_us"]))
        self.wrong += answer["wrong"]

    def report(self):
        self.tell("quit")
        self.process.wait()
        ordered = sorted(self.times)
        at = {f"p{p}": ordered[min(len(ordered) - 1, len(ordered) * p // 100)] for p in (50, 90, 99)}
        return {"name": self.name, "ready": self.ready, "calls": len(ordered), "wrong": self.wrong, **at,
                "blocks": [min(self.medians), max(self.medians)]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("server", nargs="+", metavar="NAME=COMMAND")
    options = parser.parse_args()
    servers = [Server(*server.split("=", 1)) for server in options.server]
    for block in range(options.blocks):
        for server in servers if block % 2 == 0 else reversed(servers):
            server.run(options.calls)
    reports = [server.report() for server in servers]
    if options.json:
        print(json.dumps(reports))
        return
    for r in reports:
        print(f"{r['name']:<16} p50 {r['p50']:9.1f}  p90 {r['p90']:9.1f}  p99 {r['p99']:9.1f} us  "
              f"medians of blocks {r['blocks'][0]:.1f}..{r['blocks'][1]:.1f}  "
              f"wrong {r['wrong']} of {r['calls']}  ratio {r['p50'] / reports[0]['p50']:.2f}")


if __name__ == "__main__":
    main()
