//! Which sources may read environment variables.

use super::source::Source;

/// What is delivered to users.
pub(crate) const FOLDERS: &[&str] = &[
    "src", "crates/api/src", "crates/config/src", "crates/core/src", "crates/collective/src", "crates/port/src",
    "crates/message/src", "crates/stream/src", "crates/profiling/src", "crates/runtime/src", "crates/fabric/src",
    "crates/bootstrap/src", "crates/platform/src", "crates/tools/src", "shmem-sys/src", "libshmem/src",
];

/// Sources that read the variables of a table: the library's configuration, and what launchers set.
pub(crate) const TABLES: &[&str] = &["crates/config/src", "crates/bootstrap/src/environment"];

/// Other sources that read variables, and why.
const ALLOWED: &[(&str, &str)] =
    &[("crates/fabric/src/discovery", "FI_UNIVERSE_SIZE is libfabric's: it is set where the user has not set it")];

/// Functions of `std::env` and macros that read variables.
const READS: [&str; 4] = ["var", "var_os", "vars", "vars_os"];

/// Reads of variables that should not be in this source.
pub(crate) fn findings(source: &Source) -> Vec<String> {
    let allowed = TABLES.iter().chain(ALLOWED.iter().map(|(file, _)| file));
    if allowed.into_iter().any(|file| source.path.starts_with(file)) {
        return Vec::new();
    }
    let tokens = &source.tokens;
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let of_std = text(at) == "env" && text(at + 1) == "::" && READS.contains(&text(at + 2));
        let of_c = ["getenv", "secure_getenv", "option_env"].contains(&text(at));
        if of_std || of_c {
            found.push(format!("{}:{} reads an environment variable", source.path, token.line));
        }
    }
    found
}
