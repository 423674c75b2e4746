//! Where a thread is: what its stack is unwound from.

use std::ffi::c_void;

/// The registers that say so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    /// The next instruction.
    pub pc: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The frame pointer, 0 if it is not known.
    pub fp: u64,
    /// The return address of functions that have not saved it (aarch64, riscv64), 0 if it is not known.
    pub lr: u64,
}

impl Registers {
    /// Where this thread is.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn here() -> Self {
        let (pc, sp, fp): (u64, u64, u64);
        // SAFETY: reads registers alone.
        unsafe {
            std::arch::asm!(
                "lea {pc}, [rip]", "mov {sp}, rsp", "mov {fp}, rbp",
                pc = out(reg) pc, sp = out(reg) sp, fp = out(reg) fp, options(nomem, nostack, preserves_flags),
            );
        }
        Self { pc, sp, fp, lr: 0 }
    }

    /// Where this thread is.
    #[cfg(target_arch = "aarch64")]
    #[inline(always)]
    pub fn here() -> Self {
        let (pc, sp, fp, lr): (u64, u64, u64, u64);
        // SAFETY: reads registers alone.
        unsafe {
            std::arch::asm!(
                "adr {pc}, .", "mov {sp}, sp", "mov {fp}, x29", "mov {lr}, x30",
                pc = out(reg) pc, sp = out(reg) sp, fp = out(reg) fp, lr = out(reg) lr,
                options(nomem, nostack, preserves_flags),
            );
        }
        Self { pc, sp, fp, lr }
    }

    /// Where this thread is.
    #[cfg(target_arch = "riscv64")]
    #[inline(always)]
    pub fn here() -> Self {
        let (pc, sp, fp, lr): (u64, u64, u64, u64);
        // SAFETY: reads registers alone.
        unsafe {
            std::arch::asm!(
                "auipc {pc}, 0", "mv {sp}, sp", "mv {fp}, s0", "mv {lr}, ra",
                pc = out(reg) pc, sp = out(reg) sp, fp = out(reg) fp, lr = out(reg) lr,
                options(nomem, nostack, preserves_flags),
            );
        }
        Self { pc, sp, fp, lr }
    }

    /// Where the thread is that a signal has interrupted.
    ///
    /// # Safety
    /// `context` is the third argument of a handler of this thread, which has not returned.
    pub unsafe fn interrupted(context: *mut c_void) -> Self {
        // SAFETY: the caller promises that the context is live.
        let context = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
        #[cfg(target_arch = "x86_64")]
        {
            let word = |register: libc::c_int| context.gregs[register as usize] as u64;
            Self { pc: word(libc::REG_RIP), sp: word(libc::REG_RSP), fp: word(libc::REG_RBP), lr: 0 }
        }
        #[cfg(target_arch = "aarch64")]
        {
            Self { pc: context.pc, sp: context.sp, fp: context.regs[29], lr: context.regs[30] }
        }
        #[cfg(target_arch = "riscv64")]
        {
            let [pc, lr, sp, fp] = [0, libc::REG_RA, libc::REG_SP, libc::REG_S0].map(|r| context.__gregs[r as usize]);
            Self { pc, sp, fp, lr }
        }
    }

    /// Whether the access that a fault has interrupted was a write, as far as the processor says.
    ///
    /// # Safety
    /// As for [`Registers::interrupted`].
    pub unsafe fn is_write(context: *mut c_void) -> Option<bool> {
        // SAFETY: the caller promises that the context is live.
        let context = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
        #[cfg(target_arch = "x86_64")]
        {
            const PAGE_FAULT: i64 = 14;
            let word = |register: libc::c_int| context.gregs[register as usize];
            (word(libc::REG_TRAPNO) == PAGE_FAULT).then(|| word(libc::REG_ERR) & 2 != 0)
        }
        #[cfg(target_arch = "aarch64")]
        {
            /// Bytes of the records at the end of the context: each begins with its kind and its size.
            const RECORDS: usize = 4096;
            /// The record of the register that says what has happened.
            const ESR: u32 = 0x4553_5201;
            const DATA_ABORT: u64 = 0x24;
            // SAFETY: the kernel ends the records by one without a kind.
            unsafe {
                let mut record = std::ptr::from_ref(context).add(1).byte_sub(RECORDS).cast::<u32>();
                while ![0, ESR].contains(&*record) {
                    record = record.byte_add(*record.add(1) as usize);
                }
                let esr = record.add(2).cast::<u64>().read();
                (*record == ESR && esr >> 26 & 0x3f == DATA_ABORT).then_some(esr >> 6 & 1 != 0)
            }
        }
        #[cfg(target_arch = "riscv64")]
        {
            let _ = context;
            None
        }
    }
}
