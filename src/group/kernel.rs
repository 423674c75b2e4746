//! Kernels: functions that PEs of another job call by name.
#![allow(unsafe_code)]

use std::any::{Any, type_name};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use ferroshmem_api::kernels::{self, ArrayArgument, Call, kind};

use super::Group;
use crate::error::GroupFailed;
use crate::{Plain, World};

/// A function that the PEs which have started this program call by its name, with parameters `P`; made by
/// [`kernel!`](crate::kernel). (Extension: `SHMEMX_KERNEL`)
pub struct Kernel<P> {
    name: &'static CStr,
    params: PhantomData<fn(P)>,
}

impl<P> fmt::Debug for Kernel<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kernel").field(&self.name).finish()
    }
}

/// Where a kernel runs: on a PE of this job, for the group that has called it.
#[derive(Debug)]
pub struct KernelContext<'a> {
    world: &'a World,
    parents: &'a Group<'a>,
}

impl<'a> KernelContext<'a> {
    /// The PEs of this job, all of which run the kernel.
    ///
    /// As in the example of [`Group::call`].
    pub fn world(&self) -> &'a World {
        self.world
    }

    /// The PEs that have called it.
    ///
    /// ```
    /// use ferroshmem::{Atomics, KernelContext, kernel};
    ///
    /// kernel! {
    ///     fn add_length(context: &KernelContext<'_>, places: &[u64]) {
    ///         let parents = context.parents();
    ///         let sum = parents.import::<Atomics<u64>>("sum", 1).expect("they have exported it");
    ///         let first = parents.pe(0).expect("there is at least one");
    ///         sum.add(first, 0, places.len() as u64).expect("it has one element");
    ///     }
    /// }
    /// ```
    pub fn parents(&self) -> &'a Group<'a> {
        self.parents
    }
}

/// Calls of kernels that are under way, or complete. It may be dropped. (Extension: `shmemx_request_t`)
#[derive(Debug, Clone, Copy)]
pub struct Request<'g> {
    handle: usize,
    /// The group had failed when it was called.
    has_failed: bool,
    group: PhantomData<&'g ()>,
}

impl Request<'_> {
    /// Whether all PEs of the group have run the kernels of this and all earlier calls. (Extension:
    /// `shmemx_kernel_test`)
    ///
    /// As in the example of [`Group::call_multiple`].
    ///
    /// # Errors
    /// As of [`wait`](Self::wait).
    pub fn is_complete(&self) -> Result<bool, GroupFailed> {
        match kernels::test("Request::is_complete", self.handle) {
            tested @ 0..=1 if !self.has_failed => Ok(tested == 1),
            _ => Err(GroupFailed),
        }
    }

    /// Waits until they have. What the kernels have put is complete then. (Extension: `shmemx_kernel_wait`)
    ///
    /// As in the example of [`Group::call`].
    ///
    /// # Errors
    /// If the group has failed, and not all of them have.
    pub fn wait(&self) -> Result<(), GroupFailed> {
        match self.has_failed || kernels::wait("Request::wait", self.handle) != 0 {
            true => Err(GroupFailed),
            false => Ok(()),
        }
    }
}

/// Calls that [`Group::call_multiple`] makes as one message.
#[derive(Debug, Default)]
pub struct Calls<'a> {
    /// The kernels, and how many arguments each has.
    names: Vec<(&'static CStr, usize)>,
    arguments: Vec<kernels::Argument>,
    /// The values among the arguments.
    values: Vec<Box<[u8]>>,
    arrays: PhantomData<&'a ()>,
}

impl<'a> Calls<'a> {
    /// None.
    ///
    /// As in the example of [`Group::call_multiple`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a call.
    ///
    /// As in the example of [`Group::call_multiple`].
    pub fn add<P: Parameters>(&mut self, kernel: fn() -> Kernel<P>, args: P::Given<'a>) {
        let first = self.arguments.len();
        P::arguments(&args, &mut |argument, is_value| {
            let mut argument = argument.0;
            if is_value {
                // SAFETY: an argument that is a value is one of so many initialised bytes.
                let bytes = unsafe { std::slice::from_raw_parts(argument.addr.cast(), argument.size) };
                let value: Box<[u8]> = Box::from(bytes);
                argument.addr = value.as_ptr().cast();
                self.values.push(value);
            }
            self.arguments.push(argument);
        });
        self.names.push((kernel().name, self.arguments.len() - first));
    }
}

/// A parameter that is copied: a value of a plain type.
#[derive(Debug)]
pub struct Value<T>(PhantomData<T>);

/// A parameter that is a slice of a plain type.
#[derive(Debug)]
pub struct Array<T>(PhantomData<T>);

mod sealed {
    use super::{c_void, kernels};

    /// What is said of a parameter to the other group.
    #[derive(Debug)]
    pub struct Parameter(pub(super) kernels::Parameter);

