//! Where PEs that are spawned run, as the PEs say that ask for them.

use std::collections::BTreeSet;
use std::ffi::OsString;

use clap::ValueEnum;
use clap::builder::PossibleValue;

use super::failure::Failure;
use super::options::{Binding, Mapping};
use super::values::number_set;

/// What is said of the PEs of one job.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Placement {
    /// What each is bound to.
    pub bind_to: Option<Binding>,
    /// The order in which they are given cores.
    pub map_by: Option<Mapping>,
    /// Cores of each.
    pub cores: Option<usize>,
    /// The CPUs that they may use.
    pub cpus: Option<BTreeSet<usize>>,
}

impl Placement {
    /// Reads `options`, as `NAME=VALUE`, of all programs of a job on the host `here`.
    pub(super) fn read<'a>(options: impl IntoIterator<Item = &'a OsString>, here: &str) -> Result<Self, Failure> {
        let mut placement = Self::default();
        for option in options {
            let option = option.to_string_lossy();
            let (name, value) = option.split_once('=').unwrap_or((&option, ""));
            match name {
                "bind_to" => set(&mut placement.bind_to, named(name, value)?, name)?,
                "map_by" => set(&mut placement.map_by, named(name, value)?, name)?,
                "cores" => match value.parse() {
                    Ok(n) if n > 0 => set(&mut placement.cores, n, name)?,
                    _ => return Err(refused(name, value, "1 or more")),
                },
                "cpus" => {
                    let cpus = number_set(value).ok_or_else(|| refused(name, value, "a list such as 0-3,8"))?;
                    set(&mut placement.cpus, cpus, name)?;
                }
                "host" if is_host(value, here) => {}
                "host" => {
                    let this = format!("{here}: PEs are started on the host of those that ask");
                    return Err(refused(name, value, &this));
                }
                _ => return Err(Failure::usage(format!("{name} is no field of a placement"))),
            }
        }
        if placement.cores.is_some() {
            match placement.bind_to.get_or_insert(Binding::Auto) {
                Binding::Auto => {}
                _ => {
                    let line = "cores is given beside bind_to, which says how many there are: give one of them";
                    return Err(Failure::usage(line));
                }
            }
        }
        Ok(placement)
    }
}

/// Whether a name is that of the host `here`, in full or to its first dot, or of whatever host it is.
fn is_host(name: &str, here: &str) -> bool {
    let short = |name: &str| name.split('.').next().map(str::to_ascii_lowercase);
    let whole = !name.contains('.') || !here.contains('.') || name.eq_ignore_ascii_case(here);
    name == "localhost" || (!name.is_empty() && whole && short(name) == short(here))
}

/// The value of a name that options of `oshrun` have, too.
fn named<T: ValueEnum>(name: &str, value: &str) -> Result<T, Failure> {
    T::from_str(value, false).map_err(|_| {
        let values = T::value_variants().iter();
        let values: Vec<PossibleValue> = values.filter_map(T::to_possible_value).collect();
        let values: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
        refused(name, value, &values.join(", "))
    })
}

fn refused(name: &str, value: &str, give: &str) -> Failure {
    Failure::usage(format!("{name} is {value:?}: give {give}"))
}

/// Programs of one job say the same.
fn set<T: PartialEq>(place: &mut Option<T>, value: T, name: &str) -> Result<(), Failure> {
    match place.replace(value) {
        Some(before) if Some(&before) != place.as_ref() => Err(Failure::usage(format!(
            "{name} differs between programs of one spawn: give the same value, or one program alone a value"
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(options: &[&str]) -> Result<Placement, String> {
        let options: Vec<OsString> = options.iter().map(OsString::from).collect();
        Placement::read(&options, "node7.cluster").map_err(|e| e.to_string())
    }

    #[test]
    fn fields_are_read() {
        let all = read(&["bind_to=core", "map_by=spread", "cpus=0-2,8", "host=node7"]).unwrap();
        assert_eq!(all.bind_to, Some(Binding::Core));
        assert_eq!(all.map_by, Some(Mapping::Spread));
        assert_eq!(all.cpus, Some([0, 1, 2, 8].into()));
        assert_eq!(read(&[]), Ok(Placement::default()));
        let cores = read(&["cores=3"]).unwrap();
        assert_eq!((cores.cores, cores.bind_to), (Some(3), Some(Binding::Auto)));
        // Two programs that say the same.
        assert!(read(&["bind_to=none", "bind_to=none"]).is_ok());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (option, words) in [
            ("bind_to=corse", "hwthread, core, l3cache"),
            ("map_by=", "compact, spread"),
            ("cores=0", "1 or more"),
            ("cores=-1", "1 or more"),
            ("cpus=", "such as 0-3,8"),
            ("cpus=0,x", "such as 0-3,8"),
            ("cpus=5-2", "such as 0-3,8"),
            ("cpus=0,3-", "such as 0-3,8"),
            ("host=node8", "node7.cluster"),
            ("host=", "node7.cluster"),
            ("host=node7.other", "node7.cluster"),
            ("cake=1", "no field"),
        ] {
            let refused = read(&[option]).unwrap_err();
            assert!(refused.contains(words), "{option}: {refused}");
        }
        let two = read(&["bind_to=core", "bind_to=none"]).unwrap_err();
        assert!(two.contains("differs between programs"), "{two}");
        let both = read(&["cores=2", "bind_to=core"]).unwrap_err();
        assert!(both.contains("cores is given beside bind_to"), "{both}");
    }

    #[test]
    fn a_host_has_a_short_and_a_long_name() {
        for name in ["node7", "NODE7", "node7.cluster", "localhost"] {
            assert!(is_host(name, "node7.cluster"), "{name}");
        }
        assert!(is_host("node7.cluster", "node7"));
    }
}
