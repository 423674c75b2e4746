//! The collectives by every algorithm that can be chosen (`c/algorithms`).

use anyhow::{Context as _, Result};
use ferroshmem_conformance::choices::Choices;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Suite};

const CHECKED: &[(&str, &str)] = &[("SHMEM_CHECK", "1")];
const EXACT: &[(&str, &str)] = &[("SHMEM_REPRODUCIBLE", "1")];

/// PEs on three sockets, as if they were bound so; those of a team's members on a socket are shared tables, too.
const SOCKETS: &[(&str, &str)] = &[
    ("SHMEM_SOCKETS", "0,0,1*2,0,2"),
    ("SHMEM_BARRIER_ALGORITHM", "sockets"),
    ("SHMEM_REDUCE_ALGORITHM", "sockets"),
    ("SHMEM_BROADCAST_ALGORITHM", "sockets"),
    ("SHMEM_COLLECT_ALGORITHM", "sockets"),
    ("SHMEM_FCOLLECT_ALGORITHM", "sockets"),
    ("SHMEM_TEAM_TABLE", "0"),
];

/// Runs a program of `c/algorithms`; `choices` of None are the library's own.
fn run(s: &Setting, program: &str, pes: usize, choices: Option<Choices>, env: &[(&str, &str)]) -> Result<()> {
    let source = format!("algorithms/{program}.c");
    let program = s.compile(&source, &[])?;
    let mut job = Job::new(pes, &program);
    for (name, value) in env {
        job = job.env(name, value);
    }
    for (name, value) in choices.into_iter().flat_map(|c| c.environment(pes)) {
        job = job.env(name, &value);
    }
    let environment = format!("{:?}", job.env);
    let outcome = job.expect_success(&s.prefix, &s.scratch);
    outcome.map(drop).context(environment)
}

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    let mut add =
        |program: &'static str, pes: usize, choices: Option<Choices>, env: &'static [(&'static str, &'static str)]| {
            let chosen = choices.map_or("auto".to_owned(), |c| c.name(pes));
            let given = match env {
                CHECKED => "::checked",
                SOCKETS => "::sockets",
                _ => "",
            };
            let name = format!("{program}::{chosen}::{pes}pe{given}");
            suite.add(name, move |s| run(s, program, pes, choices, env));
        };
    for (number, choices) in Choices::all().enumerate() {
        // Neighbouring numbers of PEs take turns; a power of two and another number are tried of all.
        let turn = |pair: [usize; 2]| pair[number % 2];
        for pes in [[1, 2], [3, 5], [4, 8]].map(turn) {
            add("every", pes, Some(choices), &[]);
        }
        add("every", 3, Some(choices), CHECKED);
        add("at_once", turn([3, 4]), Some(choices), &[]);
        for pes in [[5, 3], [8, 4]].map(turn) {
            add("exact", pes, Some(choices), EXACT);
        }
    }
    for pes in [1, 2, 3, 5, 8] {
        add("every", pes, None, SOCKETS);
    }
    for pes in [3, 4, 16] {
        add("at_once", pes, None, SOCKETS);
    }
    for pes in [1, 2, 3, 4, 5, 8] {
        add("every", pes, None, &[]);
        add("at_once", pes, None, &[]);
    }
    // Few of so many PEs copy for all.
    add("few", 67, None, &[]);
    add("every", 3, None, CHECKED);
    add("at_once", 3, None, CHECKED);
    for pes in [1, 2, 3, 5] {
        add("many", pes, None, &[]);
    }
    add("many", 3, None, CHECKED);
    for (pes, choices) in [2, 3, 4].into_iter().zip(Choices::all().skip(3)) {
        add("many", pes, Some(choices), &[]);
    }
    for pes in [3, 5, 6, 7] {
        add("exact", pes, None, EXACT);
    }
    suite.run();
}
