//! Stacks that were switched: below the first function of a coroutine is the stack of what has resumed it. The library
//! executes non-blocking collectives on coroutines.
//!
//! The crate `corosensei` says by an expression where that stack is, which framehop does not evaluate, so that it takes
//! the frame for one with a frame pointer. On other processors than x86-64 that is right.

/// The frame that has resumed a coroutine: its address, stack pointer and frame pointer. `frame` is the frame pointer
/// of the coroutine's first function; it points to a link to the top of the other stack, where a frame pointer is, a
/// return address and one more register (`src/arch/x86_64.rs` of `corosensei`). None for any other frame: the one that
/// its pointer points to is above it on the same stack.
#[cfg(target_arch = "x86_64")]
pub(super) fn resumer(frame: u64, mut read: impl FnMut(u64) -> Result<u64, ()>) -> Option<(u64, u64, u64)> {
    /// More bytes than a function has on the stack.
    const LARGEST_FRAME: u64 = 1 << 20;

    let link = read(frame).ok()?;
    if link.wrapping_sub(frame) < LARGEST_FRAME {
        return None;
    }
    Some((read(link.checked_add(8)?).ok()?, link.checked_add(24)?, read(link).ok()?))
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::resumer;

    #[test]
    fn another_stack_is_followed() {
        let memory = [(0x1000, 0x7f00_0000), (0x7f00_0000, 0x7f00_0100), (0x7f00_0008, 0x40_1234), (0x2000, 0x2040)];
        let read = |at: u64| memory.iter().find(|(from, _)| *from == at).map(|(_, word)| *word).ok_or(());
        assert_eq!(resumer(0x1000, read), Some((0x40_1234, 0x7f00_0018, 0x7f00_0100)));
        assert_eq!(resumer(0x2000, read), None);
        assert_eq!(resumer(0x3000, read), None);
    }
}
