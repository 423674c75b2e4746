/* Exchange of ghost points, without buffers. */
#include "exchange.h"

#include "field.h"
#include "flag.h"
#include "variant.h"

/* The destination of a face, and its layers of points. */
typedef struct {
    int pe, cell; /* owner of the ghost points */
    int from, to; /* first layer on this PE, first layer on the other */
} Face;

static int face_at(Face *face, int c, enum axis axis, enum side side)
{
    const Cell *cell = &partition.cells[c];
    int beside = cell->slice[axis] + (side == HIGH ? 1 : -1);
    if (beside < 0 || beside == partition.q)
        return 0;
    face->pe = partition.neighbour[axis][side];
    face->cell = cell_beside(c, axis, side);
    face->from = side == HIGH ? cell->count[axis] - GHOSTS : 0;
    face->to = side == HIGH ? -GHOSTS : slice_count(beside);
    return 1;
}

/* A line of all components: `n` points from local `from` to remote `to`. */
static inline void send_line(double *to, const double *from, size_t n, int pe)
{
    for (size_t m = 0; m < COMPONENTS; m++)
        copy_to(to + m * fields.pitch, from + m * fields.pitch, n, pe);
}

static void send_x(int c, const Face *face)
{
    const int *count = partition.cells[c].count;
    for (int k = 0; k < count[Z]; k++)
        for (int j = 0; j < count[Y]; j++)
            send_line(u_line(face->cell, k, j) + face->to, u_line(c, k, j) + face->from, GHOSTS,
                      face->pe);
}

static void send_y(int c, const Face *face)
{
    const int *count = partition.cells[c].count;
    for (int k = 0; k < count[Z]; k++)
        for (int layer = 0; layer < GHOSTS; layer++)
            send_line(u_line(face->cell, k, face->to + layer), u_line(c, k, face->from + layer),
                      (size_t)count[X], face->pe);
}

static void send_z(int c, const Face *face)
{
    const int *count = partition.cells[c].count;
    for (int layer = 0; layer < GHOSTS; layer++)
        for (int j = 0; j < count[Y]; j++)
            send_line(u_line(face->cell, face->to + layer, j), u_line(c, face->from + layer, j),
                      (size_t)count[X], face->pe);
}

/* Data sent to the high side arrive from the low side of the other cell. */
void faces_send(long step)
{
    static void (*const send[AXES])(int, const Face *) = {send_x, send_y, send_z};
    if (partition.q == 1)
        return;
    for (int axis = X; axis < AXES; axis++)
        for (int side = LOW; side < SIDES; side++) {
            for (int c = 0; c < partition.q; c++) {
                Face face;
                if (face_at(&face, c, axis, side))
                    send[axis](c, &face);
            }
            flag_raise(flag_of_ghosts(axis, side == HIGH ? LOW : HIGH), step,
                       partition.neighbour[axis][side]);
        }
}

void faces_await(long step)
{
    if (partition.q == 1)
        return;
    for (int axis = X; axis < AXES; axis++)
        for (int side = LOW; side < SIDES; side++)
            flag_await(flag_of_ghosts(axis, side), step);
}
