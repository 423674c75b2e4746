/* The windows behind the memory of job_window, for those that name them in MPI calls. */
#ifndef JOB_MPI_H
#define JOB_MPI_H

#include <mpi.h>

/* The window whose local part begins at `base`; locked for all PEs until the end. */
MPI_Win job_window_at(const void *base);

#endif
