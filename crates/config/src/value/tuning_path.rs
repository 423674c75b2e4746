//! The path of the tuning file.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{Result, ValueType};
use crate::environment::Environment;

/// The path of the tuning file.
#[derive(Debug, Clone, Copy)]
pub struct TuningPath {
    /// Path below the user's folder for configuration files, where the variable is unset.
    pub default: &'static str,
}

/// Where the tuning file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TuningFilePath {
    /// The file.
    pub path: PathBuf,
    /// Whether the user named it: then it should be there.
    pub named: bool,
}

impl ValueType for TuningPath {
    /// None if the value is empty, or the user has no home.
    type Value = Option<TuningFilePath>;

    fn accepts(&self) -> String {
        "path; empty for none".to_owned()
    }

    fn default(&self) -> String {
        let path = self.default;
        format!("$XDG_CONFIG_HOME/{path}, or the same below ~/.config")
    }

    fn read(
        &self,
        _: &'static str,
        given: Option<OsString>,
        environment: &Environment<'_>,
    ) -> Result<Option<TuningFilePath>> {
        if let Some(path) = given.map(PathBuf::from) {
            let named = !path.as_os_str().is_empty();
            return Ok(named.then_some(TuningFilePath { path, named }));
        }
        Ok(environment.config_home().map(|folder| TuningFilePath { path: folder.join(self.default), named: false }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::TUNING_FILE;

    #[test]
    fn the_tuning_file_is_searched_in_an_order() {
        let find = |value: Option<&str>, set: &[(&str, &str)]| {
            let lookup = |name: &str| {
                let own = (name == TUNING_FILE.name).then_some(value).flatten();
                let found = set.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
                own.or(found).map(OsString::from)
            };
            let found = TUNING_FILE.read(&Environment::only(&lookup)).unwrap()?;
            Some((found.path.display().to_string(), found.named))
        };
        let home = ("HOME", "/home/a");
        let config = ("XDG_CONFIG_HOME", "/etc/mine");
        let file = |path: &str, named| Some((path.to_owned(), named));
        assert_eq!(find(Some("x.toml"), &[home]), file("x.toml", true));
        assert_eq!(find(Some(""), &[home, config]), None);
        assert_eq!(find(None, &[home, config]), file("/etc/mine/ferroshmem/tuning.toml", false));
        let in_home = file("/home/a/.config/ferroshmem/tuning.toml", false);
        assert_eq!(find(None, &[home]), in_home);
        assert_eq!(find(None, &[home, ("XDG_CONFIG_HOME", "here")]), in_home);
        assert_eq!(find(None, &[]), None);
    }
}
