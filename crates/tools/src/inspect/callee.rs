//! The function that a call has gone to, from the code before the address that it returns to. Functions of a library
//! that end in a call of another are not on the stack: the program's call names the first.

/// The address that the call before `returns_to` has gone to; None if it is of another kind, or of another processor.
/// `read` gives so many bytes of the process at an address, or fewer.
pub(super) fn callee(returns_to: u64, read: impl Fn(u64, usize) -> Vec<u8>) -> Option<u64> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
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

#[cfg(all(test, target_arch = "x86_64"))]
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
        assert_eq!(callee(START + 6, memory), Some(0x7f00_1234));
    }

    #[test]
    fn a_call_of_the_linkers_code_goes_where_that_jumps() {
        let call = [0x90, 0xe8, 10, 0, 0, 0];
        for stub in [
            &[0xff, 0x25, 10, 0, 0, 0][..],
            &[0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 6, 0, 0, 0],
            &[0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 5, 0, 0, 0],
        ] {
            assert_eq!(callee(START + 6, memory(&call, stub)), Some(0x7f00_1234), "{stub:x?}");
        }
    }

    #[test]
    fn other_calls_are_known_where_their_distance_is() {
        assert_eq!(callee(START + 6, memory(&[0x90, 0xe8, 10, 0, 0, 0], &[0x55])), Some(START + 16));
        // By a register.
        assert_eq!(callee(START + 6, memory(&[0x90, 0x90, 0x90, 0x90, 0xff, 0xd0], &[])), None);
        assert_eq!(callee(5, memory(&[0; 6], &[])), None);
    }
}
