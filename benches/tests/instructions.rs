//! The instructions that calls of a PE by itself execute, as valgrind counts them: what a resilient job adds.

use std::path::Path;
use std::process::{Command, Stdio};

use ferroshmem_benches::{Build, Builder};

/// A series of `resilience.c`, the most instructions of a call, and the most that a call of a resilient job adds.
const MOST: [(&str, u64, u64); 6] = [
    ("barrier_all", 123, 2),
    ("team_sync", 137, 23),
    ("sum/8B", 388, 27),
    ("sum_nb/8B", 670, 185),
    ("message/8B", 261, 166),
    ("lock/free", 22, 0),
];

/// Instructions of a process that does a series `count` times.
fn counted(builder: &Builder, program: &Path, (series, count): (&str, u64), resilient: &str) -> u64 {
    let output = Command::new(builder.prefix.bin("oshrun"))
        .args(["--timeout", "120", "-n", "1", "valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args([&count.to_string(), series])
        .env("RESILIENT", resilient)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let line = text.lines().find_map(|line| line.split_once("Collected : "));
    line.unwrap_or_else(|| panic!("no count: {text}")).1.trim().parse().unwrap()
}

#[test]
fn resilient_jobs_execute_few_more() {
    const CALLS: u64 = 1000;

    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("skipped: no valgrind command");
        return;
    }
    let builder = Builder::new(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    let program = builder.program(&Build::new("resilience.c").named("resilience-counted")).unwrap();
    for (series, most, added) in MOST {
        let of_call = |resilient: &str| {
            let of = |count| counted(&builder, &program, (series, count), resilient);
            // Rounded: starts differ by some tens of instructions.
            (of(2 * CALLS) - of(CALLS) + CALLS / 2) / CALLS
        };
        let (usual, resilient) = (of_call("0"), of_call("1"));
        println!("{series}: {usual}, resilient {resilient}");
        assert!(usual <= most, "{series}: {usual} instructions, more than {most}");
        assert!(resilient <= usual + added, "{series}: {resilient} instructions of a resilient job, {usual} of others");
    }
}
