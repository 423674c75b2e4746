//! The command line of `oshtune`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser};
use ferroshmem_layout::MAX_PES;
use ferroshmem_tuning::{Collective, Parameters};

use super::measure::Task;
use super::quantity::bytes_read;
use crate::terminal::columns;

/// Measures which algorithms of collectives pay on this machine, and writes the tuning file
/// that oshrun reads
#[derive(Debug, Parser)]
#[command(name = "oshtune", version, term_width = columns())]
pub(super) struct TuneOptions {
    /// File to write; without it $SHMEM_TUNING_FILE, else ferroshmem/tuning.toml below
    /// $XDG_CONFIG_HOME or ~/.config
    #[arg(short, long, value_name = "FILE", conflicts_with = "predict")]
    pub output: Option<PathBuf>,

    /// Measures and prints, but writes no file
    #[arg(long, conflicts_with_all = ["output", "predict"])]
    pub dry_run: bool,

    /// Writes the file also if other processes or the hypervisor disturbed the measurement
    #[arg(long, conflicts_with_all = ["dry_run", "predict"])]
    pub force: bool,

    /// Writes a page about this machine and its tuning file into DIR, to keep or to send
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "dry_run", "predict"])]
    pub report: Option<PathBuf>,

    /// Measures little in a few seconds
    #[arg(long, conflicts_with = "predict")]
    pub quick: bool,

    /// About how long to measure; 90 seconds if not given, 5 with --quick
    #[arg(long, value_name = "SECONDS", value_parser = seconds, conflicts_with = "predict")]
    pub time: Option<Duration>,

    /// Numbers of PEs to measure, or to predict for
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = count)]
    pub pes: Vec<usize>,

    /// Prints every choice that was measured, not only the fastest
    #[arg(long, conflicts_with = "predict")]
    pub all: bool,

    /// Prints what the cost model predicts for larger jobs, and measures nothing
    #[arg(long)]
    pub predict: bool,

    #[command(flatten)]
    pub prediction: PredictionArgs,

    /// What the PEs of a measuring job are started for
    #[arg(long, hide = true)]
    pub measure: Option<Task>,
}

/// What `--predict` predicts, and for which machine.
#[derive(Debug, Args)]
#[group(requires = "predict", multiple = true)]
pub(super) struct PredictionArgs {
    /// With --predict, sizes in bytes, perhaps with k, m or g
    #[arg(long, value_name = "BYTES,...", value_delimiter = ',', value_parser = bytes_read)]
    pub sizes: Vec<usize>,

    /// With --predict, only this collective
    #[arg(long, value_name = "NAME", value_parser = collective)]
    pub collective: Option<Collective>,

    /// With --predict, cores of the machine; without it, one for each PE
    #[arg(long, value_name = "N", value_parser = positive_count)]
    pub cores: Option<usize>,

    /// With --predict, nanoseconds of a flag or message; from the tuning file if not given, as
    /// the others
    #[arg(long, value_name = "NS", value_parser = positive)]
    pub alpha: Option<f64>,

    /// With --predict, nanoseconds to copy a byte in cache
    #[arg(long, value_name = "NS", value_parser = positive)]
    pub beta: Option<f64>,

    /// With --predict, nanoseconds to combine a byte in cache
    #[arg(long, value_name = "NS", value_parser = positive)]
    pub gamma: Option<f64>,

    /// With --predict, nanoseconds to schedule a PE
    #[arg(long, value_name = "NS", value_parser = positive)]
    pub sigma: Option<f64>,

    /// With --predict, memory bandwidth of all cores as a multiple of one core's
    #[arg(long, value_name = "X", value_parser = positive)]
    pub streams: Option<f64>,

    /// With --predict, nanoseconds to copy a byte from memory to memory
    #[arg(long, value_name = "NS", value_parser = positive)]
    pub memory: Option<f64>,

    /// With --predict, bytes of cache that a core has for itself, perhaps with k or m
    #[arg(long, value_name = "BYTES", value_parser = bytes_read)]
    pub cache: Option<usize>,
}

impl PredictionArgs {
    /// `parameters` with those replaced that are given.
    pub(super) fn change(&self, parameters: Parameters) -> Parameters {
        Parameters {
            alpha: self.alpha.unwrap_or(parameters.alpha),
            beta: self.beta.unwrap_or(parameters.beta),
            gamma: self.gamma.unwrap_or(parameters.gamma),
            sigma: self.sigma.unwrap_or(parameters.sigma),
            streams: self.streams.unwrap_or(parameters.streams),
            memory: self.memory.unwrap_or(parameters.memory),
            cache: self.cache.map_or(parameters.cache, |n| n.max(1) as f64),
            // Jobs that are predicted have one socket.
            ..parameters
        }
    }
}

fn collective(text: &str) -> Result<Collective, String> {
    Collective::named(text).ok_or_else(|| {
        let names: Vec<_> = Collective::ALL.iter().map(|c| c.name()).collect();
        format!("give one of {}", names.join(", "))
    })
}

/// Larger numbers than a job may have are predicted.
fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if (2..=1 << 24).contains(&n) => Ok(n),
        _ => Err(format!("give numbers of PEs from 2 to {MAX_PES}, to predict up to {}", 1 << 24)),
    }
}

fn positive_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err("give a number of cores, 1 or more".to_owned()),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() && x > 0.0 => Ok(x),
        _ => Err("give a number greater than 0".to_owned()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    text.parse::<f64>()
        .ok()
        .filter(|s| (0.0..=1e6).contains(s))
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "give a number of seconds up to 1e6".to_owned())
}
