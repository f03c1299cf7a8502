#!/usr/bin/env python3
"""Records what a saltus binary computes and compares two records: a check of changes that must not move numbers.

    python3 benches/freeze.py record BINARY OUT.json [--cases DIR] [--only TEXT]... [--timeout SECONDS]
    python3 benches/freeze.py compare A.json B.json [--rtol 1e-9] [--limit ROWS] [--sort end|tenth|first] [--only TEXT]...
    python3 benches/freeze.py list

`record` runs BINARY on every model in cases/ and the few derived ones in DERIVED, with every scheme in VARIANTS and the options
that select another path through it, each with the step of the case, up to the time in UNTIL. A combination that the binary
refuses is recorded too, as exit code 2 and its message. Per run it stores

- exit code, message, steps, time of the end, CPU time [s];
- rows `first`, `tenth` and `end` of trajectory.csv: the first step, the one a tenth of the run later, and the last, with
  positions, velocities, gaps, impulses, forces and energies; and the scale of each column (its largest magnitude);
- the total impulse [N·s] of each constraint over the run;
- of summary.json: corrections of Newton's method (sum, most in a step), remedied steps, redundant constraints, counted events,
  energy and the worst entries of the certificate.

The JSON file also holds the cases (SHA-256 of the model, overrides, until), the variants and the column names, so that `compare`
sees where two records are not of the same runs. One run at a time, one thread.

`compare` gives agreeing digits: -log10(|a - b| / scale), the scale of a column being its largest magnitude in either run and
at least a thousandth of the largest in its group (q, v, gap, impulse, energy, ...), of a certificate entry the group of its
unit. A motion that amplifies round-off agrees well in `first` and badly in `end`; a change of the equations shows in `first`
or `tenth`. Sections: exit codes that changed; runs that differ, the worst first; corrections that changed; certificates
that got worse beyond round-off; CPU time by scheme. The exit code is 0 if every run is equal to --rtol with the same exit code, else 1
(counts of corrections and CPU time do not matter for it); 2 if the arguments are wrong.

Needs Python 3.8 and nothing else.
"""
import argparse
import csv
import fnmatch
import hashlib
import json
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FORMAT = 1

# Ends [s] that keep the slowest variant of a case near a second or less; a case without an entry runs to its own end.
UNTIL = {"colliding-blocks": 0.12, "elastic-bar-rod": 5.2e-4, "right-angle-frame": 5.0, "rubber-cylinder": 1e-3, "whip": 0.15}

# Models made of a case: what the cases themselves do not have.
TWICE = ('system.bilateral=[{name="rod_x",g="x-L*cos(theta)"},{name="rod_y",g="y-L*sin(theta)"},'
         '{name="twice",g="2*x-2*L*cos(theta)"}]')
DERIVED = {
    "smooth-pendulum+redundant": ("smooth-pendulum", [TWICE]),
    "bouncing-pendulum+redundant": ("bouncing-pendulum", [TWICE]),
    "bouncing-ball+plastic": ("bouncing-ball", ["parameters.e=0"]),
    "slider-crank+elastic": ("slider-crank", ["parameters.e=1", "parameters.mu=0"]),
    "slider-crank+frictionless": ("slider-crank", ["parameters.mu=0"]),
    "elastic-bar+damped": ("elastic-bar", ["materials.rubber.damping=1e-3"]),
    "elastic-bar+short": ("elastic-bar", ["parameters.n=20"]),
}


