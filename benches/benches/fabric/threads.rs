//! Puts of one thread and of four, each with a context of its own.

use anyhow::Result;
use ferroshmem_benches::{Options, table};
use pgas_microbench::Spread;

use crate::testbed::{Program, Testbed, numbers};
use crate::transfers::PLACE;

/// Least rate of four threads, in times of one thread's, where no core is free for them.
const BAR: f64 = 1.0;

/// Bytes of a put and puts of a thread in a round: short ones go together in messages, longer ones by the contexts'
/// endpoints.
const ITEMS: [(&str, usize, usize); 2] = [("8B", 8, 20_000), ("4KiB", 4096, 1_000)];

/// Measures what is wanted, by turns within one job each.
///
/// # Errors
/// If the output of the program has another format.
pub(crate) fn run(testbed: &mut Testbed<'_>, options: &Options) -> Result<()> {
    let rounds = if options.full { 101 } else { 21 };
    let mut is_first = true;
    for (size, bytes, puts) in ITEMS {
        let name = format!("threads/put/{size}");
        if !options.wants(&name) {
            continue;
        }
        if std::mem::take(&mut is_first) {
            println!("\nputs by threads with contexts of their own, millions per second of all threads; four / one");
            println!("{:24}{:>9}{:>9}   ratio       10%..90%", "", "one", "four");
        }
        let arguments = format!("{bytes} {puts} {rounds}");
        let Some(output) = testbed.run(0, Program::Threads, &arguments, &PLACE) else {
            return Ok(());
        };
        let turns = numbers::<2>(&output)?;
        let median = |which: usize| Spread::of(turns.iter().map(|turn| turn[which])).map_or(0.0, |s| s.median);
        let ratio = Spread::of(turns.iter().map(|turn| turn[1] / turn[0]));
        let ratio = ratio.map_or(String::new(), |ratio| {
            let verdict = table::verdict(ratio.median >= BAR);
            format!("{}  >= {BAR}  {verdict}", table::ratio(ratio))
        });
        table::clear();
        let [one, four] = [0, 1].map(median);
        println!("{name:24}{one:>9.2}{four:>9.2}  {ratio}");
    }
    Ok(())
}
