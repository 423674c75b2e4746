//! Reading the output of programs.

pub mod microbench;
mod npb;
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
        Suite::Microbench => microbench::read(text)?,
        Suite::Stream => stream::read(text)?,
        Suite::Nas => vec![npb::read(text)?],
    };
    let program = run.program.trim_start_matches("mpi-");
    let program = program.split('-').next().unwrap_or(program);
    for measurement in &mut measurements {
        program.clone_into(&mut measurement.program);
        implementation
            .name
            .clone_into(&mut measurement.implementation);
        run.algorithm.clone_into(&mut measurement.algorithm);
        measurement.class = run.class.map_or(String::new(), |c| c.letter().to_string());
        if !run.form.is_empty() {
            run.form.clone_into(&mut measurement.form);
        }
        if run.suite != Suite::Microbench {
            measurement.pes = run.pes;
        }
        if measurement.operation.is_empty() {
            program.clone_into(&mut measurement.operation);
        }
    }
    Ok(measurements)
}

/// A measurement whose names and values are still empty.
fn blank(quantity: crate::Quantity, unit: &str) -> Measurement {
    Measurement {
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
    }
}
