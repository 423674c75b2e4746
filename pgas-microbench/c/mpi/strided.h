/* The datatype of longs that lie apart. */
#ifndef STRIDED_H
#define STRIDED_H

#include <mpi.h>

#include "../pair_data.h"

/* So many bytes of longs, each STRIDE after the one before; to be freed. */
static inline MPI_Datatype longs_apart(size_t bytes)
{
    MPI_Datatype type;
    MPI_Type_vector((int)(bytes / sizeof(long)), 1, STRIDE, MPI_LONG, &type);
    MPI_Type_commit(&type);
    return type;
}

#endif
