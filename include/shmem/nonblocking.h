/* Operations with requests, and collectives of MPI (extensions): their forms for all types, in C11 and in C++. See
 * shmemx.h. */
#ifndef SHMEM_NONBLOCKING_H
#define SHMEM_NONBLOCKING_H

/* The datatype of what a pointer points to. */
#if defined(__cplusplus)
#include <limits>
#include <type_traits>

namespace shmemi {

/* A part of a complex number of the standard library, or of the compiler's. */
template <class T> auto part_of(const T *number) -> decltype(number->imag());
float part_of(const shmemi_complexf *number);
double part_of(const shmemi_complexd *number);

template <class T, bool = std::is_arithmetic<T>::value> struct datatype_of {
    static constexpr bool is_bfloat = sizeof(T) == 2 && std::numeric_limits<T>::digits == 8;
    static constexpr int kind = std::is_floating_point<T>::value
                                    ? is_bfloat ? SHMEMX_BFLOAT : SHMEMX_FLOATING
                                : std::is_signed<T>::value ? SHMEMX_SIGNED
                                                           : SHMEMX_UNSIGNED;
    static constexpr int value = kind + (int)sizeof(T);
};
template <class T> struct datatype_of<T, false> {
    static_assert(2 * sizeof(part_of(static_cast<T *>(0))) == sizeof(T), "elements are numbers");
    static constexpr int value = SHMEMX_COMPLEX + (int)sizeof(T);
};

template <class T> T *of_one_type(T *dest, const T *source);

} // namespace shmemi

#define SHMEMX_DATATYPE(pointer)                                                                   \
    (shmemi::datatype_of<typename std::remove_cv<                                                  \
         typename std::remove_reference<decltype(*(pointer))>::type>::type>::value)
/* The first of two pointers to the same type. The macros mention arguments twice, and evaluate them once. */
#define SHMEMI_OF_ONE_TYPE(dest, source)                                                           \
    static_cast<decltype(shmemi::of_one_type(dest, source))>(dest)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define SHMEMX_DATATYPE(pointer)                                                                   \
    (_Generic(*(pointer),                                                                          \
         float: SHMEMX_FLOATING,                                                                   \
         double: SHMEMX_FLOATING,                                                                  \
         long double: SHMEMX_FLOATING,                                                             \
         float _Complex: SHMEMX_COMPLEX,                                                           \
         double _Complex: SHMEMX_COMPLEX,                                                          \
         char: (char)-1 < 0 ? SHMEMX_SIGNED : SHMEMX_UNSIGNED,                                     \
         signed char: SHMEMX_SIGNED,                                                               \
         short: SHMEMX_SIGNED,                                                                     \
         int: SHMEMX_SIGNED,                                                                       \
         long: SHMEMX_SIGNED,                                                                      \
         long long: SHMEMX_SIGNED,                                                                 \
         unsigned char: SHMEMX_UNSIGNED,                                                           \
         unsigned short: SHMEMX_UNSIGNED,                                                          \
         unsigned int: SHMEMX_UNSIGNED,                                                            \
         unsigned long: SHMEMX_UNSIGNED,                                                           \
         unsigned long long: SHMEMX_UNSIGNED) +                                                    \
     (int)sizeof *(pointer))
/* The first of two pointers to the same type. */
#define SHMEMI_OF_ONE_TYPE(dest, source) ((void)sizeof(&*(dest) == &*(source)), (dest))
#endif

#ifdef SHMEMX_DATATYPE
/* Names end in _nb, or in _init, which makes a request that starts later. */
#define SHMEMI_BYTES(routine, team, dest, source, nelems, ...)                                     \
    shmemx_##routine(team, SHMEMI_OF_ONE_TYPE(dest, source), source, (nelems) * sizeof *(dest),    \
                     __VA_ARGS__)
