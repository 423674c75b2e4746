//! The program in `user/`, outside of this workspace, with cargo as a user runs it: a C part, and
//! `oshrun` as cargo's runner.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Suite};

/// As many PEs as its runner starts.
const PES: usize = 4;

fn main() {
    let mut suite = Suite::new(env!("CARGO_TARGET_TMPDIR"));
    suite.add("cargo-run-and-test".into(), run_and_test);
    suite.add("cargo-test-fails".into(), failing_test);
    suite.add("attributes".into(), attributes);
    suite.add("runner-of-rust.md".into(), |s| documented(s, "docs/rust.md"));
    suite.run();
}

fn run_and_test(s: &Setting) -> Result<()> {
    let program = copy("works")?;
    let outcome = cargo(s, &program, "run").expect_success(&s.prefix, &s.scratch)?;
    for pe in 0..PES {
        let line = format!("PE {pe} of {PES} got {}", (pe + PES - 1) % PES);
        ensure!(outcome.stdout.contains(&line), "no \"{line}\"\n{outcome}");
    }
    let outcome = cargo(s, &program, "test --test jobs").expect_success(&s.prefix, &s.scratch)?;
    let passed = outcome.stdout.matches("2 passed; 0 failed").count();
    ensure!(passed == PES, "tests of {passed} PEs passed\n{outcome}");
    Ok(())
}

/// Tests that start their own PEs pass, beside others and without settings of cargo's; one that fails says why, and so
/// does one that finds no `oshrun`. A `main` does as well.
fn attributes(s: &Setting) -> Result<()> {
    const FAILS: &str = r"
use ferroshmem::{Error, OutOfBounds, World};

#[ferroshmem::test(pes = 2)]
fn hangs(world: &World) {
    if world.my_pe().number() == 1 {
        world.barrier();
    }
    std::thread::sleep(std::time::Duration::from_secs(1000));
}

#[ferroshmem::test(pes = 2)]
fn returns_an_error(world: &World) -> Result<(), Error> {
    let window = world.alloc::<u8>(1)?.open();
    Ok(window.p(world.my_pe(), 3, 1)?)
}
";
    const MAIN: &str = r#"
#[ferroshmem::main(pes = 3)]
fn main(world: &ferroshmem::World) {
    println!("PE {} of {}: {:?}", world.my_pe().number(), world.n_pes(), std::env::args().nth(1));
}
"#;
    let program = copy("attributes")?;
    fs::write(program.join(".cargo/config.toml"), "")?;
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("user/tests/attributes.rs");
    fs::copy(from, program.join("tests/attributes.rs"))?;
    fs::write(
        program.join("tests/fails.rs"),
        FAILS.replace("pes = 2)]\nfn hangs", "pes = 2, timeout = 3)]\nfn hangs"),
    )?;
    fs::write(program.join("src/main.rs"), MAIN)?;
    // By another name than that of the copies beside it, which are built to the same folder.
    let mut manifest = fs::read_to_string(program.join("Cargo.toml"))?;
    manifest += "\n[[bin]]\nname = \"attributes\"\npath = \"src/main.rs\"\n";
    fs::write(program.join("Cargo.toml"), manifest)?;

    let outcome = cargo(s, &program, "test --test attributes").expect_success(&s.prefix, &s.scratch)?;
    ensure!(outcome.stdout.contains("6 passed; 0 failed"), "{outcome}");
    let outcome = cargo(s, &program, "test --test fails").run(&s.prefix, &s.scratch)?;
    ensure!(!outcome.hung && !outcome.status.success(), "{outcome}");
    for message in [
        "0 passed; 2 failed",
        "the job of 2 PEs has failed",
        "Team::barrier",
        "1 element at index 3 is not within an array of length 1",
    ] {
        ensure!(outcome.stdout.contains(message), "no \"{message}\"\n{outcome}");
    }
    ensure!(outcome.left == 0, "{} processes are left", outcome.left);
    let outcome = cargo(s, &program, "run -- there").expect_success(&s.prefix, &s.scratch)?;
    let lines = outcome.stdout.matches("of 3: Some(\"there\")").count();
    ensure!(lines == 3, "{outcome}");

    fs::write(program.join(".cargo/config.toml"), RUNNER_OF_2)?;
    let outcome = cargo(s, &program, "test --test attributes four").run(&s.prefix, &s.scratch)?;
    let is_reported = outcome.to_string().contains("is for 4 PEs and runs in a job of 2");
    ensure!(is_reported && !outcome.status.success(), "{outcome}");
    fs::write(program.join(".cargo/config.toml"), "")?;
    let mut job = cargo(s, &program, "test --test attributes four");
    if let Some(script) = job.command.last_mut() {
        // The commands of the system and of Rust, without an oshrun.
        *script = script.replace(&format!("{}", s.prefix.bin("").display()), "/nowhere");
    }
    let outcome = job.run(&s.prefix, &s.scratch)?;
    // Where another library has a command of this name, it is not taken for ours.
    let place = " in PATH";
    ensure!(
        outcome.stdout.contains("PEs are started by oshrun, and ")
            && outcome.stdout.contains(place)
            && !outcome.status.success(),
        "{outcome}"
    );
    Ok(())
}

