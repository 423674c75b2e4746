//! Where in the program a routine was called that ends the job.

use std::ffi::{CStr, c_void};
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;

use ferroshmem_platform::unwind;

/// A call in the program; displayed as the command that prints file and line.
#[derive(Debug)]
pub(super) struct Caller {
    /// The function and the distance from its start, if the program exports its name.
    symbol: Option<(String, usize)>,
    /// The file of the code.
    object: String,
    /// The address in this file, as `addr2line` takes it.
    address: usize,
}

/// The object that an address is in.
fn object_of(address: usize) -> Option<libc::Dl_info> {
    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: any address may be asked for; `info` is written if the result is not 0.
    unsafe {
        let found = libc::dladdr(address as *const c_void, info.as_mut_ptr()) != 0;
        found.then(|| info.assume_init())
    }
}

/// Whether the object loaded at `base` has addresses that do not depend on where it is loaded.
fn is_fixed(base: *mut c_void) -> bool {
    /// Offset of `e_type`, and `ET_EXEC`.
    const TYPE: usize = 16;
    const EXECUTABLE: u16 = 2;
    // SAFETY: an object begins with its ELF header, which is mapped.
    unsafe { base.cast::<u8>().add(TYPE).cast::<u16>().read_unaligned() == EXECUTABLE }
}

fn text(name: *const std::ffi::c_char) -> Option<String> {
    // SAFETY: the dynamic linker's strings, null if there is none.
    let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) })?;
    Some(name.to_string_lossy().escape_debug().to_string())
}

/// Whether it is the library that `oshrun --check` puts before this one.
fn has_checks(object: &libc::Dl_info) -> bool {
    const NAME: &[u8] = b"/libshmem-check.so";
    // SAFETY: the dynamic linker's string, null if there is none.
    let path = (!object.dli_fname.is_null()).then(|| unsafe { CStr::from_ptr(object.dli_fname) });
    path.is_some_and(|path| path.to_bytes().ends_with(NAME))
}

/// The call that led into the library; None where the library is linked into the program itself, so
/// that their functions cannot be told apart.
pub(super) fn find() -> Option<Caller> {
    let library = object_of(find as fn() -> Option<Caller> as usize)?;
    // SAFETY: the function may be called at any time.
    let program = object_of(unsafe { libc::getauxval(libc::AT_PHDR) } as usize)?;
    if program.dli_fbase == library.dli_fbase {
        return None;
    }
    let mut found = None;
    unwind::frames(&mut |frame| {
        // A return address belongs to the call before it.
        let address = frame.address.wrapping_sub(1);
        match object_of(address) {
            Some(object) if object.dli_fbase == library.dli_fbase || has_checks(&object) => ControlFlow::Continue(()),
            Some(_) => {
                found = Some(address);
                ControlFlow::Break(())
            }
            None => ControlFlow::Break(()),
        }
    });
    let address = found?;
    let object = object_of(address)?;
    let base = if is_fixed(object.dli_fbase) { 0 } else { object.dli_fbase.addr() };
    let symbol = text(object.dli_sname).map(|name| (name, address + 1 - object.dli_saddr.addr()));
    Some(Caller { symbol, object: text(object.dli_fname)?, address: address - base })
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { symbol, object, address } = self;
        if let Some((name, distance)) = symbol {
            write!(f, "{name}+{distance:#x} ")?;
        }
        write!(f, "(addr2line -ife {object} {address:#x})")
    }
}
