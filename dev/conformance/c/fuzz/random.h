/* Random numbers that depend on nothing but the seed, so that all PEs draw the same. */
#ifndef FUZZ_RANDOM_H
#define FUZZ_RANDOM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct rng {
    uint64_t state;
};

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static inline uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint64_t next(struct rng *r)
{
    r->state += 0x9e3779b97f4a7c15u;
    return mix(r->state);
}

/* Generator number `b` of generator number `a` of a seed. */
static inline struct rng rng_of(uint64_t seed, uint64_t a, uint64_t b)
{
    return (struct rng){mix(mix(mix(seed + 1) + a) + b)};
}

/* From 0 to n - 1. */
static inline int below(struct rng *r, int n)
{
    return n <= 1 ? 0 : (int)(next(r) % (uint64_t)n);
}

static inline int between(struct rng *r, int low, int high)
{
    return low + below(r, high - low + 1);
}

/* True once in n times. */
static inline int once_in(struct rng *r, int n)
{
    return below(r, n) == 0;
}

static inline void random_bytes(struct rng *r, unsigned char *at, size_t bytes)
{
    for (; bytes >= 8; at += 8, bytes -= 8) {
        uint64_t word = next(r);
        memcpy(at, &word, 8);
    }
    uint64_t word = next(r);
    memcpy(at, &word, bytes);
}

#endif
