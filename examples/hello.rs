//! Each PE adds its number to a sum on PE 0, which checks the sum.
//!
//!     cargo build --example hello && oshrun -n 4 target/debug/examples/hello

use std::process::ExitCode;

use ferroshmem::{Error, World};

fn main() -> Result<ExitCode, Error> {
    let world = World::init()?;
    let (me, n) = (world.my_pe(), world.n_pes());
    println!("Hello from {me} of {n}");

    let greetings = world.atomics::<u64>(1)?; // one on every PE
    let first = world.pe(0)?;
    greetings.add(first, 0, me.number() as u64 + 1)?;
    world.barrier();

    let (sum, expected) = (greetings.fetch(first, 0)?, (n * (n + 1) / 2) as u64);
    if sum != expected {
        eprintln!("hello: {me} finds {sum} on {first}, expected {expected}");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
