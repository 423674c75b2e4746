/* Triangles of a random graph.
 *
 *     oshcc -O2 triangles.c -o triangles
 *     oshrun -n 4 ./triangles [vertices]
 *
 * Of n PEs, PE p has the vertices v with v % n == p, each with its neighbours of smaller numbers. For each two of
 * those, v > w, the PE of v is asked whether w is a neighbour of v. To verify, each PE counts a share of the triangles
 * by looking at all edges. */
#include <shmem.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct pair {
    uint32_t v, w;
};

static int is_edge(uint32_t v, uint32_t w)
{
    uint64_t x = ((uint64_t)v << 32 | w) * 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    return (x * 0xbf58476d1ce4e5b9u >> 40) % 16 == 0;
}

static long found;
static uint32_t **neighbours; /* of the own vertices, in rising order, after their number */
static uint32_t n;

static void look(shmemx_stream_t stream)
{
    const void *items;
    for (size_t k; (k = shmemx_stream_view(stream, &items, NULL)) > 0;)
        for (const struct pair *p = items; k > 0; k--, p++) {
            const uint32_t *list = neighbours[p->v / n];
            uint32_t low = 1, high = list[0] + 1;
            while (low < high) {
                uint32_t mid = (low + high) / 2;
                if (list[mid] < p->w)
                    low = mid + 1;
                else
                    high = mid;
            }
            found += low <= list[0] && list[low] == p->w;
        }
}

int main(int argc, char **argv)
{
    uint32_t vertices = argc > 1 ? (uint32_t)atol(argv[1]) : 2000;
    shmem_init();
    n = (uint32_t)shmem_n_pes();
    uint32_t me = (uint32_t)shmem_my_pe();
    neighbours = malloc((vertices / n + 1) * sizeof *neighbours);
    for (uint32_t v = me; v < vertices; v += n) {
        uint32_t *list = neighbours[v / n] = malloc((v + 1) * sizeof *list);
        list[0] = 0;
        for (uint32_t w = 0; w < v; w++)
            if (is_edge(v, w))
                list[++list[0]] = w;
    }

    shmemx_stream_t stream;
    if (shmemx_stream_create(SHMEM_TEAM_WORLD, sizeof(struct pair), 0, &stream) != 0)
        shmem_global_exit(1);
    for (uint32_t u = me; u < vertices; u += n) {
        const uint32_t *list = neighbours[u / n];
        for (uint32_t i = 2; i <= list[0]; i++)
            for (uint32_t j = 1; j < i; j++) {
                struct pair p = {list[i], list[j]};
                while (!shmemx_stream_push(stream, &p, (int)(p.v % n)))
                    look(stream);
            }
    }
    shmemx_stream_end(stream);
    while (shmemx_stream_wait(stream))
        look(stream);
    shmemx_stream_destroy(stream);

    static long mine[2], all[2];
    mine[0] = found;
    for (uint32_t u = me; u < vertices; u += n)
        for (uint32_t v = 0; v < u; v++)
            if (is_edge(u, v))
                for (uint32_t w = 0; w < v; w++)
                    mine[1] += is_edge(u, w) && is_edge(v, w);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, all, mine, 2);
    if (me == 0)
        printf("%ld triangles\n", all[0]);
    if (all[0] != all[1])
        fprintf(stderr, "PE %u: there are %ld triangles, not %ld\n", me, all[1], all[0]);
    shmem_finalize();
    return all[0] != all[1];
}
