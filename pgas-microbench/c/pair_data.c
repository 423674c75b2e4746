/* Data of transfers between the PEs of a pair. */
#include "pair_data.h"

#include <string.h>

long ring_place;

/* Differs between PEs and between elements of the same array. */
static unsigned char pattern(int pe, size_t i)
{
    return (unsigned char)((size_t)pe * 37 + i * 11 + i / 253 + 1);
}

static size_t as_many(size_t bytes, int pes)
{
    (void)pes;
    return bytes;
}

static size_t spread_out(size_t bytes, int pes)
{
    (void)pes;
    return STRIDE * bytes;
}

static size_t ring_bytes(size_t bytes, int pes)
{
    (void)pes;
    return RING * bytes;
}

static void fill_bytes(const struct transfer *t, size_t source, size_t dest)
{
    for (size_t i = 0; i < source; i++)
        t->source[i] = (char)pattern(t->me, i);
    memset(t->dest, 0, dest);
}

static void fill(const struct transfer *t)
{
    fill_bytes(t, t->bytes, t->bytes);
}

static void fill_iput(const struct transfer *t)
{
    fill_bytes(t, t->bytes, STRIDE * t->bytes);
}

static void fill_iget(const struct transfer *t)
{
    fill_bytes(t, STRIDE * t->bytes, t->bytes);
}

/* Byte i of `dest`, in elements of long `to` apart, is that of a PE's source, `from` apart. */
static bool arrived_from(const struct transfer *t, int pe, size_t to, size_t from)
{
    enum { ELEMENT = sizeof(long) };
    for (size_t i = 0; i < t->bytes; i++) {
        size_t element = i / ELEMENT * ELEMENT, at = i % ELEMENT;
        if ((unsigned char)t->dest[element * to + at] != pattern(pe, element * from + at))
            return false;
    }
    return true;
}

static bool arrived(const struct transfer *t, size_t to, size_t from)
{
    return arrived_from(t, t->peer, to, from);
}

/* Whether the gaps between the elements are unchanged. */
static bool gaps_untouched(const struct transfer *t)
{
    const long *dest = (const long *)t->dest;
    for (size_t i = 0; i < t->bytes / sizeof *dest; i++)
        if (dest[STRIDE * i + 1] != 0)
            return false;
    return true;
}

static bool check_put(const struct transfer *t, long repetitions)
{
    (void)repetitions;
    return t->origin || arrived(t, 1, 1);
}

static bool check_copy(const struct transfer *t, long repetitions)
{
    (void)repetitions;
    return !t->origin || arrived_from(t, t->me, 1, 1);
}

static bool check_get(const struct transfer *t, long repetitions)
{
    (void)repetitions;
    return !t->origin || arrived(t, 1, 1);
}

static bool check_iput(const struct transfer *t, long repetitions)
{
    (void)repetitions;
    return t->origin || (arrived(t, STRIDE, 1) && gaps_untouched(t));
}

static bool check_iget(const struct transfer *t, long repetitions)
{
    (void)repetitions;
    return !t->origin || arrived(t, 1, STRIDE);
}

static size_t window_bytes(size_t bytes, int pes)
{
    (void)pes;
    return WINDOW * bytes;
}

static size_t two_places(size_t bytes, int pes)
{
    (void)pes;
    return 2 * place_bytes(bytes);
}

static void fill_exchange(const struct transfer *t)
{
    fill_bytes(t, t->bytes, two_places(t->bytes, t->pes));
}

/* What the last repetition, and the one before it, have brought. */
static bool check_exchange(const struct transfer *t, long repetitions)
{
    struct transfer part = *t;
    for (long r = repetitions - 1; r >= 0 && r >= repetitions - 2; r--) {
        part.dest = exchange_place(t, r);
        if (!arrived(&part, 1, 1))
            return false;
    }
    return true;
}

static struct transfer whole_window(const struct transfer *t)
{
    struct transfer whole = *t;
    whole.bytes *= WINDOW;
    return whole;
}

static void fill_window(const struct transfer *t)
{
    struct transfer whole = whole_window(t);
    fill(&whole);
}

static bool check_window(const struct transfer *t, long repetitions)
{
    struct transfer whole = whole_window(t);
    return check_put(&whole, repetitions);
}

static void fill_ring(const struct transfer *t)
{
    for (int i = 0; i < RING; i++) {
        int next = (i + 1) % RING;
        switch (t->bytes) {
        case sizeof(char): ((char *)t->source)[i] = (char)next; break;
        case sizeof(short): ((short *)t->source)[i] = (short)next; break;
        case sizeof(int): ((int *)t->source)[i] = next; break;
        default: ((long *)t->source)[i] = next;
        }
    }
    ring_place = -1;
}

static bool check_ring(const struct transfer *t, long repetitions)
{
    return !t->origin || ring_place == repetitions % RING;
}

const struct data put_data = {as_many, as_many, fill, check_put};
const struct data get_data = {as_many, as_many, fill, check_get};
const struct data copy_data = {as_many, as_many, fill, check_copy};
const struct data window_data = {window_bytes, window_bytes, fill_window, check_window};
const struct data exchange_data = {as_many, two_places, fill_exchange, check_exchange};
const struct data iput_data = {as_many, spread_out, fill_iput, check_iput};
const struct data iget_data = {spread_out, as_many, fill_iget, check_iget};
const struct data ring_data = {ring_bytes, as_many, fill_ring, check_ring};
