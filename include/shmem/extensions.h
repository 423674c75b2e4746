/* The types of extensions, and what their routines do. Included by shmemx.h. */
#ifndef SHMEM_EXTENSIONS_H
#define SHMEM_EXTENSIONS_H

/* A symmetric space: a part of each PE's symmetric heap with a kind of memory of its own, for whole
 * pages. An address in it is a symmetric address for all routines; put, get and atomics of local
 * PEs stay loads and stores.
 *
 * shmemx_space_create is collective over the team, with the same size, kind, pages and fallback on all
 * PEs; numa_domain may differ. It returns 0, or -1 on all PEs and SHMEMX_SPACE_INVALID if some PE has no
 * such memory, which it says in a line on standard error. The other routines are collective over the
 * team, and as those of the heap: malloc, calloc and align return a null pointer where there is no room.
 * shmemx_space_destroy, shmem_team_destroy and shmem_finalize end spaces with all of their blocks. */
typedef struct shmemi_space *shmemx_space_t;
typedef struct {
    size_t sheap_size; /* bytes on each PE; must be set */
    int memkind;       /* SHMEMX_MEM_*; default: SHMEMX_MEM_DEFAULT */
    int numa_domain;   /* the node of SHMEMX_MEM_NUMA */
    int pgsize;        /* SHMEMX_PAGES_*; default: SHMEMX_PAGES_DEFAULT */
    int fallback;      /* SHMEMX_FALLBACK_*; default: SHMEMX_FALLBACK_NONE */
} shmemx_space_config_t;

/* Jobs that grow: PEs started while a job runs are a job of their own (their world, their heap), connected with
 * the PEs that started them. Each job sees the other's PEs as a group. All routines that take a PE take PEs of the
 * group by the numbers that shmemx_group_pe gives; on a node put, get and atomics stay loads and stores.
 * Addresses are symmetric with the group as far as both groups run one program (global variables), and by their
 * offset in the heap; shmemx_import gives an address for what the other group has exported by a name.
 * shmemx_group_team is the team of both groups, first the PEs that started, then those that were started: for
 * contexts and collectives, whose arrays must be symmetric with the group.
 *
 * shmemx_spawn is collective over the team; arguments count on PE_root alone. It returns once the new PEs are in
 * shmem_init: 0, or -1 and SHMEMX_GROUP_INVALID on all PEs, and a line of the root on standard error. The new
 * PEs find the others by shmemx_group_parents, which is SHMEMX_GROUP_INVALID in other jobs.
 * shmemx_group_disconnect is collective over both groups; shmem_finalize disconnects what is still connected. A PE
 * that fails ends all connected jobs, unless they are independent.
 *
 * Jobs are independent where config->independent of all programs is not 0 (SHMEMX_SPAWN_INDEPENDENT), or by
 * shmemx_port_*_independent. If a PE of one fails, or leaves without shmem_finalize, that job alone ends. In the other
 * group, shmemx_group_state is SHMEMX_GROUP_FAILED, not SHMEMX_GROUP_CONNECTED, for ever; SHMEMX_GROUP_DISCONNECTED is
 * that of other handles. All routines that wait for PEs of the group return -1 then, also those that wait already:
 * collectives between groups and of shmemx_group_team, shmemx_kernel_test, shmemx_kernel_wait and shmemx_kernel_serve;
 * calls of kernels return SHMEMX_REQUEST_INVALID, and dest of a collective has any content. Memory of the group can be
 * used, without effect, until shmemx_group_disconnect, which waits for the PEs of the own group alone, between nodes
 * for none, and returns -1.
 * shmemx_spawn, accept and connect return -1 if the other group fails before all PEs are connected.
 *
 * Collectives between groups have the meaning that MPI gives those of intercommunicators: a PE gets what the PEs
 * of the other group contribute, in their order. All PEs of both groups call them, in the same order; they return 0,
 * or -1 for SHMEMX_GROUP_INVALID. dest and source are symmetric within the PE's own group and do not overlap;
 * numbers of elements are bytes but in reductions. When a call returns, dest is complete and source may be changed.
 *
 * shmemx_group_sync synchronises all PEs of both groups; shmemx_group_barrier completes this PE's operations on the
 * default context before, as shmem_barrier_all does.
 * shmemx_group_broadcastmem copies source of the root to dest of each PE of the other group. PE_root is SHMEMX_ROOT on
 * the root, SHMEMX_PROC_NULL on the other PEs of its group, and the root's number on the PEs of the other group. All
 * give the same nelems; dest counts in the other group alone, source on the root.
 * shmemx_group_fcollectmem gathers the sources of the other group, of dest_nelems bytes each, and gives it this PE's,
 * of source_nelems. shmemx_group_alltoallmem does the same with block i of source for PE i of the group. The PEs of
 * a group give the same numbers; the two directions may differ, and one may be 0.
 * shmemx_group_*_reduce reduces the sources of the other group; all give the same nreduce.
 *
 * shmemx_group_create_ctx makes a context on which PE i is PE i of the group, for all routines that take a context:
 * 0, or -1 and SHMEM_CTX_INVALID. It is local. The end of the group destroys it. */
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

