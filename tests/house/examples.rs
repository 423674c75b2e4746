//! Public functions whose documentation shows no use of them.

const FORMS: [&str; 3] = ["pub fn ", "pub unsafe fn ", "pub const fn "];

/// Lines of public functions whose documentation neither has an example nor names that of another function.
pub(crate) fn findings(path: &str, text: &str) -> Vec<String> {
    let (mut shown, mut hidden, mut found) = (false, false, Vec::new());
    for (at, line) in text.lines().enumerate() {
        // A module that is not documented ends where a line is its closing brace alone.
        hidden = line != "}" && (hidden || line == "pub mod private {");
        let line = line.trim_start();
        if !hidden && !shown && FORMS.iter().any(|form| line.starts_with(form)) {
            found.push(format!("{path}:{}", at + 1));
        }
        let documents = ["///", "#["].iter().any(|form| line.starts_with(form));
        shown |= documents && (line.contains("```") || line.contains("example of [`"));
        shown &= documents || !line.ends_with(['{', '}', ';']);
    }
    found
}
