/* Kernels by name (extension): functions of a program that PEs of another job call. See shmemx.h. */
#ifndef SHMEM_KERNELS_H
#define SHMEM_KERNELS_H

/* An array of n elements as an argument. */
#define SHMEMX_ARRAY(pointer, n) SHMEMI_ARRAY(pointer, n)
/* A variable as an argument, for shmemx_kernel_call_multiple. */
#define SHMEMX_VALUE(variable) {&(variable), sizeof(variable), 1, SHMEMI_KIND(variable)}

/* Kinds beside those of __builtin_classify_type. */
#define SHMEMI_KIND_POINTER 5
#define SHMEMI_KIND_NESTED 100
#define SHMEMI_KIND_ARRAY 101

/* Number of arguments, 1 to 17; and whether it is 1 or N. */
#define SHMEMI_COUNT(...)                                                                          \
    SHMEMI_18TH(__VA_ARGS__, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define SHMEMI_FORM(...)                                                                           \
    SHMEMI_18TH(__VA_ARGS__, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, 1, 0)
#define SHMEMI_18TH(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, n, \
                    ...)                                                                           \
    n
#define SHMEMI_JOIN(a, b) SHMEMI_JOIN_(a, b)
#define SHMEMI_JOIN_(a, b) a##b

/* Before or after the function `name`, which takes parameters of these types: SHMEMX_KERNEL(name, double, int). */
#define SHMEMX_KERNEL(...) SHMEMI_JOIN(SHMEMI_KERNEL_, SHMEMI_FORM(__VA_ARGS__))(__VA_ARGS__)

#ifdef __cplusplus
#include <cstddef>
#include <exception>
#include <type_traits>