/* Jobs that connect: two jobs that one user has started separately, on one node or on several, become connected, as
 * jobs that grow are: each gets a group of the other's PEs.
 *
 * shmemx_port_open opens a port of this PE and writes its text, of at most SHMEMX_MAX_PORT_NAME bytes. The text has a
 * secret: who has it, and on one node is of the same user, can connect. shmemx_port_close closes it, as does
 * shmem_finalize. Both are local; they return 0, or -1 and a line on standard error.
 * shmemx_port_publish gives a port a name of up to 64 bytes, by which all jobs of the user on the node find it, and
 * with SHMEM_NAME_DIRECTORY those on other nodes, until
 * shmemx_port_unpublish of the same PE, the end of the port, or that of the PE. shmemx_port_lookup writes the text of
 * the port that has a name; it waits for that up to timeout milliseconds, or as long as it takes if timeout is
 * negative. All are local: 0, or -1, with a line on standard error but where a name is not published in time.
 * shmemx_port_accept and shmemx_port_connect are collective over a team; port counts on PE_root alone, which for accept
 * is the PE that has opened it. Accept waits for the next that connects; connect waits until it is accepted, also if
 * that begins later. Both return once all PEs of both teams are there: 0, or -1 and SHMEMX_GROUP_INVALID on all PEs of
 * the team, and a line of the root on standard error. shmemx_group_team has first the PEs that have accepted, then
 * those that have connected; between nodes it is SHMEM_TEAM_INVALID. A port can be used again at once. A PE that fails
 * ends all connected jobs; one that ends before it is connected ends its own job alone. By
 * shmemx_port_accept_independent and shmemx_port_connect_independent, which connect with each other alone, the jobs are
 * independent (see above).
 * shmemx_join does the same without a port, if the roots of both teams are at the two ends of a connected socket, whose
 * descriptor fd is on PE_root. It leaves the socket open, with nothing to be read. */

/* Kernels: functions of the program of a group that the PEs which have started it call by name.
 *
 *     SHMEMX_KERNEL(scale, double, const long *, size_t)
 *     void scale(double factor, const long *values, size_t n) { ... }
 *
 * makes the function a kernel, in C and C++, whether its program is the same or another. It has up to 16 parameters:
 * types that can be copied as bytes, and pointers to arrays of such. It returns nothing. In C++ it is in no
 * extern "C".
 *
 * shmemx_kernel_call(group, name, args...) runs it on all PEs of the group. It is collective over the PEs that have
 * started the group; what PE 0 of these gives counts. It returns when the arguments may be changed, without waiting
 * for the kernel, but for room if 64 MiB of calls are under way. Calls run one after the other, in their order.
 * Arguments have the kind and size of the parameters: none is converted, so that in C a character is (char)'x'. An
 * array is SHMEMX_ARRAY(pointer, n); the kernel gets the address of a copy of n elements, which is its PE's own,
 * aligned to 64 bytes and valid until it returns. Results go to the callers by puts, atomics or collectives between
 * the groups.
 * shmemx_kernel_call_multiple makes any number of calls as one message: calls[i] has the name and the arguments,
 * SHMEMX_VALUE(variable) or SHMEMX_ARRAY(pointer, n). SHMEMX_REQUEST_INVALID is returned for SHMEMX_GROUP_INVALID.
 * shmemx_kernel_test is 1 if all PEs have run the calls of a request and of those before it, else 0; shmemx_kernel_wait
 * waits for that, and returns 0. What the kernels have put is then complete. Both are local, and a request needs not be
 * freed: it stays valid, and is complete once the group is disconnected and for SHMEMX_REQUEST_INVALID.
 * shmemx_kernel_serve is called by the PEs of the group, outside of kernels: it runs kernels, sleeps while none is
 * called, and returns when the callers disconnect, with the number of calls; -1 in a job that no PEs have started.
 * oshcc --kernels links a main that does nothing else.
 * A kernel that the group does not have, or other arguments than it takes, end the job with a line that lists what
 * there is, as does a kernel that throws or calls exit. */
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

