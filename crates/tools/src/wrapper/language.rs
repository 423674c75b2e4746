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
}

impl Language {
    /// The language that the program name `argv0` asks for: C++ where it ends like a C++
    /// compiler's name, else C. What follows a point is left out: packages have `oshc++.ferroshmem`.
    pub fn of_program(argv0: &OsStr) -> Self {
        let name = Path::new(argv0).file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        let name = name.split('.').next().unwrap_or_default();
        if ["c++", "CC", "cxx"].iter().any(|end| name.ends_with(end)) { Self::Cxx } else { Self::C }
    }

    /// Name of the wrapper, for messages.
    pub fn wrapper(self) -> &'static str {
        match self {
            Self::C => "oshcc",
            Self::Cxx => "oshc++",
        }
    }

    /// Environment variable that names the real compiler.
    pub fn variable(self) -> &'static Variable<Command> {
        match self {
            Self::C => &config::CC,
            Self::Cxx => &config::CXX,
        }
    }

    /// The language's name in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::Cxx => "C++",
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
    }
}
