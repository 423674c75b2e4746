//! Where the tuning file is.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use ferroshmem_core::env::TUNING_FILE;

/// A place for the tuning file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The file.
    pub path: PathBuf,
    /// Whether the user named it: then it should be there.
    pub named: bool,
}

impl Location {
    /// The place that `SHMEM_TUNING_FILE` names, with the value `variable` if that is given,
    /// else the file of this user. None if the variable is empty, or the user has no home.
    pub fn find(variable: Option<OsString>) -> Option<Self> {
        let variable = variable.or_else(|| env::var_os(TUNING_FILE.name));
        Self::among(variable, |name| env::var_os(name))
    }

    fn among(variable: Option<OsString>, get: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        if let Some(path) = variable {
            let path = PathBuf::from(path);
            let given = !path.as_os_str().is_empty();
            return given.then_some(Self { path, named: true });
        }
        // Relative paths in these are to be ignored (XDG Base Directory Specification).
        let absolute = |name| get(name).map(PathBuf::from).filter(|p| p.is_absolute());
        let config = absolute("XDG_CONFIG_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".config")))?;
        Some(Self {
            path: config.join("ferroshmem/tuning.toml"),
            named: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(variable: Option<&str>, set: &[(&str, &str)]) -> Option<(String, bool)> {
        let get = |name: &str| {
            let found = set.iter().find(|(n, _)| *n == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let location = Location::among(variable.map(OsString::from), get)?;
        Some((location.path.display().to_string(), location.named))
    }

    #[test]
    fn places_in_order() {
        let home = ("HOME", "/home/a");
        let config = ("XDG_CONFIG_HOME", "/etc/mine");
        let file = |path: &str, named| Some((path.to_owned(), named));
        assert_eq!(find(Some("x.toml"), &[home]), file("x.toml", true));
        assert_eq!(find(Some(""), &[home, config]), None);
        assert_eq!(
            find(None, &[home, config]),
            file("/etc/mine/ferroshmem/tuning.toml", false)
        );
        let in_home = file("/home/a/.config/ferroshmem/tuning.toml", false);
        assert_eq!(find(None, &[home]), in_home);
        assert_eq!(find(None, &[home, ("XDG_CONFIG_HOME", "here")]), in_home);
        assert_eq!(find(None, &[]), None);
    }
}
