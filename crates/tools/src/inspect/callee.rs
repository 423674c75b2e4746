//! The function that a call has gone to, from the code before the address that it returns to. Functions of a library
//! that end in a call of another are not on the stack: the program's call names the first.

/// The address that the call before `returns_to` has gone to; None if it is of another kind, or of another processor.
/// `read` gives so many bytes of the process at an address, or fewer.
pub(super) fn callee(returns_to: u64, read: impl Fn(u64, usize) -> Vec<u8>) -> Option<u64> {
    if cfg!(target_arch = "x86_64") {
        of_x86_64(returns_to, read)
    } else if cfg!(target_arch = "aarch64") {
        of_aarch64(returns_to, read)
    } else {
        None
    }
}

fn of_aarch64(returns_to: u64, read: impl Fn(u64, usize) -> Vec<u8>) -> Option<u64> {
    const LANDING_PAD: u32 = 0xd503_245f; // bti c

    let word = |at: u64| Some(u32::from_le_bytes(read(at, 4).try_into().ok()?));
    // `imm` is the lowest bits of a number with a sign.
    let signed = |imm: u32, bits: u32| i64::from((imm << (32 - bits)).cast_signed() >> (32 - bits));
    let from = returns_to.wrapping_sub(4);
    let call = word(from)?;
    if call >> 26 != 0b10_0101 {
        return None;
    }
    // bl: to the function, or to the linker's code: adrp x16, page; ldr x17, [x16, place]; then it jumps there.
    let target = from.wrapping_add_signed(signed(call & 0x3ff_ffff, 26) * 4);
    let at = if word(target)? == LANDING_PAD { target + 4 } else { target };
    let (Some(adrp), Some(ldr)) = (word(at), word(at + 4)) else { return Some(target) };
    if adrp & 0x9f00_001f != 0x9000_0010 || ldr & 0xffc0_03ff != 0xf940_0211 {
        return Some(target);
    }
    let pages = signed((adrp >> 5 & 0x7_ffff) << 2 | adrp >> 29 & 3, 21);
    let page = (at & !0xfff).wrapping_add_signed(pages << 12);
    Some(u64::from_le_bytes(read(page + u64::from(ldr >> 10 & 0xfff) * 8, 8).try_into().ok()?))
}

fn of_x86_64(returns_to: u64, read: impl Fn(u64, usize) -> Vec<u8>) -> Option<u64> {
    let after = |at: u64, distance: &[u8]| {
        let distance = i32::from_le_bytes(distance.try_into().ok()?);
        Some(at.wrapping_add_signed(distance.into()))
    };
    let pointer = |at: u64| Some(u64::from_le_bytes(read(at, 8).try_into().ok()?));
    let call = read(returns_to.wrapping_sub(6), 6);
    let target = match &call[..] {
        // By a pointer of the dynamic linker's: call *distance(%rip).
        [0xff, 0x15, distance @ ..] => return pointer(after(returns_to, distance)?),
        // At a distance: to the function, or to code of the linker's that jumps by such a pointer.
        [_, 0xe8, distance @ ..] => after(returns_to, distance)?,
        _ => return None,
    };
    let code = read(target, 11);
    let rest = code.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(&code);
    let rest = rest.strip_prefix(&[0xf2]).unwrap_or(rest);
    match rest {
        [0xff, 0x25, distance @ ..] if distance.len() >= 4 => {
            let end = target + (code.len() - rest.len()) as u64 + 6;
            pointer(after(end, &distance[..4])?)
        }
        _ => Some(target),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 0x1000;

    /// A call at offset 0 or 1, a stub at offset 16, a pointer at offset 32.
    fn memory(call: &[u8], stub: &[u8]) -> impl Fn(u64, usize) -> Vec<u8> {
        let mut bytes = [0x90; 48];
        bytes[..6].copy_from_slice(call);
        bytes[16..16 + stub.len()].copy_from_slice(stub);
        bytes[32..40].copy_from_slice(&0x7f00_1234_u64.to_le_bytes());
        move |address, len| {
            let at = address.checked_sub(START).map(|at| at as usize);
            at.and_then(|at| bytes.get(at..at + len)).unwrap_or_default().to_vec()
        }
    }

    #[test]
    fn a_call_by_a_pointer_goes_where_that_points() {
        let memory = memory(&[0xff, 0x15, 26, 0, 0, 0], &[]);
        assert_eq!(of_x86_64(START + 6, memory), Some(0x7f00_1234));
    }

    #[test]
    fn a_call_of_the_linkers_code_goes_where_that_jumps() {
        let call = [0x90, 0xe8, 10, 0, 0, 0];
        for stub in [
            &[0xff, 0x25, 10, 0, 0, 0][..],
            &[0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 6, 0, 0, 0],
            &[0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 5, 0, 0, 0],
        ] {
            assert_eq!(of_x86_64(START + 6, memory(&call, stub)), Some(0x7f00_1234), "{stub:x?}");
        }
    }

    #[test]
    fn other_calls_are_known_where_their_distance_is() {
        assert_eq!(of_x86_64(START + 6, memory(&[0x90, 0xe8, 10, 0, 0, 0], &[0x55])), Some(START + 16));
        // By a register.
        assert_eq!(of_x86_64(START + 6, memory(&[0x90, 0x90, 0x90, 0x90, 0xff, 0xd0], &[])), None);
        assert_eq!(of_x86_64(5, memory(&[0; 6], &[])), None);
    }
    #[test]
    fn calls_of_arm_are_followed_through_the_linkers_code() {
        // As aarch64-linux-gnu-ld links a call of a library: bl; in .plt adrp, ldr, add, br.
        const CALL: u64 = 0xab0;
        let words = |call: u32, stub: u64, code: [u32; 3]| {
            move |at: u64, len: usize| match at {
                CALL => call.to_le_bytes()[..len].to_vec(),
                0x2_0030 => 0x7f00_1234_u64.to_le_bytes().to_vec(),
                _ => {
                    let word = at.checked_sub(stub).and_then(|at| code.get(at as usize / 4));
                    word.map(|word| word.to_le_bytes().to_vec()).unwrap_or_default()
                }
            }
        };
        let (adrp, ldr) = (0x9000_0110, 0xf940_1a11);
        let to = |call, code| of_aarch64(CALL + 4, words(call, 0x950, code));
        assert_eq!(to(0x97ff_ffa8, [adrp, ldr, 0x9100_c210]), Some(0x7f00_1234));
        assert_eq!(to(0x97ff_ffa8, [0xd503_245f, adrp, ldr]), Some(0x7f00_1234));
        // A function of the program's, and a call by a register.
        assert_eq!(to(0x97ff_ffa8, [0xa9bc_7bfd, 0x9100_03fd, 0]), Some(0x950));
        assert_eq!(to(0xd63f_0220, [adrp, ldr, 0]), None);
    }
}
