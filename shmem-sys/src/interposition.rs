//! Detects that a tool has replaced functions that callers inline.

/// One function that callers inline: the address that a call of its name reaches, and that
/// of the library's own function.
pub(crate) struct Inlined {
    called: unsafe extern "C" fn(),
    own: unsafe extern "C" fn(),
}

impl Inlined {
    /// For the generated list.
    pub(crate) const fn new(called: unsafe extern "C" fn(), own: unsafe extern "C" fn()) -> Self {
        Self { called, own }
    }
}

/// Makes the list of [`Inlined`] functions from their names and their names in the profiling interface.
/// The linker or loader resolves the addresses, as it does for calls.
macro_rules! inlined {
    ($($name:ident, $own:ident;)*) => {
        pub(crate) static INLINED: &[$crate::interposition::Inlined] = {
            // Declared for their addresses only.
            #[allow(clashing_extern_declarations)]
            unsafe extern "C" { $(fn $name(); fn $own();)* }
            &[$($crate::interposition::Inlined::new($name, $own),)*]
        };
    };
}
pub(crate) use inlined;

/// Whether any inlined function has been replaced.
pub(crate) fn interposed() -> bool {
    use crate::generated::inlined::INLINED;
    let replaced = |f: &Inlined| !std::ptr::fn_addr_eq(f.called, f.own) && !is_stub(f.called);
    INLINED.iter().any(replaced)
}

/// Whether an address is that of a stub for calls: an executable that is not
/// position-independent gives its stub of a library's function the function's identity.
#[cfg(target_env = "gnu")]
fn is_stub(function: unsafe extern "C" fn()) -> bool {
    use std::mem::MaybeUninit;
    /// `RTLD_DL_SYMENT`, `SHN_UNDEF`.
    const SYMBOL: libc::c_int = 1;
    const UNDEFINED: u16 = 0;
    let mut info = MaybeUninit::uninit();
    let mut symbol = std::ptr::null_mut();
    let address = function as *const libc::c_void;
    // SAFETY: `info` and `symbol` are variables of the types that dladdr1 writes.
    let found = unsafe { libc::dladdr1(address, info.as_mut_ptr(), &raw mut symbol, SYMBOL) } != 0;
    // SAFETY: with this flag, the symbol is null or an element of a loaded symbol table.
    let symbol = unsafe { symbol.cast::<libc::Elf64_Sym>().as_ref() };
    found && symbol.is_some_and(|symbol| symbol.st_shndx == UNDEFINED)
}

#[cfg(not(target_env = "gnu"))]
fn is_stub(_function: unsafe extern "C" fn()) -> bool {
    false
}
