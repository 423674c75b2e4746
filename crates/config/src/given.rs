//! What a PE is given for the variables that hold for the whole job, as PEs exchange it:
//! launchers hand on some variables or none, so the PEs of a job may be given different values.

use std::ffi::OsStr;

use super::environment::{Environment, Values};
use super::table::TABLE;
use super::value::ConfigError;
use super::variable::{Entry, Scope};

/// Most bytes of a value that PEs exchange. A longer one is cut, and then means nothing: it ends in [`CUT`].
const LONGEST: usize = 64;
const CUT: &str = "...";

/// The values of the variables of scope [`Scope::Job`], as they stand in a PE's environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenSettings {
    /// Names and values in the order of the table; None where a variable is unset.
    values: Vec<(&'static str, Option<String>)>,
}

/// This PE is given another value than PE 0 for a variable that holds for the whole job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenDiffers {
    /// The variable.
    pub variable: &'static str,
    /// What this PE is given.
    pub here: String,
    /// What PE 0 is given, if anything.
    pub first: Option<String>,
}

/// The variables that hold for the whole job.
fn of_job() -> impl Iterator<Item = &'static dyn Entry> {
    let all = TABLE.iter().copied();
    all.filter(|entry| entry.scope() == Scope::Job)
}

impl Default for GivenSettings {
    fn default() -> Self {
        Self::of_pe(&[])
    }
}

impl GivenSettings {
    /// Those of this process.
    pub fn of_this_process() -> Self {
        Self::of(&Environment::process())
    }

    /// What a PE is given whose environment has these variables.
    #[doc(hidden)]
    pub fn of_pe(set: &[(&str, &str)]) -> Self {
        let lookup = |name: &str| {
            let found = set.iter().find(|(n, _)| *n == name);
            found.map(|(_, value)| std::ffi::OsString::from(value))
        };
        Self::of(&Environment::only(&lookup))
    }

    fn of(environment: &Environment<'_>) -> Self {
        let given = |entry: &'static dyn Entry| entry.raw(environment);
        let text = |value: &OsStr| clipped(value.to_string_lossy().into_owned());
        let values = of_job().map(|entry| (entry.name(), given(entry).map(|value| text(&value))));
        Self { values: values.collect() }
    }

    /// The first variable that is set here and has another meaning than on PE 0, which is given
    /// `first`.
    ///
    /// # Errors
    /// A value cannot be read.
    pub fn difference(&self, first: &Self) -> Result<Option<GivenDiffers>, ConfigError> {
        for (entry, (name, here)) in of_job().zip(&self.values) {
            let (here, there) = (here.as_deref(), first.value(name));
            let Some(here) = here.filter(|_| here != there) else {
                continue;
            };
            if !entry.same(Some(OsStr::new(here)), there.map(OsStr::new))? {
                return Ok(Some(GivenDiffers {
                    variable: entry.name(),
                    here: here.to_owned(),
                    first: there.map(str::to_owned),
                }));
            }
        }
        Ok(None)
    }

    /// As bytes for other PEs: for each variable its length + 1, or 0 if it is unset, and its value.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (_, value) in &self.values {
            let text = value.as_deref().unwrap_or_default();
            bytes.push(value.as_ref().map_or(0, |_| text.len() as u8 + 1));
            bytes.extend(text.as_bytes());
        }
        bytes
    }

    /// From [`to_bytes`](Self::to_bytes), which are all of `bytes`; None if they are something
    /// else, such as those of a library with other variables.
    pub fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let mut values = Vec::new();
        for entry in of_job() {
            let (length, rest) = bytes.split_first()?;
            let length = usize::from(*length);
            let (value, rest) = rest.split_at_checked(length.saturating_sub(1))?;
            if value.len() > LONGEST {
                return None;
            }
            let value = (length > 0).then(|| String::from_utf8(value.to_vec()).ok());
            let value = match value {
                Some(text) => Some(text?),
                None => None,
            };
            values.push((entry.name(), value));
            bytes = rest;
        }
        bytes.is_empty().then_some(Self { values })
    }

    /// Most bytes of [`to_bytes`](Self::to_bytes).
    pub fn most_bytes() -> usize {
        of_job().count() * (LONGEST + 1)
    }
}

impl Values for GivenSettings {
    fn has(&self, name: &str) -> bool {
        self.values.iter().any(|(other, _)| *other == name)
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(other, _)| *other == name)?.1.as_deref()
    }
}

