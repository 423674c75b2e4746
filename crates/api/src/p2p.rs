//! Point-to-point synchronisation routines.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};

use ferroshmem_core::constants::CMP_NE;
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::point::{Comparison, Set, SyncVariable, Values, wait};
use ferroshmem_core::wait::progress::after_idle_test;
use ferroshmem_core::wait::record::Condition;
use ferroshmem_core::wait::{POLICY, WaitReason};
use ferroshmem_layout::WaitKind;
use ferroshmem_runtime as runtime;

/// Waits until `condition` gives a result: for conditions that C's comparisons cannot say.
/// `address` is what is waited on, for the report of what each PE waits for.
pub fn wait_for<R>(name: &'static str, address: usize, condition: impl FnMut() -> Option<R>) -> R {
    wait(&runtime::get(name).node.transport, WaitReason::at(WaitKind::Point, name, address), condition)
}

/// Lets another PE run where PEs outnumber cores: for callers that look again and again.
pub fn yield_core() {
    if POLICY.oversubscribed() {
        std::thread::yield_now();
    }
}

/// What the any-forms return if no variable is waited for.
const NONE: usize = usize::MAX;

/// Waits until `*ivar` compares as `cmp` with `value`.
///
/// # Safety
/// For this and all functions below: the arrays are valid for `nelems` elements.
pub unsafe fn wait_until<T: SyncVariable>(name: &'static str, ivar: *mut T, cmp: c_int, value: T) {
    let set = one(name, ivar, cmp, value);
    wait(
        &runtime::get(name).node.transport,
        WaitReason {
            condition: Some(Condition { comparison: cmp, width: T::WIDTH, value: value.word() }),
            ..WaitReason::at(WaitKind::Point, name, ivar.addr())
        },
        || {
            // SAFETY: one variable, which the caller promises to be valid.
            unsafe { set.all() }.then_some(())
        },
    );
}

/// Waits while `*ivar` equals `value`.
///
/// # Safety
/// As [`wait_until`].
pub unsafe fn wait_while<T: SyncVariable>(name: &'static str, ivar: *mut T, value: T) {
    // SAFETY: the caller promises that `ivar` is a symmetric variable that is aligned.
    unsafe { wait_until(name, ivar, CMP_NE, value) }
}

/// Whether `*ivar` compares as `cmp` with `value`.
///
/// # Safety
/// As [`wait_until`].
pub unsafe fn test<T: SyncVariable>(name: &'static str, ivar: *mut T, cmp: c_int, value: T) -> c_int {
    let set = one(name, ivar, cmp, value);
    // SAFETY: as in `wait_until`.
    poll(unsafe { set.all() }.then_some(1)).unwrap_or(0)
}

fn one<T: SyncVariable>(name: &'static str, ivar: *mut T, cmp: c_int, value: T) -> Set<T> {
    set(name, ivar, 1, std::ptr::null(), cmp, Values::One(value))
}

fn set<T: SyncVariable>(
    name: &'static str,
    vars: *mut T,
    n: usize,
    status: *const c_int,
    cmp: c_int,
    values: Values<T>,
) -> Set<T> {
    runtime::get(name);
    let cmp = Comparison::new(name, cmp);
    if n > 0 && vars.is_null() {
        fatal(name, "the variable is a null pointer: give symmetric memory, from shmem_malloc or a global variable");
    }
    Set { vars, n, status, cmp, values }
}

/// The result of a test.
fn poll<R>(result: Option<R>) -> Option<R> {
    if result.is_none() {
        after_idle_test(WaitKind::Point);
    }
    result
}

/// A variable whose condition holds. Where several do, a series of calls returns each of them (standard,
/// `shmem_test_any`), also if other calls are made between: searches begin where multiples of the golden section are,
/// and every second, every third and so on of these come near each variable, too.
///
/// # Safety
/// The arrays of the set are valid.
unsafe fn fair_any<T: SyncVariable>(set: &Set<T>) -> Option<usize> {
    const GOLDEN: usize = 0x9e37_79b9_7f4a_7c15;
    static FOUND: AtomicUsize = AtomicUsize::new(0);

    let number = FOUND.load(Ordering::Relaxed);
    let from = (number.wrapping_mul(GOLDEN) as u128 * set.n as u128) >> usize::BITS;
    // SAFETY: the caller promises that the arrays are valid for `nelems` elements.
    let found = unsafe { set.any(from as usize) };
    if found.is_some() {
        FOUND.store(number.wrapping_add(1), Ordering::Relaxed);
    }
    found
}

/// Waits until `look` gives a result, out of line: with a copy of the wait for each type and form, these routines
/// would be 3 % of the library.
fn wait_out_of_line<R>(name: &'static str, address: usize, mut look: impl FnMut() -> Option<R>) -> R {
    #[inline(never)]
    fn wait_until_true(name: &'static str, address: usize, look: &mut dyn FnMut() -> bool) {
        wait_for(name, address, || look().then_some(()));
    }

    loop {
        let mut result = look();
        if result.is_none() {
            wait_until_true(name, address, &mut || {
                result = look();
                result.is_some()
            });
        }
        if let Some(result) = result {
            return result;
        }
    }
}