#define SHMEMI_KIND(x) shmemi::kind_of<decltype(x)>()
#define SHMEMI_ARRAY(pointer, n) shmemi::array(pointer, n)
#define SHMEMI_KERNEL_1(name)                                                                      \
    void name();                                                                                   \
    __attribute__((unused)) static const bool shmemi_kernel_##name =                               \
        shmemi::kernel_of<>::add<name>(#name, "");
#define SHMEMI_KERNEL_N(name, ...)                                                                 \
    void name(__VA_ARGS__);                                                                        \
    __attribute__((unused)) static const bool shmemi_kernel_##name =                               \
        shmemi::kernel_of<__VA_ARGS__>::add<name>(#name, #__VA_ARGS__);

namespace shmemi {

template <class T> struct bare : std::remove_cv<typename std::remove_reference<T>::type> {};

template <class T> constexpr int kind_of()
{
    typedef typename bare<T>::type type;
    return std::is_pointer<type>::value                               ? SHMEMI_KIND_POINTER
           : std::is_integral<type>::value || std::is_enum<type>::value ? 1
           : std::is_floating_point<type>::value                      ? 8
                                                                      : 12;
}

/* Bytes of a value, or of an element of what a pointer points to. */
template <class T> struct size_of {
    static constexpr std::size_t value = sizeof(T);
};
template <class T> struct size_of<T *> {
    typedef typename std::conditional<std::is_void<T>::value, char, T>::type element;
    static constexpr std::size_t value = sizeof(element);
};

template <class T> shmemx_kernel_arg_t array(T *pointer, std::size_t n)
{
    static_assert(std::is_trivially_copyable<T>::value, "elements are copied as bytes");
    shmemx_kernel_arg_t arg = {pointer, sizeof(T), n, SHMEMI_KIND_ARRAY};
    return arg;
}

template <class T> shmemx_kernel_arg_t argument(const T &value)
{
    static_assert(!std::is_pointer<T>::value && !std::is_array<T>::value,
                  "give an array as SHMEMX_ARRAY(pointer, n)");
    static_assert(std::is_trivially_copyable<T>::value, "arguments are copied as bytes");
    shmemx_kernel_arg_t arg = {&value, sizeof(T), 1, kind_of<T>()};
    return arg;
}
inline shmemx_kernel_arg_t argument(const shmemx_kernel_arg_t &array)
{
    return array;
}

template <std::size_t... I> struct indices {};
template <std::size_t N, std::size_t... I> struct indices_to : indices_to<N - 1, N - 1, I...> {};
template <std::size_t... I> struct indices_to<0, I...> {
    typedef indices<I...> type;
};

template <class... P> struct kernel_of {
    template <void (*function)(P...)> static bool add(const char *name, const char *types)
    {
        static const shmemx_kernel_param_t params[sizeof...(P) + 1] = {
            {kind_of<P>(), size_of<typename bare<P>::type>::value}..., {0, 0}};
        static shmemx_kernel_t kernel = {0, name, types, params, sizeof...(P), run<function>};
        shmemx_kernel_register(&kernel);
        return true;
    }

  private:
    template <void (*function)(P...)>
    static int run(const void *const *args, char *why, size_t size)
    {
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
        try {
            call<function>(args, typename indices_to<sizeof...(P)>::type());
            return 0;
        } catch (const std::exception &e) {
            copy(why, size, e.what());
        } catch (...) {
            copy(why, size, "an exception that is no std::exception");
        }
        return 1;
#else
        (void)why, (void)size;
        call<function>(args, typename indices_to<sizeof...(P)>::type());
        return 0;
#endif
    }

    template <void (*function)(P...), std::size_t... I>
    static void call(const void *const *args, indices<I...>)
    {
        (void)args;
        function(*static_cast<const typename bare<P>::type *>(args[I])...);
    }

    static void copy(char *to, size_t size, const char *from)
    {
        size_t n = 0;
        for (; n + 1 < size && from[n] != 0; n++)
            to[n] = from[n];
        to[n] = 0;
    }
};

} // namespace shmemi

template <class... A>
shmemx_request_t shmemx_kernel_call(shmemx_group_t group, const char *name, const A &...values)
{
    const shmemx_kernel_arg_t args[sizeof...(A) + 1] = {shmemi::argument(values)..., {0, 0, 0, 0}};
    const shmemx_kernel_call_t call = {name, sizeof...(A), args};
    return shmemx_kernel_call_multiple(group, 1, &call);
}

#elif defined(__GNUC__)

#define SHMEMI_KIND(x)                                                                             \
    (__builtin_types_compatible_p(__typeof__(x), shmemx_kernel_arg_t)                              \
         ? SHMEMI_KIND_NESTED                                                                      \
         : __builtin_classify_type(x))
#define SHMEMI_ARRAY(pointer, n)                                                                   \
    ((shmemx_kernel_arg_t){(pointer), __extension__ sizeof(*(pointer)), (n), SHMEMI_KIND_ARRAY})

/* M(k, x) for each x, where k is the number of those from x on. */
#define SHMEMI_EACH(M, ...) SHMEMI_JOIN(SHMEMI_EACH_, SHMEMI_COUNT(__VA_ARGS__))(M, __VA_ARGS__)
#define SHMEMI_EACH_1(M, x) M(1, x)
#define SHMEMI_EACH_2(M, x, ...) M(2, x), SHMEMI_EACH_1(M, __VA_ARGS__)
#define SHMEMI_EACH_3(M, x, ...) M(3, x), SHMEMI_EACH_2(M, __VA_ARGS__)
#define SHMEMI_EACH_4(M, x, ...) M(4, x), SHMEMI_EACH_3(M, __VA_ARGS__)
#define SHMEMI_EACH_5(M, x, ...) M(5, x), SHMEMI_EACH_4(M, __VA_ARGS__)
#define SHMEMI_EACH_6(M, x, ...) M(6, x), SHMEMI_EACH_5(M, __VA_ARGS__)
#define SHMEMI_EACH_7(M, x, ...) M(7, x), SHMEMI_EACH_6(M, __VA_ARGS__)
#define SHMEMI_EACH_8(M, x, ...) M(8, x), SHMEMI_EACH_7(M, __VA_ARGS__)
#define SHMEMI_EACH_9(M, x, ...) M(9, x), SHMEMI_EACH_8(M, __VA_ARGS__)
#define SHMEMI_EACH_10(M, x, ...) M(10, x), SHMEMI_EACH_9(M, __VA_ARGS__)
#define SHMEMI_EACH_11(M, x, ...) M(11, x), SHMEMI_EACH_10(M, __VA_ARGS__)
#define SHMEMI_EACH_12(M, x, ...) M(12, x), SHMEMI_EACH_11(M, __VA_ARGS__)
#define SHMEMI_EACH_13(M, x, ...) M(13, x), SHMEMI_EACH_12(M, __VA_ARGS__)
#define SHMEMI_EACH_14(M, x, ...) M(14, x), SHMEMI_EACH_13(M, __VA_ARGS__)
#define SHMEMI_EACH_15(M, x, ...) M(15, x), SHMEMI_EACH_14(M, __VA_ARGS__)
#define SHMEMI_EACH_16(M, x, ...) M(16, x), SHMEMI_EACH_15(M, __VA_ARGS__)

#define SHMEMI_ZERO(T) ((__typeof__(T)){0})
#define SHMEMI_IS_POINTER(T) (__builtin_classify_type(SHMEMI_ZERO(T)) == SHMEMI_KIND_POINTER)
#define SHMEMI_PARAM(k, T)                                                                         \
    {__builtin_classify_type(SHMEMI_ZERO(T)),                                                      \
     __builtin_choose_expr(                                                                        \
         SHMEMI_IS_POINTER(T),                                                                     \
         __extension__ sizeof(                                                                     \
             *__builtin_choose_expr(SHMEMI_IS_POINTER(T), SHMEMI_ZERO(T), (char *)0)),             \
         sizeof(T))}
#define SHMEMI_PASSED(k, T) *(__typeof__(T) const *)args[n_args - k]

#define SHMEMI_KERNEL_1(name)                                                                      \
    void name(void);                                                                               \
    static int shmemi_run_##name(const void *const *args, char *why, size_t size)                  \
    {                                                                                              \
        (void)args, (void)why, (void)size;                                                         \
        name();                                                                                    \
        return 0;                                                                                  \
    }                                                                                              \
    SHMEMI_KERNEL_ADD(name, "", 0, 0)
#define SHMEMI_KERNEL_N(name, ...)                                                                 \
    void name(__VA_ARGS__);                                                                        \
    static int shmemi_run_##name(const void *const *args, char *why, size_t size)                  \
    {                                                                                              \
        enum { n_args = SHMEMI_COUNT(__VA_ARGS__) };                                               \
        (void)why, (void)size;                                                                     \
        name(SHMEMI_EACH(SHMEMI_PASSED, __VA_ARGS__));                                             \
        return 0;                                                                                  \
    }                                                                                              \
    static const shmemx_kernel_param_t shmemi_params_##name[] = {                                  \
        SHMEMI_EACH(SHMEMI_PARAM, __VA_ARGS__)};                                                   \
    SHMEMI_KERNEL_ADD(name, #__VA_ARGS__, shmemi_params_##name, SHMEMI_COUNT(__VA_ARGS__))
#define SHMEMI_KERNEL_ADD(name, types, params, n)                                                  \
    __attribute__((constructor)) static void shmemi_add_##name(void)                               \
    {                                                                                              \
        static shmemx_kernel_t kernel = {0, #name, types, params, n, shmemi_run_##name};           \
        shmemx_kernel_register(&kernel);                                                           \
    }

#define shmemx_kernel_call(group, ...)                                                             \
    SHMEMI_JOIN(SHMEMI_CALL_, SHMEMI_FORM(__VA_ARGS__))(group, __VA_ARGS__)
#define SHMEMI_CALL_1(group, name)                                                                 \
    shmemx_kernel_call_multiple(group, 1, (const shmemx_kernel_call_t[1]){{name, 0, NULL}})
#define SHMEMI_CALL_N(group, name, ...)                                                            \
    shmemx_kernel_call_multiple(                                                                   \
        group, 1,                                                                                  \
        (const shmemx_kernel_call_t[1]){                                                           \
            {name, SHMEMI_COUNT(__VA_ARGS__),                                                      \
             (const shmemx_kernel_arg_t[]){SHMEMI_EACH(SHMEMI_ARGUMENT, __VA_ARGS__)}}})
#define SHMEMI_ARGUMENT(k, x)                                                                      \
    {(__typeof__(x)[1]){x}, sizeof(x), 1, SHMEMI_KIND(x)}

#endif

#endif