/* Non-blocking collectives: each begins the collective of its name without _nb, and returns a request. All PEs of the
 * team begin them in the same order, beside collectives that wait, of whose order theirs is independent. They return 0,
 * or -1 and SHMEMX_REQ_INVALID for SHMEM_TEAM_INVALID. dest and source stay, and are neither read, but for source, nor
 * changed until the request is complete. Those of one team complete in their order. The names and the meaning are those
 * of the draft (specification, pull request 456).
 *
 * shmemx_req_test returns 0 if a request is complete, and 1 if it is not; shmemx_req_wait waits until it is, and
 * returns 0. Then it has ended, and is SHMEMX_REQ_INVALID, which is complete. shmemx_req_free ends a request and lets
 * its collective go on. _testall, _waitall, _testany and _waitany do the same for count requests; those for any return
 * the index of the one that has ended, and SIZE_MAX if none is, or for waitany if all are SHMEMX_REQ_INVALID.
 * A collective goes on while its PE tests for its request, or waits for anything in the library. shmem_team_destroy and
 * shmem_finalize complete what is under way.
 *
 * datatype of shmemx_reduce_nb and shmemx_scan_nb is a kind of elements plus their bytes, as
 * SHMEMX_SIGNED + sizeof(long). Integers have all operators, SHMEMX_FLOATING all but those of bits, SHMEMX_COMPLEX
 * SHMEMX_SUM and SHMEMX_PROD. In C11 and C++, shmemx_sum_reduce_nb, shmemx_sum_inscan_nb, shmemx_broadcast_nb and so
 * on take arrays of any type, and SHMEMX_DATATYPE(dest) is the datatype of an array. */
typedef struct shmemi_req *shmemx_req_h;

/* Messages between the PEs of a team, matched by team, sender and tag as MPI's are. PEs go by their numbers in
 * the team; tags are 0 to INT_MAX.
 *
 * shmemx_msg_send returns when buf may be changed, for which it may wait until the message is received.
 * shmemx_msg_recv waits for a message of PE pe, or SHMEMX_ANY_SOURCE, with a tag, or SHMEMX_ANY_TAG. Messages of a PE
 * that a receive takes are received in the order in which they were sent. Both return 0, recv SHMEMX_MSG_TRUNCATED for
 * a message longer than nbytes, of which it has received the first bytes, and -1 for SHMEM_TEAM_INVALID. status may be
 * null, always.
 * shmemx_msg_isend and _irecv begin the same: buf must stay, and of a send must not be changed, until the request is
 * complete.
 * shmemx_msg_wait waits for that, _test is 1 if it is so and 0 else; then the request has ended and is set to
 * SHMEMX_MSG_REQUEST_INVALID, which is complete, too. _waitall and _testall are for all of several requests; _waitany
 * and _testany end one that is complete, and return its index, or SIZE_MAX. Waits return an error of status as recv
 * does.
 * shmemx_msg_probe waits for a message and leaves it; _iprobe is 1 if there is one, else 0.
 * shmemx_msg_cancel is 1 if no message has matched a receive, which has then ended; else 0: wait for it. */
typedef struct shmemi_msg_request *shmemx_msg_request_t;
typedef struct {
    int source;    /* number of the sender in the team */
    int tag;       /* the message's */
    size_t nbytes; /* bytes of the message; those received are at most as many as the receive has room for */
    int error;     /* 0, or SHMEMX_MSG_TRUNCATED */
} shmemx_msg_status_t;

/* Streams: the PEs of a team push items of item_size bytes to each other (1 to 32768), and pull what arrives. PEs go by
 * their numbers in the team; items of one PE to another arrive in their order.
 *
 * shmemx_stream_create is collective; options are 0 or SHMEMX_STREAM_STEADY. It returns 0, or -1 for SHMEM_TEAM_INVALID
 * and if memory is lacking. Items of a steady stream are sent at once, those of others when there are many, and by
 * shmemx_stream_flush, _wait and _end.
 * shmemx_stream_push is 1, or 0 if there is no room: pull what is there, then push again. _push_many returns how many
 * of nitems it took.
 * shmemx_stream_pull is 1, or 0 if no item is there; pe may be null. _view shows all items at hand of one PE, and
 * returns how many; they stay until the next call of _pull, _view, _wait, _done or _reset, and are aligned as their
 * type, to 8 bytes at most.
 * shmemx_stream_end says once that this PE pushes no more. shmemx_stream_wait waits for an item: it is 1, or 0 if none
 * will come, since all PEs have ended. _done is 1 in that case, else 0, without waiting.
 * shmemx_stream_reset lets all PEs use the stream again, _destroy destroys it. Both are collective, end what is not
 * ended, and forget what is not pulled. */
typedef struct shmemi_stream *shmemx_stream_t;

#endif
