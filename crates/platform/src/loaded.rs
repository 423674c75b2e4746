//! The executable and the libraries that are loaded into this process, in the order in which the dynamic linker
//! searches them: the executable comes first.

use std::ffi::{CStr, c_int, c_void};
use std::ops::ControlFlow;
use std::slice;

use libc::Elf64_Phdr;

/// The executable or a library.
#[derive(Debug)]
pub struct Loaded<'a> {
    /// Bytes from the addresses that its file has to those in memory.
    pub base: usize,
    /// Its path; empty for the executable.
    pub path: &'a CStr,
    /// Its program headers.
    pub headers: &'a [Elf64_Phdr],
}

impl Loaded<'_> {
    /// Its segments of a kind, such as `PT_LOAD`.
    pub fn segments(&self, kind: u32) -> impl Iterator<Item = &Elf64_Phdr> {
        self.headers.iter().filter(move |h| h.p_type == kind)
    }

    /// Where a segment begins in memory.
    pub fn address(&self, segment: &Elf64_Phdr) -> usize {
        self.base.wrapping_add(segment.p_vaddr as usize)
    }

    /// The tags and values of its dynamic section.
    pub fn dynamic(&self) -> impl Iterator<Item = [usize; 2]> + Clone {
        const DT_NULL: usize = 0;
        let first = self.segments(libc::PT_DYNAMIC).next().map(|h| self.address(h) as *const [usize; 2]);
        // SAFETY: the dynamic section of a loaded object is an array that DT_NULL ends.
        let entries = first.into_iter().flat_map(|first| (0..).map(move |i| unsafe { *first.add(i) }));
        entries.take_while(|[tag, _]| *tag != DT_NULL)
    }

    /// Where a table is that the dynamic section names by this tag. The dynamic linker has made the address absolute,
    /// except on processors where that section is read-only (RISC-V).
    pub fn table(&self, tag: usize) -> Option<usize> {
        let [_, at] = self.dynamic().find(|entry| entry[0] == tag)?;
        Some(if at < self.base { self.base + at } else { at })
    }

    /// Whether it contains this library.
    pub fn is_this_library(&self) -> bool {
        let here = address_here();
        self.segments(libc::PT_LOAD).any(|h| here.wrapping_sub(self.address(h)) < h.p_memsz as usize)
    }
}

/// An address in this library.
fn address_here() -> usize {
    address_here as *const () as usize
}

/// Looks at what is loaded until `look` breaks; with what.
pub fn find_loaded<B, F: FnMut(&Loaded<'_>) -> ControlFlow<B>>(look: F) -> Option<B> {
    let mut state = (look, None);
    // SAFETY: the callback of these types gets the pointer given here, to a live state of them.
    unsafe { libc::dl_iterate_phdr(Some(visit::<B, F>), (&raw mut state).cast()) };
    state.1
}

unsafe extern "C" fn visit<B, F: FnMut(&Loaded<'_>) -> ControlFlow<B>>(
    info: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    state: *mut c_void,
) -> c_int {
    // SAFETY: dl_iterate_phdr passes a valid record with the headers of a loaded object, and the state of
    // `find_loaded`.
    unsafe {
        let (info, (look, found)) = (&*info, &mut *state.cast::<(F, Option<B>)>());
        let path = match info.dlpi_name.is_null() {
            true => c"",
            false => CStr::from_ptr(info.dlpi_name),
        };
        *found = look(&Loaded {
            base: info.dlpi_addr as usize,
            path,
            headers: slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()),
        })
        .break_value();
        c_int::from(found.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_comes_first_and_contains_this_library() {
        let mut paths = Vec::new();
        let ended: Option<()> = find_loaded(|loaded| {
            paths.push((loaded.path.to_owned(), loaded.is_this_library()));
            ControlFlow::Continue(())
        });
        assert_eq!(ended, None);
        assert_eq!(paths[0], (c"".to_owned(), true));
        assert!(paths.len() > 1 && paths[1..].iter().all(|(_, ours)| !ours), "{paths:?}");
        assert_eq!(find_loaded(|_| ControlFlow::Break(7)), Some(7));
    }
}