def variants():
    """Label -> scheme table of the model file, or None for the scheme of the case."""
    table = [None]

    def add(name, **options):
        table.append(dict(name=name, **options))

    forecasts = ("position", "predicted", "smooth")
    evaluations = ("weighted-forces", "weighted-accelerations")
    mj = "moreau-jean"
    add(mj)
    for forecast in forecasts:
        add(mj, forecast=forecast)
    for evaluation in evaluations:
        add(mj, evaluation=evaluation)
        for forecast in forecasts:
            add(mj, evaluation=evaluation, forecast=forecast)
        add(mj, evaluation=evaluation, theta=1.0)
        add(mj, evaluation=evaluation, variant="dissipative", theta=0.75)
    add(mj, theta=1.0)
    add(mj, rho_inf=0.8)
    add(mj, gamma=1.5)
    add(mj, variant="dissipative")
    add(mj, variant="dissipative", theta=0.75)
    add(mj, variant="dissipative", theta=1.0)
    add(mj, variant="dissipative", theta=0.75, forecast="predicted")

    ns = "nonsmooth-generalized-alpha"
    for formulation in ("unconstrained", "pvv", "pva"):
        for solve in ("auto", "sequential", "monolithic", "condensed"):
            for rho in (0.5, 1.0):
                add(ns, formulation=formulation, linear_solve=solve, rho_inf=rho)
        add(ns, formulation=formulation)
        add(ns, formulation=formulation, prediction="last")
        add(ns, formulation=formulation, rho_inf=0.0)
    add(ns, formulation="unconstrained", inactive="literal")
    add(ns, formulation="pva", inactive="literal")
    add(ns, formulation="pva", strategy=1)
    add(ns, formulation="pva", strategy=2)
    add(ns, formulation="pvv", modified_lcp=True)
    add(ns, formulation="pva", preset="hht", alpha=0.1)
    add(ns, formulation="pvv", preset="newmark")

    ga = "generalized-alpha"
    for formulation in ("p", "v", "pv", "pva", "a"):
        for rho in (0.5, 1.0):
            add(ga, formulation=formulation, rho_inf=rho)
        add(ga, formulation=formulation, prediction="last")
    add(ga, formulation="p", preset="hht", alpha=0.1)
    add(ga, formulation="pva", preset="hht", alpha=0.1)

    add("nonsmooth-newmark")
    add("nonsmooth-newmark", gamma=0.6)
    for alpha in (0.0, 0.1, 0.3):
        add("nonsmooth-hht", alpha=alpha)
    return {label(scheme): scheme for scheme in table}


def label(scheme):
    """`name option=value ...`, the key of a variant."""
    if scheme is None:
        return "own"
    return " ".join([scheme["name"]] + [f"{key}={toml(value, False)}" for key, value in scheme.items() if key != "name"])


