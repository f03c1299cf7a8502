#!/usr/bin/env python3
"""Times saltus and its peer side by side, in turns, and prints the ratios: `python3 benches/compare.py [rounds]`.

Needs the peer's drivers (benches/peers/build.sh). Each round runs every program once; the least CPU time per step counts,
because everything else on the machine only adds to it."""
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Our case, the peer's driver with its arguments, what that is.
PAIRS = [
    ("ball-rust", "ball moreau 1e-4 10 0.9"),
    ("ball-formulas", "ball moreau 1e-4 10 0.9"),
    ("ball-half-explicit", "ball d1minus 1e-4 10 0.9"),
    ("ball-half-explicit", "ball d1minusvel 1e-4 10 0.9"),
    ("ball-schatzman", "ball schatzman 1e-4 10 0.9"),
    # 1000 rows and the impacts between them.
    ("ball-event", "ball lsodar 1e-2 10 0.9"),
    ("crank-rust", "crank moreau 1e-5 0.2 lcp"),
    ("crank-formulas", "crank moreau 1e-5 0.2 lcp"),
    ("crank_friction-rust", "crank moreau 1e-5 0.2 enum"),
    ("crank_friction-formulas", "crank moreau 1e-5 0.2 enum"),
    ("crank_friction-half-explicit", "crank moreau 1e-5 0.2 enum"),
    ("crank_projected-rust", "crank combined 1e-5 0.2 enum"),
    ("crank_projected-formulas", "crank combined 1e-5 0.2 enum"),
    # Elements, Courant number, θ, storage, most steps, gap: in contact for the most part.
    ("bar200-rust", "bar 200 1.2 0.5 sparse 300 0.3"),
    ("bar1000-rust", "bar 1000 1.2 0.5 sparse 40 0.003"),
    ("bar5000-rust", "bar 5000 1.2 0.5 sparse 6 0.0003"),
]


def results(command, env):
    text = subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, text=True).stdout
    return [json.loads(line[7:]) for line in text.splitlines() if line.startswith("RESULT ")]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    env = dict(os.environ, OPENBLAS_NUM_THREADS="1")
    subprocess.run(["cargo", "bench", "-q", "-p", "saltus", "--bench", "peers", "--no-run"], cwd=ROOT, check=True)
    ours, peer = {}, {}
    for _ in range(rounds):
        for name in dict.fromkeys(name for _, name in PAIRS):
            driver, *arguments = name.split()
            for row in results([f"target/peers/siconos_{driver}", *arguments], env):
                peer[name] = min(peer.get(name, 1e9), row["us_per_step"])
        for row in results(["cargo", "bench", "-q", "-p", "saltus", "--bench", "peers"], env):
            ours[row["case"]] = min(ours.get(row["case"], 1e9), row["us_per_step"])
    print(f"{'saltus':28} {'µs/step':>8}   {'Siconos':32} {'µs/step':>10} {'ratio':>8}")
    for case, name in PAIRS:
        print(f"{case:28} {ours[case]:8.3f}   {name:32} {peer[name]:10.3f} {peer[name] / ours[case]:8.1f}")


if __name__ == "__main__":
    main()
