//! The files of code that are loaded into this process.

use std::ffi::{CStr, c_char, c_void};
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
        let Some(info) = look_up(address) else {
            return static_program().filter(|(_, range)| range.contains(&address)).map(|f| f.0);
        };
        // SAFETY: the dynamic linker's.
        let path = unsafe { text(info.dli_fname) };
        Some(Self { base: info.dli_fbase.addr(), path: path.unwrap_or_default() })
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

/// What the dynamic linker knows of an address.
fn look_up(address: usize) -> Option<libc::Dl_info> {
    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: any address may be asked for; `info` is written if the result is not 0.
    unsafe { (libc::dladdr(address as *const c_void, info.as_mut_ptr()) != 0).then(|| info.assume_init()) }
}

/// # Safety
/// `name` is null or a string.
unsafe fn text(name: *const c_char) -> Option<String> {
    // SAFETY: the caller promises that `name` is a string if it is not null.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}

/// The function that an address is in, and the distance from its start, if its object exports the name.
pub fn symbol(address: usize) -> Option<(String, usize)> {
    let info = look_up(address)?;
    // SAFETY: the dynamic linker's.
    Some((unsafe { text(info.dli_sname) }?, address - info.dli_saddr.addr()))
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
