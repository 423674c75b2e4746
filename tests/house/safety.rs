//! Safety arguments that name no promise.

/// Folders whose unsafe code is looked through.
pub(crate) const FOLDERS: &[&str] = &["src", "crates", "shmem-sys", "libshmem", "dev"];

/// Whole arguments that leave open what is promised.
const EMPTY: [&str; 3] = ["the caller's promise", "as the caller promises", "the caller promises it"];

/// Lines of a source whose whole safety argument is empty.
pub(crate) fn findings(path: &str, text: &str) -> Vec<String> {
    let lines = text.lines().enumerate();
    let arguments = lines.filter_map(|(at, line)| {
        let argument = line.trim().strip_prefix("// SAFETY:")?;
        let argument = argument.trim().trim_end_matches('.');
        let goes_on = text.lines().nth(at + 1).is_some_and(|next| next.trim().starts_with("//"));
        (EMPTY.contains(&argument) && !goes_on).then(|| format!("{path}:{}", at + 1))
    });
    arguments.collect()
}