#define SHMEMI_REDUCE(form, op, team, dest, source, nreduce, request)                              \
    shmemx_reduce_##form(team, SHMEMI_OF_ONE_TYPE(dest, source), source, nreduce,                  \
                         SHMEMX_DATATYPE(dest), op, request)
#define SHMEMI_SCAN(form, inclusive, team, dest, source, nelems, request)                          \
    shmemx_scan_##form(team, SHMEMI_OF_ONE_TYPE(dest, source), source, nelems,                     \
                       SHMEMX_DATATYPE(dest), inclusive, request)

/* One-sided operations, with a context before the other five arguments or without. */
#define SHMEMI_ONE_SIDED(routine, dest, source, nelems, pe, request)                               \
    shmemx_##routine(SHMEMI_OF_ONE_TYPE(dest, source), source, (nelems) * sizeof *(dest), pe,      \
                     request)
#define SHMEMI_CTX_ONE_SIDED(routine, ctx, dest, source, nelems, pe, request)                      \
    shmemx_ctx_##routine(ctx, SHMEMI_OF_ONE_TYPE(dest, source), source, (nelems) * sizeof *(dest), \
                         pe, request)
#define SHMEMI_SEVENTH(a, b, c, d, e, f, g, ...) g
#define SHMEMI_WITH_CTX_OR_NOT(...)                                                                \
    SHMEMI_SEVENTH(__VA_ARGS__, SHMEMI_CTX_ONE_SIDED, SHMEMI_ONE_SIDED, 0)

#define shmemx_put_nb(...) SHMEMI_WITH_CTX_OR_NOT(__VA_ARGS__)(putmem_nb, __VA_ARGS__)
#define shmemx_get_nb(...) SHMEMI_WITH_CTX_OR_NOT(__VA_ARGS__)(getmem_nb, __VA_ARGS__)

/* The same with a signal at the source: six arguments and a request, or seven, and before them a context or none. */
#define SHMEMI_GET_SIGNAL(form, dest, source, nelems, ...)                                         \
    shmemx_##form(SHMEMI_OF_ONE_TYPE(dest, source), source, (nelems) * sizeof *(dest), __VA_ARGS__)
#define SHMEMI_CTX_GET_SIGNAL(form, ctx, dest, source, nelems, ...)                                \
    shmemx_ctx_##form(ctx, SHMEMI_OF_ONE_TYPE(dest, source), source, (nelems) * sizeof *(dest),    \
                      __VA_ARGS__)
#define SHMEMI_NINTH(a, b, c, d, e, f, g, h, i, ...) i
#define shmemx_get_signal(...)                                                                     \
    SHMEMI_NINTH(__VA_ARGS__, SHMEMI_CTX_GET_SIGNAL, SHMEMI_GET_SIGNAL, 0)(getmem_signal, __VA_ARGS__)
#define shmemx_get_signal_nb(...)                                                                  \
    SHMEMI_TENTH(__VA_ARGS__, SHMEMI_CTX_GET_SIGNAL, SHMEMI_GET_SIGNAL, 0)                         \
    (getmem_signal_nb, __VA_ARGS__)
#define SHMEMI_TENTH(a, b, c, d, e, f, g, h, i, j, ...) j

/* Atomic operations on integers of 4 and 8 bytes, without a context. */
#define SHMEMI_FETCH_OP(op, fetch, dest, value, cond, pe, request)                                 \
    shmemx_atomic_fetch_op_nb(SHMEMI_OF_ONE_TYPE(fetch, dest), dest, (uint64_t)(value),            \
                              (uint64_t)(cond), SHMEMX_DATATYPE(dest), op, pe, request)

/* Here source may be const. */
#define shmemx_atomic_fetch_nb(fetch, source, pe, request)                                         \
    shmemx_atomic_fetch_op_nb(SHMEMI_OF_ONE_TYPE(fetch, source), (void *)(uintptr_t)(source), 0,   \
                              0, SHMEMX_DATATYPE(fetch), SHMEMX_FETCH, pe, request)
