//! Which algorithms exist and when each is used: what `oshmem_info --collectives` prints.

use std::fmt::Write;

use ferroshmem_config::{self as config, ConfigError, Environment};
use ferroshmem_tuning::{Collective, CopySizes, Forced, Origin, Selection};

use super::identity::Identity;
use super::loaded::{Loaded, TuningSource};

/// The overview for jobs of `counts` PEs; several usual numbers if there are none. The error
/// is one line about an environment variable.
pub fn overview(counts: &[usize]) -> Result<String, ConfigError> {
    let machine = Identity::here();
    let cores = machine.cores as usize;
    let loaded = Loaded::find(config::tuning_file(), cores);
    let forced = config::forced(&Environment::process())?;
    Ok(describe(&machine, &loaded, forced, &or_usual(counts, cores)))
}

fn or_usual(counts: &[usize], cores: usize) -> Vec<usize> {
    if !counts.is_empty() {
        return counts.to_vec();
    }
    let mut usual = vec![2, 4, 16, 64, cores];
    usual.retain(|n| *n > 1);
    usual.sort_unstable();
    usual.dedup();
    usual
}

fn describe(machine: &Identity, loaded: &Loaded, forced: Forced, counts: &[usize]) -> String {
    let mut out = format!("Collectives on {machine}\n");
    let (tuning, cores) = (&loaded.tuning, machine.cores as usize);
    let from = match &loaded.source {
        TuningSource::Defaults => "none; oshtune measures this machine and writes one".to_owned(),
        TuningSource::File(path) => path.display().to_string(),
        TuningSource::Ignored(path, error) => format!("{}, ignored: {error}", path.display()),
    };
    let _ = writeln!(out, "  tuning file: {from}");
    let whose = if tuning.measured != 0 { "measured" } else { "defaults" };
    let _ = writeln!(out, "  cost model ({whose}): {}", tuning.parameters);
    let selections: Vec<(usize, Selection)> =
        (counts.iter()).map(|n| (*n, Selection::new(forced, *tuning, *n, cores))).collect();
    for collective in Collective::ALL {
        let names: Vec<String> = (collective.choices().iter()).map(ToString::to_string).collect();
        let _ = write!(out, "\n{}: {}", collective.name(), names.join(", "));
        let counted = collective.counted();
        let _ = writeln!(out, "{}", counted.map(|c| format!("; by {c}")).unwrap_or_default());
        for (n, selection) in &selections {
            let origin = match selection.origin(collective, *n) {
                Origin::Forced => format!("forced by {}", config::algorithm(collective).name),
                Origin::Measured(pes) => format!("measured with {pes} PEs"),
                Origin::Model => "cost model".to_owned(),
            };
            let decisions = selection.decisions(*n);
            let _ = writeln!(out, "  {n:>5} PEs: {} ({origin})", decisions.steps(collective));
        }
    }
    out
}

/// The sizes of copies that the tuning file has, if there is one.
pub fn copies() -> CopySizes {
    let machine = Identity::here();
    let loaded = Loaded::find(config::tuning_file(), machine.cores as usize);
    loaded.tuning.copies
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferroshmem_tuning::{Algorithm, Choice, Steps, Tuning};

    #[test]
    fn shows_where_choices_come_from() {
        let machine = Identity { processor: "a processor".to_owned(), cores: 2 };
        let mut loaded = Loaded { tuning: Tuning::default_for(2), source: TuningSource::File("/etc/t.toml".into()) };
        loaded.tuning.measured = 1;
        loaded.tuning.rules[0].pes = 2;
        let flat = Choice::direct(Algorithm::Flat);
        let slices = Choice::direct(Algorithm::Slices);
        loaded.tuning.rules[0].steps[Collective::Reduce as usize] = Steps::new([(4096, flat), (usize::MAX, slices)]);
        let pull = Choice::direct(Algorithm::Pull);
        let forced = Forced::default().with(Collective::Scan, pull);
        let text = describe(&machine, &loaded, forced, &[2, 64]);
        for line in [
            "Collectives on 2 cores of a processor",
            "  tuning file: /etc/t.toml",
            "barrier: central, dissemination, tree, sockets",
            "      2 PEs: dissemination (cost model)",
            "     64 PEs: central (cost model)",
            "      2 PEs: flat:ptr up to 4096, slices (measured with 2 PEs)",
            "scan: eager, pull, slices; by bytes of dest",
            "     64 PEs: pull (forced by SHMEM_SCAN_ALGORITHM)",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
    }

    #[test]
    fn usual_counts_include_the_cores() {
        assert_eq!(or_usual(&[], 1), [2, 4, 16, 64]);
        assert_eq!(or_usual(&[], 48), [2, 4, 16, 48, 64]);
        assert_eq!(or_usual(&[3], 48), [3]);
    }
}
