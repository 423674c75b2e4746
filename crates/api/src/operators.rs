//! Operators that the program makes for reductions whose operator is an argument (extension).

use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::{Mutex, MutexGuard};

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_runtime as runtime;
use ferroshmem_simd::{CombineFn, Operator};

/// The first number of an operator of the program.
pub const FIRST: c_int = 0x100;

/// The operators of the program.
struct Operators {
    /// Function, and whether operands may be swapped, by number.
    made: Vec<Option<(CombineFn, bool)>>,
    /// Those that calls have used, each for elements of one size. Calls that go on use them, so none is ever removed.
    used: Vec<&'static Operator>,
}

static OPERATORS: Mutex<Operators> = Mutex::new(Operators { made: Vec::new(), used: Vec::new() });

fn operators() -> MutexGuard<'static, Operators> {
    OPERATORS.lock().unwrap_or_else(|e| e.into_inner())
}

impl Operators {
    /// The place of an operator.
    fn place(&mut self, op: c_int) -> Option<&mut Option<(CombineFn, bool)>> {
        usize::try_from(op.wrapping_sub(FIRST)).ok().and_then(|i| self.made.get_mut(i)).filter(|made| made.is_some())
    }
}

/// Makes an operator of a function of the program; always 0.
///
/// # Safety
/// `function` combines `n` elements of `a` and `b` in `dest`; `op` can be written.
pub unsafe fn create(name: &'static str, function: *mut c_void, commutative: c_int, op: *mut c_int) -> c_int {
    runtime::get(name);
    if function.is_null() {
        fatal(name, "function is a null pointer: give the function that combines elements");
    }
    // SAFETY: the caller promises such a function.
    let function = unsafe { transmute::<*mut c_void, CombineFn>(function) };
    let made = &mut operators().made;
    let free = made.iter().position(Option::is_none).unwrap_or(made.len());
    if free == made.len() {
        made.push(None);
    }
    made[free] = Some((function, commutative != 0));
    // SAFETY: the caller promises that `op` can be written.
    unsafe { op.write(FIRST + free as c_int) };
    0
}

/// Frees an operator; calls under way go on.
///
/// # Safety
/// `op` is the variable of an operator.
pub unsafe fn free(name: &'static str, op: *mut c_int) {
    // SAFETY: the caller promises that `op` is the variable of an operator.
    let op = unsafe { &mut *op };
    match operators().place(*op) {
        Some(made) => *made = None,
        None => fatal(name, format_args!("op = {op:#x} is no operator of this program: give one of shmemx_op_create")),
    }
    *op = -1;
}

/// The operator of the program for elements of `size` bytes; None if there is none of this number, or for so many
/// bytes.
pub fn of_program(op: c_int, size: usize) -> Option<&'static Operator> {
    let mut all = operators();
    let (function, commutes) = (*all.place(op)?)?;
    if size == 0 || size > Operator::LARGEST {
        return None;
    }
    let is_same =
        |used: &&&Operator| ptr::fn_addr_eq(used.combine, function) && used.size() == size && used.commutes == commutes;
    if let Some(used) = all.used.iter().find(is_same) {
        return Some(used);
    }
    let new = Box::leak(Box::new(Operator::by(function, size, false, commutes)));
    all.used.push(new);
    Some(new)
}
