//! The algorithm of a collective.

use std::ffi::OsString;

use ferroshmem_tuning::{Choice, Collective};

use super::{ConfigError, Problem, Result, ValueType, text};
use crate::environment::Environment;

/// An algorithm of a collective.
#[derive(Debug, Clone, Copy)]
pub struct AlgorithmChoice(pub Collective);

impl ValueType for AlgorithmChoice {
    /// None for `auto`.
    type Value = Option<Choice>;

    fn accepts(&self) -> String {
        let mut names = vec!["auto"];
        let mut with_forms = Vec::new();
        for choice in self.0.choices() {
            let name = choice.algorithm.name();
            if !names.contains(&name) {
                names.push(name);
                if choice.algorithm.has_forms() {
                    with_forms.push(name);
                }
            }
        }
        let mut text = alternatives(&names);
        if !with_forms.is_empty() {
            text += "; with :ptr or :putget after ";
            text += &alternatives(&with_forms);
        }
        text
    }

    fn default(&self) -> String {
        "auto".to_owned()
    }

    fn read(&self, variable: &'static str, given: Option<OsString>, _: &Environment<'_>) -> Result<Option<Choice>> {
        let Some(value) = text(given) else {
            return Ok(None);
        };
        let name = value.trim().to_ascii_lowercase();
        if name == "auto" {
            return Ok(None);
        }
        let choice = self.0.choice(&name);
        choice.map(Some).ok_or(ConfigError { variable, value, problem: Problem::Algorithm(self.0) })
    }
}

/// `a, b or c`.
fn alternatives(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [name] => (*name).to_owned(),
        [names @ .., last] => format!("{} or {last}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{REDUCE_ALGORITHM, SCAN_ALGORITHM};
    use crate::value::tests::read;
    use ferroshmem_tuning::Algorithm;

    #[test]
    fn auto_forces_nothing() {
        for value in ["auto", "", "  ", "Auto"] {
            assert_eq!(read(&REDUCE_ALGORITHM, value), Ok(None));
        }
    }

    #[test]
    fn names_force() {
        let choice = Choice::putget(Algorithm::Rabenseifner);
        assert_eq!(read(&REDUCE_ALGORITHM, " RSAG:putget "), Ok(Some(choice)));
    }

    #[test]
    fn unknown_names_list_the_valid_ones() {
        let line = |result: Result<_>| result.unwrap_err().to_string();
        assert_eq!(
            line(read(&REDUCE_ALGORITHM, "ring")),
            "SHMEM_REDUCE_ALGORITHM: \"ring\" is no algorithm of reduce: give auto, eager, \
             flat:ptr, flat:putget, rd:ptr, rd:putget, bruck:ptr, bruck:putget, rsag:ptr, \
             rsag:putget, slices, sockets"
        );
        let line = line(read(&SCAN_ALGORITHM, "slices:ptr"));
        assert!(line.ends_with("of scan: give auto, eager, pull, slices"));
    }

    #[test]
    fn algorithms_are_listed_with_their_forms() {
        assert_eq!(
            REDUCE_ALGORITHM.value.accepts(),
            "auto, eager, flat, rd, bruck, rsag, slices or sockets; \
             with :ptr or :putget after flat, rd, bruck or rsag"
        );
        assert_eq!(SCAN_ALGORITHM.value.accepts(), "auto, eager, pull or slices");
    }
}
