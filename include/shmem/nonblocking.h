/* Non-blocking collectives (extension): their forms for all types, in C11 and in C++. See shmemx.h. */
#ifndef SHMEM_NONBLOCKING_H
#define SHMEM_NONBLOCKING_H

/* The datatype of what a pointer points to. */
#if defined(__cplusplus)
#include <type_traits>

namespace shmemi {

template <class T> struct datatype_of {
    static constexpr int kind = std::is_floating_point<T>::value ? SHMEMX_FLOATING
                                : !std::is_integral<T>::value    ? SHMEMX_COMPLEX
                                : std::is_signed<T>::value       ? SHMEMX_SIGNED
                                                                 : SHMEMX_UNSIGNED;
    static constexpr int value = kind + (int)sizeof(T);
};

/* The first of two pointers to the same type. */
template <class T> constexpr T *of_one_type(T *dest, const T *)
{
    return dest;
}

} // namespace shmemi

#define SHMEMX_DATATYPE(pointer)                                                                   \
    (shmemi::datatype_of<typename std::remove_cv<                                                  \
         typename std::remove_pointer<decltype(pointer)>::type>::type>::value)
#define SHMEMI_OF_ONE_TYPE(dest, source) shmemi::of_one_type(dest, source)
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
#define SHMEMI_OF_ONE_TYPE(dest, source) (1 ? (dest) : (dest) + 0 * sizeof(&*(dest) == &*(source)))
#endif

#ifdef SHMEMX_DATATYPE
#define SHMEMI_BYTES_NB(name, team, dest, source, nelems, ...)                                     \
    shmemx_##name##mem_nb(team, SHMEMI_OF_ONE_TYPE(dest, source), source,                          \
                          (nelems) * sizeof *(dest), __VA_ARGS__)
#define shmemx_broadcast_nb(team, dest, source, nelems, PE_root, request)                          \
    SHMEMI_BYTES_NB(broadcast, team, dest, source, nelems, PE_root, request)
#define shmemx_collect_nb(team, dest, source, nelems, request)                                     \
    SHMEMI_BYTES_NB(collect, team, dest, source, nelems, request)
#define shmemx_fcollect_nb(team, dest, source, nelems, request)                                    \
    SHMEMI_BYTES_NB(fcollect, team, dest, source, nelems, request)
#define shmemx_alltoall_nb(team, dest, source, nelems, request)                                    \
    SHMEMI_BYTES_NB(alltoall, team, dest, source, nelems, request)

#define SHMEMI_REDUCE_NB(op, team, dest, source, nreduce, request)                                 \
    shmemx_reduce_nb(team, SHMEMI_OF_ONE_TYPE(dest, source), source, nreduce,                      \
                     SHMEMX_DATATYPE(dest), op, request)
#define shmemx_sum_reduce_nb(...) SHMEMI_REDUCE_NB(SHMEMX_SUM, __VA_ARGS__)
#define shmemx_prod_reduce_nb(...) SHMEMI_REDUCE_NB(SHMEMX_PROD, __VA_ARGS__)
#define shmemx_min_reduce_nb(...) SHMEMI_REDUCE_NB(SHMEMX_MIN, __VA_ARGS__)
#define shmemx_max_reduce_nb(...) SHMEMI_REDUCE_NB(SHMEMX_MAX, __VA_ARGS__)
#define shmemx_and_reduce_nb(...) SHMEMI_REDUCE_NB(SHMEMX_AND, __VA_ARGS__)
#define shmemx_or_reduce_nb(...) SHMEMI_REDUCE_NB(SHMEMX_OR, __VA_ARGS__)
#define shmemx_xor_reduce_nb(...) SHMEMI_REDUCE_NB(SHMEMX_XOR, __VA_ARGS__)
#define SHMEMI_SCAN_NB(inclusive, team, dest, source, nelems, request)                             \
    shmemx_scan_nb(team, SHMEMI_OF_ONE_TYPE(dest, source), source, nelems, SHMEMX_DATATYPE(dest),  \
                   inclusive, request)
#define shmemx_sum_inscan_nb(...) SHMEMI_SCAN_NB(1, __VA_ARGS__)
#define shmemx_sum_exscan_nb(...) SHMEMI_SCAN_NB(0, __VA_ARGS__)
#endif

#endif
