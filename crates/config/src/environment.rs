//! The environment of this process: the one module that reads it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::process::Command;

/// Finds the value of a variable by its name.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// Where values come from: the environment of this process, unless something else goes before it
/// or takes its place.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    first: Option<Lookup<'a>>,
    then: Lookup<'a>,
    /// What takes the place of some variables of this process.
    instead: Option<&'a dyn Values>,
}

/// Values of some variables.
pub trait Values {
    /// Whether this is where the value of `name` comes from, if it has any.
    fn has(&self, name: &str) -> bool;

    /// The value of `name`; None if it is unset.
    fn value(&self, name: &str) -> Option<&str>;
}

impl fmt::Debug for Environment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").finish_non_exhaustive()
    }
}

impl Environment<'static> {
    /// That of this process.
    pub fn process() -> Self {
        Self { first: None, then: &|name| env::var_os(name), instead: None }
    }
}

impl<'a> Environment<'a> {
    /// That of this process, after what `first` finds.
    pub fn process_after(first: Lookup<'a>) -> Self {
        Self { first: Some(first), then: &|name| env::var_os(name), instead: None }
    }

    /// What `lookup` finds, and nothing else.
    pub fn only(lookup: Lookup<'a>) -> Self {
        Self { first: None, then: lookup, instead: None }
    }

    /// That of this process, but for the variables that `instead` has.
    pub fn process_but(instead: &'a dyn Values) -> Self {
        Self { first: None, then: &|name| env::var_os(name), instead: Some(instead) }
    }

    /// The value of `name`, or of `alias` where `name` is unset.
    pub(super) fn raw(&self, name: &str, alias: Option<&str>) -> Option<OsString> {
        if let Some(instead) = self.instead.filter(|values| values.has(name)) {
            return instead.value(name).map(OsString::from);
        }
        let of = |lookup: Lookup<'_>| lookup(name).or_else(|| alias.and_then(lookup));
        self.first.and_then(of).or_else(|| of(self.then))
    }

    /// The folder for configuration files of this user.
    pub(super) fn config_home(&self) -> Option<PathBuf> {
        self.folder("XDG_CONFIG_HOME", ".config")
    }

    /// The folder of `variable`, or `instead` in the home folder. Relative paths are ignored, as the XDG Base Directory
    /// Specification demands.
    fn folder(&self, variable: &str, instead: &str) -> Option<PathBuf> {
        let absolute = |name| {
            let path = self.raw(name, None).map(PathBuf::from);
            path.filter(|p| p.is_absolute())
        };
        absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(instead)))
    }
}

/// The folder for files of this user that can be made again.
pub fn cache_home() -> Option<PathBuf> {
    Environment::process().folder("XDG_CACHE_HOME", ".cache")
}

/// The value of any variable of this process: one that the user names.
pub fn inherited(name: &OsStr) -> Option<OsString> {
    env::var_os(name)
}

/// All variables of this process, to hand them on.
pub fn inherited_all() -> impl Iterator<Item = (OsString, OsString)> {
    env::vars_os()
}

/// The folders in which programs are searched, as `PATH` has them.
pub fn search_path() -> Option<OsString> {
    env::var_os("PATH")
}

/// The value of a variable of this process; none if it is not text.
pub(super) fn value(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// Removes a variable from this process.
///
/// # Safety
/// No other thread uses the environment meanwhile.
pub(super) unsafe fn remove(name: &str) {
    // SAFETY: the caller promises that no other thread uses the environment meanwhile.
    unsafe { env::remove_var(name) };
}

/// Lets `command` inherit no variable of an OpenSHMEM (`SHMEM_*`, `SMA_*`), and none that begins
/// with one of the `other` prefixes: what a user's shell has set must not change what is measured
/// or tested. Variables that `command` sets itself stay.
pub fn isolate(command: &mut Command, other: &[&str]) {
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let mut prefixes = ["SHMEM_", "SMA_"].iter().chain(other);
        let has_prefix = prefixes.any(|prefix| text.starts_with(prefix));
        if has_prefix && !command.get_envs().any(|(set, _)| set == name) {
            command.env_remove(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_inherit_other_variables() {
        let mut names = env::vars_os().map(|(name, _)| name);
        let inherited = names.next().expect("tests have an environment");
        let set = names.next().expect("of several variables");
        let mut command = Command::new("true");
        command.env(&set, "value");
        let text = inherited.to_string_lossy();
        isolate(&mut command, &[&text, &set.to_string_lossy()]);
        let of = |name: &OsStr| command.get_envs().find(|(n, _)| *n == name).map(|(_, v)| v);
        assert_eq!(of(&inherited), Some(None));
        assert_eq!(of(&set), Some(Some(OsStr::new("value"))));
        let mut command = Command::new("true");
        isolate(&mut command, &[]);
        assert!(command.get_envs().all(|(name, _)| name.to_string_lossy().starts_with('S')));
    }

    #[test]
    fn aliases_and_overrides_have_an_order() {
        let first = |name: &str| (name == "SMA_X").then(|| OsString::from("first"));
        let then = |name: &str| name.ends_with("_X").then(|| OsString::from(name));
        let both = Environment { first: Some(&first), then: &then, instead: None };
        let raw = |alias| both.raw("SHMEM_X", alias);
        assert_eq!(raw(Some("SMA_X")), Some("first".into()));
        assert_eq!(raw(None), Some("SHMEM_X".into()));
    }
}
