//! What a PE declares of itself that must be the same on all PEs of the job: which build of the library
//! it runs, and what it is given for the variables that hold for the whole job.

use std::fmt;

use ferroshmem_config::{ConfigError, GivenDiffers, GivenSettings};
use ferroshmem_layout::DECLARATION_BYTES;

use crate::sources;

/// A build of the library: its version, and digests of its sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Build(String);

impl Build {
    /// Most bytes of its text.
    const LONGEST: usize = 120;

    /// That of this process.
    pub fn of_this_process() -> Self {
        let digests = sources::digests().join("-");
        Self(format!("{} build {digests}", env!("CARGO_PKG_VERSION")))
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Another process's bytes: nothing of it shall act on a terminal.
        write!(f, "{}", self.0.escape_debug())
    }
}

/// A PE's declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// The library that it runs.
    pub build: Build,
    /// What it is given.
    pub given: GivenSettings,
}

/// Why a PE cannot take part in a job with PE 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Disagreement {
    /// Another build of the library.
    #[error(
        "this PE{here} runs FerroSHMEM {mine}, but PE 0{there} runs {first}: install the same build for all PEs, and \
            link programs with it again"
    )]
    Build {
        /// Where this PE is.
        here: String,
        /// Where PE 0 is.
        there: String,
        /// Its build.
        mine: Build,
        /// PE 0's.
        first: Build,
    },
    /// Another value of a variable.
    #[error(
        "{} is {:?} on this PE{here}, but {} on PE 0{there}: it holds for the whole job, so set it for all PEs alike, \
            or for PE 0 alone",
        .setting.variable, .setting.here, value(.setting.first.as_deref())
    )]
    Setting {
        /// Where this PE is.
        here: String,
        /// Where PE 0 is.
        there: String,
        /// The variable and its values.
        setting: GivenDiffers,
    },
    /// A variable that holds for the whole job cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// What PE 0 declares is unknown to this library.
    #[error("PE 0 runs another build of FerroSHMEM: install the same build for all PEs")]
    Unknown,
}

/// `unset`, or the value in quotes.
fn value(value: Option<&str>) -> String {
    value.map_or_else(|| "unset".to_owned(), |value| format!("{value:?}"))
}

impl Declaration {
    /// That of this process.
    pub fn of_this_process() -> Self {
        Self { build: Build::of_this_process(), given: GivenSettings::of_this_process() }
    }

    /// Why the PE that declares this cannot take part in a job with PE 0, which declares `first`.
    /// `here` and `there` say on which hosts they are, if on different ones.
    ///
    /// # Errors
    /// The difference.
    pub fn agree(&self, first: &Self, (here, there): (&str, &str)) -> Result<(), Disagreement> {
        let (here, there) = (here.to_owned(), there.to_owned());
        if self.build != first.build {
            return Err(Disagreement::Build { here, there, mine: self.build.clone(), first: first.build.clone() });
        }
        match self.given.difference(&first.given)? {
            None => Ok(()),
            Some(setting) => Err(Disagreement::Setting { here, there, setting }),
        }
    }

    /// As bytes for other PEs.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.build.0.len() as u8];
        bytes.extend(self.build.0.as_bytes());
        bytes.extend(self.given.to_bytes());
        bytes
    }

    /// From [`to_bytes`](Self::to_bytes); None if they are something else. The values of a library
    /// with other variables are left out: its build differs anyway.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > DECLARATION_BYTES {
            return None;
        }
        let (length, rest) = bytes.split_first()?;
        let (build, given) = rest.split_at_checked((*length).into())?;
        if build.len() > Build::LONGEST {
            return None;
        }
        let build = Build(String::from_utf8(build.to_vec()).ok()?);
        let given = match GivenSettings::from_bytes(given) {
            None if build != Build::of_this_process() => GivenSettings::default(),
            given => given?,
        };
        Some(Self { build, given })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_declaration_fits() {
        assert!(Build::of_this_process().0.len() <= Build::LONGEST);
        assert!(1 + Build::LONGEST + GivenSettings::most_bytes() <= DECLARATION_BYTES);
    }

    #[test]
    fn declarations_come_back() {
        let declaration = Declaration::of_this_process();
        assert_eq!(declaration.agree(&declaration, ("", "")), Ok(()));
        let bytes = declaration.to_bytes();
        assert_eq!(Declaration::from_bytes(&bytes), Some(declaration));
        for cut in 0..bytes.len() {
            assert_eq!(Declaration::from_bytes(&bytes[..cut]), None, "{cut}");
        }
        assert_eq!(Declaration::from_bytes(&[0; DECLARATION_BYTES + 1]), None);
    }

    #[test]
    fn another_build_is_refused_whatever_it_knows() {
        let mine = Declaration::of_this_process();
        let mut bytes = vec![9];
        bytes.extend(b"0.2 bu\nld");
        bytes.extend(b"settings of another form");
        let other = Declaration::from_bytes(&bytes).unwrap();
        let line = mine.agree(&other, (" (host b)", " (host a)"));
        let line = line.unwrap_err().to_string();
        assert!(line.starts_with("this PE (host b) runs FerroSHMEM 0."), "{line}");
        assert!(line.contains("PE 0 (host a) runs 0.2 bu\\nld: install"), "{line}");
    }

    #[test]
    fn a_disagreement_names_both_values() {
        let setting = GivenDiffers { variable: "SHMEM_CHECK", here: "1\n".into(), first: None };
        let line = Disagreement::Setting { here: String::new(), there: String::new(), setting };
        assert_eq!(
            line.to_string(),
            "SHMEM_CHECK is \"1\\n\" on this PE, but unset on PE 0: it holds for the whole job, \
             so set it for all PEs alike, or for PE 0 alone"
        );
    }
}