#define shmemx_atomic_swap_nb(fetch, dest, value, pe, request)                                     \
    SHMEMI_FETCH_OP(SHMEMX_SWAP, fetch, dest, value, 0, pe, request)
#define shmemx_atomic_compare_swap_nb(fetch, dest, cond, value, pe, request)                       \
    SHMEMI_FETCH_OP(SHMEMX_COMPARE_SWAP, fetch, dest, value, cond, pe, request)
#define shmemx_atomic_fetch_add_nb(fetch, dest, value, pe, request)                                \
    SHMEMI_FETCH_OP(SHMEMX_SUM, fetch, dest, value, 0, pe, request)
#define shmemx_atomic_fetch_and_nb(fetch, dest, value, pe, request)                                \
    SHMEMI_FETCH_OP(SHMEMX_AND, fetch, dest, value, 0, pe, request)
#define shmemx_atomic_fetch_or_nb(fetch, dest, value, pe, request)                                 \
    SHMEMI_FETCH_OP(SHMEMX_OR, fetch, dest, value, 0, pe, request)
#define shmemx_atomic_fetch_xor_nb(fetch, dest, value, pe, request)                                \
    SHMEMI_FETCH_OP(SHMEMX_XOR, fetch, dest, value, 0, pe, request)

#define shmemx_broadcast_nb(...) SHMEMI_BYTES(broadcastmem_nb, __VA_ARGS__)
#define shmemx_collect_nb(...) SHMEMI_BYTES(collectmem_nb, __VA_ARGS__)
#define shmemx_fcollect_nb(...) SHMEMI_BYTES(fcollectmem_nb, __VA_ARGS__)
#define shmemx_alltoall_nb(...) SHMEMI_BYTES(alltoallmem_nb, __VA_ARGS__)
#define shmemx_sum_reduce_nb(...) SHMEMI_REDUCE(nb, SHMEMX_SUM, __VA_ARGS__)
#define shmemx_prod_reduce_nb(...) SHMEMI_REDUCE(nb, SHMEMX_PROD, __VA_ARGS__)
#define shmemx_min_reduce_nb(...) SHMEMI_REDUCE(nb, SHMEMX_MIN, __VA_ARGS__)
#define shmemx_max_reduce_nb(...) SHMEMI_REDUCE(nb, SHMEMX_MAX, __VA_ARGS__)
#define shmemx_and_reduce_nb(...) SHMEMI_REDUCE(nb, SHMEMX_AND, __VA_ARGS__)
#define shmemx_or_reduce_nb(...) SHMEMI_REDUCE(nb, SHMEMX_OR, __VA_ARGS__)
#define shmemx_xor_reduce_nb(...) SHMEMI_REDUCE(nb, SHMEMX_XOR, __VA_ARGS__)
#define shmemx_sum_inscan_nb(...) SHMEMI_SCAN(nb, 1, __VA_ARGS__)
#define shmemx_sum_exscan_nb(...) SHMEMI_SCAN(nb, 0, __VA_ARGS__)
#define shmemx_broadcast_init(...) SHMEMI_BYTES(broadcastmem_init, __VA_ARGS__)
#define shmemx_collect_init(...) SHMEMI_BYTES(collectmem_init, __VA_ARGS__)
#define shmemx_fcollect_init(...) SHMEMI_BYTES(fcollectmem_init, __VA_ARGS__)
#define shmemx_neighbor_alltoall_init(...) SHMEMI_BYTES(neighbor_alltoallmem_init, __VA_ARGS__)
#define shmemx_alltoall_init(...) SHMEMI_BYTES(alltoallmem_init, __VA_ARGS__)
#define shmemx_sum_reduce_init(...) SHMEMI_REDUCE(init, SHMEMX_SUM, __VA_ARGS__)
#define shmemx_prod_reduce_init(...) SHMEMI_REDUCE(init, SHMEMX_PROD, __VA_ARGS__)
#define shmemx_min_reduce_init(...) SHMEMI_REDUCE(init, SHMEMX_MIN, __VA_ARGS__)
#define shmemx_max_reduce_init(...) SHMEMI_REDUCE(init, SHMEMX_MAX, __VA_ARGS__)
#define shmemx_and_reduce_init(...) SHMEMI_REDUCE(init, SHMEMX_AND, __VA_ARGS__)
#define shmemx_or_reduce_init(...) SHMEMI_REDUCE(init, SHMEMX_OR, __VA_ARGS__)
#define shmemx_xor_reduce_init(...) SHMEMI_REDUCE(init, SHMEMX_XOR, __VA_ARGS__)
#define shmemx_sum_inscan_init(...) SHMEMI_SCAN(init, 1, __VA_ARGS__)
#define shmemx_sum_exscan_init(...) SHMEMI_SCAN(init, 0, __VA_ARGS__)

