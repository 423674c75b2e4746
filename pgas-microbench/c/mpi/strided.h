/* The datatype of strided longs. */
#ifndef STRIDED_H
#define STRIDED_H

#include <mpi.h>

#include "../pair_data.h"

/* `bytes` bytes of longs, each STRIDE after the one before. The caller frees the datatype. */
static inline MPI_Datatype longs_apart(size_t bytes)
{
    MPI_Datatype type;
    MPI_Type_vector((int)(bytes / sizeof(long)), 1, STRIDE, MPI_LONG, &type);
    MPI_Type_commit(&type);
    return type;
}

#endif
