//! Whether a tool has put its own functions in place of ones that callers would inline.

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

/// Makes the list of [`Inlined`] functions from their names and those of their twins. The
/// addresses are resolved when the library is linked or loaded, as those of calls are.
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
    INLINED
        .iter()
        .any(|f| !std::ptr::fn_addr_eq(f.called, f.own))
}
