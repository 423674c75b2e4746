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
    let program = builder.program(&Build::new("idle.c").named(&format!("idle-{pes}"))).unwrap();
    let output = Command::new(builder.prefix.bin("oshrun"))
        .args(["--timeout", "60", "-n", &pes.to_string()])
        .arg(program)
        .envs(heap.map(|size| ("SHMEM_SYMMETRIC_SIZE", size)))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let footprints: Vec<_> = text
        .lines()
        .map(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            let ["private", private, "tables", _, "resident", resident, "mappings", mappings] = words[..] else {
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
        assert!(pe.private <= 2 * MIB_IN_KIB, "{pe:?}: more than 2 MiB beside the heap");
    }
}

#[test]
fn untouched_heap_costs_nothing() {
    // 256 MiB are allocated and not touched; the allocator's metadata is not in the heap.
    for pe in footprints(4, None) {
        assert!(pe.resident_heap <= 64, "{pe:?}: untouched memory is resident");
    }
}

#[test]
fn mappings_do_not_grow_with_the_pes() {
    /// The part of the own heap that is not allocated, which core files leave out.
    const UNUSED: usize = 1;
    /// Control part, own heap and globals, others' heaps and globals below and above.
    const JOINED: usize = 1 + 2 + UNUSED + 4;
    /// PEs up to which each window is a mapping of its own.
    const APART: usize = 16;

    for (pes, most) in [(8, 1 + 2 * 8 + UNUSED), (APART, 1 + 2 * APART + UNUSED), (24, JOINED), (64, JOINED)] {
        for pe in footprints(pes, Some("512m")) {
            assert!(pe.mappings <= most, "{pe:?} of {pes}: more than {most}");
        }
    }
    for pe in footprints(64, None) {
        assert!(pe.mappings <= JOINED, "{pe:?}: more than {JOINED}");
    }
}

