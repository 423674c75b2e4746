//! The memory footprint of a PE and of the library.

use std::path::Path;
use std::process::{Command, Stdio};

use ferroshmem_benches::{Build, Builder};

const MIB_IN_KIB: u64 = 1024;

/// The footprint that an idle PE prints; memory in KiB.
#[derive(Debug)]
struct Footprint {
    private: u64,
    resident_heap: u64,
    mappings: usize,
}

/// The footprints of the PEs of a job.
fn footprints(pes: usize, heap: Option<&str>) -> Vec<Footprint> {
    let builder = Builder::new(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    let program = builder
        .program(&Build::new("idle.c").named(&format!("idle-{pes}")))
        .unwrap();
    let output = Command::new(builder.prefix.bin("oshrun"))
        .args(["--timeout", "60", "-n", &pes.to_string()])
        .arg(program)
        .envs(heap.map(|size| ("SHMEM_SYMMETRIC_SIZE", size)))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let footprints: Vec<_> = text
        .lines()
        .map(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            let [
                "private",
                private,
                "tables",
                _,
                "resident",
                resident,
                "mappings",
                mappings,
            ] = words[..]
            else {
                panic!("not a footprint: {line:?}");
            };
            Footprint {
                private: private.parse().unwrap(),
                resident_heap: resident.parse().unwrap(),
                mappings: mappings.parse().unwrap(),
            }
        })
        .collect();
    assert_eq!(footprints.len(), pes);
    footprints
}

#[test]
fn idle_pe_keeps_little_private_memory() {
    for pe in footprints(64, None) {
        assert!(
            pe.private <= 2 * MIB_IN_KIB,
            "{pe:?}: more than 2 MiB beside the heap"
        );
    }
}

#[test]
fn untouched_heap_costs_nothing() {
    // 256 MiB are allocated and not touched; the allocator's metadata is not in the heap.
    for pe in footprints(4, None) {
        assert!(
            pe.resident_heap <= 64,
            "{pe:?}: untouched memory is resident"
        );
    }
}

#[test]
fn mappings_do_not_grow_with_the_pes() {
    /// Control part, own heap and globals, others' heaps and globals below and above.
    const JOINED: usize = 1 + 2 + 4;
    /// PEs up to which each window is a mapping of its own.
    const APART: usize = 16;

    for (pes, most) in [
        (8, 1 + 2 * 8),
        (APART, 1 + 2 * APART),
        (24, JOINED),
        (64, JOINED),
    ] {
        for pe in footprints(pes, Some("512m")) {
            assert!(pe.mappings <= most, "{pe:?} of {pes}: more than {most}");
        }
    }
    for pe in footprints(64, None) {
        assert!(pe.mappings <= JOINED, "{pe:?}: more than {JOINED}");
    }
}

#[test]
fn shared_library_is_small() {
    let builder = Builder::new(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    let library = builder.prefix.library("libshmem.so");
    let stripped = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libshmem-stripped.so");
    let status = Command::new("strip")
        .arg("--strip-unneeded")
        .arg("-o")
        .args([&stripped, &library])
        .status();
    let Ok(status) = status else {
        eprintln!("skipped: no strip command (binutils)");
        return;
    };
    assert!(status.success(), "strip failed: {status}");
    let bytes = std::fs::metadata(stripped).unwrap().len();
    assert!(
        bytes <= 3 << 20,
        "the stripped library has {bytes} bytes, more than 3 MiB"
    );
}