def toml(value, quote=True):
    """A value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value}"' if quote else value
    return repr(value)


def models(folder):
    """Name -> (path of the model, overrides), derived ones included."""
    found = {}
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name, "model.toml")
        if os.path.isfile(path):
            found[name] = (path, [])
    for name, (base, overrides) in DERIVED.items():
        if base in found:
            found[name] = (found[base][0], overrides)
    return found


def wanted(patterns, key):
    """Whether a run is asked for: a pattern with * or ? matches all of `CASE / VARIANT`, another one a part of it."""
    return not patterns or any(fnmatch.fnmatch(key, p) if set("*?") & set(p) else p in key for p in patterns)


# Recording -----------------------------------------------------------------------------------------------------------------


def number(text):
    """A cell: a float, None where it is empty, else the text itself."""
    if text == "":
        return None
    try:
        return float(text)
    except ValueError:
        return text


def largest(values):
    return max((abs(x) for x in values if isinstance(x, float)), default=0.0)


def read_trajectory(path):
    """Columns, rows `first`, `tenth`, `end`, scales and total impulses of trajectory.csv."""
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        header = next(reader)
        rows = [[number(cell) for cell in row] for row in reader if len(row) == len(header)]
    if not rows:
        return None
    keep = [i for i, name in enumerate(header) if name != "newton_iterations"]
    last = len(rows) - 1
    marks = {"first": min(1, last), "tenth": max(min(1, last), last // 10), "end": last}
    scales = [largest(row[i] for row in rows) for i in keep]
    totals = {header[i]: math.fsum(row[i] for row in rows if isinstance(row[i], float))
              for i in keep if header[i].startswith(("impulse.", "impulse_t."))}
    counts = [row[header.index("newton_iterations")] for row in rows] if "newton_iterations" in header else []
    return {
        "columns": [header[i] for i in keep],
        "rows": {mark: [rows[at][i] for i in keep] for mark, at in marks.items()},
        "scales": scales,
        "impulses": totals,
        "iterations": int(sum(x for x in counts if isinstance(x, float))),
    }


def read_summary(path):
    """What a record keeps of summary.json."""
    with open(path, encoding="utf-8") as file:
        summary = json.load(file)
    events = {k: v for k, v in summary.get("events", {}).items() if isinstance(v, (int, float)) and not k.endswith("impact")}
    energy = {k: v for k, v in summary.get("energy", {}).items() if isinstance(v, (int, float))}
    return {
        "steps": summary.get("steps"),
        "t_end": summary.get("t_end"),
        "stop": summary.get("stop"),
        "iterations_max": summary.get("iterations_max"),
        "remedied": summary.get("remedied"),
        "redundant": summary.get("constraints", {}).get("redundant"),
        "events": events,
        "energy": energy,
        "certificate": {name: {k: entry.get(k) for k in ("worst", "unit", "guaranteed")}
                        for name, entry in summary.get("certificate", {}).items() if isinstance(entry, dict)},
    }


def message_of(text, out):
    """The first line of an error that says what is wrong."""
    lines = [line.strip() for line in text.replace(out, "OUT").splitlines() if line.strip()]
    marked = [line for line in lines if line.startswith("×")]
    return ((marked or lines or [""])[0]).lstrip("× ")[:300]


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(binary, path, overrides, scheme, until, timeout):
    """One run as it is recorded."""
    with tempfile.TemporaryDirectory(prefix="saltus-freeze-") as folder:
        out = os.path.join(folder, "out")
        command = [binary, "run", path, "--out", out, "--quiet", "--set", 'output.formats=["csv"]']
        if until is not None:
            command += ["--until", repr(until)]
        for override in overrides:
            command += ["--set", override]
        if scheme is not None:
            command += ["--set", "simulation.scheme={ " + ", ".join(f"{k} = {toml(v)}" for k, v in scheme.items()) + " }"]
        before = cpu()
        try:
            done = subprocess.run(command, cwd=folder, env=dict(os.environ, RAYON_NUM_THREADS="1", NO_COLOR="1"), timeout=timeout,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  encoding="utf-8", errors="replace")
            code, text = done.returncode, done.stderr
        except subprocess.TimeoutExpired:
            return {"exit": "timeout", "cpu_s": round(cpu() - before, 3)}
        record = {"exit": code, "cpu_s": round(cpu() - before, 3)}
        if code != 0:
            record["message"] = message_of(text, out)
        for name, read in (("trajectory.csv", read_trajectory), ("summary.json", read_summary)):
            file = os.path.join(out, name)
            if os.path.isfile(file):
                record.update(read(file) or {})
        return record


def record(arguments):
    binary = os.path.abspath(arguments.binary)
    if not os.access(binary, os.X_OK):
        sys.exit(f"freeze.py: {binary} is not a program that can be run")
    folder = os.path.abspath(arguments.cases)
    table = variants()
    cases, runs, columns = {}, {}, []
    index = {}
    begun = time.time()
    for name, (path, overrides) in models(folder).items():
        until = UNTIL.get(name, UNTIL.get(name.split("+")[0]))
        plan = [v for v in table if wanted(arguments.only, f"{name} / {v}")]
        if not plan:
            continue
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        cases[name] = {"model": os.path.relpath(path, folder), "sha256": digest, "set": overrides, "until": until}
        spent, slowest = 0.0, (0.0, "")
        for variant in plan:
            result = run(binary, path, overrides, table[variant], until, arguments.timeout)
            if "columns" in result:
                header = tuple(result["columns"])
                if header not in index:
                    index[header] = len(columns)
                    columns.append(result["columns"])
                result["columns"] = index[header]
            runs[f"{name} / {variant}"] = result
            spent += result["cpu_s"]
            slowest = max(slowest, (result["cpu_s"], variant))
        print(f"{name:32} {len(plan):4} runs {spent:7.1f} s CPU, slowest {slowest[0]:.2f} s: {slowest[1]}", file=sys.stderr, flush=True)
    if not runs:
        sys.exit(f"freeze.py: no run to record in {folder}")
    version = subprocess.run([binary, "--version"], capture_output=True, text=True).stdout.strip()
    with open(binary, "rb") as file:
        sha = hashlib.sha256(file.read()).hexdigest()
    whole = {"format": FORMAT, "binary": {"path": binary, "version": version, "sha256": sha},
             "recorded": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "wall_s": round(time.time() - begun, 1),
             "cases": cases, "variants": {v: table[v] for v in table}, "columns": columns, "runs": runs}
    with open(arguments.out, "w", encoding="utf-8") as file:
        json.dump(whole, file, separators=(",", ":"), ensure_ascii=False)
        file.write("\n")
    codes = {}
    for result in runs.values():
        codes[result["exit"]] = codes.get(result["exit"], 0) + 1
    print(f"{len(runs)} runs in {whole['wall_s']} s, exit codes " + ", ".join(f"{c}: {n}" for c, n in sorted(codes.items(), key=str)),
          file=sys.stderr)
    return 0


# Comparing -----------------------------------------------------------------------------------------------------------------

MARKS = ("first", "tenth", "end")
MOST_DIGITS = 17.0
MISSING = -99.0
# Group of columns that gives the scale of a quantity with this unit.
UNITS = {"m": "q", "m/s": "v", "J": "energy"}


def digits(a, b, scale):
    """Digits to which two values agree relative to a scale; `MISSING` where one of them is no number."""
    if a == b:
        return MOST_DIGITS
    if not (isinstance(a, (int, float)) and isinstance(b, (int, float)) and math.isfinite(a) and math.isfinite(b)):
        return MISSING
    return min(MOST_DIGITS, -math.log10(abs(a - b) / max(scale, 1e-300)))


def group_of(column):
    return column.split(".")[0]


class Scales:
    """Scales of columns and groups, of both runs together."""

    def __init__(self, *sides):
        self.column, self.group = {}, {}
        for names, scales in sides:
            for name, scale in zip(names, scales):
                self.column[name] = max(scale, self.column.get(name, 0.0))
                group = group_of(name)
                self.group[group] = max(scale, self.group.get(group, 0.0))

    def of(self, name):
        if group_of(name) == "energy":
            return self.group["energy"]
        return max(self.column[name], 1e-3 * self.group[group_of(name)])

    def of_unit(self, unit, a, b):
        if unit == "N·s" and self.group.get("v"):
            return max(self.group.get("energy", 0.0) / self.group["v"], a, b)
        return max(self.group.get(UNITS.get(unit, ""), 0.0), a, b)


def worst_of(pairs):
    """(digits, name) of the least agreement."""
    return min(pairs, default=(MOST_DIGITS, ""))


def compare_run(a, b, columns):
    """What two runs with results have in common: agreeing digits by part, other changes, whether all numbers are the same."""
    names = [columns[0][a["columns"]], columns[1][b["columns"]]]
    scales = Scales((names[0], a["scales"]), (names[1], b["scales"]))
    notes, parts = [], {}
    lost = [n for n in names[0] if n not in names[1]]
    new = [n for n in names[1] if n not in names[0]]
    if lost or new:
        notes.append(f"columns lost {lost[:3]} new {new[:3]}")
    for mark in MARKS:
        ours, theirs = dict(zip(names[0], a["rows"][mark])), dict(zip(names[1], b["rows"][mark]))
        parts[mark] = worst_of((digits(x, theirs[n], scales.of(n)), n) for n, x in ours.items() if n in theirs)
    common = [n for n in a["impulses"] if n in b["impulses"]]
    total = max((abs(r["impulses"][n]) for r in (a, b) for n in common), default=0.0)
    parts["impulses"] = worst_of((digits(a["impulses"][n], b["impulses"][n], total), "total " + n) for n in common)
    energy = scales.group.get("energy", 0.0)
    pairs = [(k, a["energy"].get(k), b["energy"].get(k)) for k in sorted(set(a["energy"]) | set(b["energy"]))]
    timed = max(abs(a["t_end"] or 0.0), abs(b["t_end"] or 0.0))
    for k, x, y in pairs:
        # Only sizes of energy; times and counts of extremes move with the last bit of what is zero.
        if k.endswith("_at") or k == "impacts_that_gain":
            continue
        parts["energy " + k] = (digits(x, y, max(energy, abs(x or 0.0), abs(y or 0.0))), "summary energy." + k)
    for k in sorted(set(a["certificate"]) | set(b["certificate"])):
        x, y = a["certificate"].get(k), b["certificate"].get(k)
        if x is None or y is None:
            notes.append(f"certificate {k} {'new' if x is None else 'lost'}")
        elif x["worst"] is not None or y["worst"] is not None:
            scale = scales.of_unit(x["unit"], abs(x["worst"] or 0.0), abs(y["worst"] or 0.0))
            parts["certificate " + k] = (digits(x["worst"], y["worst"], scale), "certificate " + k)
            if x["guaranteed"] != y["guaranteed"]:
                notes.append(f"certificate {k} guaranteed {x['guaranteed']} → {y['guaranteed']}")
    for k in ("steps", "stop", "remedied", "redundant"):
        if a[k] != b[k]:
            notes.append(f"{k} {a[k]} → {b[k]}")
    if digits(a["t_end"], b["t_end"], timed) < 12:
        notes.append(f"end {a['t_end']:.6g} → {b['t_end']:.6g} s")
    for k in sorted(set(a["events"]) | set(b["events"])):
        if a["events"].get(k) != b["events"].get(k):
            notes.append(f"{k} {a['events'].get(k)} → {b['events'].get(k)}")
    same = all(a[k] == b[k] for k in ("rows", "impulses", "energy", "certificate"))
    return parts, notes, same


def worse_certificates(a, b, columns):
    """Entries whose worst value grew tenfold, and above round-off of its scale."""
    names = [columns[0][a["columns"]], columns[1][b["columns"]]]
    scales = Scales((names[0], a["scales"]), (names[1], b["scales"]))
    for k, y in b["certificate"].items():
        x = a["certificate"].get(k)
        if x and x["worst"] is not None and y["worst"] is not None:
            scale = scales.of_unit(x["unit"], 0.0, 0.0)
            if y["worst"] > 10 * x["worst"] and y["worst"] > 1e-13 * scale:
                yield k, x["worst"], y["worst"], y["unit"], bool(x["guaranteed"])


def shape(message):
    """A message without its numbers."""
    return re.sub(r"(?<![A-Za-z_.])[-+]?\d+(\.\d+)?(e[-+]?\d+)?", "#", message)


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            whole = json.load(file)
    except (OSError, ValueError) as error:
        print(f"freeze.py: {path}: {error}", file=sys.stderr)
        sys.exit(2)
    if whole.get("format") != FORMAT:
        print(f"freeze.py: {path} has format {whole.get('format')}, expected {FORMAT}; record it again", file=sys.stderr)
        sys.exit(2)
    return whole


def section(title, rows, limit):
    """A title and rows, as many as asked for."""
    print(f"\n{title}: {len(rows)}")
    for row in rows[:limit]:
        print("  " + row)
    if len(rows) > limit:
        print(f"  ... and {len(rows) - limit} more (--limit)")


def show(value):
    """Digits as text: `all` of equal numbers, `none` where one is missing, below zero where the difference exceeds the scale."""
    return "  all" if value >= MOST_DIGITS else " none" if value == MISSING else f"{round(value, 1) + 0.0:5.1f}"


def times_by_scheme(runs):
    """CPU time [s] of both records by scheme, runs that ended well only."""
    table = {}
    for key, a, b in runs:
        if a["exit"] == 0 and b["exit"] == 0:
            name = key.split(" / ")[1].split()[0]
            x, y = table.get(name, (0.0, 0.0))
            table[name] = (x + a["cpu_s"], y + b["cpu_s"])
    return [f"{name:32} {x:8.1f} s → {y:8.1f} s   {y / max(x, 1e-3):5.2f}" for name, (x, y) in sorted(table.items())]


def print_heads(a, b):
    """What was recorded, and where the two records are not of the same cases."""
    for side, whole in (("A", a), ("B", b)):
        binary = whole["binary"]
        print(f"{side}  {binary['version']}  {binary['sha256'][:12]}  {len(whole['runs'])} runs, {whole['recorded']}, {binary['path']}")
    for name, x in a["cases"].items():
        y = b["cases"].get(name, x)
        keys = ["the model file" if k == "sha256" else k for k in ("sha256", "until", "set") if x[k] != y[k]]
        if keys:
            print(f"!  case {name} differs between the records in {', '.join(keys)}: its numbers may differ for that reason")


def quote(record):
    return record.get("message", "")[:200]


class Comparison:
    """Rows of the tables, gathered run by run."""

    def __init__(self, columns, least, sort):
        self.columns, self.least, self.sort = columns, least, sort
        self.identical = self.equal = self.numberless = 0
        self.exits, self.messages, self.differing, self.iterations, self.worse = [], [], [], [], []

    def take(self, key, x, y):
        """One run of both records."""
        if x["exit"] != y["exit"]:
            self.exits.append(f"{x['exit']} → {y['exit']}   {key}\n        {quote(y) or quote(x)}")
            return
        if shape(quote(x)) != shape(quote(y)):
            self.messages.append(f"{key}\n        A: {quote(x)}\n        B: {quote(y)}")
        if not all(k in r for r in (x, y) for k in ("rows", "certificate")):
            self.numberless += 1
            return
        self.take_numbers(key, x, y)
        if (x["iterations"], x["iterations_max"]) != (y["iterations"], y["iterations_max"]):
            ratio = y["iterations"] / max(1, x["iterations"])
            self.iterations.append((-abs(math.log(max(ratio, 1e-9))), f"{x['iterations']:8} → {y['iterations']:8}  {ratio:6.3f}  "
                                    f"most {x['iterations_max']:3} → {y['iterations_max']:3}  {key}"))
        self.worse += [(-after / max(before, 1e-300), f"{before:.1e} → {after:.1e} {unit:5} {'guaranteed ' if sure else ''}{name}   {key}")
                       for name, before, after, unit, sure in worse_certificates(x, y, self.columns)]

    def take_numbers(self, key, x, y):
        parts, notes, same = compare_run(x, y, self.columns)
        value, where = worst_of(parts.values())
        if same and not notes:
            self.identical += 1
        elif value >= self.least and not notes:
            self.equal += 1
        else:
            at = " ".join(show(parts[mark][0]) for mark in MARKS)
            text = f"{at}  {show(value)} {where:34.34}  {key}" + (f"\n{'':26}{'; '.join(notes)}" if notes else "")
            self.differing.append(((parts[self.sort][0], value, key), text))


def compare(arguments):
    a, b = load(arguments.a), load(arguments.b)
    print_heads(a, b)
    keys = [k for k in a["runs"] if k in b["runs"] and wanted(arguments.only, k)]
    missing = [f"{k}   only in {s}" for s, p, q in (("A", a, b), ("B", b, a)) for k in p["runs"]
               if k not in q["runs"] and wanted(arguments.only, k)]
    found = Comparison((a["columns"], b["columns"]), -math.log10(arguments.rtol), arguments.sort)
    for key in keys:
        found.take(key, a["runs"][key], b["runs"][key])
    print(f"\n{len(keys)} runs in both: {found.identical} identical in every bit, {found.equal} equal to {arguments.rtol:.0e} of scale, "
          f"{len(found.differing)} differ, {len(found.exits)} with another exit code, {found.numberless} without numbers (refused or timed out)")
    limit = arguments.limit
    section("exit codes that changed", found.exits, limit)
    section("runs in one record only", missing, limit)
    section("messages that changed beyond their numbers, same exit code", found.messages, limit)
    section("runs that differ (agreeing digits: first, tenth, end; worst of all and where)", [t for _, t in sorted(found.differing)], limit)
    section("corrections of Newton's method that changed (sum, ratio, most in a step)", [t for _, t in sorted(found.iterations)], limit)
    section("certificate entries that got ten times worse", [t for _, t in sorted(found.worse)], limit)
    section("CPU time by scheme (meaningful on an idle machine only)", times_by_scheme([(k, a["runs"][k], b["runs"][k]) for k in keys]), 20)
    return 1 if found.exits or found.differing or missing else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    only = dict(action="append", metavar="TEXT", help="only runs whose `CASE / VARIANT` contains TEXT, or matches it where it has * or ?")
    sub = commands.add_parser("record", help="run a binary over all cases and variants")
    sub.add_argument("binary")
    sub.add_argument("out")
    sub.add_argument("--cases", default=os.path.join(ROOT, "cases"), metavar="DIR", help="folder of the cases; that of this tree")
    sub.add_argument("--timeout", type=float, default=30.0, metavar="SECONDS", help="most wall time of a run; 30")
    sub.add_argument("--only", **only)
    sub = commands.add_parser("compare", help="compare two records")
    sub.add_argument("a")
    sub.add_argument("b")
    sub.add_argument("--rtol", type=float, default=1e-9, help="difference relative to scale that counts as round-off; 1e-9")
    sub.add_argument("--limit", type=int, default=60, metavar="ROWS", help="most rows of a section; 60")
    sub.add_argument("--sort", choices=MARKS, default="end", help="row whose digits give the order of runs that differ; end")
    sub.add_argument("--only", **only)
    commands.add_parser("list", help="list cases and variants")
    arguments = parser.parse_args()
    if arguments.command == "record":
        return record(arguments)
    if arguments.command == "compare":
        if not 0.0 < arguments.rtol < 1.0:
            parser.error(f"--rtol is {arguments.rtol}, expected a number between 0 and 1")
        return compare(arguments)
    found = models(os.path.join(ROOT, "cases"))
    print("\n".join([f"{name:32} until {UNTIL.get(name, UNTIL.get(name.split('+')[0], 'its own'))}" for name in found] + [""] + list(variants())))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        # The reader of the table has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