/* Collectives of MPI. Names end in mem, mem_nb or mem_init; those that begin or make a request have it last. */
#define SHMEMI_DISPLACED(routine, team, dest, source, displs, nelems, ...)                         \
    shmemx_##routine(team, SHMEMI_OF_ONE_TYPE(dest, source), source, displs, nelems,               \
                     sizeof *(dest), __VA_ARGS__)
#define SHMEMI_ALLTOALLV(form, team, dest, dest_displs, source, source_displs, counts, request)    \
    shmemx_alltoallv##form(team, SHMEMI_OF_ONE_TYPE(dest, source), dest_displs, source,            \
                           source_displs, counts, sizeof *(dest), request)
#define shmemx_gather(...) SHMEMI_BYTES(gathermem, __VA_ARGS__)
#define shmemx_scatter(...) SHMEMI_BYTES(scattermem, __VA_ARGS__)
#define shmemx_gatherv(...) SHMEMI_DISPLACED(gathervmem, __VA_ARGS__)
#define shmemx_scatterv(...) SHMEMI_DISPLACED(scattervmem, __VA_ARGS__)
#define shmemx_alltoallv(team, dest, dest_displs, source, source_displs, counts)                   \
    shmemx_alltoallvmem(team, SHMEMI_OF_ONE_TYPE(dest, source), dest_displs, source,               \
                        source_displs, counts, sizeof *(dest))
#define shmemx_gather_nb(...) SHMEMI_BYTES(gathermem_nb, __VA_ARGS__)
#define shmemx_scatter_nb(...) SHMEMI_BYTES(scattermem_nb, __VA_ARGS__)
#define shmemx_gatherv_nb(...) SHMEMI_DISPLACED(gathervmem_nb, __VA_ARGS__)
#define shmemx_scatterv_nb(...) SHMEMI_DISPLACED(scattervmem_nb, __VA_ARGS__)
#define shmemx_alltoallv_nb(...) SHMEMI_ALLTOALLV(mem_nb, __VA_ARGS__)
#define shmemx_gather_init(...) SHMEMI_BYTES(gathermem_init, __VA_ARGS__)
#define shmemx_scatter_init(...) SHMEMI_BYTES(scattermem_init, __VA_ARGS__)
#define shmemx_gatherv_init(...) SHMEMI_DISPLACED(gathervmem_init, __VA_ARGS__)
#define shmemx_scatterv_init(...) SHMEMI_DISPLACED(scattervmem_init, __VA_ARGS__)
#define shmemx_alltoallv_init(...) SHMEMI_ALLTOALLV(mem_init, __VA_ARGS__)
#define shmemx_sum_reduce_root(...) SHMEMI_REDUCE(root, SHMEMX_SUM, __VA_ARGS__)
#define shmemx_prod_reduce_root(...) SHMEMI_REDUCE(root, SHMEMX_PROD, __VA_ARGS__)
#define shmemx_min_reduce_root(...) SHMEMI_REDUCE(root, SHMEMX_MIN, __VA_ARGS__)
#define shmemx_max_reduce_root(...) SHMEMI_REDUCE(root, SHMEMX_MAX, __VA_ARGS__)
#define shmemx_and_reduce_root(...) SHMEMI_REDUCE(root, SHMEMX_AND, __VA_ARGS__)
#define shmemx_or_reduce_root(...) SHMEMI_REDUCE(root, SHMEMX_OR, __VA_ARGS__)
#define shmemx_xor_reduce_root(...) SHMEMI_REDUCE(root, SHMEMX_XOR, __VA_ARGS__)
#define SHMEMI_REDUCE_SCATTER(op, team, dest, source, nelems)                                      \
    shmemx_reduce_scatter(team, SHMEMI_OF_ONE_TYPE(dest, source), source, nelems,                  \
                          SHMEMX_DATATYPE(dest), op)
