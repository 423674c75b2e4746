/* Memory of the fields. */
#include "field.h"

#include "benchmark.h"

Fields fields;

static size_t size_of(int components, int ghosts)
{
    size_t lines = (size_t)(partition.widest + 2 * ghosts);
    return (size_t)partition.q * lines * lines * lines * (size_t)components * sizeof(double);
}

size_t fields_size(void)
{
    return size_of(COMPONENTS, GHOSTS) + size_of(QUANTITIES, GHOSTS) + 2 * size_of(COMPONENTS, 0);
}

void fields_make(void)
{
    fields.inner = (size_t)partition.widest;
    fields.pitch = fields.inner + 2 * GHOSTS;
    fields.u = symmetric(size_of(COMPONENTS, GHOSTS), "the solution");
    fields.state = symmetric(size_of(QUANTITIES, GHOSTS), "velocities and pressure");
    fields.forcing = symmetric(size_of(COMPONENTS, 0), "the forcing term");
    fields.rhs = symmetric(size_of(COMPONENTS, 0), "the right-hand side");
}

static void fill_line(int c, int k, int j, void (*solution)(const int[AXES], double[COMPONENTS]))
{
    const Cell *cell = &partition.cells[c];
    double *line = u_line(c, k, j);
    for (int i = -GHOSTS; i < cell->count[X] + GHOSTS; i++) {
        int point[AXES] = {cell->first[X] + i, cell->first[Y] + j, cell->first[Z] + k};
        double u[COMPONENTS];
        solution(point, u);
        for (int m = 0; m < COMPONENTS; m++)
            line[m * (ptrdiff_t)fields.pitch + i] = u[m];
    }
}

void fields_fill(void (*solution)(const int point[AXES], double u[COMPONENTS]))
{
    for (int c = 0; c < partition.q; c++)
        for (int k = -GHOSTS; k < partition.cells[c].count[Z] + GHOSTS; k++)
            for (int j = -GHOSTS; j < partition.cells[c].count[Y] + GHOSTS; j++)
                fill_line(c, k, j, solution);
}
