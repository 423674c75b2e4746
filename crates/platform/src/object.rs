//! The files of code that are loaded into this process.

use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::ops::{ControlFlow, Range};

use super::loaded::find_loaded;

/// The executable or a library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// The address that its first byte is loaded at.
    pub base: usize,
    /// Its path.
    pub path: String,
}

impl Object {
    /// The object that an address is in.
    pub fn around(address: usize) -> Option<Self> {
        let mut info = MaybeUninit::<libc::Dl_info>::uninit();
        // SAFETY: any address may be asked for; `info` is written if the result is not 0, with a path that is null
        // or the dynamic linker's.
        unsafe {
            if libc::dladdr(address as *const c_void, info.as_mut_ptr()) == 0 {
                return static_program().filter(|(_, range)| range.contains(&address)).map(|f| f.0);
            }
            let info = info.assume_init();
            let path = (!info.dli_fname.is_null()).then(|| CStr::from_ptr(info.dli_fname));
            Some(Self { base: info.dli_fbase.addr(), path: path.unwrap_or_default().to_string_lossy().into_owned() })
        }
    }

    /// What is to be subtracted from an address to have it as the file counts: 0 if the object's addresses do not
    /// depend on where it is loaded.
    pub fn load_address(&self) -> usize {
        /// Offset of `e_type`, and `ET_EXEC`.
        const TYPE: usize = 16;
        const EXECUTABLE: u16 = 2;
        // SAFETY: an object begins with its ELF header, which is mapped.
        let kind = unsafe { ((self.base + TYPE) as *const u16).read_unaligned() };
        if kind == EXECUTABLE { 0 } else { self.base }
    }
}

/// The program, if it is linked statically, so that the dynamic linker does not know it; and the addresses that it has.
fn static_program() -> Option<(Object, Range<usize>)> {
    // The program comes first.
    let range = find_loaded(|program| {
        let ends = program.segments(libc::PT_LOAD).map(|h| {
            let start = program.address(h);
            (start, start + h.p_memsz as usize)
        });
        ControlFlow::Break(ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))))
    });
    let (start, end) = range.flatten()?;
    let object = Object { base: start, path: String::new() };
    Some((object, start..end))
}

/// First address of the program itself.
pub fn program() -> Option<usize> {
    // SAFETY: the function may be called at any time.
    Object::around(unsafe { libc::getauxval(libc::AT_PHDR) } as usize).map(|object| object.base)
}
