# Latency of puts from Python, as ../c/latency.c has it of C: each is complete before the next one begins.
import statistics
import time

import numpy as np
from shmem4py import shmem

SAMPLES = 21
SECONDS = 0.01                              # of a sample, about
MOST = 8 << 20                              # bytes

me, n = shmem.my_pe(), shmem.n_pes()
target, source = shmem.zeros(MOST // 8), np.ones(MOST // 8)
view = shmem.ptr(target, n - 1)


def put(count):
    shmem.put(target[:count], source[:count], n - 1)
    shmem.quiet()


def store(count):
    view[:count] = source[:count]
    shmem.quiet()


def microseconds(form, count, times):
    begin = time.perf_counter()
    for _ in range(times):
        form(count)
    return (time.perf_counter() - begin) / times * 1e6


def row(name, form, count):
    times = max(1, int(SECONDS * 1e6 / microseconds(form, count, 2)))
    samples = sorted(microseconds(form, count, times) for _ in range(SAMPLES))
    tenth = SAMPLES // 10
    values = statistics.median(samples), samples[tenth], samples[-1 - tenth]
    texts = ",".join(f"{value:.6f}" for value in values)
    print(f"put,{name},latency,{n},1,{8 * count},{SAMPLES},{texts},us", flush=True)


shmem.barrier_all()
if me == 0:
    print("operation,form,quantity,pes,pairs,bytes,samples,median,low,high,unit")
    count = 1
    while 8 * count <= MOST:
        row("python", put, count)
        if view is not None:
            row("view", store, count)
        count *= 2
shmem.barrier_all()
