#!/usr/bin/env python3
"""Times saltus and its peer side by side, in turns, and prints the ratios: `python3 benches/compare.py [rounds]`.

Needs the peer's drivers (benches/peers/build.sh). Each round runs every program once; the least CPU time per step counts,
because everything else on the machine only adds to it."""
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PEERS = {
    "ball": ["target/peers/siconos_ball", "moreau", "1e-4", "10", "0.9"],
    "crank": ["target/peers/siconos_crank", "moreau", "1e-5", "0.2", "lcp"],
    "crank with friction": ["target/peers/siconos_crank", "moreau", "1e-5", "0.2", "enum"],
    # Elements, Courant number, θ, storage, most steps, gap: in contact for the most part.
    "bar200": ["target/peers/siconos_bar", "200", "1.2", "0.5", "sparse", "300", "0.3"],
    "bar1000": ["target/peers/siconos_bar", "1000", "1.2", "0.5", "sparse", "40", "0.003"],
    "bar5000": ["target/peers/siconos_bar", "5000", "1.2", "0.5", "sparse", "6", "0.0003"],
}


def results(command, env):
    text = subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, text=True).stdout
    return [json.loads(line[7:]) for line in text.splitlines() if line.startswith("RESULT ")]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    env = dict(os.environ, OPENBLAS_NUM_THREADS="1")
    subprocess.run(["cargo", "bench", "-q", "-p", "saltus", "--bench", "peers", "--no-run"], cwd=ROOT, check=True)
    ours, peer = {}, {}
    for _ in range(rounds):
        for name, command in PEERS.items():
            for row in results(command, env):
                peer[name] = min(peer.get(name, 1e9), row["us_per_step"])
        for row in results(["cargo", "bench", "-q", "-p", "saltus", "--bench", "peers"], env):
            ours[row["case"]] = min(ours.get(row["case"], 1e9), row["us_per_step"])
    print(f"{'saltus':16} {'µs/step':>8}   {'Siconos':20} {'µs/step':>8} {'ratio':>6}")
    for case, time in ours.items():
        for name, other in peer.items():
            if name.split()[0] == case.split("-")[0]:
                print(f"{case:16} {time:8.3f}   {name:20} {other:8.3f} {other / time:6.1f}")


if __name__ == "__main__":
    main()