/// Settings of cargo's that start two PEs.
const RUNNER_OF_2: &str = r#"
[target.'cfg(target_os = "linux")']
runner = "oshrun -n 2"

[env]
RUST_TEST_THREADS = "1"
RUST_TEST_NOCAPTURE = "1"
"#;

/// What a document tells users to write to cargo's configuration starts as many PEs as it says, without a warning.
fn documented(s: &Setting, document: &str) -> Result<()> {
    // Trials of several documents run at once.
    let name: String = document.chars().filter(char::is_ascii_alphanumeric).collect();
    let program = copy(&name)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join(document))?;
    let blocks = text.split("```toml\n").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split("```").next());
    let runners: Vec<&str> = blocks.filter(|block| block.contains("runner")).collect();
    ensure!(!runners.is_empty(), "{document} shows no runner");
    // No line outside of these blocks is to be taken for all that is needed.
    let shown = text.matches("runner = ").count();
    ensure!(shown == runners.len(), "{document} shows {shown} runners");
    for block in runners {
        fs::write(program.join(".cargo/config.toml"), block)?;
        let outcome = cargo(s, &program, "run").expect_success(&s.prefix, &s.scratch)?;
        let pes = outcome.stdout.matches(&format!("of {PES} got")).count();
        ensure!(pes == PES, "{block} started {pes} PEs\n{outcome}");
        ensure!(!outcome.stderr.contains("unused"), "{outcome}");
    }
    Ok(())
}

/// One PE's failure is that of the test, and its message is seen.
fn failing_test(s: &Setting) -> Result<()> {
    let program = copy("fails")?;
    let test = r#"
#[test]
fn pe_2_fails() {
    let world = ferroshmem::World::init().unwrap();
    assert!(world.my_pe().number() != 2, "PE 2 is the odd one out");
    world.barrier();
}
"#;
    fs::write(program.join("tests/jobs.rs"), test)?;
    let outcome = cargo(s, &program, "test --test jobs").run(&s.prefix, &s.scratch)?;
    ensure!(!outcome.hung && !outcome.status.success(), "{outcome}");
    let n = outcome.stderr.matches("PE 2 is the odd one out").count();
    ensure!(n == 1, "the message was shown {n} times\n{outcome}");
    ensure!(outcome.left == 0, "{} processes are left", outcome.left);
    Ok(())
}

/// Cargo in a copy of the program, with `user`'s own settings instead of the tester's. The copies share
/// what cargo builds for them, and crates of a registry with this workspace: its target folder has them. It builds that
/// once: debugging information and parts for the next build would be half of the time.
fn cargo(s: &Setting, program: &Path, command: &str) -> Job {
    let script = format!(
        "unset RUST_TEST_THREADS RUST_TEST_NOCAPTURE RUSTC_WORKSPACE_WRAPPER
         unset CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER
         export CARGO_PROFILE_DEV_DEBUG=none CARGO_INCREMENTAL=0 CARGO_NET_OFFLINE=true CARGO_TARGET_DIR='{}/..'
         cd '{}' && PATH='{}':$PATH cargo {command}",
        env!("CARGO_TARGET_TMPDIR"),
        program.display(),
        s.prefix.bin("").display(),
    );
    let mut job = Job::new(0, Path::new("sh")).args(&["-c", &script]);
    // It compiles the crates, and waits while another trial does.
    job.watchdog = Duration::from_secs(1200);
    job
}

/// Features that crates have in this workspace: without them, those and what is over them would be compiled once more.
const BUILT: &str = r#"
syn-3 = { package = "syn", version = "3", features = ["full"] }

[dependencies.base64]
version = "0.23"

[dependencies.libc]
version = "0.2"
features = ["extra_traits"]
"#;

/// Copies the program to where it may be built, with the versions of this workspace.
fn copy(name: &str) -> Result<PathBuf> {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("user");
    let root = from.ancestors().nth(3).context("it is in the workspace")?;
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("user").join(name);
    for file in [".cargo/config.toml", "build.rs", "src/kernel.c", "src/lib.rs", "src/main.rs", "tests/jobs.rs"] {
        let place = to.join(file);
        fs::create_dir_all(place.parent().context("a file is in a folder")?)?;
        fs::copy(from.join(file), place)?;
    }
    let manifest = fs::read_to_string(from.join("Cargo.toml"))?;
    let manifest = manifest
        .replace("../../..", &root.display().to_string())
        // Without a version of its own, a copy would take the other's test program for its own.
        .replace("\"0.1.0\"", &format!("\"0.1.0+{name}\""))
        + BUILT;
    fs::write(to.join("Cargo.toml"), manifest)?;
    fs::copy(root.join("Cargo.lock"), to.join("Cargo.lock"))?;
    Ok(to)
}
