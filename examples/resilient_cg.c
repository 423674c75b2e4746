/* The method of conjugate gradients for Poisson's equation on a square, on PEs that may be killed
 * at any time: the others go on (resilient.h).
 *
 *     oshcc resilient_cg.c -O2 -lm -o resilient_cg
 *     oshrun -n 4 ./resilient_cg shrink [STEPS]     # the PEs that are left share the rows
 *     oshrun -n 4 ./resilient_cg replace [STEPS]    # new processes take the lost numbers
 *
 * Kill any PE, with any signal, once PE 0 has printed "resilient". The right side is made from a
 * known solution, with which each PE compares all PEs' rows in the end.
 */
#include "resilient.h"
#include <math.h>

enum { X, R, P }; /* the solution, the residual, the direction */

static double product, sum; /* of reductions */

static double solution(int i, int j)
{
    return i < 1 || i > SIZE || j < 1 || j > SIZE ? 0 : sin(0.1 * i * j) + i - 0.5 * j;
}

/* The matrix: each point four times, less its neighbours. */
static double apply(row *v, int i, int j)
{
    return 4 * v[i][j] - v[i - 1][j] - v[i + 1][j] - v[i][j - 1] - v[i][j + 1];
}

/* The sum over all points of `a` times `b`, on all PEs; nonzero if a PE is lost. */
static int dot(row *a, row *b, double *result)
{
    product = 0;
    for (int i = first_row(me); i < first_row(me + 1); i++)
        for (int j = 1; j <= SIZE; j++)
            product += a[i][j] * b[i][j];
    int lost = shmem_double_sum_reduce(team, &sum, &product, 1);
    *result = sum;
    return lost;
}

/* From a solution of zeros, the residual and the first direction are the right side. */
static void prepare(void)
{
    row *r = heap.vector[0][R];
    for (int i = 1; i <= SIZE; i++)
        for (int j = 1; j <= SIZE; j++) {
            double sides = solution(i, j - 1) + solution(i, j + 1);
            r[i][j] = 4 * solution(i, j) - solution(i - 1, j) - solution(i + 1, j) - sides;
            heap.number[0] += r[i][j] * r[i][j];
        }
    memcpy(heap.vector[0][P], r, WIDTH * sizeof(row));
}

static int compute(uint64_t step)
{
    static row q[WIDTH];
    int now = step % 2, next = 1 - now, first = first_row(me), end = first_row(me + 1);
    row *x = heap.vector[now][X], *r = heap.vector[now][R], *p = heap.vector[now][P];
    double direction, rr = heap.number[now];
    if (shmem_team_sync(team) != 0) /* all have completed the step before */
        return -1;
    if (get_border(p) != 0)
        return -1;
    for (int i = first; i < end; i++)
        for (int j = 1; j <= SIZE; j++)
            q[i][j] = apply(p, i, j);
    if (dot(p, q, &direction) != 0)
        return -1;
    double alpha = rr > 0 ? rr / direction : 0; /* exact already: nothing changes */
    for (int i = first; i < end; i++)
        for (int j = 1; j <= SIZE; j++) {
            heap.vector[next][X][i][j] = x[i][j] + alpha * p[i][j];
            heap.vector[next][R][i][j] = r[i][j] - alpha * q[i][j];
        }
    if (dot(heap.vector[next][R], heap.vector[next][R], &heap.number[next]) != 0)
        return -1;
    double beta = rr > 0 ? heap.number[next] / rr : 0;
    for (int i = first; i < end; i++)
        for (int j = 1; j <= SIZE; j++)
            heap.vector[next][P][i][j] = heap.vector[next][R][i][j] + beta * p[i][j];
    complete(step + 1);
    return 0;
}

int main(int argc, char **argv)
{
    static row theirs;
    uint64_t steps = argc > 2 ? strtoull(argv[2], NULL, 10) : 300;
    double error = 0;
    shmem_init();
    vectors = 3;
    run(steps, argc > 1 && strcmp(argv[1], "replace") == 0, prepare, compute);
    for (int i = 1; i <= SIZE; i++) {
        shmem_getmem(theirs, heap.vector[steps % 2][X][i], sizeof(row), owner(i));
        for (int j = 1; j <= SIZE && !is_gone(owner(i)); j++)
            error = fmax(error, fabs(theirs[j] - solution(i, j)));
    }
    int wrong = !(error < 1e-9);
    if (wrong)
        fprintf(stderr, "cg: PE %d: an error of %g\n", shmem_my_pe(), error);
    else
        printf("cg: PE %d of %d: %llu steps, as the known solution\n", me, n,
               (unsigned long long)steps);
    fflush(stdout);
    shmem_finalize();
    return wrong;
}
