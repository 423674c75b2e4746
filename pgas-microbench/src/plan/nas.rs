//! NAS IS and SP.

use std::time::Duration;

use super::{Class, Request, Run, Suite};
use crate::implementation::Family;

const VARIANTS: [&str; 2] = ["putget", "ptr"];

/// A program, its classes, and the numbers of PEs that it runs on.
struct Program {
    name: &'static str,
    classes: &'static [Class],
    pes: &'static [u32],
}

pub(super) fn plan(request: &Request<'_>) -> Vec<Run> {
    use Class::{A, B, S, W};
    let programs = if request.quick() {
        [
            Program { name: "is", classes: &[S, W, A], pes: &[1, 2, 4] },
            Program { name: "sp", classes: &[S, W], pes: &[1, 4] },
        ]
    } else {
        [
            Program { name: "is", classes: &[S, W, A, B], pes: &[1, 2, 4, 8, 16] },
            Program { name: "sp", classes: &[S, W, A], pes: &[1, 4, 9, 16] },
        ]
    };
    let rounds = if request.quick() { 1 } else { 3 };
    let mut runs = Vec::new();
    for program in programs {
        let classes = if request.classes.is_empty() { program.classes } else { request.classes };
        for class in classes {
            for pes in program.pes {
                for _ in 0..rounds {
                    for index in request.indices(Family::is_shmem) {
                        for variant in VARIANTS {
                            runs.push(run(request, program.name, variant, *class, index, *pes));
                        }
                    }
                }
            }
        }
    }
    runs
}

fn run(request: &Request<'_>, name: &'static str, variant: &'static str, class: Class, index: usize, pes: u32) -> Run {
    let seconds = core_seconds(name, class) / f64::from(pes.min(request.cores));
    Run {
        suite: Suite::Nas,
        program: format!("{name}-{variant}"),
        implementation: index,
        pes,
        threads: 1,
        arguments: vec![class.letter().to_string()],
        variables: Vec::new(),
        form: variant,
        algorithm: "",
        class: Some(class),
        heap: heap(name, class).div_ceil(u64::from(pes)) + (64 << 20),
        // Another library may take many times as long; the limit is for a run that hangs.
        limit: Duration::from_secs_f64(20.0 + 30.0 * seconds),
        expected: 0.2 + seconds,
    }
}

/// Estimated seconds on one core.
fn core_seconds(name: &str, class: Class) -> f64 {
    let (is, sp) = match class {
        Class::S => (0.01, 0.1),
        Class::W => (0.1, 2.0),
        Class::A => (0.8, 25.0),
        Class::B => (4.0, 110.0),
        Class::C => (18.0, 460.0),
    };
    if name == "is" { is } else { sp }
}

/// Estimated bytes of all PEs together.
fn heap(name: &str, class: Class) -> u64 {
    let (is, sp) = match class {
        Class::S => (2, 4),
        Class::W => (24, 40),
        Class::A => (192, 200),
        Class::B => (768, 800),
        Class::C => (3072, 3072),
    };
    (if name == "is" { is } else { sp }) << 20
}
