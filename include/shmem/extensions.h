/* The types of extensions, and what their routines do. Included by shmemx.h. */
#ifndef SHMEM_EXTENSIONS_H
#define SHMEM_EXTENSIONS_H

/* A symmetric space: a part of each PE's symmetric heap with a kind of memory of its own, for whole pages. An address
 * in it is a symmetric address for all routines. See shmemx_space_create(3). */
typedef struct shmemi_space *shmemx_space_t;
typedef struct {
    size_t sheap_size; /* bytes on each PE; must be set */
    int memkind;       /* SHMEMX_MEM_*; default: SHMEMX_MEM_DEFAULT */
    int numa_domain;   /* the node of SHMEMX_MEM_NUMA */
    int pgsize;        /* SHMEMX_PAGES_*; default: SHMEMX_PAGES_DEFAULT */
    int fallback;      /* SHMEMX_FALLBACK_*; default: SHMEMX_FALLBACK_NONE */
} shmemx_space_config_t;

/* The PEs of another job: one that this job has started (shmemx_spawn(3)), that has started this one, or that is
 * connected with it (shmemx_port_open(3)). All routines that take a PE take PEs of the group by the numbers that
 * shmemx_group_pe gives; on a node put, get and atomics stay loads and stores. See shmemx_group_parents(3). */
typedef struct shmemi_group *shmemx_group_t;
typedef struct {
    char *const *argv; /* arguments after the command, ended by NULL; default: none */
    char *const *env;  /* NAME=VALUE, ended by NULL, beside the environment of PE_root; default: none */
    const char *wdir;  /* directory to run in; default: that of PE_root */
    size_t sheap_size; /* bytes of symmetric heap of each PE; default: by SHMEM_SYMMETRIC_SIZE */
    const char *bind_to; /* what each PE is bound to, as in oshrun --bind-to; default: as the PEs of this job */
    const char *map_by;  /* the order in which PEs are given cores, as in oshrun --map-by; default: as bind_to */
    size_t cores;        /* number of cores of each PE, if there are so many; default: by OMP_NUM_THREADS, or all */
    const char *cpus;    /* the CPUs that the PEs may use, as "0-3,8"; default: those of oshrun */
    const char *host;    /* to start on: this host, or where another launcher starts them, hosts that it reaches */
    int independent;     /* not 0: the end of one job is not the other's; default: 0 */
} shmemx_spawn_config_t;

/* Kernels: functions of the program of a group that the PEs which have started it call by name.
 *
 *     SHMEMX_KERNEL(scale, double, const long *, size_t)
 *     void scale(double factor, const long *values, size_t n) { ... }
 *
 * makes the function a kernel, in C and C++, whether its program is the same or another. See shmemx_kernel_call(3). */
typedef struct shmemi_request *shmemx_request_t;
typedef struct {
    const void *addr;
    size_t size; /* bytes, of an array those of an element */
    size_t nelems;
    int kind;
} shmemx_kernel_arg_t;
typedef struct {
    const char *name;
    size_t nargs;
    const shmemx_kernel_arg_t *args;
} shmemx_kernel_call_t;
typedef struct {
    int kind;
    size_t size;
} shmemx_kernel_param_t;
/* For SHMEMX_KERNEL, which gives it to shmemx_kernel_register before main. */
typedef struct shmemi_kernel {
    struct shmemi_kernel *next;
    const char *name, *types;
    const shmemx_kernel_param_t *params;
    size_t nparams;
    int (*run)(const void *const *args, char *why, size_t size);
} shmemx_kernel_t;

/* Non-blocking collectives: each begins the collective of its name without _nb, and returns a request. See
 * shmemx_nb(3). */
typedef struct shmemi_req *shmemx_req_h;

/* Combines n elements: dest[i] = a[i] op b[i]. dest may be the same array as a or b. See shmemx_reduce(3). */
typedef void shmemx_op_function_t(void *dest, const void *a, const void *b, size_t n);

/* A graph of neighbours in a team, and for an exchange with them, blocks of an array: of bytes each, their number, and
 * bytes from the beginning of one to that of the next. See shmemx_graph(3). */
typedef struct shmemi_graph *shmemx_graph_t;
typedef struct {
    void *addr;
    size_t nbytes, count, stride;
} shmemx_blocks_t;

/* Messages between the PEs of a team, matched by team, sender and tag as MPI's are. See shmemx_msg_send(3). */
typedef struct shmemi_msg_request *shmemx_msg_request_t;
typedef struct {
    int source;    /* number of the sender in the team */
    int tag;       /* the message's */
    size_t nbytes; /* bytes of the message; those received are at most as many as the receive has room for */
    int error;     /* 0, or SHMEMX_MSG_TRUNCATED */
} shmemx_msg_status_t;

/* Streams: the PEs of a team push items of item_size bytes to each other, and pull what arrives. See
 * shmemx_stream_create(3). */
typedef struct shmemi_stream *shmemx_stream_t;

#endif
