//! The table as text: for `oshmem_info` and the pages of the commands.

use super::environment::Environment;
use super::table::TABLE;
use super::variable::{Entry, Program, Scope};

/// The variables of jobs, with the values that are set in this process: what `oshmem_info` prints.
pub fn describe() -> String {
    let environment = Environment::process();
    let mut out = String::from("Environment variables\n");
    for line in SCOPES {
        out += &format!("  {line}\n");
    }
    for entry in of_jobs() {
        let alias = entry.alias().map(|a| format!(" (or {a})"));
        out += &format!("  {}{}\n", entry.name(), alias.unwrap_or_default());
        out += &format!("      {}\n      {}", entry.help(), values(entry));
        if let Some(value) = entry.raw(&environment) {
            out += &format!("; set to \"{}\"", value.to_string_lossy());
        }
        out.push('\n');
    }
    out
}

/// The pages with a list of variables, and what reads the variables of the list; none: all those of jobs.
const PAGES: &[(&str, &[Program])] = &[
    ("ferroshmem", &[]),
    ("oshrun", &[Program::Oshrun]),
    ("oshtune", &[Program::Oshtune]),
    ("oshcc", &[Program::Oshcc, Program::Oshcxx, Program::Oshfort]),
];

/// The list of variables of a page, in Markdown, if it has one.
pub fn page_list(page: &str) -> Option<String> {
    let (_, readers) = PAGES.iter().find(|(name, _)| *name == page)?;
    let mut text = String::new();
    if readers.is_empty() {
        text += &format!("{}\n\n", SCOPES.join(" "));
    }
    for entry in TABLE {
        let listed = match readers {
            [] => entry.is_of_jobs(),
            readers => readers.iter().any(|r| entry.readers().contains(r)),
        };
        if !listed {
            continue;
        }
        let alias = entry.alias().map(|alias| format!(" (`{alias}`)")).unwrap_or_default();
        let mut values = values(*entry);
        values[..1].make_ascii_uppercase();
        text += &format!("- `{}`{alias}: {} {values}.\n", entry.name(), entry.help());
    }
    Some(text)
}

fn of_jobs() -> impl Iterator<Item = &'static dyn Entry> {
    TABLE.iter().copied().filter(|entry| entry.is_of_jobs())
}

fn values(entry: &dyn Entry) -> String {
    let text = format!("value: {}; default: {}", entry.accepts(), entry.default());
    match entry.scope() {
        Scope::Tool => text,
        scope => format!("{text}; scope: {}", scope.name()),
    }
}

/// What the scopes of a list mean: a line each.
const SCOPES: [&str; 3] = [
    "Scope job: the value that PE 0 is given holds for all PEs; a PE that is given another one ends the job.",
    "Scope node: oshrun reads it for the PEs of its node.",
    "Scope PE: each PE follows the value that it is given itself.",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variable_has_its_page() {
        let overview = page_list("ferroshmem").unwrap();
        assert!(overview.contains("- `SHMEM_INFO` (`SMA_INFO`): "));
        assert!(!overview.contains("OSHMEM_CC") && !overview.contains("FERROSHMEM_JOB"));
        let wrappers = page_list("oshcc").unwrap();
        for entry in TABLE {
            let item = format!("- `{}`", entry.name());
            assert!(overview.contains(&item) != wrappers.contains(&item));
        }
    }
}
