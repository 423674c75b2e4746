//! Measured points, and their CSV file.

use std::fmt::{self, Display};
use std::hash::Hash;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// The kind of value that was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Quantity {
    /// Time of one operation, in microseconds.
    Latency,
    /// Bytes moved per time by all PEs together, in MB/s (10^6 bytes).
    Bandwidth,
    /// Operations per time by all PEs together, in millions per second.
    Rate,
}

impl Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Latency => "latency",
            Self::Bandwidth => "bandwidth",
            Self::Rate => "rate",
        })
    }
}

/// One measured point, a row of `results.csv`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// `latency`, `bandwidth`, `atomics`, `collectives`, `updates`, `stencil`, `packing`, `puts`, `halo`, `overlap`,
    /// `python`, `stream`, `is`, `sp` or `graph500`.
    pub program: String,
    /// Name of the library, such as "FerroSHMEM" or "Open MPI".
    pub implementation: String,
    /// Such as `put`, `reduce`, `triad`; the program's name where it has only one.
    pub operation: String,
    /// How data moved: `call` (a routine of the library), `ptr` (loads and stores through
    /// `shmem_ptr`), `python`, `view` (NumPy through that address), `putget` (a put/get variant),
    /// `local` (own memory), `rma`, `sendrecv`, `collective` (MPI) or `threads` (OpenMP).
    pub form: String,
    /// The algorithm that was forced, empty if the library chose.
    pub algorithm: String,
    /// The problem's class, empty where there are none.
    pub class: String,
    /// Number of PEs.
    pub pes: u32,
    /// Number of pairs of PEs that communicate at once, 0 where PEs do not work in pairs.
    pub pairs: u32,
    /// Bytes of one operation, 0 where operations have no size.
    pub bytes: u64,
    /// What is measured.
    pub quantity: Quantity,
    /// `us`, `MB/s` or `Mop/s`.
    pub unit: String,
    /// Number of samples.
    pub samples: u32,
    /// Median of the samples.
    pub median: f64,
    /// A tenth of the samples are below; the lowest if they are few.
    pub low: f64,
    /// A tenth of the samples are above; the highest if they are few.
    pub high: f64,
    /// Percent of the cores' time that other processes took during the run.
    #[serde(default)]
    pub others: f64,
    /// Percent of the cores' time that the hypervisor took during the run.
    #[serde(default)]
    pub steal: f64,
    /// Speed of a core during the run, of which 1 is the highest of all runs; 0 if it was not measured.
    #[serde(default)]
    pub clock: f64,
    /// What disturbed the run, in words; empty if nothing did.
    #[serde(default)]
    pub disturbed: String,
}

impl Measurement {
    /// A measurement whose names and values are still empty.
    pub fn blank(quantity: Quantity, unit: &str) -> Self {
        Self {
            program: String::new(),
            implementation: String::new(),
            operation: String::new(),
            form: String::new(),
            algorithm: String::new(),
            class: String::new(),
            pes: 0,
            pairs: 0,
            bytes: 0,
            quantity,
            unit: unit.to_owned(),
            samples: 1,
            median: 0.0,
            low: 0.0,
            high: 0.0,
            others: 0.0,
            steal: 0.0,
            clock: 0.0,
            disturbed: String::new(),
        }
    }

    /// Everything that identifies the measured point, without its values.
    pub fn subject(&self) -> impl Eq + Hash + '_ {
        let words = [
            &self.program, &self.implementation, &self.operation, &self.form, &self.algorithm, &self.class, &self.unit,
        ];
        (words, self.pes, self.pairs, self.bytes, self.quantity)
    }

    /// Nanoseconds of one operation.
    pub fn nanoseconds(&self) -> f64 {
        match self.quantity {
            Quantity::Latency => self.median * 1e3,
            Quantity::Bandwidth => self.bytes as f64 * 1e3 / self.median,
            Quantity::Rate => 1e3 / self.median,
        }
    }
}

/// Reads measurements from a CSV file.
///
/// # Errors
/// If it cannot be read or a row is not a measurement.
pub fn read(path: &Path) -> Result<Vec<Measurement>> {
    let name = || path.display().to_string();
    let mut reader = csv::Reader::from_path(path).with_context(name)?;
    reader.deserialize().collect::<Result<_, _>>().with_context(name)
}

/// Writes measurements to a CSV file.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, measurements: &[Measurement]) -> Result<()> {
    let mut writer = csv::Writer::from_path(path).with_context(|| path.display().to_string())?;
    for measurement in measurements {
        writer.serialize(measurement)?;
    }
    writer.flush()?;
    Ok(())
}
