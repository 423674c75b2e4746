//! IS, the integer sort of the NAS Parallel Benchmarks, in Rust over FerroSHMEM.
//!
//!     oshrun -n PES is-rust CLASS
//!
//! All keys are ranked ten times; before each time, two keys are changed. Written from the
//! description in NAS report RNR-94-007, "The NAS Parallel Benchmarks", section 2.3.6, and in its
//! successors. The C program in `nas/is/` uses the same algorithm.

#![deny(unsafe_code)]

mod keys;
mod problem;
mod ranking;
mod report;
mod verify;

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use ferroshmem::{Max, Sum, Symmetric, World};

use problem::{ITERATIONS, Problem, TESTS};
use ranking::Ranking;
use report::Report;

/// Changes two keys of PE 0, as each iteration does.
fn change_keys(world: &World, ranking: &mut Ranking<'_>, iteration: u32) {
    if world.my_pe().number() == 0 {
        let largest = 1 << ranking.problem.log2_max_key;
        ranking.keys[iteration as usize] = iteration;
        ranking.keys[(iteration + ITERATIONS) as usize] = largest - iteration;
    }
}

/// The class named by the only argument, if `n_pes` PEs can rank it.
fn problem(n_pes: usize) -> Result<&'static Problem, String> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let classes = Problem::classes();
    let [class] = &args[..] else {
        return Err(format!("give the class, one of {classes}, as the only argument"));
    };
    let problem =
        Problem::of_class(class).ok_or_else(|| format!("there is no class \"{class}\": give one of {classes}"))?;
    if !n_pes.is_power_of_two() || n_pes > problem.most_pes {
        let most = problem.most_pes;
        return Err(format!("class {class} runs on a power of two of PEs, at most {most}, not on {n_pes}"));
    }
    Ok(problem)
}

/// The keys of the class named by the arguments. Errors are the same on all PEs.
fn start(world: &World) -> Result<(Ranking<'_>, Symmetric<'_, u32>), Box<dyn Error>> {
    Ok(Ranking::new(world, problem(world.n_pes())?)?)
}

/// Ranks all keys in all iterations; `received` has room for keys from other PEs.
fn run<'w>(world: &'w World, mut ranking: Ranking<'w>, mut received: Symmetric<'w, u32>) -> ferroshmem::Result<Report> {
    // One iteration that is not timed: it touches all memory and code.
    change_keys(world, &mut ranking, 1);
    received = ranking.run(received)?;

    let mut right = 0;
    world.barrier();
    let begin = Instant::now();
    for iteration in 1..=ITERATIONS {
        change_keys(world, &mut ranking, iteration);
        received = ranking.run(received)?;
        right += verify::tests(&mut ranking, iteration);
    }
    let seconds = world.reduce_value(begin.elapsed().as_secs_f64(), Max);

    let tests_right = world.reduce_value(right, Sum) == TESTS as u64 * u64::from(ITERATIONS);
    let ordered = verify::order(world, &mut ranking, &received)?;
    Ok(Report { problem: ranking.problem, n_pes: world.n_pes(), seconds, verified: tests_right && ordered })
}

fn main() -> Result<ExitCode, ferroshmem::Error> {
    let world = World::init()?;
    let begins = world.my_pe().number() == 0;
    let (ranking, received) = match start(&world) {
        Ok(started) => started,
        Err(refusal) => {
            if begins {
                eprintln!("is-rust: {refusal}");
            }
            return Ok(ExitCode::FAILURE);
        }
    };
    let report = run(&world, ranking, received)?;
    if begins {
        println!("{report}");
    }
    Ok(if report.verified { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