/// A value of at most [`LONGEST`] bytes.
fn clipped(mut value: String) -> String {
    if value.len() > LONGEST {
        let mut end = (0..=LONGEST - CUT.len()).rev();
        value.truncate(end.find(|end| value.is_char_boundary(*end)).unwrap_or(0));
        value += CUT;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::super::table::*;
    use super::super::variable::Program;
    use super::super::{HeapSettings, forced};
    use super::*;

    fn given(set: &[(&str, &str)]) -> GivenSettings {
        GivenSettings::of_pe(set)
    }

    /// The scope of every variable, decided one by one: results or an end of the job depend on
    /// equal values of those of the job.
    #[test]
    fn every_variable_has_a_scope() {
        let of = |scope| {
            let with = TABLE.iter().filter(move |entry| entry.scope() == scope);
            with.map(|entry| entry.name()).collect::<Vec<_>>()
        };
        assert_eq!(
            of(Scope::Job),
            [
                SYMMETRIC_SIZE.name, CHECK.name, REPRODUCIBLE.name, TEAM_TABLE.name, SOCKETS.name,
                BARRIER_ALGORITHM.name, REDUCE_ALGORITHM.name, BROADCAST_ALGORITHM.name, COLLECT_ALGORITHM.name,
                FCOLLECT_ALGORITHM.name, ALLTOALL_ALGORITHM.name, ALLTOALLS_ALGORITHM.name, SCAN_ALGORITHM.name,
                FABRIC.name, FABRIC_TIMEOUT.name, AGGREGATE.name, HANG_HINT.name, HANG_TIMEOUT.name,
            ]
        );
        assert_eq!(of(Scope::Node), [TUNING_FILE.name]);
        assert_eq!(
            of(Scope::Pe),
            [
                VERSION.name, INFO.name, DEBUG.name, FAST_PATH.name, MPI_INIT.name, SPIN.name, HUGE_PAGES.name,
                NON_TEMPORAL_THRESHOLD.name, WORKERS.name, SHARE_THRESHOLD.name, OFFLOAD_THRESHOLD.name, OPENMP.name,
                FABRIC_INTERFACE.name, SPAWN_TIMEOUT.name, NAME_DIRECTORY.name, ENDPOINTS.name, LIBFABRIC.name,
                PROFILE_DIR.name, TRACE_SIZE.name, COUNTERS.name, STATUS.name, WAIT_FOR_DEBUGGER.name, GDB.name,
            ]
        );
        assert_eq!(of(Scope::Tool), [CC.name, CXX.name, FC.name]);
        for entry in TABLE {
            let by_library = entry.readers().contains(&Program::Library);
            assert!(by_library || entry.scope() != Scope::Pe, "{}", entry.name());
            assert!(!by_library || entry.scope() != Scope::Node);
            assert_eq!(entry.scope() != Scope::Tool, entry.is_of_jobs());
        }
    }

    #[test]
    fn values_of_the_job_travel() {
        for entry in of_job() {
            let sent = given(&[(entry.name(), "a value")]);
            let bytes = sent.to_bytes();
            assert!(bytes.len() <= GivenSettings::most_bytes());
            let received = GivenSettings::from_bytes(&bytes).unwrap();
            assert_eq!(received, sent);
            let environment = Environment::process_but(&received);
            assert_eq!(entry.raw(&environment), Some("a value".into()));
            for other in of_job().filter(|other| other.name() != entry.name()) {
                assert_eq!(other.raw(&environment), None, "{}", other.name());
            }
        }
        let received = given(&[("SMA_SYMMETRIC_SIZE", "2k")]);
        let heap = HeapSettings::of_job(&received).unwrap();
        assert_eq!(heap.size, Some(2048));
        let received = given(&[("SHMEM_SCAN_ALGORITHM", "pull")]);
        let forced = forced(&Environment::process_but(&received)).unwrap();
        assert!(forced.of(ferroshmem_tuning::Collective::Scan).is_some());
    }

    #[test]
    fn what_pe_0_is_given_holds_where_nothing_else_is() {
        let none = given(&[]);
        let checked = given(&[("SHMEM_CHECK", "1"), ("SHMEM_SYMMETRIC_SIZE", "1g")]);
        assert_eq!(none.difference(&checked), Ok(None));
        let same = given(&[("SHMEM_CHECK", "on"), ("SMA_SYMMETRIC_SIZE", "1024m")]);
        assert_eq!(same.difference(&checked), Ok(None));
        let default = given(&[("SHMEM_CHECK", "0"), ("SHMEM_REDUCE_ALGORITHM", "auto")]);
        assert_eq!(default.difference(&none), Ok(None));
        let differs = checked.difference(&none).unwrap().unwrap();
        assert_eq!((differs.here.as_str(), differs.first), ("1g", None));
        let differs = default.difference(&checked).unwrap().unwrap();
        assert_eq!((differs.variable, differs.first), ("SHMEM_CHECK", Some("1".into())));
        let wrong = given(&[("SHMEM_CHECK", "perhaps")]);
        assert!(wrong.difference(&checked).is_err());
    }

    #[test]
    fn bytes_of_something_else_are_refused() {
        let bytes = given(&[("SHMEM_CHECK", "1"), ("SHMEM_FABRIC", "tcp")]).to_bytes();
        assert!(GivenSettings::from_bytes(&bytes).is_some());
        for cut in 0..bytes.len() {
            assert_eq!(GivenSettings::from_bytes(&bytes[..cut]), None, "{cut}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(GivenSettings::from_bytes(&longer), None);
        assert_eq!(GivenSettings::from_bytes(&[u8::MAX; 4096]), None);
        assert_eq!(GivenSettings::from_bytes(&[100; 4096]), None);
    }

    #[test]
    fn long_values_are_cut() {
        let long = "\u{e4}".repeat(500);
        let bytes = given(&[("SHMEM_FABRIC", &long), ("SHMEM_CHECK", &long)]).to_bytes();
        assert!(bytes.len() <= GivenSettings::most_bytes());
        assert!(GivenSettings::from_bytes(&bytes).is_some());
        // A list of which a part is a list, too.
        let list = given(&[(SOCKETS.name, &["0*10"; 14].join(","))]);
        let line = SOCKETS.read(&Environment::process_but(&list)).unwrap_err().to_string();
        assert!(line.contains("...\" as sockets") && line.ends_with("64 bytes at most"), "{line}");
    }
}
