/* The keys of IS: each is the mean of four numbers of the generator of the NAS Parallel
 * Benchmarks, x' = 5^13 x mod 2^46 from 314159265 on, scaled to the range of keys. Their
 * distribution is a bell, densest in the middle of the range. */
#include "keys.h"

#include <stdint.h>

#define MODULUS_MASK ((UINT64_C(1) << 46) - 1)
#define MULTIPLIER UINT64_C(1220703125)
#define SEED UINT64_C(314159265)

enum { NUMBERS_OF_KEY = 4 };

/* Unsigned products are exact modulo 2^64, hence also modulo 2^46. */
static uint64_t product(uint64_t a, uint64_t b)
{
    return a * b & MODULUS_MASK;
}

/* The state of the generator after `steps` numbers: SEED * MULTIPLIER^steps. */
static uint64_t state_after(uint64_t steps)
{
    uint64_t state = SEED;
    for (uint64_t power = MULTIPLIER; steps > 0; steps >>= 1, power = product(power, power))
        if (steps & 1)
            state = product(state, power);
    return state;
}

void keys_generate(int *keys, size_t first, size_t count, int log2_max_key)
{
    uint64_t state = state_after(NUMBERS_OF_KEY * (uint64_t)first);
    for (size_t i = 0; i < count; i++) {
        uint64_t sum = 0; /* below 2^48 */
        for (int number = 0; number < NUMBERS_OF_KEY; number++) {
            state = product(state, MULTIPLIER);
            sum += state;
        }
        keys[i] = (int)(sum >> (48 - log2_max_key));
    }
}