#[test]
fn page_tables_grow_by_two_pages_for_each_window() {
    const PES: usize = 40;
    const PAGE_IN_KIB: usize = 4;
    const HUGE_PAGE_IN_KIB: usize = 2048;

    let builder = Builder::new(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    let program = builder.program(&Build::new("tables.c")).unwrap();
    let growths = |name: &str, value: &str| -> Vec<[usize; 3]> {
        let output = Command::new(builder.prefix.bin("oshrun"))
            .args(["--timeout", "60", "-n", &PES.to_string()])
            .arg(&program)
            .env(name, value)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{error}");
        let text = String::from_utf8(output.stdout).unwrap();
        let numbers = |line: &str| {
            let mut numbers = line.split(' ').map(|kib| kib.parse().unwrap());
            [(); 3].map(|()| numbers.next().unwrap())
        };
        let growths: Vec<_> = text.lines().map(numbers).collect();
        assert_eq!(growths.len(), PES);
        growths
    };
    // One more page for 16 windows of 32 GiB, and what the kernel may do meanwhile.
    let most = |pages: usize| ((PES - 1) * pages + PES / 16 + 4) * PAGE_IN_KIB;
    for [heaps, globals, _] in growths("SHMEM_HUGE_PAGES", "0") {
        assert!(heaps.max(globals) <= most(2), "{heaps} and {globals} KiB");
    }
    // Where the kernel can, a window of huge pages needs one page less.
    let can = ferroshmem_platform::mapping::can_collapse();
    let refused = huge_pages_refused();
    let growths = growths("SHMEM_HUGE_PAGES", "1");
    let refused = huge_pages_refused() - refused;
    let ordinary = |huge: usize| (PES - 1).saturating_sub(huge / HUGE_PAGE_IN_KIB);
    let windows = growths.iter().map(|[.., huge]| ordinary(*huge)).max().unwrap_or(0);
    // The kernel counts when it has no such page free, and none can be made free.
    if can && windows > 0 {
        assert!(refused > 0, "{windows} windows have no huge page, and none was refused");
        eprintln!("note: {windows} of {PES} windows have no huge page: the kernel had none {refused} times");
    }
    for [heaps, globals, huge] in growths {
        let most_heaps = most(1) + ordinary(huge) * PAGE_IN_KIB;
        assert!(heaps <= most_heaps, "{heaps} KiB, {} windows without a huge page", ordinary(huge));
        assert!(globals <= most(2), "{globals} KiB");
    }
}

/// How often the kernel has had no memory for a huge page that a process wanted.
fn huge_pages_refused() -> u64 {
    let counters = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let mut counts = counters.lines().filter_map(|line| line.strip_prefix("thp_collapse_alloc_failed "));
    counts.next().map_or(0, |count| count.parse().unwrap())
}

/// Page faults of each process of a command, which prints them.
fn page_faults(command: &mut Command) -> Vec<u64> {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{command:?}: {}", output.status);
    text.lines().map(|line| line.parse().unwrap()).collect()
}

fn median(mut numbers: Vec<u64>) -> u64 {
    numbers.sort_unstable();
    numbers[numbers.len() / 2]
}

#[test]
fn starting_touches_few_pages() {
    /// By the library's data, its code, the heap's metadata and what is shared.
    const MOST: u64 = 58;
    /// A single process has up to two more or fewer than another one.
    const RUNS: usize = 33;

    let builder = Builder::new(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    let pe = Build::new("faults.c").named("faults-pe").flag("-DPE");
    let bare = Build::new("faults.c").flag("-Wl,--as-needed");
    let bare = builder.program(&bare).unwrap();
    let bare = median((0..RUNS).flat_map(|_| page_faults(&mut Command::new(&bare))).collect());
    let oshrun = builder.prefix.bin("oshrun");
    let program = builder.program(&pe).unwrap();
    // A PE that waits for another one touches some pages more.
    for (pes, jobs) in [(2, RUNS), (64, 5)] {
        let mut all = Vec::new();
        for _ in 0..jobs {
            let job =
                page_faults(Command::new(&oshrun).args(["--timeout", "60", "-n", &pes.to_string()]).arg(&program));
            assert_eq!(job.len(), pes);
            all.extend(job);
        }
        let median = median(all);
        assert!(median <= bare + MOST, "a PE of {pes} starts with {median} page faults, a bare process with {bare}");
    }
}

#[test]
fn a_pe_executes_no_cpuid() {
    let builder = Builder::new(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    let program = builder.program(&Build::new("cpuid.c")).unwrap();
    let output = Command::new(builder.prefix.bin("oshrun"))
        .args(["--timeout", "60", "-n", "2"])
        .arg(program)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the instruction faults, and it was executed: {error}");
    print!("{}", String::from_utf8_lossy(&output.stdout));
}

/// System calls of a job of `pes` PEs that do nothing, but those by which processes wait, and those that fail: the
/// dynamic linker looks for libraries in many places. None without strace.
fn system_calls(builder: &Builder, program: &Path, pes: usize) -> Option<u64> {
    const WAITS: [&str; 5] = ["futex", "poll", "restart_syscall", "sched_yield", "wait4"];

    let counts = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("system-calls-{pes}"));
    let status = Command::new("strace")
        .args(["-f", "-c", "-o"])
        .arg(&counts)
        .arg(builder.prefix.bin("oshrun"))
        .args(["--timeout", "60", "-n", &pes.to_string()])
        .arg(program)
        // Cargo's is long.
        .env_remove("LD_LIBRARY_PATH")
        .stdin(Stdio::null())
        .status();
    let Ok(status) = status else {
        eprintln!("skipped: no strace command");
        return None;
    };
    assert!(status.success(), "{status}");
    // "% time, seconds, usecs/call, calls, errors if there are any, syscall"
    let calls = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let name = *words.last()?;
        let number = |at: usize| words.get(at)?.parse::<u64>().ok();
        let errors = (words.len() == 6).then(|| number(4)).flatten();
        let counted = !WAITS.contains(&name) && name != "total";
        counted.then(|| Some(number(3)? - errors.unwrap_or(0)))?
    };
    let text = std::fs::read_to_string(&counts).unwrap();
    Some(text.lines().filter_map(calls).sum())
}

#[test]
fn starting_takes_few_system_calls() {
    /// More than so many PEs have all windows in few mappings.
    const FEW: usize = 20;
    /// Some 35 of the dynamic linker, 35 of the library, 15 of the launcher for each PE.
    const MOST: u64 = 92;

    let builder = Builder::new(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    let program = Build::new("empty.c").named("empty-counted").flag("-DPE");
    let program = builder.program(&program).unwrap();
    let Some(few) = system_calls(&builder, &program, FEW) else {
        return;
    };
    let Some(many) = system_calls(&builder, &program, 3 * FEW) else {
        return;
    };
    let each = (many - few) / (2 * FEW as u64);
    assert!(each <= MOST, "{each} system calls for each further PE");
}

#[test]
fn loading_looks_up_no_function_of_the_library() {
    let builder = Builder::new(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    let library = builder.prefix.library("libshmem.so");
    let output = Command::new("readelf").arg("-rdW").arg(library).output();
    let Ok(output) = output else {
        eprintln!("skipped: no readelf command (binutils)");
        return;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("NEEDED") && text.contains("GLOB_DAT"), "{text}");
    // Each that is looked up is named. A program that is not position-independent may have its own copy of data.
    let looked_up = |line: &&str| line.contains("shmem") && line.contains("R_X86_64");
    let data = ["shmemi_native", "shmemi_counts", "shmemi_sync_counts"];
    let of_data = |line: &&str| data.iter().any(|name| line.contains(name));
    let lines = text.lines().filter(looked_up);
    let functions: Vec<_> = lines.filter(|line| !of_data(line)).collect();
    assert!(functions.is_empty(), "{}", functions.join("\n"));
    let libm = text.lines().find(|line| line.contains("NEEDED") && line.contains("libm."));
    assert_eq!(libm, None, "one more library to load");
}

#[test]
fn shared_library_is_small() {
    let builder = Builder::new(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    let library = builder.prefix.library("libshmem.so");
    let stripped = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libshmem-stripped.so");
    let status = Command::new("strip").arg("--strip-unneeded").arg("-o").args([&stripped, &library]).status();
    let Ok(status) = status else {
        eprintln!("skipped: no strip command (binutils)");
        return;
    };
    assert!(status.success(), "strip failed: {status}");
    let bytes = std::fs::metadata(stripped).unwrap().len();
    // 3 MiB until it sent messages, kept streams of items and started PEs by four launchers.
    assert!(bytes <= 13 << 18, "the stripped library has {bytes} bytes, more than 3.25 MiB");
}