/// # Safety
/// The arrays of the set are valid.
unsafe fn wait_all<T: SyncVariable>(name: &'static str, set: Set<T>) {
    wait_out_of_line(name, set.vars.addr(), || {
        // SAFETY: the caller promises that the set's arrays have as many entries as it says.
        unsafe { set.all() }.then_some(())
    });
}

/// # Safety
/// The arrays of the set are valid.
unsafe fn wait_any<T: SyncVariable>(name: &'static str, set: Set<T>) -> usize {
    // SAFETY: the caller promises that the set's arrays have as many entries as it says.
    if unsafe { set.is_empty() } {
        return NONE;
    }
    // SAFETY: the caller promises that the set's arrays have as many entries as it says.
    wait_out_of_line(name, set.vars.addr(), || unsafe { fair_any(&set) })
}

/// # Safety
/// The arrays of the set are valid, `indices` for as many elements.
unsafe fn wait_some<T: SyncVariable>(name: &'static str, set: Set<T>, indices: *mut usize) -> usize {
    // SAFETY: the caller promises that the set's arrays have as many entries as it says.
    if unsafe { set.is_empty() } {
        return 0;
    }
    wait_out_of_line(name, set.vars.addr(), || {
        // SAFETY: the caller promises that the set's arrays have as many entries as it says.
        Some(unsafe { set.some(indices) }).filter(|n| *n > 0)
    })
}

macro_rules! forms {
    ($(($all:ident, $any:ident, $some:ident, $test_all:ident, $test_any:ident, $test_some:ident,
        $value:ident: $value_type:ty, $values:expr)),*) => {$(
        /// Waits until all conditions hold.
        ///
        /// # Safety
        /// As [`wait_until`].
        pub unsafe fn $all<T: SyncVariable>(
            name: &'static str, ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int,
            $value: $value_type,
        ) {
            // SAFETY: the caller promises that the arrays are valid for `nelems` elements.
            unsafe { wait_all(name, set(name, ivars, nelems, status, cmp, $values)) }
        }

        /// Waits until some condition holds; the index of such a variable, `SIZE_MAX` if none
        /// is waited for.
        ///
        /// # Safety
        /// As [`wait_until`].
        pub unsafe fn $any<T: SyncVariable>(
            name: &'static str, ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int,
            $value: $value_type,
        ) -> usize {
            // SAFETY: the caller promises that the arrays are valid for `nelems` elements.
            unsafe { wait_any(name, set(name, ivars, nelems, status, cmp, $values)) }
        }

        /// Waits until some conditions hold; writes the indices of such variables and
        /// returns their number, 0 if none is waited for.
        ///
        /// # Safety
        /// As [`wait_until`]; `indices` is valid for `nelems` elements.
        pub unsafe fn $some<T: SyncVariable>(
            name: &'static str, ivars: *mut T, nelems: usize, indices: *mut usize,
            status: *const c_int, cmp: c_int, $value: $value_type,
        ) -> usize {
            // SAFETY: the caller promises that the arrays are valid for `nelems` elements.
            unsafe { wait_some(name, set(name, ivars, nelems, status, cmp, $values), indices) }
        }

        /// Whether all conditions hold (also if there are none).
        ///
        /// # Safety
        /// As [`wait_until`].
        pub unsafe fn $test_all<T: SyncVariable>(
            name: &'static str, ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int,
            $value: $value_type,
        ) -> c_int {
            let set = set(name, ivars, nelems, status, cmp, $values);
            // SAFETY: the caller promises that the arrays are valid for `nelems` elements.
            poll(unsafe { set.all() }.then_some(1)).unwrap_or(0)
        }

        /// The index of a variable whose condition holds, `SIZE_MAX` if there is none.
        ///
        /// # Safety
        /// As [`wait_until`].
        pub unsafe fn $test_any<T: SyncVariable>(
            name: &'static str, ivars: *mut T, nelems: usize, status: *const c_int, cmp: c_int,
            $value: $value_type,
        ) -> usize {
            let set = set(name, ivars, nelems, status, cmp, $values);
            // SAFETY: the caller promises that the arrays are valid for `nelems` elements.
            poll(unsafe { fair_any(&set) }).unwrap_or(NONE)
        }

        /// Writes the indices of the variables whose condition holds; returns their number.
        ///
        /// # Safety
        /// As [`wait_until`]; `indices` is valid for `nelems` elements.
        pub unsafe fn $test_some<T: SyncVariable>(
            name: &'static str, ivars: *mut T, nelems: usize, indices: *mut usize,
            status: *const c_int, cmp: c_int, $value: $value_type,
        ) -> usize {
            let set = set(name, ivars, nelems, status, cmp, $values);
            // SAFETY: the caller promises that the arrays are valid for `nelems` elements.
            poll(Some(unsafe { set.some(indices) }).filter(|n| *n > 0)).unwrap_or(0)
        }
    )*};
}

forms!(
    (
        wait_until_all, wait_until_any, wait_until_some, test_all, test_any, test_some,
        value: T, Values::One(value)
    ),
    (
        wait_until_all_vector, wait_until_any_vector, wait_until_some_vector, test_all_vector,
        test_any_vector, test_some_vector, values: *const T, Values::Each(values)
    )
);
