//! Where in the program a routine was called: the return address of the exported function.
//!
//! Unwinding takes microseconds, so it is done at the first call of each routine. It gives the distance from the frame
//! of [`super::begin`] to the return address, which is the same in later calls: the functions between them have frames
//! of fixed size. So it does from `api::check::record`.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use ferroshmem_platform::object::{self, Object};
use ferroshmem_platform::unwind::{self, Frame};

/// Frames from `api::check::record` to the program where the library is part of it: the check, and the cold copy of the
/// exported function. That jumps to its copy, and calls it where code is not optimised.
pub const DEPTH: usize = if cfg!(debug_assertions) { 4 } else { 3 };

/// The distances found so far, by routine.
#[derive(Debug)]
pub struct CallSites {
    /// Address of the routine's name, 0 if free; distance, 0 if it is not there yet.
    distances: Box<[(AtomicUsize, AtomicUsize)]>,
    /// A function of the library that each call comes through, and the frames from there to the program.
    entry: (usize, usize),
}

const ROUTINES: usize = 2048;
/// As a distance: the caller is not known.
const UNKNOWN: usize = 1;

impl CallSites {
    /// By the frames of the function `entry`, from which there are so many to the program where the library is part of
    /// it.
    pub fn new(entry: (usize, usize)) -> Self {
        Self { distances: (0..ROUTINES).map(|_| Default::default()).collect(), entry }
    }

    /// The address that the exported function of `routine` returns to, 0 if it is not known. `frame` is an address in
    /// the frame of the function.
    #[inline]
    pub fn caller(&self, routine: &'static str, frame: usize) -> usize {
        let key = routine.as_ptr().addr();
        let mut at = key.wrapping_mul(0x9E37_79B9) >> 3;
        for _ in 0..ROUTINES {
            at %= ROUTINES;
            let (name, distance) = &self.distances[at];
            match name.load(Ordering::Acquire) {
                found if found == key => {
                    return match distance.load(Ordering::Acquire) {
                        0 => unwind(frame, self.entry).map_or(0, |(address, _)| address),
                        UNKNOWN => 0,
                        // SAFETY: the distance leads to the word that holds the return address of the exported
                        // function, which has not returned.
                        distance => unsafe { *((frame + distance) as *const usize) },
                    };
                }
                0 => {
                    let (address, slot) = unwind(frame, self.entry).unwrap_or_default();
                    // Another thread may come here for another routine.
                    if name.compare_exchange(0, key, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                        distance.store(slot.saturating_sub(frame).max(UNKNOWN), Ordering::Release);
                    }
                    return address;
                }
                _ => at += 1,
            }
        }
        0
    }
}

/// Tells the program's frames from the library's.
struct Search {
    /// First address of the library's object; None if that is the program itself.
    library: Option<usize>,
    /// As of [`CallSites`].
    entry: (usize, usize),
    /// Frames since that of the function, if it was met.
    depth: Option<usize>,
}

impl Search {
    /// Whether the frame is one of the program.
    fn is_program(&mut self, frame: &Frame) -> bool {
        if let Some(library) = self.library {
            let object = Object::around(frame.address.wrapping_sub(1));
            return object.is_some_and(|object| object.base != library);
        }
        if let Some(depth) = &mut self.depth {
            *depth += 1;
        }
        if frame.function() == self.entry.0 {
            self.depth = Some(0);
        }
        self.depth == Some(self.entry.1)
    }
}

/// The return address into the program, and where on the stack it is.
fn unwind(lowest: usize, entry: (usize, usize)) -> Option<(usize, usize)> {
    let library = Object::around(unwind as fn(usize, (usize, usize)) -> Option<(usize, usize)> as usize)?;
    let mut search =
        Search { library: (Some(library.base) != object::program()).then_some(library.base), entry, depth: None };
    let mut found = None;
    unwind::frames(&mut |frame| {
        if !search.is_program(&frame) {
            return ControlFlow::Continue(());
        }
        // The return address is the last word before the caller's frame on x86, and in the frame's record on
        // other processors.
        let mut slot = frame.end & !(size_of::<usize>() - 1);
        while slot > lowest {
            slot -= size_of::<usize>();
            // SAFETY: the words from this thread's current frame to its caller's are its stack.
            if unsafe { *(slot as *const usize) } == frame.address {
                found = Some((frame.address, slot));
                break;
            }
        }
        ControlFlow::Break(())
    });
    found
}
