#!/usr/bin/env python3
"""Times programs without delegates in ExecuTorch's own Python runtime and in Tandem, in turns.

  pip install executorch==1.4.1 torch numpy
  python3 bench/compare_executorch.py build/host/tandem

Both run the same inputs on one thread. ExecuTorch's time contains its Python binding; Tandem's is the command's own
measurement around one execution, with checks of the inputs and an output that belongs to the caller. Look at the ratio.
"""
import argparse
import json
import os
import statistics
import subprocess
import time
import warnings

warnings.filterwarnings("ignore")
import numpy as np
import torch
from executorch.runtime import Runtime, Verification

FIXTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "fixtures")
PROGRAMS = ["plain", "plain_ops", "plain_empty", "map_host"]


def executorch_median(method, inputs, runs):
    times = []
    for _ in range(runs):
        start = time.perf_counter_ns()
        method.execute(inputs)
        times.append((time.perf_counter_ns() - start) / 1e3)
    return statistics.median(times)


def tandem_median(command, folder, files, runs):
    arguments = [word for file in files for word in ("--input", os.path.join(folder, file))]
    program = os.path.join(folder, "program.pte")
    done = subprocess.run([command, "run", program, *arguments, "--repeat", str(runs), "--json"],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["p50_us"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", help="the command `tandem`")
    parser.add_argument("--runs", type=int, default=2000, help="executions per turn")
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'program':12} {'ExecuTorch us':>22} {'Tandem us':>22} {'ratio':>7}")
    for name in PROGRAMS:
        folder = os.path.join(FIXTURES, name)
        with open(os.path.join(folder, "meta.json"), encoding="utf-8") as file:
            case = json.load(file)["methods"]["forward"]["cases"][0]
        files = [value["file"] for value in case["inputs"]]
        inputs = [torch.from_numpy(np.load(os.path.join(folder, file)).copy()) for file in files]
        program = Runtime.get().load_program(os.path.join(folder, "program.pte"), verification=Verification.Minimal)
        method = program.load_method("forward")
        theirs, ours = [], []
        for _ in range(options.turns):
            theirs.append(executorch_median(method, inputs, options.runs))
            ours.append(tandem_median(options.command, folder, files, options.runs))
        spread = lambda t: f"{statistics.median(t):8.2f} [{min(t):.2f}..{max(t):.2f}]"
        print(f"{name:12} {spread(theirs):>22} {spread(ours):>22} "
              f"{statistics.median(ours) / statistics.median(theirs):7.2f}", flush=True)


if __name__ == "__main__":
    main()
