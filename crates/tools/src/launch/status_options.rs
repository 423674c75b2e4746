//! `--status` and `--metrics`: what is to be shown of the PEs' counters.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ferroshmem_config::{COUNTERS, STATUS};

use super::failure::Failure;
use super::values::seconds;

/// Options that show counters.
#[derive(Debug, Args)]
#[command(next_help_heading = "Counters")]
pub(super) struct StatusArgs {
    /// Shows each second (--status=SECONDS) what the PEs do: calls and bytes by kind of routine, and how many wait
    #[arg(
        long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "1",
        value_parser = seconds
    )]
    status: Option<Duration>,
    /// Writes what each PE has counted to FILE every second, or serves it by HTTP at :PORT, as Prometheus reads it
    #[arg(long, value_name = "FILE|[HOST]:PORT")]
    metrics: Vec<String>,
}

/// What is to be shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct StatusPlan {
    /// Time between two lines.
    pub period: Option<Duration>,
    /// Files of metrics.
    pub files: Vec<PathBuf>,
    /// Where metrics are served.
    pub address: Option<SocketAddr>,
}

impl StatusPlan {
    /// The variables that the PEs need for it. Those of other hosts show it themselves, in whole seconds.
    pub(super) fn variables(&self, on_hosts: bool) -> Vec<(&'static str, String)> {
        let mut variables = Vec::new();
        if *self != Self::default() {
            variables.push((COUNTERS.name, "1".to_owned()));
        }
        if let Some(period) = self.period.filter(|_| on_hosts) {
            let seconds = period.as_secs_f64().ceil();
            variables.push((STATUS.name, seconds.to_string()));
        }
        variables
    }
}

impl StatusArgs {
    /// What they ask for, of PEs on other hosts if `on_hosts`.
    pub(super) fn read(self, on_hosts: bool) -> Result<StatusPlan, Failure> {
        let mut plan = StatusPlan { period: self.status, ..StatusPlan::default() };
        for place in self.metrics {
            match address(&place)? {
                Some(address) => plan.address = Some(address),
                None => plan.files.push(place.into()),
            }
        }
        if on_hosts && !(plan.files.is_empty() && plan.address.is_none()) {
            return Err(Failure::usage(
                "--metrics is for the PEs of one host: with --hosts, --status shows a line of each host, and \
                    shmemx_counter_read is for programs",
            ));
        }
        Ok(plan)
    }
}

/// The address that `:9090` or `127.0.0.1:9090` names; None for a file.
fn address(place: &str) -> Result<Option<SocketAddr>, Failure> {
    let address = place.rsplit_once(':').filter(|(_, port)| port.bytes().all(|digit| digit.is_ascii_digit()));
    let Some((host, port)) = address else {
        return Ok(None);
    };
    let host = match host {
        // Others of the network shall see it only where the user says so.
        "" | "localhost" => "127.0.0.1",
        host => host.trim_matches(['[', ']']),
    };
    match host.parse().ok().zip(port.parse().ok()) {
        Some((host, port)) => Ok(Some(SocketAddr::new(host, port))),
        None => Err(Failure::usage(format!("--metrics {place}: give :PORT, ADDRESS:PORT, or a file"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_show_lines_themselves_in_whole_seconds() {
        let args = |metrics: &[&str]| StatusArgs {
            status: Some(Duration::from_millis(1500)),
            metrics: metrics.iter().map(|m| (*m).to_owned()).collect(),
        };
        let plan = args(&[]).read(true).unwrap_or_default();
        let counters = (COUNTERS.name, "1".to_owned());
        let status = (STATUS.name, "2".to_owned());
        assert_eq!(plan.variables(true), [counters.clone(), status]);
        assert_eq!(plan.variables(false), [counters]);
        assert!(StatusPlan::default().variables(true).is_empty());
        let refused = args(&["metrics.prom"]).read(true).map_err(|f| f.to_string());
        assert!(refused.unwrap_err().contains("--metrics is for the PEs of one host"));
    }

    #[test]
    fn places_are_files_or_addresses() {
        let of = |place| address(place).map_err(|f| f.to_string());
        assert_eq!(of(":9090").unwrap().unwrap().to_string(), "127.0.0.1:9090");
        assert_eq!(of("[::1]:80").unwrap().unwrap().to_string(), "[::1]:80");
        assert_eq!(of("metrics.prom"), Ok(None));
        assert_eq!(of("a:b"), Ok(None));
        for wrong in ["nowhere.example:80", ":99999", "localhost:"] {
            assert!(of(wrong).unwrap_err().contains(":PORT"), "{wrong}");
        }
    }
}
