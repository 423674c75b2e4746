//! Where in the program a routine was called that ends the job.

use std::ffi::{CStr, c_int, c_void};
use std::fmt;
use std::mem::MaybeUninit;

/// A call in the program.
#[derive(Debug)]
pub(super) struct Caller {
    /// The function and the distance from its start, if the program exports its name.
    symbol: Option<(String, usize)>,
    /// The file of the code.
    object: String,
    /// The address in this file, as `addr2line` takes it.
    address: usize,
}

// The unwinder is part of every Rust program.
#[repr(C)]
struct UnwindContext {
    _opaque: [u8; 0],
}

type Trace = extern "C" fn(context: *mut UnwindContext, argument: *mut c_void) -> c_int;

unsafe extern "C" {
    fn _Unwind_Backtrace(trace: Trace, argument: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut UnwindContext) -> usize;
}

/// `_URC_NO_REASON`, `_URC_NORMAL_STOP`.
const GO_ON: c_int = 0;
const STOP: c_int = 4;

/// Where the search is: the library's own object, and the first address outside of it.
struct Search {
    library: usize,
    found: Option<usize>,
}

extern "C" fn look(context: *mut UnwindContext, argument: *mut c_void) -> c_int {
    // SAFETY: `find` passes a `Search` of its own, which no other thread uses.
    let search = unsafe { &mut *argument.cast::<Search>() };
    // SAFETY: the unwinder passes a valid context. A return address belongs to the call before it.
    let address = unsafe { _Unwind_GetIP(context) }.wrapping_sub(1);
    match object_of(address) {
        Some(object) if object.dli_fbase.addr() == search.library => GO_ON,
        Some(_) => {
            search.found = Some(address);
            STOP
        }
        None => STOP,
    }
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

/// The call that led into the library; None where the library is linked into the program itself, so
/// that their functions cannot be told apart.
pub(super) fn find() -> Option<Caller> {
    let library = object_of(find as fn() -> Option<Caller> as usize)?;
    // SAFETY: the function may be called at any time.
    let program = object_of(unsafe { libc::getauxval(libc::AT_PHDR) } as usize)?;
    if program.dli_fbase == library.dli_fbase {
        return None;
    }
    let mut search = Search {
        library: library.dli_fbase.addr(),
        found: None,
    };
    // SAFETY: `look` takes a `Search`.
    unsafe { _Unwind_Backtrace(look, (&raw mut search).cast()) };
    let address = search.found?;
    let object = object_of(address)?;
    let base = if is_fixed(object.dli_fbase) {
        0
    } else {
        object.dli_fbase.addr()
    };
    let symbol = text(object.dli_sname).map(|name| (name, address + 1 - object.dli_saddr.addr()));
    Some(Caller {
        symbol,
        object: text(object.dli_fname)?,
        address: address - base,
    })
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            symbol,
            object,
            address,
        } = self;
        if let Some((name, distance)) = symbol {
            write!(f, "{name}+{distance:#x} ")?;
        }
        write!(f, "({object} {address:#x})")
    }
}