    /// What is sent of an argument.
    #[derive(Debug)]
    pub struct Argument(pub(super) kernels::Argument);

    /// A parameter of a kernel.
    pub trait One {
        /// What a call gives and the kernel gets.
        type Given<'a>;
        /// What is said of it to the other group.
        fn parameter() -> Parameter;
        /// Its type, for messages.
        fn name() -> String;
        /// What is sent, and whether it is a value.
        fn argument(given: &Self::Given<'_>) -> (Argument, bool);
        /// What was sent.
        ///
        /// # Safety
        /// `at` is where the library has put the argument, which stays for `'a`.
        unsafe fn read<'a>(at: *const c_void) -> Self::Given<'a>;
    }
}
use sealed::{Argument, One, Parameter};

/// What a plain type is for the other group, which may be a program in C.
fn kind_of<T>() -> c_int {
    match type_name::<T>() {
        "f32" | "f64" => kind::REAL,
        "i8" | "u8" | "i16" | "u16" | "i32" | "u32" | "i64" | "u64" | "i128" | "u128" | "isize" | "usize" => {
            kind::INTEGER
        }
        _ => kind::OBJECT,
    }
}

impl<T: Plain> One for Value<T> {
    type Given<'a> = T;

    fn parameter() -> Parameter {
        Parameter(kernels::Parameter { kind: kind_of::<T>(), size: size_of::<T>() })
    }

    fn name() -> String {
        type_name::<T>().to_owned()
    }

    fn argument(given: &T) -> (Argument, bool) {
        let argument = kernels::Argument {
            addr: ptr::from_ref(given).cast(),
            size: size_of::<T>(),
            nelems: 1,
            kind: kind_of::<T>(),
        };
        (Argument(argument), true)
    }

    unsafe fn read<'a>(at: *const c_void) -> Self::Given<'a> {
        // SAFETY: the library has put so many bytes there, of which any make a value.
        unsafe { at.cast::<T>().read_unaligned() }
    }
}

impl<T: Plain> One for Array<T> {
    type Given<'a> = &'a [T];

    fn parameter() -> Parameter {
        Parameter(kernels::Parameter { kind: kind::POINTER, size: size_of::<T>() })
    }

    fn name() -> String {
        format!("&[{}]", type_name::<T>())
    }

    fn argument(given: &&[T]) -> (Argument, bool) {
        let argument = kernels::Argument {
            addr: given.as_ptr().cast(),
            size: size_of::<T>(),
            nelems: given.len(),
            kind: kind::ARRAY,
        };
        (Argument(argument), false)
    }

    unsafe fn read<'a>(at: *const c_void) -> Self::Given<'a> {
        const { assert!(size_of::<T>() > 0 && align_of::<T>() <= 64) };
        // SAFETY: the library has put the place and the length of an array there, which is aligned to 64 bytes,
        // and which no PE changes before the kernel returns; any bytes make values.
        unsafe {
            let ArrayArgument { at, bytes } = at.cast::<ArrayArgument>().read();
            std::slice::from_raw_parts(at.cast(), bytes / size_of::<T>())
        }
    }
}

/// The parameters of a kernel: up to 8 that are [`Value`] or [`Array`].
pub trait Parameters {
    /// The arguments.
    type Given<'a>;
    #[doc(hidden)]
    fn parameters() -> Vec<(Parameter, String)>;
    #[doc(hidden)]
    fn arguments(given: &Self::Given<'_>, each: &mut dyn FnMut(Argument, bool));
    /// # Safety
    /// `args` are where the library has put the arguments, which stay for `'a`.
    #[doc(hidden)]
    unsafe fn read<'a>(args: *const *const c_void) -> Self::Given<'a>;
}

macro_rules! tuples {
    ($(($($p:ident $i:tt)*))*) => {$(
        impl<$($p: One),*> Parameters for ($($p,)*) {
            type Given<'a> = ($($p::Given<'a>,)*);

            fn parameters() -> Vec<(Parameter, String)> {
                vec![$(($p::parameter(), $p::name())),*]
            }

            #[allow(unused_variables, reason = "there may be no parameters")]
            fn arguments(given: &Self::Given<'_>, each: &mut dyn FnMut(Argument, bool)) {
                $({
                    let (argument, is_value) = $p::argument(&given.$i);
                    each(argument, is_value);
                })*
            }

            #[allow(unused_variables, reason = "there may be no parameters")]
            #[allow(clippy::unused_unit, reason = "there may be no parameters")]
            unsafe fn read<'a>(args: *const *const c_void) -> Self::Given<'a> {
                // SAFETY: the caller promises that `args` points to arguments of these types.
                ($(unsafe { $p::read(*args.add($i)) },)*)
            }
        }
    )*};
}

