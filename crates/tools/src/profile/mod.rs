//! `oshrun --profile`: what the PEs have recorded, as a page that begins with findings.
//!
//! ```text
//! record     the PEs' files
//! events     the calls of a trace in them
//! clock      one time for all hosts
//! symbols    source lines of calls
//! analysis   who waited, for whom, at which call
//! findings   the same in words
//! page       the page, and a summary for the terminal
//! ```

mod analysis;
mod clock;
mod events;
mod findings;
#[cfg(test)]
pub(crate) mod large;
mod page;
mod record;
mod symbols;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use self::analysis::{Analysis, PeTimes, SiteSum};
pub use self::clock::Clock;
pub use self::events::{Event, Events};
pub use self::findings::{Finding, count, time};
pub use self::record::{Kind, Object, PeRecord, RecordError, Site, Team};
pub(crate) use self::symbols::is_own_header;
pub use self::symbols::{Position, Symbols};

/// Records, and files that are none.
pub type Read = (Vec<PeRecord>, Vec<(PathBuf, RecordError)>);

/// The records in a directory, by PE, and the files that are none.
pub fn read_all(directory: &Path) -> std::io::Result<Read> {
    let (mut records, mut others) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with("pe.") {
            continue;
        }
        match PeRecord::read(&path) {
            Ok(record) => records.push(record),
            Err(e) => others.push((path, e)),
        }
    }
    records.sort_by_key(|r| r.pe);
    // Of another job's, which had other sizes.
    if let Some(n_pes) = records.first().map(PeRecord::n_pes) {
        records.retain(|r| r.n_pes() == n_pes);
    }
    Ok((records, others))
}