#define shmemx_sum_reduce_scatter(...) SHMEMI_REDUCE_SCATTER(SHMEMX_SUM, __VA_ARGS__)
#define shmemx_prod_reduce_scatter(...) SHMEMI_REDUCE_SCATTER(SHMEMX_PROD, __VA_ARGS__)
#define shmemx_min_reduce_scatter(...) SHMEMI_REDUCE_SCATTER(SHMEMX_MIN, __VA_ARGS__)
#define shmemx_max_reduce_scatter(...) SHMEMI_REDUCE_SCATTER(SHMEMX_MAX, __VA_ARGS__)
#define shmemx_and_reduce_scatter(...) SHMEMI_REDUCE_SCATTER(SHMEMX_AND, __VA_ARGS__)
#define shmemx_or_reduce_scatter(...) SHMEMI_REDUCE_SCATTER(SHMEMX_OR, __VA_ARGS__)
#define shmemx_xor_reduce_scatter(...) SHMEMI_REDUCE_SCATTER(SHMEMX_XOR, __VA_ARGS__)
#define SHMEMI_REDUCE_SCATTERV(op, team, dest, source, counts)                                     \
    shmemx_reduce_scatterv(team, SHMEMI_OF_ONE_TYPE(dest, source), source, counts,                 \
                           SHMEMX_DATATYPE(dest), op)
#define shmemx_sum_reduce_scatterv(...) SHMEMI_REDUCE_SCATTERV(SHMEMX_SUM, __VA_ARGS__)
#define shmemx_prod_reduce_scatterv(...) SHMEMI_REDUCE_SCATTERV(SHMEMX_PROD, __VA_ARGS__)
#define shmemx_min_reduce_scatterv(...) SHMEMI_REDUCE_SCATTERV(SHMEMX_MIN, __VA_ARGS__)
#define shmemx_max_reduce_scatterv(...) SHMEMI_REDUCE_SCATTERV(SHMEMX_MAX, __VA_ARGS__)
#define shmemx_and_reduce_scatterv(...) SHMEMI_REDUCE_SCATTERV(SHMEMX_AND, __VA_ARGS__)
#define shmemx_or_reduce_scatterv(...) SHMEMI_REDUCE_SCATTERV(SHMEMX_OR, __VA_ARGS__)
#define shmemx_xor_reduce_scatterv(...) SHMEMI_REDUCE_SCATTERV(SHMEMX_XOR, __VA_ARGS__)
/* Of structures whose members are value and index. */
#define SHMEMI_LOCATE(op, team, dest, source, nreduce)                                             \
    shmemx_reduce(team, SHMEMI_OF_ONE_TYPE(dest, source), source, nreduce,                         \
                  SHMEMX_PAIR + SHMEMX_DATATYPE(&(dest)->value), op)
#define shmemx_minloc_reduce(...) SHMEMI_LOCATE(SHMEMX_MINLOC, __VA_ARGS__)
#define shmemx_maxloc_reduce(...) SHMEMI_LOCATE(SHMEMX_MAXLOC, __VA_ARGS__)
#endif

#endif