tuples! {
    ()
    (A 0)
    (A 0 B 1)
    (A 0 B 1 C 2)
    (A 0 B 1 C 2 D 3)
    (A 0 B 1 C 2 D 3 E 4)
    (A 0 B 1 C 2 D 3 E 4 F 5)
    (A 0 B 1 C 2 D 3 E 4 F 5 G 6)
    (A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7)
}

impl Group<'_> {
    /// Runs a kernel on all PEs of this group, which this team has started. Collective over the team; what its first
    /// member gives counts. Returns without waiting for the kernel; calls run one after the other, in their order.
    /// (Extension: `shmemx_kernel_call`)
    ///
    /// A group whose programs do not have the kernel ends the job, with a line that says what they have.
    ///
    /// ```no_run
    /// # use ferroshmem::{kernel, Command, KernelContext, World};
    /// kernel! {
    ///     fn print(context: &KernelContext<'_>, factor: f64, values: &[u32]) {
    ///         let me = context.world().my_pe();
    ///         println!("{me}: {factor} times {values:?}");
    ///     }
    /// }
    ///
    /// # fn main() -> Result<(), ferroshmem::Error> {
    /// let world = World::init()?;
    /// if let Some(parents) = world.parents() {
    ///     parents.serve(&world);
    ///     return Ok(());
    /// }
    /// let this = std::env::current_exe().expect("a program that runs has a file");
    /// let children = world.spawn(&Command::new(this).pes(3))?;
    /// let request = children.call(print, (2.5, &[1, 2, 3]));
    /// request.wait()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn call<P: Parameters>(&self, kernel: fn() -> Kernel<P>, args: P::Given<'_>) -> Request<'_> {
        let mut arguments = Vec::new();
        P::arguments(&args, &mut |argument, _| arguments.push(argument.0));
        let call = Call { name: kernel().name.as_ptr(), n_args: arguments.len(), args: arguments.as_ptr() };
        self.call_all("Group::call", &[call])
    }

    /// Makes any number of calls as one message. (Extension: `shmemx_kernel_call_multiple`)
    ///
    /// ```no_run
    /// # use ferroshmem::{Calls, Command, KernelContext};
    /// # let world = ferroshmem::World::init()?;
    /// # ferroshmem::kernel! { fn scale(context: &KernelContext<'_>, factor: f64) {} }
    /// # ferroshmem::kernel! { fn store(context: &KernelContext<'_>, name: u32, at: &[u64]) {} }
    /// # let workers = world.spawn(&Command::new("worker").pes(4))?;
    /// let mut calls = Calls::new();
    /// calls.add(scale, (2.0,));
    /// calls.add(store, (1, &[3, 5]));
    /// let request = workers.call_multiple(&calls);
    /// while !request.is_complete()? {
    ///     // compute
    /// }
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn call_multiple(&self, calls: &Calls<'_>) -> Request<'_> {
        let mut rest = &calls.arguments[..];
        let all = calls.names.iter().map(|(name, n)| {
            let (args, after) = rest.split_at(*n);
            rest = after;
            Call { name: name.as_ptr(), n_args: *n, args: args.as_ptr() }
        });
        let all: Vec<_> = all.collect();
        self.call_all("Group::call_multiple", &all)
    }

    fn call_all(&self, name: &'static str, calls: &[Call]) -> Request<'_> {
        // SAFETY: the calls and what they point to live until the routine returns.
        let handle = unsafe { kernels::call_multiple(name, self.handle, calls.len(), calls.as_ptr()) };
        Request { has_failed: handle == 0, handle, group: PhantomData }
    }

    /// Runs the kernels that this group, which has started this job, calls, until it ends the group; their number.
    /// Sleeps while none is called. (Extension: `shmemx_kernel_serve`)
    ///
    /// As in the example of [`call`](Self::call).
    pub fn serve(&self, world: &World) -> usize {
        let context = KernelContext { world, parents: self };
        let before = CONTEXT.replace(ptr::from_ref(&context).cast());
        let calls = kernels::serve("Group::serve");
        CONTEXT.set(before);
        calls.try_into().unwrap_or(0)
    }
}

thread_local! {
    /// The context of the kernels that this thread runs, while it does.
    static CONTEXT: Cell<*const KernelContext<'static>> = const { Cell::new(ptr::null()) };
}

/// For [`kernel!`](crate::kernel) alone.
#[doc(hidden)]
pub mod private {
    use super::*;

    pub const fn kernel<P>(name: &'static CStr) -> Kernel<P> {
        Kernel { name, params: PhantomData }
    }

    /// # Safety
    /// `run` passes its arguments to [`run`] for the same parameters.
    pub unsafe fn register<P: Parameters>(name: &'static CStr, run: kernels::Run) {
        let params = P::parameters().into_iter().map(|(p, name)| (p.0, name));
        let (params, types): (Vec<_>, Vec<_>) = params.unzip();
        let types = std::ffi::CString::new(types.join(", ")).unwrap_or_default();
        let types = Box::leak(types.into_boxed_c_str());
        // SAFETY: the caller promises that `run` takes such arguments.
        let kernel = unsafe { kernels::Kernel::new(name, types, params.leak(), run) };
        // SAFETY: it is never freed, and registered once.
        unsafe { kernels::register(Box::leak(Box::new(kernel))) };
    }

    /// # Safety
    /// The library calls a kernel with parameters `P` by these arguments.
    pub unsafe fn run<P: Parameters>(
        args: *const *const c_void,
        why: *mut c_char,
        size: usize,
        body: impl FnOnce(&KernelContext<'_>, P::Given<'_>),
    ) -> c_int {
        // SAFETY: `Group::serve`, in which this runs, keeps it until it returns.
        let Some(context) = (unsafe { CONTEXT.get().as_ref() }) else {
            return write_reason(why, size, "it runs outside of Group::serve");
        };
        // SAFETY: the caller promises that `args` points to arguments of these types.
        let args = unsafe { P::read(args) };
        let result = catch_unwind(AssertUnwindSafe(|| body(context, args)));
        result.map_or_else(|panic| write_reason(why, size, &message(&*panic)), |()| 0)
    }

    fn message(panic: &(dyn Any + Send)) -> String {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        format!("panic: {}", text.unwrap_or("no message"))
    }

    fn write_reason(why: *mut c_char, size: usize, text: &str) -> c_int {
        let n = text.len().min(size - 1);
        // SAFETY: the library has room for `size` bytes.
        unsafe {
            why.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), n);
            why.add(n).write(0);
        }
        1
    }
}

