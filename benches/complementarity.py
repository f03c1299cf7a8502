#!/usr/bin/env python3
"""Times `auto` beside every solver of the peer on a folder of problems, and a sweep of Gauss-Seidel beside the peer's:
`python3 benches/complementarity.py FOLDER [--tolerance 1e-8] [--limit SECONDS] [--only TEXT] [--table FILE]`.

Needs the driver of the peer (benches/peers/build.sh). Both sides read the same files (global problems reduced), solve from
zero with one thread, and count the CPU time of the solve alone, the least of several; problem by problem they take turns.

A solver of the peer counts as successful if it says so. Its points are judged here as well, and its best solver whose eta is
at most ten times the tolerance is listed beside the best of all. Ours counts only if eta is at most the tolerance and so is
the peer's own error of the point."""
import argparse
import json
import math
import os
import resource
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORK = os.path.join(ROOT, "target/peers/complementarity")
PEER = os.path.join(ROOT, "target/peers/siconos_numerics")
# Names and numbers of the peer's solvers, with a limit of iterations.
SOLVERS = {
    "3": {"NSGS": (500, 1000000), "NSN_AC": (504, 1000), "NSN_FB": (513, 1000), "VI_EG": (507, 1000000), "VI_FPP": (506, 1000000),
          "ACLMFP": (516, 1000), "ADMM": (523, 10000)},
    "2": {"NSGS": (400, 1000000), "LEMKE": (404, 100000), "ENUM": (405, 0)},
    "5": {"NSGS": (3000, 1000000), "ADMM": (3003, 10000)},
    "lcp": {"LEMKE": (200, 100000), "PGS": (202, 100000), "NEWTONMIN": (208, 1000), "NEWTON_FB": (209, 1000), "ENUM": (213, 0),
            "PIVOT": (215, 100000), "BARD": (216, 100000), "PIVOT_LUMOD": (220, 100000)},
}
ENVIRONMENT = dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")


def call(command, seconds=None):
    """The numbers of the RESULT lines; none where the program fails or takes too long."""
    def limit():
        if seconds:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
            resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    done = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, preexec_fn=limit)
    return [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("RESULT ")]


def ours_binary():
    text = subprocess.run(["cargo", "bench", "-q", "-p", "saltus-problems", "--bench", "peers", "--no-run", "--message-format", "json"],
                          cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        message = json.loads(line)
        if message.get("executable") and message["target"]["name"] == "peers":
            return message["executable"]
    sys.exit("the benchmark was not built")


def peer(ours, problem, solver, limit, tolerance, seconds):
    point = os.path.join(WORK, "point.txt")
    if os.path.exists(point):
        os.remove(point)
    rows = call([PEER, problem["file"], problem["kind"], str(solver), repr(tolerance), str(limit), point], seconds)
    if not rows:
        return None
    row = rows[0]
    row.update({k: float(v) for k, v in call([ours, "judge", problem["file"], point])[0].items()})
    row["sharp"] = row["eta"] <= 10 * tolerance
    return row


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--tolerance", type=float, default=1e-8)
    parser.add_argument("--limit", type=int, default=4)
    parser.add_argument("--only", default="")
    parser.add_argument("--table")
    arguments = parser.parse_args()
    ours = ours_binary()
    os.makedirs(WORK, exist_ok=True)
    problems = call([ours, "prepare", os.path.abspath(arguments.folder), WORK])
    lines = ["| problem | size | the peer's fastest | ms | its fastest with eta ≤ 10 tol | ms | `auto`, ms | ratio | ratio, sharp | sweep, peer, µs | ours, µs | ratio |",
             "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    ratios, sharps, sweeps = {}, {}, {}
    print("\n".join(lines))
    for problem in problems:
        if arguments.only not in problem["name"] or problem["size"] == 0:
            continue
        kind = problem["kind"]
        first = call([ours, "solve", problem["file"], repr(arguments.tolerance)])[0]
        best, sharp = (None, "none"), (None, "none")
        for solver, (number, limit) in SOLVERS[kind].items():
            row = peer(ours, problem, number, limit, arguments.tolerance, arguments.limit)
            if row and row["info"] == 0:
                mark = (row["time_s"], solver)
                best = mark if best[0] is None else min(best, mark)
                if row["sharp"]:
                    sharp = mark if sharp[0] is None else min(sharp, mark)
        # Again, because the machine may have been busy the first time.
        second = call([ours, "solve", problem["file"], repr(arguments.tolerance)])[0]
        time = min(first["time_s"], second["time_s"])
        good = first["solved"] and first["unscaled"] <= arguments.tolerance
        own = "" if good else " (infeasible)" if first.get("infeasible") else f" (eta {first['eta']:.0e}, peer's {first['unscaled']:.0e})"
        ms = lambda t: f"{1e3 * t:.4g}" if t else "-"
        cells = [problem["name"].replace("__", "/"), str(problem["size"]), best[1], ms(best[0]), sharp[1], ms(sharp[0]), ms(time) + own]
        for table, mark in ((ratios, best), (sharps, sharp)):
            ratio = mark[0] / time if mark[0] and good else None
            if ratio:
                table.setdefault(kind, []).append((problem["name"], problem["size"], ratio))
            cells.append(f"{ratio:.2f}" if ratio else "-")
        if kind != "lcp" and problem["size"] <= 1000:
            count = max(20, min(2000, 60000 // problem["size"]))
            number = SOLVERS[kind]["NSGS"][0]
            theirs = call([PEER, problem["file"], kind, str(number), "1e-300", str(count), os.path.join(WORK, "sweeps.txt")], 20)
            mine = call([ours, "sweeps", problem["file"], str(count)], 20)
            if theirs and mine and theirs[0]["iterations"] > 0 and mine[0]["iterations"] > 0:
                each = [1e6 * side["time_s"] / side["iterations"] for side in (theirs[0], mine[0])]
                sweeps.setdefault(kind, []).append((problem["name"], problem["size"], each[0] / each[1]))
                cells += [f"{each[0]:.4g}", f"{each[1]:.4g}", f"{each[0] / each[1]:.2f}"]
            else:
                cells += ["-", "-", "-"]
        lines.append("| " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    summary = []
    for title, table, goal in (("fastest solver / auto", ratios, 3), ("fastest sharp solver / auto", sharps, 3), ("sweep of the peer / ours", sweeps, 2)):
        every = [row for rows in table.values() for row in rows]
        for label, rows in [*((f"kind {k}", v) for k, v in table.items()), ("all", every),
                            ("friction", [r for k, v in table.items() if k != "lcp" for r in v]),
                            ("friction, more than 20 contacts", [r for k, v in table.items() if k != "lcp" for r in v if r[1] > 20])]:
            if rows:
                below = sorted((r for r in rows if r[2] < goal), key=lambda r: r[2])
                named = ", ".join(f"{n} {x:.2f}" for n, _, x in below)
                summary.append(f"{title}, {label}: geometric mean {mean([r[2] for r in rows]):.2f} over {len(rows)}; below {goal}: {len(below)}"
                               + (f" ({named})" if label == "all" else ""))
    print("\n".join(summary))
    if arguments.table:
        with open(arguments.table, "w") as out:
            out.write("\n".join(lines + [""] + summary) + "\n")


if __name__ == "__main__":
    main()
