//! Point-to-point synchronisation: waiting for and testing variables of one's own memory
//! (standard, "Point-To-Point Synchronization Routines").

use std::ffi::c_int;
use std::sync::atomic::{
    AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

use crate::constants::{CMP_EQ, CMP_GE, CMP_GT, CMP_LE, CMP_LT, CMP_NE};
use crate::failure::fatal::fatal;
use crate::transport::Transport;
use crate::wait::{WaitReason, Waiter, signals};
use ferroshmem_layout::SIGNED;

/// An integer type that PEs synchronise on.
pub trait SyncVariable: Copy + PartialOrd + 'static {
    /// Reads a variable that others change, with acquire order.
    ///
    /// # Safety
    /// The pointer is valid and aligned.
    unsafe fn load(at: *const Self) -> Self;
    /// Its bytes, and whether it has a sign, as wait records show it.
    const WIDTH: u32;
    /// The value, extended.
    fn word(self) -> u64;
}

macro_rules! words {
    ($($t:ty = $atomic:ty),*) => {$(
        impl SyncVariable for $t {
            #[inline]
            unsafe fn load(at: *const Self) -> Self {
                // SAFETY: the caller promises a valid, aligned variable; the atomic has the same layout.
                unsafe { <$atomic>::from_ptr(at.cast_mut()) }.load(Ordering::Acquire)
            }
            const WIDTH: u32 = size_of::<$t>() as u32 | if <$t>::MIN == 0 { 0 } else { SIGNED };
            #[inline]
            // One body for types with and without sign.
            #[allow(clippy::cast_lossless)]
            fn word(self) -> u64 {
                self as u64
            }
        }
    )*};
}

words!(
    i16 = AtomicI16,
    u16 = AtomicU16,
    i32 = AtomicI32,
    u32 = AtomicU32,
    i64 = AtomicI64,
    u64 = AtomicU64,
    isize = AtomicIsize,
    usize = AtomicUsize
);

/// A comparison, one of `SHMEM_CMP_*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Greater.
    Greater,
    /// Greater or equal.
    GreaterEqual,
    /// Less.
    Less,
    /// Less or equal.
    LessEqual,
}

impl Comparison {
    /// From the C constant; another value ends the job.
    #[inline]
    pub fn new(name: &str, cmp: c_int) -> Self {
        match cmp {
            CMP_EQ => Self::Equal,
            CMP_NE => Self::NotEqual,
            CMP_GT => Self::Greater,
            CMP_GE => Self::GreaterEqual,
            CMP_LT => Self::Less,
            CMP_LE => Self::LessEqual,
            _ => {
                fatal(name, format_args!("cmp = {cmp} is no comparison: give one of SHMEM_CMP_EQ, NE, GT, GE, LT, LE"))
            }
        }
    }

    /// Whether `a` compares so to `b`.
    #[inline]
    pub fn holds<T: PartialOrd>(self, a: T, b: T) -> bool {
        match self {
            Self::Equal => a == b,
            Self::NotEqual => a != b,
            Self::Greater => a > b,
            Self::GreaterEqual => a >= b,
            Self::Less => a < b,
            Self::LessEqual => a <= b,
        }
    }
}

/// The values to compare with: one for all variables, or one each.
#[derive(Debug, Clone, Copy)]
pub enum Values<T> {
    /// The same for all.
    One(T),
    /// One for each variable.
    Each(*const T),
}

impl<T: Copy> Values<T> {
    /// # Safety
    /// `i` is within the array given.
    #[inline]
    unsafe fn at(&self, i: usize) -> T {
        match self {
            Self::One(value) => *value,
            // SAFETY: the caller promises that `i` is within the array.
            Self::Each(values) => unsafe { *values.add(i) },
        }
    }
}

/// A set of variables with the condition they are waited for.
#[derive(Debug, Clone, Copy)]
pub struct Set<T> {
    /// The variables.
    pub vars: *const T,
    /// How many.
    pub n: usize,
    /// Non-zero entries leave a variable out; null leaves none out.
    pub status: *const c_int,
    /// The comparison.
    pub cmp: Comparison,
    /// What to compare with.
    pub values: Values<T>,
}

impl<T: SyncVariable> Set<T> {
    /// # Safety
    /// `i < n`, and the arrays are valid.
    #[inline]
    unsafe fn included(&self, i: usize) -> bool {
        // SAFETY: i < n, for which the caller promises valid arrays.
        self.status.is_null() || unsafe { *self.status.add(i) } == 0
    }

    /// # Safety
    /// `i < n`, and the arrays are valid.
    #[inline]
    unsafe fn holds(&self, i: usize) -> bool {
        // SAFETY: i < n, for which the caller promises valid arrays.
        unsafe { self.cmp.holds(T::load(self.vars.add(i)), self.values.at(i)) }
    }

    /// Whether no variable is waited for.
    ///
    /// # Safety
    /// The arrays are valid.
    pub unsafe fn is_empty(&self) -> bool {
        // SAFETY: i < n, for which the caller promises valid arrays.
        !(0..self.n).any(|i| unsafe { self.included(i) })
    }

    /// The first variable at or after `from`, going round, whose condition holds. `from` is less than `n`, or both are
    /// 0.
    ///
    /// # Safety
    /// The arrays are valid.
    pub unsafe fn any(&self, from: usize) -> Option<usize> {
        // SAFETY: i < n, for which the caller promises valid arrays.
        (from..self.n).chain(0..from).find(|i| unsafe { self.included(*i) && self.holds(*i) })
    }

    /// Whether all conditions hold.
    ///
    /// # Safety
    /// The arrays are valid.
    pub unsafe fn all(&self) -> bool {
        // SAFETY: i < n, for which the caller promises valid arrays.
        (0..self.n).all(|i| unsafe { !self.included(i) || self.holds(i) })
    }

    /// Writes the indices whose condition holds; how many.
    ///
    /// # Safety
    /// The arrays are valid, `indices` for n elements.
    pub unsafe fn some(&self, indices: *mut usize) -> usize {
        let mut found = 0;
        for i in 0..self.n {
            // SAFETY: i < n, for which the caller promises valid arrays; found <= i.
            unsafe {
                if self.included(i) && self.holds(i) {
                    *indices.add(found) = i;
                    found += 1;
                }
            }
        }
        found
    }
}

/// Polls until `condition` gives a result. `what` is the wait for the report, of a variable at its address.
#[inline]
pub fn wait<R>(transport: &Transport, what: WaitReason<'static>, mut condition: impl FnMut() -> Option<R>) -> R {
    if let Some(result) = condition() {
        return result;
    }
    if transport.has_remote() {
        // Stores of this node's PEs are not notified.
        return transport.wait(&what, signals::UNNOTIFIED, condition);
    }
    let mut waiter = Waiter::new(what);
    let nothing = 0;
    let at = match what.address {
        0 => &raw const nothing,
        address => std::ptr::with_exposed_provenance(address),
    };
    loop {
        let mut result = condition();
        if result.is_none() {
            // SAFETY: the condition reads there.
            unsafe {
                waiter.pause_at(at, || {
                    result = condition();
                    result.is_none()
                });
            }
        }
        if let Some(result) = result {
            return result;
        }
    }
}
