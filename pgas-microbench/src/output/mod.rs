//! Reading the output of programs.

mod graph500;
pub mod microbench;
mod npb;
mod overlap;
mod stream;

use anyhow::Result;

use crate::Measurement;
use crate::implementation::Implementation;
use crate::plan::{Run, Suite};

/// The measurements in a program's output; fewer if the program was ended early.
///
/// # Errors
/// If the output does not have the format of the program's suite, or says that results are wrong.
pub fn read(run: &Run, implementation: &Implementation, text: &str) -> Result<Vec<Measurement>> {
    let mut measurements = match run.suite {
        Suite::Microbench | Suite::Python => microbench::read(text)?,
        Suite::Stream => stream::read(text)?,
        Suite::Nas => vec![npb::read(text)?],
        Suite::Graph500 => vec![graph500::read(text)?],
        Suite::Overlap => overlap::read(text)?,
    };
    let program = run.program.trim_start_matches("mpi-");
    let program = program.split('-').next().unwrap_or(program);
    for measurement in &mut measurements {
        program.clone_into(&mut measurement.program);
        implementation.name.clone_into(&mut measurement.implementation);
        run.algorithm.clone_into(&mut measurement.algorithm);
        measurement.class = run.class.map_or(String::new(), |c| c.letter().to_string());
        if !run.form.is_empty() {
            run.form.clone_into(&mut measurement.form);
        }
        if !matches!(run.suite, Suite::Microbench | Suite::Python) {
            measurement.pes = run.pes;
        }
        if measurement.operation.is_empty() {
            program.clone_into(&mut measurement.operation);
        }
    }
    Ok(measurements)
}
