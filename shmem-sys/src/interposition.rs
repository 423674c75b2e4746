//! Detects that a tool has replaced functions that callers inline.
//!
//! In an executable that contains this library, the linker has resolved their names, so their addresses differ. In the
//! shared library these references are to its own functions (it is linked with `-Bsymbolic-functions`): if the dynamic
//! linker had to look up each name, that would take a good part of the time in which a PE starts. So the library reads
//! what the objects define that the dynamic linker searches before this one, mostly the executable alone.

use std::ffi::{CStr, c_char};
use std::ops::ControlFlow;

use ferroshmem_platform::loaded::{Loaded, find_loaded};

/// Makes a comparison of functions that callers inline from their names and their names in the profiling interface, and
/// the text of their names with a space after each.
macro_rules! inlined {
    ($($name:ident, $own:ident;)*) => {
        /// Whether a call of one of the names reaches another function than the library's own, as far as the linker
        /// knows. By code, as the dynamic linker would have to fill a table in each PE.
        pub(crate) fn differ() -> bool {
            // Declared for their addresses only.
            #[allow(clashing_extern_declarations)]
            unsafe extern "C" { $(fn $name(); fn $own();)* }
            // The compiler takes two names for two functions.
            let differ = |called: unsafe extern "C" fn(), own: unsafe extern "C" fn()| {
                std::hint::black_box(called as usize) != std::hint::black_box(own as usize)
            };
            $(differ($name, $own))|*
        }
        pub(crate) const NAMES: &str = concat!($(stringify!($name), " ",)*);
    };
}
pub(crate) use inlined;

/// Whether any inlined function has been replaced.
pub(crate) fn interposed() -> bool {
    crate::generated::inlined::differ() || is_defined_earlier()
}

/// Whether an object defines an inlined function that the dynamic linker searches before this library.
fn is_defined_earlier() -> bool {
    // Those that are searched before this library.
    find_loaded(|loaded| {
        if loaded.is_this_library() {
            return ControlFlow::Break(false);
        }
        match defines_inlined(loaded) {
            true => ControlFlow::Break(true),
            false => ControlFlow::Continue(()),
        }
    })
    .unwrap_or(false)
}

/// Whether an object defines an inlined function.
fn defines_inlined(object: &Loaded<'_>) -> bool {
    use crate::generated::inlined::NAMES;
    const DT_HASH: usize = 4;
    const DT_STRTAB: usize = 5;
    const DT_SYMTAB: usize = 6;
    const DT_GNU_HASH: usize = 0x6fff_fef5;
    const UNDEFINED: u16 = 0;

    let (Some(names), Some(symbols)) = (object.table(DT_STRTAB), object.table(DT_SYMTAB)) else {
        return false;
    };
    // SAFETY: the tables of a loaded object are loaded, and a hash table tells how many symbols there are.
    unsafe {
        let defined = match (object.table(DT_GNU_HASH), object.table(DT_HASH)) {
            (Some(hashes), _) => defined_by_gnu_hash(hashes as *const u32),
            // Its second word.
            (None, Some(hashes)) => 1..*(hashes as *const u32).add(1) as usize,
            (None, None) => return false,
        };
        let symbols = symbols as *const libc::Elf64_Sym;
        defined.into_iter().any(|i| {
            let symbol = &*symbols.add(i);
            let name = CStr::from_ptr((names + symbol.st_name as usize) as *const c_char);
            symbol.st_shndx != UNDEFINED
                && name.to_bytes().starts_with(b"shmem")
                && NAMES.split(' ').any(|n| n.as_bytes() == name.to_bytes())
        })
    }
}

/// The numbers of the symbols in a hash table of the GNU kind: those that the object defines.
///
/// # Safety
/// `table` is that of a loaded object.
unsafe fn defined_by_gnu_hash(table: *const u32) -> std::ops::Range<usize> {
    /// Words of the head, and words of 32 bits in one of the filter.
    const HEAD: usize = 4;
    const FILTER_WORD: usize = 2;

    // SAFETY: buckets, first symbol and words of the filter; then the filter, the buckets, and for each symbol from
    // the first on a word whose lowest bit ends the chain of its bucket.
    unsafe {
        let [n_buckets, first, filter] = [0, 1, 2].map(|i| *table.add(i) as usize);
        let buckets = table.add(HEAD + FILTER_WORD * filter);
        let chains = buckets.add(n_buckets);
        let last = (0..n_buckets).map(|i| *buckets.add(i) as usize).max();
        let Some(mut last) = last.filter(|last| *last >= first) else {
            return 0..0;
        };
        while *chains.add(last - first) & 1 == 0 {
            last += 1;
        }
        first..last + 1
    }
}
