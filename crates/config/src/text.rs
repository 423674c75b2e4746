//! The table as text: for `oshmem_info` and the manual pages.

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
    ("ferroshmem.7", &[]),
    ("oshrun.1", &[Program::Oshrun]),
    ("oshtune.1", &[Program::Oshtune]),
    ("oshcc.1", &[Program::Oshcc, Program::Oshcxx, Program::Oshfort]),
];

/// The list of variables of a manual page, in mdoc, if it has one.
pub fn manual_list(page: &str) -> Option<String> {
    let (_, readers) = PAGES.iter().find(|(name, _)| *name == page)?;
    let mut text = String::new();
    if readers.is_empty() {
        for line in SCOPES {
            text += &format!("{line}\n");
        }
    }
    text += ".Bl -tag -width Ds\n";
    for entry in TABLE {
        let listed = match readers {
            [] => entry.is_of_jobs(),
            readers => readers.iter().any(|r| entry.readers().contains(r)),
        };
        if !listed {
            continue;
        }
        text += &format!(".It Ev {}", entry.name());
        if let Some(alias) = entry.alias() {
            text += &format!(" Pq Ev {alias}");
        }
        // One line for each sentence, as roff wants it.
        text += &format!("\n{}\n", entry.help().replace(". ", ".\n"));
        let mut values = values(*entry);
        values[..1].make_ascii_uppercase();
        text += &format!("{values}.\n");
    }
    Some(text + ".El\n")
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
        let overview = manual_list("ferroshmem.7").unwrap();
        assert!(overview.contains(".It Ev SHMEM_INFO Pq Ev SMA_INFO\n"));
        assert!(!overview.contains("OSHMEM_CC") && !overview.contains("FERROSHMEM_JOB"));
        let wrappers = manual_list("oshcc.1").unwrap();
        for entry in TABLE {
            let item = format!(".It Ev {}", entry.name());
            assert!(overview.contains(&item) != wrappers.contains(&item));
        }
    }
}
