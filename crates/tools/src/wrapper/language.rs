//! Which language a wrapper compiles, by the name under which it was started.

use std::ffi::OsStr;
use std::path::Path;

use ferroshmem_config::{self as config, Command, Variable};

/// A language that has a wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// `oshcc`.
    C,
    /// `oshc++`, also installed as `oshCC` and `oshcxx`.
    Cxx,
    /// `oshfort`.
    Fortran,
}

impl Language {
    /// The language that the program name `argv0` asks for: C++ or Fortran where it ends like the name of
    /// such a compiler, else C. What follows a point is left out: packages have `oshc++.ferroshmem`.
    pub fn of_program(argv0: &OsStr) -> Self {
        let name = Path::new(argv0).file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        let name = name.split('.').next().unwrap_or_default();
        let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
        match () {
            () if ends(&["c++", "CC", "cxx"]) => Self::Cxx,
            () if ends(&["fort"]) => Self::Fortran,
            () => Self::C,
        }
    }

    /// What the wrapper's name begins with if it compiles for another machine, as `aarch64-linux-gnu-` of
    /// `aarch64-linux-gnu-oshcc`: the names of cross compilers begin likewise. Else it is empty.
    pub fn target_of_program(argv0: &OsStr) -> String {
        let name = Path::new(argv0).file_name().unwrap_or_default().to_string_lossy();
        let target = name.rfind("osh").map(|end| &name[..end]).unwrap_or_default();
        let is_target = target.ends_with('-') && target.matches('-').count() > 2;
        if is_target { target.to_owned() } else { String::new() }
    }

    /// Name of the wrapper, for messages.
    pub fn wrapper(self) -> &'static str {
        match self {
            Self::C => "oshcc",
            Self::Cxx => "oshc++",
            Self::Fortran => "oshfort",
        }
    }

    /// Environment variable that names the real compiler.
    pub fn variable(self) -> &'static Variable<Command> {
        match self {
            Self::C => &config::CC,
            Self::Cxx => &config::CXX,
            Self::Fortran => &config::FC,
        }
    }

    /// The language's name in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::Cxx => "C++",
            Self::Fortran => "Fortran",
        }
    }
}

/// What a compiler reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Dialect {
    #[default]
    C,
    Cxx,
    /// Fortran, by gfortran of this version.
    Gfortran(u32),
    Flang,
    OtherFortran,
}

impl Dialect {
    /// Whether it is a dialect of Fortran.
    pub(super) fn is_fortran(self) -> bool {
        !matches!(self, Self::C | Self::Cxx)
    }

    /// What programs of OpenSHMEM need. Others than gfortran know Cray's pointers, and take arguments of several types.
    pub(super) fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Gfortran(..10) => &["-fcray-pointer"],
            Self::Gfortran(_) => &["-fcray-pointer", "-fallow-argument-mismatch"],
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_name_chooses_language() {
        let of = |name: &str| Language::of_program(OsStr::new(name));
        assert_eq!(of("oshcc"), Language::C);
        assert_eq!(of("/opt/my c++/bin/oshcc"), Language::C);
        assert_eq!(of("/usr/bin/oshcc.ferroshmem"), Language::C);
        for name in ["oshc++", "oshCC", "oshcxx", "/usr/bin/oshc++", "/usr/bin/oshc++.ferroshmem"] {
            assert_eq!(of(name), Language::Cxx, "{name}");
        }
        for name in ["oshfort", "/usr/bin/oshfort.ferroshmem", "aarch64-linux-gnu-oshfort"] {
            assert_eq!(of(name), Language::Fortran, "{name}");
        }
    }

    #[test]
    fn program_name_chooses_machine() {
        let of = |name: &str| Language::target_of_program(OsStr::new(name));
        assert_eq!(of("/opt/bin/aarch64-linux-gnu-oshcc"), "aarch64-linux-gnu-");
        assert_eq!(of("riscv64-linux-gnu-oshc++"), "riscv64-linux-gnu-");
        assert_eq!(Language::of_program(OsStr::new("riscv64-linux-gnu-oshc++")), Language::Cxx);
        for name in ["oshcc", "/opt/a-b-c-d/oshcc", "oshcc.ferroshmem", "my-oshcc"] {
            assert_eq!(of(name), "", "{name}");
        }
    }
}
