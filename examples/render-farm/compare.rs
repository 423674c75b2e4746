//! The time of a farm that starts its workers beside one that has them from the start, as in Table 2.1 of
//! Gangadharappa's thesis (2009).

use std::error::Error;
use std::process::Command;
use std::time::Instant;

use crate::options::Options;

/// Times both forms by turns, for each number of workers: from the start of `oshrun` to its end.
pub(crate) fn run(options: &Options, turns: usize) -> Result<(), Box<dyn Error>> {
    let view = options.tiles.view;
    let size = format!("{}x{}", view.width, view.height);
    println!("{size} pixels, medians of {turns} turns, in seconds");
    println!("{:>7} {:>9} {:>9} {:>6}", "workers", "dynamic", "static", "ratio");
    for &n in &options.workers {
        let both = [(1, vec!["--workers".to_owned(), n.to_string()]), (n + 1, vec!["--fixed".to_owned()])];
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..turns {
            for ((pes, form), times) in both.iter().zip(&mut times) {
                let mut command = Command::new("oshrun");
                command.args(["-n", &pes.to_string()]).arg(std::env::current_exe()?);
                command.args(form).args(["--size", &size]);
                command.args(["--samples", &view.samples.to_string()]);
                command.args(["--tile", &options.tiles.size.to_string()]);
                command.args(["--output", &options.output]);
                let begin = Instant::now();
                let output = command.output().map_err(|e| format!("oshrun: {e}: is it on PATH?"))?;
                if !output.status.success() {
                    return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
                }
                times.push(begin.elapsed().as_secs_f64());
            }
        }
        let [dynamic, fixed] = times.map(median);
        println!("{n:>7} {dynamic:>9.3} {fixed:>9.3} {:>6.3}", dynamic / fixed);
    }
    Ok(())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    let middle = times.len() / 2;
    match times.len() % 2 {
        0 => (times[middle - 1] + times[middle]) / 2.0,
        _ => times[middle],
    }
}
