//! Messages there and back, by turns with libfabric's own tagged messages over the same provider.

use anyhow::Result;
use ferroshmem_benches::{LiveTable, Options, table};
use pgas_microbench::Spread;

use crate::testbed::{Program, Testbed, numbers};
use crate::transfers::PLACE;

/// Bytes of a message, and round trips of a turn.
const SIZES: [(usize, u32); 6] =
    [(8, 1000), (4 << 10, 1000), (8 << 10, 1000), (32 << 10, 300), (64 << 10, 300), (1 << 20, 50)];
/// The longest time, in times of libfabric's.
const BAR: f64 = 1.2;

/// Measures all sizes that are wanted, within one job each.
///
/// # Errors
/// If the output of the program has another format.
pub(crate) fn run(testbed: &mut Testbed<'_>, options: &Options) -> Result<()> {
    let name = |bytes| format!("message/{}", table::size(bytes));
    let mut wanted = SIZES.to_vec();
    wanted.retain(|(bytes, _)| options.wants(&name(*bytes)));
    if wanted.is_empty() {
        return Ok(());
    }
    let turns = if options.full { 101 } else { 31 };
    let mut live = None;
    for (bytes, round_trips) in wanted {
        let arguments = format!("{turns} {bytes} {round_trips}");
        let Some(output) = testbed.run(0, Program::Tagged, &arguments, &PLACE) else {
            return Ok(());
        };
        let turns = numbers::<2>(&output)?;
        let live = live.get_or_insert_with(|| {
            println!("\ntwo hosts, a PE on each: us of half a round trip of a message, ours / libfabric");
            LiveTable::new("", &["fi_tsend", "ours"], " ratio       10%..90%")
        });
        let median = |which: usize| Spread::of(turns.iter().map(|turn| turn[which])).map(|s| s.median);
        let rest = Spread::of(turns.iter().map(|[theirs, ours]| ours / theirs)).map_or(String::new(), |ratio| {
            format!("{}  <= {BAR}  {}", table::ratio(ratio), table::verdict(ratio.median <= BAR))
        });
        live.line(&name(bytes), &[median(0), median(1)], &rest);
    }
    Ok(())
}
