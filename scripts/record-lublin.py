"""Prints the golden file of the Lublin-Feitelson tests; run by record-lublin.

Each mode is 50 streams of 20,000 jobs. The reference adds up whole seconds, so
that its clock falls half a second behind its daily cycle with every job; short
streams keep that small, and hours are taken from the cycle itself.
"""

import ctypes
import importlib.util
import json
import os

SEEDS = range(1, 51)
JOBS = 20_000
POINTS = 400
BUCKETS = 48
NEVER = 2**64 - 1
INTERACTIVE, BATCH = 0, 1

# Lublin and Feitelson 2003: jobs of both types fitted together. The other two
# sets of parameters are built into the reference code.
TYPELESS = {
    "serial": 0.244, "pow2": 0.576, "low": 0.8, "med": 4.5, "hi": 7.0, "prob": 0.86,
    "a1": 4.2, "b1": 0.94, "a2": 312.0, "b2": 0.03, "pa": -0.0054, "pb": 0.78,
    "aarr": 10.2303 * 1.0225, "barr": 0.4871, "anum": 8.1737, "bnum": 3.9631,
}
NAMES = ["a1", "b1", "a2", "b2", "pa", "pb", "aarr", "barr", "anum", "bnum",
         "serial", "pow2", "low", "med", "hi", "prob"]
Pair = ctypes.c_double * 2
Weights = (ctypes.c_double * BUCKETS) * 2


def library():
    spec = importlib.util.find_spec("parallelworkloads.lublin99")
    return ctypes.CDLL(spec.origin)


def cdf(values):
    """Counts of values up to some of them: exact where a test looks."""
    values = sorted(values)
    points, last = [], None
    for i in range(POINTS + 1):
        value = values[min(len(values) - 1, i * len(values) // POINTS)]
        if value != last:
            points.append(value)
            last = value
    counts, at = [], 0
    for point in points:
        while at < len(values) and values[at] <= point:
            at += 1
        counts.append(at)
    return {"n": len(values), "values": points, "up_to": counts}


def stream(lib, mode, seed):
    """One stream in this process, whose static state is untouched so far."""
    parameters = {name: Pair() for name in NAMES}
    weights = Weights()
    libc = ctypes.CDLL(None)
    libc.srand48(ctypes.c_long(seed))
    now = (ctypes.c_ulong * 2).in_dll(lib, "time_from_begin")
    bucket = (ctypes.c_int * 2).in_dll(lib, "current")
    init = lib._Z4initPdS_S_S_S_S_S_S_S_S_S_S_S_S_S_S_PA48_d
    init(*[parameters[name] for name in NAMES], weights)
    if mode == "all":
        for name, value in TYPELESS.items():
            parameters[name][INTERACTIVE] = value
    # The weights of a day and the first arrival once more, from the parameters
    # that are set now and from midnight. What init left over of a bucket can
    # move the first arrival back, so the clock begins far from 0 and the time
    # before the first arrival is not recorded.
    now[0] = now[1] = 1_000_000
    arrive_init(lib, parameters, weights)
    if mode in ("all", "interactive"):
        now[BATCH] = NEVER
    if mode == "batch":
        now[INTERACTIVE] = NEVER
    arrive = lib._Z6arrivePiPA48_dPdS2_
    arrive.restype = ctypes.c_ulong
    nodes_of = lib._Z20calc_number_of_nodesdddddd
    nodes_of.argtypes = [ctypes.c_double] * 6
    nodes_of.restype = ctypes.c_uint
    time_of = lib._Z15time_from_nodesddddddj
    time_of.argtypes = [ctypes.c_double] * 6 + [ctypes.c_uint]
    time_of.restype = ctypes.c_ulong
    p = parameters
    sizes = [tuple(p[n][t] for n in ("serial", "pow2", "low", "med", "hi", "prob")) for t in (0, 1)]
    times = [tuple(p[n][t] for n in ("a1", "b1", "a2", "b2", "pa", "pb")) for t in (0, 1)]
    kind = ctypes.c_int()
    last = None
    for _ in range(JOBS):
        before = bucket[0], bucket[1]
        at = arrive(ctypes.byref(kind), weights, p["aarr"], p["barr"])
        nodes = nodes_of(*sizes[kind.value])
        run = time_of(*times[kind.value], nodes)
        yield last and at - last, nodes, run, before[kind.value] // 2
        last = at


def arrive_init(lib, p, weights):
    """The symbol is not exported: what it does, from the functions that are.

    The weight of a bucket is the share of a gamma distribution around it, the
    buckets counted from the eleventh half hour (section 5.3 of the paper).
    """
    from math import exp, lgamma, log

    def gamcdf(x, alpha, beta):
        x /= beta
        term = total = 1 / alpha
        a = alpha
        while term > total * 1e-14:
            a += 1
            term *= x / a
            total += term
        return total * exp(-x + alpha * log(x) - lgamma(alpha))

    bucket = (ctypes.c_int * 2).in_dll(lib, "current")
    for kind in (0, 1):
        a, b = p["anum"][kind], p["bnum"][kind]
        for i in range(11, BUCKETS + 11):
            weights[kind][(i - 1) % BUCKETS] = gamcdf(i + 0.5, a, b) - gamcdf(i - 0.5, a, b)
        mean = sum(weights[kind]) / BUCKETS
        for i in range(BUCKETS):
            weights[kind][i] /= mean
        bucket[kind] = 0
    following = lib._Z16calc_next_arriveiPA48_dPdS1_
    for kind in (1, 0):
        following(kind, weights, p["aarr"], p["barr"])


def in_child(lib, mode, seed):
    """The jobs of a stream, made in a child so that no state is left over."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.close(read)
        with os.fdopen(write, "w") as out:
            json.dump(list(stream(lib, mode, seed)), out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as source:
        jobs = json.load(source)
    os.wait()
    return jobs


def main():
    lib = library()
    golden = {
        "made_by": "scripts/record-lublin",
        "reference": "lublin99.c in the PyPI package parallelworkloads 0.1.3",
        "seeds": [SEEDS[0], SEEDS[-1]],
        "jobs_per_seed": JOBS,
        "modes": {},
    }
    for mode in ("all", "batch", "interactive", "both"):
        jobs = [job for seed in SEEDS for job in in_child(lib, mode, seed)]
        hours = [0] * 24
        for job in jobs:
            hours[job[3]] += 1
        golden["modes"][mode] = {
            "interarrival_s": cdf([job[0] for job in jobs if job[0] is not None]),
            "processors": cdf([job[1] for job in jobs]),
            "run_time_s": cdf([job[2] for job in jobs]),
            "arrivals_per_hour": hours,
        }
    print(json.dumps(golden))


main()
