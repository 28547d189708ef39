"""Computes a second time, in another way, what suite/tests/held_out_figures.c prints of a file of held-out errors.

Usage: held_out_again.py FILE
Exact fractions in place of sums of weights, and probabilities over all pairs of errors in place of draws.
"""
import bisect
import collections
import fractions
import itertools
import json
import math
import sys

REACHES = ["one device", "one node", "several nodes"]
KINDS = ["exact", "pipeline", "displaced", "layer"]
SOFTWARE = ["eager", "compiled", "graphs", "other"]
LEVEL = fractions.Fraction(9, 10)

document = json.load(open(sys.argv[1]))
points = document["points"]
fitted_machines = {g["name"] for k in document["held_out"] if k["by"] == "machine" for g in k["groups"]}
outside = {e["point"]: e["error"] for e in document["outside"]["errors"]}
left_out = {e["point"]: e["error"] for k in document["held_out"] if k["by"] == "machine" for g in k["groups"] for e in g["errors"]}
for point in [p for p in outside if points[p]["machine"] not in fitted_machines]:
    left_out[point] = outside.pop(point)
errors_of = {True: outside, False: left_out}


def group(fitted, point):
    return points[point]["set" if fitted else "machine"]


def family(point):
    p = points[point]
    return p["question"], p["devices"], p["mesh"], p["software"]


def members(fitted, of, without=()):
    """Errors by group; `of` is (reach, kind, software) with None for any."""
    groups = collections.defaultdict(list)
    for point in errors_of[fitted]:
        p = points[point]
        if (p["kind"] == "layer") != (of[1] == "layer") or group(fitted, point) in without:
            continue
        if all(wanted in (None, p[key]) for wanted, key in zip(of, ("reach", "kind", "software"))):
            groups[group(fitted, point)].append(point)
    return groups


def quantile(fitted, groups, share):
    """Least error whose share of the groups' weight is reached, by counting each error once a group and exactly."""
    seen = fractions.Fraction(0)
    ordered = sorted((errors_of[fitted][p], len(ps)) for ps in groups.values() for p in ps)
    for error, size in ordered:
        seen += fractions.Fraction(1, size * len(groups))
        if seen >= share:
            return error
    return ordered[-1][0]


def mirrored(fitted, groups, share):
    seen = fractions.Fraction(0)
    for error, size in sorted(((errors_of[fitted][p], len(ps)) for ps in groups.values() for p in ps), reverse=True):
        seen += fractions.Fraction(1, size * len(groups))
        if seen >= share:
            return error
    return min(errors_of[fitted][p] for ps in groups.values() for p in ps)


def bounds(fitted, groups):
    count = len(groups)
    share = (1 + LEVEL) / 2 * (1 + fractions.Fraction(1, count))
    if share > 1:
        values = [errors_of[fitted][p] for ps in groups.values() for p in ps]
        return min(values), max(values), fractions.Fraction(count - 1, count + 1)
    return mirrored(fitted, groups, share), quantile(fitted, groups, share), LEVEL


def widest(fitted, groups):
    by_family = collections.defaultdict(list)
    for ps in groups.values():
        for p in ps:
            by_family[family(p)].append(p)
    return max((abs(errors_of[fitted][a] - errors_of[fitted][b]) for ps in by_family.values()
                for a, b in itertools.combinations(ps, 2) if points[a]["machine"] != points[b]["machine"]), default=math.inf)


def climb(fitted, point, without):
    p = points[point]
    best = None
    for of in ((p["reach"], p["kind"], p["software"]), (p["reach"], p["kind"], None), (p["reach"], None, None), (None,) * 3):
        groups = members(fitted, of, without)
        if sum(map(len, groups.values())) < 20:
            continue
        if len(groups) >= 19:
            return groups
        if best is None or len(groups) > len(best):
            best = groups
    return best


def name(fitted, of):
    return ", ".join(["machine fitted" if fitted else "machine left out"] + [word for word in of if word])


def print_classes():
    for fitted in (False, True):
        for of in itertools.product([None] + REACHES, [None] + KINDS, [None] + SOFTWARE):
            groups = members(fitted, of)
            if not groups:
                continue
            low, high, level = bounds(fitted, groups)
            nine = [low] + [min(max(quantile(fitted, groups, (1 - level) / 2 + level * i / 8), low), high) for i in range(1, 8)] + [high]
            print("class", name(fitted, of), sum(map(len, groups.values())), len(groups), f"{low:.4f}", f"{high:.4f}",
                  f"{float(level):.6f}", f"{widest(fitted, groups):.4f}", *(f"{n:.4f}" for n in nine), sep="|")


