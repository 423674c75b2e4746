//! Of a frame: whether it is the program's or the library's, and how its place is shown.

use std::fmt;
use std::path::Path;

use super::image::Line;
use crate::profile::is_own_header;

/// Where in the user's program a process is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SourcePlace {
    pub(super) line: Line,
    /// The file of the code, and the address in it.
    pub(super) object: (String, u64),
}

/// Whether a file is the library, or one of those that it, or any program, calls.
pub(super) fn is_library_file(name: &str) -> bool {
    const NAMES: [&str; 14] = [
        "libshmem.so", "libshmem-check.so", "libc.so", "libc-", "ld-linux", "ld-2.", "libpthread", "libm.so",
        "libgcc_s", "libstdc++", "libgomp", "libomp", "libfabric", "librt",
    ];
    NAMES.iter().any(|prefix| name.starts_with(prefix))
}

impl Line {
    /// Whether it is of this library, where that is linked into the program.
    pub(super) fn is_of_library(&self) -> bool {
        const CRATES: [&str; 14] = [
            "ferroshmem::", "ferroshmem_api::", "ferroshmem_collective::", "ferroshmem_core::", "ferroshmem_message::",
            "ferroshmem_port::", "ferroshmem_profiling::", "ferroshmem_runtime::", "ferroshmem_simd::",
            "ferroshmem_stream::", "ferroshmem_sys::", "ferroshmem_platform::", "ferroshmem_fabric::",
            "ferroshmem_bootstrap::",
        ];
        const ROUTINES: [&str; 4] = ["shmem_", "shmemx_", "shmemi_", "pshmem"];
        let name = self.name();
        // A program may have functions with such names, too.
        let is_ours = |(file, _): &(String, u32)| is_own_header(file) || file.ends_with(".rs");
        let may_be_ours = || self.source.as_ref().is_none_or(is_ours);
        CRATES.iter().any(|prefix| name.starts_with(prefix))
            || ROUTINES.iter().any(|prefix| name.starts_with(prefix)) && !name.contains("::") && may_be_ours()
    }

    /// The function without its parameters, as C++ has them.
    pub(super) fn routine(&self) -> &str {
        self.name().split('(').next().unwrap_or_default()
    }

    /// Whether it is of the library, of Rust's own, a copy by the C library that is linked in, or an atomic operation
    /// that a compiler for Arm calls.
    pub(super) fn is_below_user(&self) -> bool {
        const CRATES: [&str; 7] = ["core::", "std::", "alloc::", "__rust", "__memcpy", "__memmove", "__aarch64_"];
        let is_of_rust = |(file, _): &(String, u32)| file.starts_with("/rustc/");
        let name = self.name();
        self.is_of_library()
            || self.source.as_ref().is_some_and(is_of_rust)
            || CRATES.iter().any(|prefix| name.starts_with(prefix))
    }

    /// The function; `<T as Trait>::method` is of the crate of its type.
    pub(super) fn name(&self) -> &str {
        let name = self.function.as_ref().map_or("", |(name, _)| name);
        let name = name.trim_start_matches(['<', '&']);
        name.trim_start_matches("mut ").trim_start_matches("dyn ")
    }
}

impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (object, address) = &self.object;
        match (&self.line.source, &self.line.function) {
            (Some((file, line)), function) => {
                let here = std::env::current_dir().unwrap_or_default();
                let file = Path::new(file);
                let file = file.strip_prefix(&here).unwrap_or(file);
                write!(f, "{}:{line}", file.display())?;
                match function {
                    Some((name, _)) => write!(f, " ({name})"),
                    None => Ok(()),
                }
            }
            (None, Some((name, distance))) => {
                write!(f, "{name}+{:#x} ({object})", distance.unwrap_or(0))
            }
            (None, None) => write!(f, "{object}+{address:#x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_libraries_are_known() {
        let line = |name: &str| Line { function: Some((name.to_owned(), None)), source: None };
        for name in [
            "ferroshmem::world::World::barrier_all",
            "<ferroshmem_core::wait::Waiter as core::fmt::Debug>::fmt",
            "<&mut ferroshmem::Team>::sync",
            "core::ops::function::FnOnce::call_once",
            "shmem_long_p",
            "shmemi_wait",
            "__aarch64_ldadd8_acq_rel",
        ] {
            assert!(line(name).is_below_user(), "{name}");
        }
        assert!(line("shmem_long_p").is_of_library());
        assert!(!line("core::fmt::write").is_of_library());
        for name in ["main", "stencil::relax::{{closure}}", "<app::A as ferroshmem::B>::c", "shmem_app::main"] {
            assert!(!line(name).is_below_user(), "{name}");
        }
        assert!(is_library_file("libshmem.so.1") && !is_library_file("libmine.so"));
    }

    #[test]
    fn functions_of_the_program_may_be_called_like_routines() {
        let line =
            |file: &str| Line { function: Some(("shmem_long_p".to_owned(), None)), source: Some((file.to_owned(), 7)) };
        assert!(line("/opt/include/shmem/native.h").is_of_library() && line("sys/src/rma.rs").is_of_library());
        assert!(!line("/home/me/solve.c").is_of_library());
    }

    #[test]
    fn places_are_shown() {
        let mut place = SourcePlace { line: Line::default(), object: ("solve".to_owned(), 0x1189) };
        assert_eq!(place.to_string(), "solve+0x1189");
        place.line.function = Some(("relax".to_owned(), Some(9)));
        assert_eq!(place.to_string(), "relax+0x9 (solve)");
        place.line.source = Some(("/src/solve.c".to_owned(), 12));
        assert_eq!(place.to_string(), "/src/solve.c:12 (relax)");
    }
}
