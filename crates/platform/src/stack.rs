//! Another stack for a part of a thread: those of signal handlers are small in many programs.

use std::ffi::c_void;

/// Calls `f` on `stack`. Safe in a signal handler, as far as `f` is.
///
/// # Safety
/// `stack` is valid memory that nothing else uses, with room for `f`, which does not unwind.
pub unsafe fn call_on<F: FnOnce()>(stack: *mut [u8], f: F) {
    extern "C" fn run<F: FnOnce()>(f: *mut c_void) {
        // SAFETY: points to the function below, which is taken once.
        if let Some(f) = unsafe { (*f.cast::<Option<F>>()).take() } {
            f();
        }
    }
    let mut f = Some(f);
    let (run, f) = (run::<F> as extern "C" fn(*mut c_void), &raw mut f);
    /// Of a stack, in all calling conventions here.
    const ALIGNMENT: usize = 16;
    let end = stack.cast::<u8>().wrapping_add(stack.len());
    let top = end.map_addr(|end| end / ALIGNMENT * ALIGNMENT);
    // SAFETY: the caller promises that the stack is valid; functions in C preserve the register that keeps the old one.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!(
            "xchg rsp, r12", "call {run}", "mov rsp, r12",
            run = in(reg) run, in("rdi") f, inout("r12") top => _, clobber_abi("C"),
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!(
            "mov x20, sp", "mov sp, {top}", "blr {run}", "mov sp, x20",
            run = in(reg) run, top = in(reg) top, in("x0") f, out("x20") _, clobber_abi("C"),
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "riscv64")]
    unsafe {
        std::arch::asm!(
            "mv s2, sp", "mv sp, {top}", "jalr {run}", "mv sp, s2",
            run = in(reg) run, top = in(reg) top, in("a0") f, out("s2") _, clobber_abi("C"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_runs_on_it_and_comes_back() {
        let mut stack = vec![0_u8; (64 << 10) + 1];
        let range = stack.as_ptr_range();
        let mut found = None;
        let before = crate::Registers::here().sp;
        // SAFETY: the stack is this test's, and the function needs little and does not unwind.
        unsafe { call_on(&raw mut stack[..], || found = Some(crate::Registers::here().sp)) };
        assert_eq!(crate::Registers::here().sp, before);
        assert!(range.contains(&(found.unwrap() as usize as *const u8)));
    }
}
