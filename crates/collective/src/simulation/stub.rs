//! Copies of instructions that access memory, each of which accesses another place: with a prefix by which the
//! processor adds the base of the segment GS to the address, and a jump back behind it. So an access that faults is let
//! through by one signal and without a change of protection.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

/// Instructions that are copied; those beyond are let through in another way.
const STUBS: usize = 1 << 12;
/// Bytes of a copy: the prefix, the instruction, the jump and its target.
const BYTES: usize = 32;
/// Bytes of the longest instruction.
const LONGEST: usize = 15;
/// Of the segment.
const PREFIX: u8 = 0x65;
/// `jmp *0(%rip)`, with the target behind it.
const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];

const _: () = assert!(1 + LONGEST + JUMP.len() + size_of::<usize>() <= BYTES);

static CODE: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
/// Addresses of the copied instructions; the index of each is that of its copy.
static COPIED: [AtomicUsize; STUBS] = [const { AtomicUsize::new(0) }; STUBS];
static CAN: AtomicBool = AtomicBool::new(false);

/// Gets memory for copies, where the processor and the kernel let programs set the base.
pub(super) fn prepare() {
    /// `HWCAP2_FSGSBASE`.
    const SETS_BASE: libc::c_ulong = 2;
    if CAN.load(Ordering::Relaxed) {
        return;
    }
    // SAFETY: asks for a number; maps new memory.
    unsafe {
        if libc::getauxval(libc::AT_HWCAP2) & SETS_BASE == 0 {
            return;
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let code = libc::mmap(ptr::null_mut(), STUBS * BYTES, protection, flags, -1, 0);
        if code != libc::MAP_FAILED {
            CODE.store(code.cast(), Ordering::Relaxed);
            CAN.store(true, Ordering::Relaxed);
        }
    }
}

/// Has the copies that the calling thread executes add `distance` to their addresses.
pub(super) fn set_distance(distance: usize) {
    if CAN.load(Ordering::Relaxed) {
        // SAFETY: the kernel lets programs set it (`prepare`), and no code but the copies uses it.
        unsafe { std::arch::asm!("wrgsbase {}", in(reg) distance, options(nostack, nomem)) };
    }
}

/// The copy of the instruction at `address`; None if it is of a form that is not copied. One thread at a time.
///
/// # Safety
/// There is an instruction, which accesses memory that is not on the stack.
pub(super) unsafe fn of(address: usize) -> Option<usize> {
    if !CAN.load(Ordering::Relaxed) {
        return None;
    }
    let first = address.wrapping_mul(0x9e37_79b9) >> 8;
    let mut indices = (0..STUBS).map(|i| (first + i) % STUBS);
    let index = indices.find(|i| [0, address].contains(&COPIED[*i].load(Ordering::Relaxed)))?;
    // SAFETY: within the memory for copies.
    let copy = unsafe { CODE.load(Ordering::Relaxed).add(index * BYTES) };
    if COPIED[index].load(Ordering::Relaxed) == 0 {
        let instruction = ptr::with_exposed_provenance::<u8>(address);
        // SAFETY: the bytes of an instruction, as the caller promises, as far as `length` asks for them.
        let length = length(|i| unsafe { *instruction.add(i) })?;
        // SAFETY: within the copy (asserted above).
        unsafe {
            copy.write(PREFIX);
            instruction.copy_to(copy.add(1), length);
            let jump = copy.add(1 + length);
            jump.copy_from(JUMP.as_ptr(), JUMP.len());
            let target = jump.add(JUMP.len()).cast::<usize>();
            target.write_unaligned(address + length);
        }
        COPIED[index].store(address, Ordering::Relaxed);
    }
    Some(copy.addr())
}

/// The bytes of an instruction with one operand in memory, relative to registers (Intel, "Software Developer's Manual",
/// volume 2, chapter 2 and appendix A). None for others, and for those that compilers hardly use.
fn length(byte: impl Fn(usize) -> u8) -> Option<usize> {
    let mut at = 0;
    let (mut is_short, mut repeats) = (false, false);
    loop {
        match byte(at) {
            0x66 => is_short = true,
            0xf0 => {}
            0xf2 | 0xf3 => repeats = true,
            _ => break,
        }
        at += 1;
    }
    let mut is_wide = false;
    if let rex @ 0x40..=0x4f = byte(at) {
        is_wide = rex & 8 != 0;
        at += 1;
    }
    // The map of its operation code.
    let map = match byte(at) {
        0x0f => match byte(at + 1) {
            0x38 => 2,
            0x3a => 3,
            _ => 1,
        },
        // Vector instructions.
        0xc5 => 1,
        0xc4 => byte(at + 1) & 0x1f,
        0x62 => byte(at + 1) & 7,
        // Copies of strings have two operands in memory.
        _ if repeats => return None,
        _ => 0,
    };
    at += match byte(at) {
        0x0f if map == 1 => 1,
        0x0f | 0xc5 => 2,
        0xc4 => 3,
        0x62 => 4,
        _ => 0,
    };
    let (code, modes) = (byte(at), byte(at + 1));
    let extension = modes >> 3 & 7;
    let long = if is_short && !is_wide { 2 } else { 4 };
    let immediate = match (map, code) {
        (0, 0x00..=0x3f) if code & 7 < 4 => 0,
        (0, 0x63 | 0x84..=0x8b | 0xd0..=0xd3 | 0xfe) => 0,
        (0, 0x6b | 0x80 | 0x83 | 0xc0 | 0xc1 | 0xc6) => 1,
        (0, 0x69 | 0x81 | 0xc7) => long,
        (0, 0xf6) => usize::from(extension < 2),
        (0, 0xf7) if extension < 2 => long,
        (0, 0xf7) => 0,
        (0, 0xff) if extension < 2 => 0,
        (1, 0x70..=0x73 | 0xa4 | 0xac | 0xba | 0xc2 | 0xc4..=0xc6) => 1,
        (1, 0x10..=0x17 | 0x28..=0x2f | 0x40..=0x7f | 0x90..=0x9f) => 0,
        (1, 0xa3 | 0xab | 0xaf..=0xb1 | 0xb3 | 0xb6..=0xb8 | 0xbb..=0xc1 | 0xc3 | 0xc7) => 0,
        (1, 0xd0..=0xfe) | (2, _) => 0,
        (3, _) => 1,
        _ => return None,
    };
    at += 2;
    let (mode, base) = (modes >> 6, modes & 7);
    let base = if base == 4 && mode != 3 {
        at += 1;
        byte(at - 1) & 7
    } else {
        base
    };
    let displacement = match mode {
        0 if base == 5 => return None,
        0 => 0,
        1 => 1,
        2 => 4,
        _ => return None,
    };
    let length = at + displacement + immediate;
    (length <= LONGEST).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_have_lengths() {
        for (bytes, expected) in [
            // movq $1,-0xfff(%rdi,%rax,1); movw $1,(%rdi); movb $1,8(%rdi)
            (&[0x48, 0xc7, 0x84, 0x07, 1, 0xf0, 0xff, 0xff, 1, 0, 0, 0][..], 12),
            (&[0x66, 0xc7, 0x07, 1, 0], 5),
            (&[0xc6, 0x47, 8, 1], 4),
            // mov %rcx,(%r8); mov 0x10(%rsp),%eax; cmp $1,(%rax); incl (%rax); notl (%rax)
            (&[0x49, 0x89, 0x08], 3),
            (&[0x8b, 0x44, 0x24, 0x10], 4),
            (&[0x83, 0x38, 1], 3),
            (&[0xff, 0x00], 2),
            (&[0xf7, 0x10], 2),
            // movzbl (%rax),%eax; lock cmpxchg %rcx,(%rdx); lock xadd %eax,(%rdi,%r9,8)
            (&[0x0f, 0xb6, 0x00], 3),
            (&[0xf0, 0x48, 0x0f, 0xb1, 0x0a], 5),
            (&[0xf0, 0x42, 0x0f, 0xc1, 0x04, 0xcf], 6),
            // movups -8(%rdx,%r9,8),%xmm0; movsd (%rax),%xmm1; pshufd $1,(%rax),%xmm0
            (&[0x42, 0x0f, 0x10, 0x44, 0xca, 0xf8], 6),
            (&[0xf2, 0x0f, 0x10, 0x08], 4),
            (&[0x66, 0x0f, 0x70, 0x00, 1], 5),
            // vmovdqu (%rdi),%ymm0; vmovdqu %ymm0,0x20(%r13); vpalignr $1,(%rax),%xmm0,%xmm0
            (&[0xc5, 0xfe, 0x6f, 0x07], 4),
            (&[0xc4, 0xc1, 0x7e, 0x7f, 0x45, 0x20], 6),
            (&[0xc4, 0xe3, 0x79, 0x0f, 0x00, 1], 6),
            // vmovdqu64 0x40(%rsi),%zmm16
            (&[0x62, 0xe1, 0xfe, 0x48, 0x6f, 0x46, 1], 7),
        ] {
            assert_eq!(length(|i| bytes[i]), Some(expected), "{bytes:x?}");
        }
        // rep movsb; movsb; mov %eax,%ebx; mov 0x10(%rip),%eax; call *(%rax); push (%rax)
        for bytes in [
            [0xf3, 0xa4, 0, 0, 0, 0],
            [0xa4, 0, 0, 0, 0, 0],
            [0x89, 0xc3, 0, 0, 0, 0],
            [0x8b, 0x05, 0x10, 0, 0, 0],
            [0xff, 0x10, 0, 0, 0, 0],
            [0xff, 0x30, 0, 0, 0, 0],
        ] {
            assert_eq!(length(|i| bytes[i]), None, "{bytes:x?}");
        }
    }
}
