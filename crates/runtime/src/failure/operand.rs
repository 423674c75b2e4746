//! The memory operand of the instruction at a fault, where the kernel does not give the address: x86
//! processors report none past the end of the address space.

use std::ffi::c_void;

/// The address that the interrupted instruction accesses, if it is one that stores or loads by a usual form
/// of operand.
///
/// # Safety
/// `context` is the third argument of the handler of a fault of this thread, which has not returned.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn address(context: *mut c_void) -> Option<usize> {
    // SAFETY: the caller promises that the context is live.
    let words = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let word = |register: libc::c_int| words[register as usize] as usize;
    // In the order of their numbers in instructions.
    let registers = [
        libc::REG_RAX,
        libc::REG_RCX,
        libc::REG_RDX,
        libc::REG_RBX,
        libc::REG_RSP,
        libc::REG_RBP,
        libc::REG_RSI,
        libc::REG_RDI,
        libc::REG_R8,
        libc::REG_R9,
        libc::REG_R10,
        libc::REG_R11,
        libc::REG_R12,
        libc::REG_R13,
        libc::REG_R14,
        libc::REG_R15,
    ];
    let registers = registers.map(word);
    let instruction = word(libc::REG_RIP) as *const u8;
    // SAFETY: the processor has fetched the instruction, so all of its bytes are readable.
    let byte = |i: usize| unsafe { instruction.add(i).read() };
    operand(byte, &registers)
}

/// None: processors of other kinds give the address of every fault.
///
/// # Safety
/// None is needed.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn address(_: *mut c_void) -> Option<usize> {
    None
}

/// The address of the memory operand of the instruction with these bytes (Intel, "Software Developer's
/// Manual", volume 2, chapter 2). None if it has none, or if that is not relative to registers.
#[cfg(any(target_arch = "x86_64", test))]
fn operand(byte: impl Fn(usize) -> u8, registers: &[usize; 16]) -> Option<usize> {
    const LEGACY: [u8; 8] = [0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x2e, 0x36, 0x3e];

    let mut at = 0;
    while LEGACY.contains(&byte(at)) {
        at += 1;
    }
    // The upper bits of the numbers of index and base.
    let (mut index_bit, mut base_bit) = (0, 0);
    match byte(at) {
        rex @ 0x40..=0x4f => {
            (index_bit, base_bit) = (rex >> 1 & 1, rex & 1);
            at += 1;
            if byte(at) == 0x0f {
                at += if matches!(byte(at + 1), 0x38 | 0x3a) { 2 } else { 1 };
            }
            at += 1;
        }
        0x0f => at += if matches!(byte(at + 1), 0x38 | 0x3a) { 3 } else { 2 },
        // Vector instructions, with inverted bits.
        0xc5 => at += 3,
        lead @ (0xc4 | 0x62) => {
            (index_bit, base_bit) = (!byte(at + 1) >> 6 & 1, !byte(at + 1) >> 5 & 1);
            at += if lead == 0xc4 { 4 } else { 5 };
        }
        _ => at += 1,
    }
    // Copies and fills of strings.
    if let opcode @ (0xa4 | 0xa5 | 0xaa | 0xab) = byte(at - 1) {
        let (from, to) = (registers[6], registers[7]);
        let copies = opcode < 0xaa;
        return Some(if copies && is_canonical(to) { from } else { to });
    }
    let modes = byte(at);
    let (mode, base) = (modes >> 6, modes & 7);
    at += 1;
    let mut address = 0_usize;
    let base = if base == 4 {
        let scaled = byte(at);
        at += 1;
        let index = (index_bit << 3 | scaled >> 3 & 7) as usize;
        if index != 4 {
            address = registers[index] << (scaled >> 6);
        }
        scaled & 7
    } else {
        base
    };
    if mode == 3 || mode == 0 && base == 5 {
        return None;
    }
    address = address.wrapping_add(registers[(base_bit << 3 | base) as usize]);
    let displacement = match mode {
        1 => byte(at) as i8 as isize,
        2 => i32::from_le_bytes(std::array::from_fn(|i| byte(at + i))) as isize,
        _ => 0,
    };
    Some(address.wrapping_add_signed(displacement))
}

/// Whether a program or the kernel can have something at `address`.
pub(super) fn is_canonical(address: usize) -> bool {
    /// Bits of the addresses that a program can have.
    const BITS: u32 = 47;
    [0, usize::MAX >> BITS].contains(&(address >> BITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> Option<usize> {
        let mut registers = [0; 16];
        for (i, register) in registers.iter_mut().enumerate() {
            *register = 0x1000 * (i + 1);
        }
        operand(|i| bytes[i], &registers)
    }

    #[test]
    fn operands_of_stores_and_loads() {
        // movq $1,-0xfff(%rdi,%rax,1)
        let store = [0x48, 0xc7, 0x84, 0x07, 0x01, 0xf0, 0xff, 0xff, 1, 0, 0, 0];
        assert_eq!(of(&store), Some(0x8000 + 0x1000 - 0xfff));
        // mov %rcx,(%r8)
        assert_eq!(of(&[0x49, 0x89, 0x08]), Some(0x9000));
        // mov 0x10(%rsp),%eax
        assert_eq!(of(&[0x8b, 0x44, 0x24, 0x10]), Some(0x5010));
        // movups %xmm0,-8(%rdx,%r9,8)
        assert_eq!(of(&[0x42, 0x0f, 0x11, 0x44, 0xca, 0xf8]), Some(0x3000 + 8 * 0xa000 - 8));
        // vmovdqu %ymm0,(%rdi); vmovdqu %ymm0,0x20(%r13)
        assert_eq!(of(&[0xc5, 0xfe, 0x7f, 0x07]), Some(0x8000));
        assert_eq!(of(&[0xc4, 0xc1, 0x7e, 0x7f, 0x45, 0x20]), Some(0xe020));
        // lock addq $1,(%rdx,%rsi)
        assert_eq!(of(&[0xf0, 0x48, 0x83, 0x04, 0x32, 1]), Some(0x3000 + 0x7000));
        // rep movsb: both operands are canonical, so the source is as good as the target
        assert_eq!(of(&[0xf3, 0xa4]), Some(0x7000));
        // mov %eax,%ebx; mov 0x10(%rip),%eax
        assert_eq!(of(&[0x89, 0xc3]), None);
        assert_eq!(of(&[0x8b, 0x05, 0x10, 0, 0, 0]), None);
    }

    #[test]
    fn ends_of_the_address_space() {
        assert!(is_canonical(0x7fff_ffff_ffff) && is_canonical(usize::MAX));
        assert!(!is_canonical(0x8000_0000_0000) && !is_canonical(1 << 60));
    }
}