/// Declares a kernel: a function that the PEs which have started a program call on it by name
/// ([`Group::call`](crate::Group::call)). Its first parameter is the [`KernelContext`](crate::KernelContext), the
/// others are [plain](crate::Plain) values and slices of them, at most 8. (Extension: `SHMEMX_KERNEL`)
///
/// It is known by its name in all programs that link it, and in those in C, whose kernels it can stand for.
///
/// ```
/// use ferroshmem::{KernelContext, kernel};
///
/// kernel! {
///     /// Prints how many places there are.
///     pub fn count(context: &KernelContext<'_>, step: u32, places: &[u64]) {
///         println!("{} in step {step}: {}", context.world().my_pe(), places.len());
///     }
/// }
/// ```
#[macro_export]
macro_rules! kernel {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($context:ident: $c:ty $(, $($params:tt)*)?) $body:block) => {
        $crate::kernel!(@ [$(#[$meta])* $vis $name $context $c, $body] [] [$($($params)*)?]);
    };
    (@ $head:tt [$($done:tt)*] [$p:ident: &[$t:ty] $(, $($rest:tt)*)?]) => {
        $crate::kernel!(@ $head [$($done)* ($p, $crate::kernels::Array<$t>, &[$t])] [$($($rest)*)?]);
    };
    (@ $head:tt [$($done:tt)*] [$p:ident: $t:ty $(, $($rest:tt)*)?]) => {
        $crate::kernel!(@ $head [$($done)* ($p, $crate::kernels::Value<$t>, $t)] [$($($rest)*)?]);
    };
    (@ [$(#[$meta:meta])* $vis:vis $name:ident $context:ident $c:ty, $body:block]
       [$(($p:ident, $param:ty, $t:ty))*] []) => {
        $(#[$meta])*
        #[allow(dead_code, reason = "another program may be the one that calls it")]
        #[allow(unsafe_code, reason = "nothing else makes it known before `main`")]
        $vis fn $name() -> $crate::kernels::Kernel<($($param,)*)> {
            fn body($context: $c $(, $p: $t)*) $body

            extern "C" fn run(
                args: *const *const ::std::ffi::c_void,
                why: *mut ::std::ffi::c_char,
                size: usize,
            ) -> ::std::ffi::c_int {
                // SAFETY: the library alone calls it, as a kernel of these parameters.
                unsafe {
                    $crate::kernels::private::run::<($($param,)*)>(args, why, size, |context, args| {
                        let ($($p,)*) = args;
                        body(context $(, $p)*);
                    })
                }
            }

            const NAME: &::std::ffi::CStr =
                match ::std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("an identifier has no NUL byte"),
                };

            extern "C" fn register() {
                // SAFETY: `run` is for these parameters.
                unsafe { $crate::kernels::private::register::<($($param,)*)>(NAME, run) }
            }

            // SAFETY: the system calls the functions of this section before `main`.
            #[used]
            #[unsafe(link_section = ".init_array")]
            static REGISTER: extern "C" fn() = register;

            $crate::kernels::private::kernel(NAME)
        }
    };
}