def print_coverage(fitted):
    inside, levels, alone, known = collections.defaultdict(list), collections.defaultdict(list), 0, {}
    for point, error in errors_of[fitted].items():
        p = points[point]
        if p["kind"] == "layer":
            continue
        key = (p["reach"], p["kind"], p["software"], group(fitted, point))
        if key not in known:
            groups = climb(fitted, point, {key[3]})
            known[key] = groups and bounds(fitted, groups)
        if not known[key]:
            alone += 1
            continue
        low, high, level = known[key]
        inside[key[3]].append(low <= error <= high)
        levels[key[3]].append(level)
    count = sum(map(len, inside.values()))
    print("coverage", "fitted" if fitted else "left out", count, len(inside), alone,
          f"{sum(sum(i) / len(i) for i in inside.values()) / len(inside):.6f}", f"{sum(map(sum, inside.values())) / count:.6f}",
          f"{float(min(map(min, levels.values()))):.6f}", f"{float(sum(sum(v) / len(v) for v in levels.values()) / len(levels)):.6f}", sep="|")


def share_ahead(fitted, groups, gap):
    """P(error of a - error of b < gap), each drawn from the groups, exactly."""
    values = sorted((errors_of[fitted][p], 1 / len(ps) / len(groups)) for ps in groups.values() for p in ps)
    keys, sums = [v for v, _ in values], [0.0] + list(itertools.accumulate(w for _, w in values))
    # a < b + gap
    return sum(w * (sums[bisect.bisect_left(keys, b + gap)] + sums[bisect.bisect_right(keys, b + gap)]) / 2 for b, w in values)


def share_ahead_paired(fitted, groups, gap):
    """The same where both are of one family, which is any that has two machines."""
    by_family = collections.defaultdict(list)
    for ps in groups.values():
        for p in ps:
            by_family[family(p)].append(p)
    shares = []
    for ps in by_family.values():
        if len({points[p]["machine"] for p in ps}) < 2:
            continue
        ahead = 0.0
        for a in ps:
            others = [b for b in ps if points[b]["machine"] != points[a]["machine"]]
            differences = [errors_of[fitted][a] - errors_of[fitted][b] for b in others]
            ahead += sum((d < gap) + 0.5 * (d == gap) for d in differences) / len(others) / len(ps)
        shares.append(ahead)
    return sum(shares) / len(shares) if shares else None


def print_pairs(fitted):
    by_family, pairs, ordered, called, right, back = collections.defaultdict(list), 0, 0, 0, 0, 0
    for p in errors_of[fitted]:
        if points[p]["kind"] != "layer":
            by_family[family(p)].append(p)
    for ps in by_family.values():
        table = []
        for a, b in itertools.combinations(ps, 2):
            if points[a]["machine"] == points[b]["machine"] or points[a]["seconds"] == points[b]["seconds"]:
                continue
            gap = math.log(points[b]["seconds"] / points[a]["seconds"]) - errors_of[fitted][b] + errors_of[fitted][a]
            truth = points[a]["seconds"] < points[b]["seconds"]
            groups = climb(fitted, a, {group(fitted, a), group(fitted, b)})
            if not groups:
                table.append((1.0, gap, truth, 0.0))
                continue
            shares = [share_ahead(fitted, groups, gap)]
            paired = share_ahead_paired(fitted, groups, gap)
            shares += [paired] if paired is not None else []
            share = min(shares, key=lambda s: abs(s - 0.5))
            table.append((min(share, 1 - share), gap, truth, 0.0 if fitted else widest(fitted, groups)))
        worst = 0.0
        for rank, (doubt, gap, truth, least) in enumerate(sorted(table)):
            worst = max(worst, min(1, doubt * (len(table) - rank)))
            pairs += 1
            ordered += (gap > 0) == truth
            if worst > 0.05:
                continue
            if not fitted and abs(gap) <= least:
                back += 1
                continue
            called += 1
            right += (gap > 0) == truth
    print("pairs", "fitted" if fitted else "left out", pairs, ordered, called, right, back, sep="|")


print_classes()
for which in (False, True):
    print_coverage(which)
    print_pairs(which)
