//! The frames of this thread's calls.

use std::ffi::{c_int, c_void};
use std::ops::ControlFlow;

// The unwinder is part of every Rust program.
#[repr(C)]
struct UnwindContext {
    _opaque: [u8; 0],
}

type Trace = extern "C" fn(context: *mut UnwindContext, argument: *mut c_void) -> c_int;

unsafe extern "C" {
    fn _Unwind_Backtrace(trace: Trace, argument: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut UnwindContext) -> usize;
    fn _Unwind_GetCFA(context: *mut UnwindContext) -> usize;
    fn _Unwind_FindEnclosingFunction(address: *mut c_void) -> *mut c_void;
}

/// `_URC_NO_REASON`, `_URC_NORMAL_STOP`.
const GO_ON: c_int = 0;
const STOP: c_int = 4;

/// The frame of a function that has called another one.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// Where the call returns to.
    pub address: usize,
    /// The end of the called function's frame.
    pub end: usize,
}

impl Frame {
    /// First address of the function.
    pub fn function(&self) -> usize {
        // SAFETY: any address may be looked up.
        unsafe { _Unwind_FindEnclosingFunction(self.address as *mut c_void) }.addr()
    }
}

type Visitor<'a> = &'a mut dyn FnMut(Frame) -> ControlFlow<()>;

extern "C" fn visit(context: *mut UnwindContext, argument: *mut c_void) -> c_int {
    // SAFETY: `frames` passes a visitor of its own, which no other thread uses; the unwinder passes a valid context.
    let (visitor, frame) = unsafe {
        let frame = Frame { address: _Unwind_GetIP(context), end: _Unwind_GetCFA(context) };
        (&mut *argument.cast::<Visitor<'_>>(), frame)
    };
    if visitor(frame).is_break() { STOP } else { GO_ON }
}

/// Visits the frames from the innermost on, until the visitor breaks off.
pub fn frames(mut visitor: Visitor<'_>) {
    // SAFETY: `visit` takes a visitor.
    unsafe { _Unwind_Backtrace(visit, (&raw mut visitor).cast()) };
}
