//! Synthetic measurements of the shape of real ones.

use pgas_microbench::Quantity::{Bandwidth, Rate};
use pgas_microbench::report::{Context, RunRecord};
use pgas_microbench::{Measurement, Quantity};

pub(crate) const OURS: &str = "FerroSHMEM";
pub(crate) const SHMEM_PEER: &str = "Open MPI OpenSHMEM";
pub(crate) const MPI: [&str; 2] = ["Open MPI", "MPICH"];
const PAIRS: [u32; 4] = [1, 2, 8, 64];
const PES: [u32; 4] = [2, 4, 16, 64];

/// Everything that the programs measure.
pub(crate) fn full() -> Vec<Measurement> {
    let mut rows = Vec::new();
    latency(&mut rows);
    bandwidth(&mut rows);
    atomics(&mut rows);
    collectives(&mut rows);
    updates(&mut rows);
    packing(&mut rows);
    puts(&mut rows);
    halo(&mut rows);
    overlap(&mut rows);
    python(&mut rows);
    graph500(&mut rows);
    two_sided(&mut rows);
    stencil(&mut rows);
    stream(&mut rows);
    nas(&mut rows);
    rows
}

/// The context of the measurements.
pub(crate) fn context() -> Context {
    let run = |command: &str, seconds, failure: Option<&str>| RunRecord {
        command: command.to_owned(),
        seconds,
        failure: failure.map(str::to_owned),
        conditions: None,
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    Context {
        title: "PGAS microbenchmarks".to_owned(),
        machine: vec![
            pair("Processor", "A processor (virtual machine)"),
            pair("Cores", "2"),
            pair("Caches", "L1 48K, L2 2048K, L3 36864K"),
            pair("Memory", "31.3 GiB"),
            pair("System", "Debian GNU/Linux 12, Linux 6.1.0"),
        ],
        implementations: vec![
            pair(OURS, "0.1.0"),
            pair(SHMEM_PEER, "4.1.4"),
            pair("Open MPI", "4.1.4"),
            pair("MPICH", "4.0.2"),
        ],
        runs: vec![
            run("oshrun --bind-to core -n 2 latency -t 20", 12.3, None),
            run("oshrun --bind-to core -n 128 latency -t 20", 60.0, None),
            run("mpiexec.hydra -n 128 mpi-latency", 60.0, Some("ended after 60 s")),
        ],
        mode: "quick".to_owned(),
        when: "2026-01-02 03:04 UTC".to_owned(),
        notes: vec!["2 cores: more than 2 PEs take turns.".to_owned()],
    }
}

/// A row without numbers.
fn row(program: &str, implementation: &str, operation: &str, form: &str) -> Measurement {
    Measurement {
        program: program.to_owned(),
        implementation: implementation.to_owned(),
        operation: operation.to_owned(),
        form: form.to_owned(),
        pes: 2,
        samples: 21,
        ..Measurement::blank(Quantity::Latency, "us")
    }
}

/// The row with another quantity than a latency.
fn of(quantity: Quantity, row: Measurement) -> Measurement {
    let unit = if quantity == Rate { "Mop/s" } else { "MB/s" };
    Measurement { quantity, unit: unit.to_owned(), ..row }
}

/// The row with an algorithm.
fn by(algorithm: &str, row: Measurement) -> Measurement {
    Measurement { algorithm: algorithm.to_owned(), ..row }
}

/// The row with a median that differs by a few percent, the same each time.
fn measured(mut row: Measurement, median: f64) -> Measurement {
    let text = format!("{row:?}");
    // FNV-1a: reproducible noise.
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let noise = |shift: u32| (hash >> shift & 0xff) as f64 / 255.0;
    row.median = median * (0.96 + 0.08 * noise(8));
    row.low = row.median * (0.99 - 0.06 * noise(16));
    row.high = row.median * (1.01 + 0.25 * noise(24).powi(3));
    row
}

/// Adds a row of so many PEs, pairs and bytes, with a median.
fn add(rows: &mut Vec<Measurement>, (pes, pairs, bytes): (u32, u32, u64), row: Measurement, median: f64) {
    rows.push(measured(Measurement { pes, pairs, bytes, ..row }, median));
}

/// Microseconds of a copy: by the latency and the bandwidth of the cache level that the bytes fit.
fn copy_time(bytes: u64) -> f64 {
    let megabytes_per_second = match bytes {
        0..=0x8000 => 120_000.0,
        0x8001..=0x10_0000 => 40_000.0,
        _ => 13_000.0,
    };
    0.002 + bytes as f64 / megabytes_per_second
}

/// The time of a form: a factor for the time of loads and stores, and microseconds to add.
fn overhead(implementation: &str, form: &str) -> (f64, f64) {
    match (implementation, form) {
        (OURS, "call") => (1.01, 0.0002),
        (SHMEM_PEER, "call") => (1.03, 0.055),
        (_, "ptr") => (1.0, 0.0),
        ("Open MPI", "rma") => (1.05, 0.3),
        (_, "rma") => (1.1, 0.5),
        _ => (1.4, 0.35),
    }
}

/// Libraries and forms of programs that work in pairs.
fn makers() -> Vec<(&'static str, &'static str)> {
    let mut makers = vec![(OURS, "call"), (OURS, "ptr"), (SHMEM_PEER, "call"), (SHMEM_PEER, "ptr")];
    makers.extend(MPI.map(|mpi| (mpi, "rma")));
    makers
}

fn sizes(from: u32, to: u32) -> impl Iterator<Item = u64> {
    (from..=to).map(|exponent| 1 << exponent)
}

/// The factor by which sharing two cores slows PEs.
fn turns(pes: u32) -> f64 {
    if pes <= 2 { 1.0 } else { f64::from(pes) / 2.0 }
}

fn latency(rows: &mut Vec<Measurement>) {
    for pairs in PAIRS {
        for (who, form) in makers() {
            let (factor, more) = overhead(who, form);
            for operation in ["put", "get", "copy", "p", "g", "iput", "iget"] {
                let strided = operation.starts_with('i');
                if form == "rma" && operation != "put" && operation != "get" {
                    continue;
                }
                let one = operation.len() == 1;
                for bytes in sizes(if strided { 3 } else { 0 }, if one { 3 } else { 23 }) {
                    let elements = bytes as f64 / 8.0;
                    let time = if strided && who == SHMEM_PEER && form == "call" {
                        elements * 0.02
                    } else {
                        copy_time(bytes) * factor + more
                    };
                    let row = row("latency", who, operation, form);
                    add(rows, (2 * pairs, pairs, bytes), row, time * turns(2 * pairs));
                }
            }
        }
        for mpi in MPI {
            for bytes in sizes(0, 23) {
                let (row, time) = (row("latency", mpi, "sendrecv", "sendrecv"), 0.2 + copy_time(bytes) * 2.0);
                add(rows, (2 * pairs, pairs, bytes), row, time * turns(2 * pairs));
            }
        }
    }
}

fn bandwidth(rows: &mut Vec<Measurement>) {
    for pairs in PAIRS {
        for mpi in MPI {
            for bytes in sizes(0, 23) {
                let row = of(Bandwidth, row("bandwidth", mpi, "sendrecv", "sendrecv"));
                add(rows, (2 * pairs, pairs, bytes), row, bytes as f64 / (0.1 + copy_time(bytes) * 2.0));
            }
        }
        for (who, form) in makers() {
            let (factor, more) = overhead(who, form);
            let operations = ["put", "get", "put_nbi", "get_nbi", "iput", "iget", "p", "g"];
            for operation in operations {
                if form == "rma" && operation != "put" && operation != "get" {
                    continue;
                }
                for bytes in sizes(3, 23) {
                    let time = copy_time(bytes) * factor + more;
                    let sum = bytes as f64 / time * f64::from(pairs.min(2));
                    let row = of(Bandwidth, row("bandwidth", who, operation, form));
                    add(rows, (2 * pairs, pairs, bytes), row, sum);
                }
            }
            for operation in ["put", "p"] {
                if form == "rma" && operation == "p" {
                    continue;
                }
                let row = of(Rate, row("bandwidth", who, operation, form));
                add(rows, (2 * pairs, pairs, 8), row, 1.0 / (copy_time(8) * factor + more));
            }
        }
    }
}

fn atomics(rows: &mut Vec<Measurement>) {
    let operations = ["fetch_inc", "fetch_add", "add", "swap", "compare_swap", "fetch", "set"];
    for pairs in PAIRS {
        for (who, form) in makers() {
            let (factor, more) = overhead(who, form);
            for operation in operations {
                let base = if operation == "fetch" { 0.0008 } else { 0.0054 };
                let time = (base * factor + more) * turns(2 * pairs);
                add(rows, (2 * pairs, pairs, 8), row("atomics", who, operation, form), time);
                let crowd = row("atomics", who, &format!("{operation}_contended"), form);
                add(rows, (2 * pairs, 0, 8), crowd, time * 8.0);
            }
        }
    }
}

fn updates(rows: &mut Vec<Measurement>) {
    let operations = ["random_put", "random_add", "random_get_nbi", "pair_put"];
    for pairs in PAIRS {
        for (who, rate) in [(OURS, 90.0), (SHMEM_PEER, 20.0)] {
            for operation in operations {
                let of_pair = if operation == "pair_put" { pairs } else { 0 };
                let row = of(Rate, row("updates", who, operation, "call"));
                add(rows, (2 * pairs, of_pair, 8), row, rate / turns(2 * pairs));
            }
        }
    }
}

fn packing(rows: &mut Vec<Measurement>) {
    let makers = [
        (OURS, "call", "", 1.0),
        (OURS, "ptr", "", 0.98),
        (OURS, "call", "workers", 0.6),
        (SHMEM_PEER, "call", "", 3.0),
        (MPI[0], "rma", "", 4.0),
    ];
    for operation in ["pack", "unpack"] {
        for (who, form, algorithm, factor) in makers {
            for (pes, bytes) in [(1, 8), (1, 1 << 20), (2, 8), (2, 1 << 20)] {
                if pes == 2 && !algorithm.is_empty() {
                    continue;
                }
                add(rows, (pes, 0, bytes), by(algorithm, row("packing", who, operation, form)), 900.0 * factor);
            }
        }
    }
}

fn puts(rows: &mut Vec<Measurement>) {
    for (who, form, rate) in [(OURS, "call", 300.0), (SHMEM_PEER, "call", 20.0), (MPI[0], "rma", 15.0)] {
        for operation in ["one_to_all", "all_to_all"] {
            add(rows, (9, 0, 8), of(Rate, row("puts", who, operation, form)), rate);
        }
    }
}

fn halo(rows: &mut Vec<Measurement>) {
    let makers = [
        (OURS, "call", 1.0),
        (OURS, "ptr", 0.98),
        (SHMEM_PEER, "call", 3.0),
        (MPI[0], "sendrecv", 2.0),
        (MPI[0], "rma", 2.5),
    ];
    for (operation, gain) in [("halo", 1.0), ("halo_threads", 0.7)] {
        for (who, form, factor) in makers {
            for (pes, bytes) in [(1, 8), (1, 1 << 20), (2, 8), (2, 1 << 20)] {
                let helped = if (who, form) == (OURS, "call") { gain } else { 1.0 };
                add(rows, (pes, 0, bytes), row("halo", who, operation, form), 700.0 * factor * helped);
            }
        }
    }
}

fn python(rows: &mut Vec<Measurement>) {
    for (form, time) in [("python", 4.0), ("view", 0.5)] {
        for bytes in [8, 4096, 8 << 20] {
            add(rows, (2, 1, bytes), row("python", OURS, "put", form), time + bytes as f64 / 1e4);
        }
    }
}

fn overlap(rows: &mut Vec<Measurement>) {
    let makers = [
        (OURS, "call", "", 200.0),
        (OURS, "call", "workers", 4.0),
        (SHMEM_PEER, "call", "", 210.0),
        (MPI[0], "rma", "", 230.0),
    ];
    for operation in ["put", "get"] {
        for (who, form, algorithm, time) in makers {
            for bytes in [4 << 20, 16 << 20] {
                let row = by(algorithm, row("overlap", who, operation, form));
                add(rows, (1, 0, bytes), row, time * bytes as f64 / f64::from(4 << 20));
            }
        }
    }
}

fn graph500(rows: &mut Vec<Measurement>) {
    for pes in [1, 4] {
        for (who, rate) in [(OURS, 220.0), (SHMEM_PEER, 160.0)] {
            add(rows, (pes, 0, 0), of(Rate, row("graph500", who, "scale 16", "call")), rate * f64::from(pes));
        }
    }
}

fn two_sided(rows: &mut Vec<Measurement>) {
    for (who, start) in [(OURS, 0.08), (MPI[0], 0.2), (MPI[1], 0.25)] {
        let row = |program: &str, operation: &str| row(program, who, operation, "sendrecv");
        add(rows, (2, 1, 8), row("latency", "sendrecv_deep"), 10.0 * start);
        for bytes in sizes(0, 23) {
            let time = start + copy_time(bytes) * 2.0;
            add(rows, (2, 1, bytes), row("latency", "exchange"), time);
            if who == OURS {
                add(rows, (2, 1, bytes), row("latency", "sendrecv"), time);
                add(rows, (2, 1, bytes), of(Bandwidth, row("bandwidth", "sendrecv")), bytes as f64 / time);
            }
        }
        add(rows, (2, 1, 8), of(Rate, row("bandwidth", "sendrecv")), 1.0 / start);
    }
    for (who, start) in [(OURS, 0.05), (SHMEM_PEER, 0.1)] {
        for bytes in sizes(0, 23) {
            add(rows, (2, 1, bytes), row("latency", who, "exchange", "call"), start + copy_time(bytes));
        }
    }
}

fn stencil(rows: &mut Vec<Measurement>) {
    let makers = [
        (OURS, "call", 1.0),
        (OURS, "ptr", 0.99),
        (SHMEM_PEER, "call", 1.05),
        (MPI[0], "sendrecv", 1.1),
        (MPI[1], "sendrecv", 1.2),
    ];
    for (pes, operation) in [(1, "five_point"), (1, "five_point_threads"), (2, "five_point")] {
        for (who, form, factor) in makers {
            add(rows, (pes, 0, 0), row("stencil", who, operation, form), 1000.0 * factor / f64::from(pes));
        }
    }
}

fn collectives(rows: &mut Vec<Measurement>) {
    let operations = [
        "broadcast", "collect", "fcollect", "alltoall", "alltoalls", "reduce", "reduce_int", "sum_inscan", "sum_exscan",
    ];
    for pes in PES {
        for (who, factor) in [(OURS, 1.0), (SHMEM_PEER, 1.9), (MPI[0], 1.7), (MPI[1], 2.4)] {
            let form = if MPI.contains(&who) { "collective" } else { "call" };
            let start = 0.18 * factor * f64::from(pes).log2() * turns(pes);
            for operation in ["barrier_all", "sync_all"] {
                add(rows, (pes, 0, 0), row("collectives", who, operation, form), start);
            }
            for operation in operations {
                let scan = operation.ends_with("scan");
                if scan && who == SHMEM_PEER || operation == "alltoalls" && form == "collective" {
                    continue;
                }
                for bytes in sizes(3, 23).filter(|bytes| bytes * u64::from(pes) <= 1 << 28) {
                    let time = start + copy_time(bytes) * factor * turns(pes);
                    add(rows, (pes, 0, bytes), row("collectives", who, operation, form), time);
                }
            }
        }
        for (algorithm, rounds) in [("flat", pes - 1), ("rd", 5), ("bruck", 5), ("rsag", 2)] {
            for (form, factor) in [("putget", 2.2), ("ptr", 1.0)] {
                for bytes in sizes(3, 23) {
                    let row = by(algorithm, row("collectives", OURS, "reduce", form));
                    let time = 0.2 * turns(pes) + copy_time(bytes) * f64::from(rounds);
                    add(rows, (pes, 0, bytes), row, time * factor);
                }
            }
        }
    }
}

fn stream(rows: &mut Vec<Measurement>) {
    for pes in [1, 2] {
        let makers = [
            (OURS, "local", 0.99),
            (SHMEM_PEER, "local", 0.97),
            ("OpenMP", "threads", 1.0),
            (OURS, "putget", 0.6),
            (OURS, "ptr", 0.97),
            (SHMEM_PEER, "putget", 0.55),
            (SHMEM_PEER, "ptr", 0.95),
        ];
        for (who, form, factor) in makers {
            for (kernel, base) in [("copy", 13_300.0), ("scale", 13_100.0), ("add", 13_800.0), ("triad", 13_900.0)] {
                let row = of(Bandwidth, row("stream", who, kernel, form));
                add(rows, (pes, 0, 8_000_000 * u64::from(pes)), row, base * factor * f64::from(pes));
            }
        }
    }
}

fn nas(rows: &mut Vec<Measurement>) {
    let programs: [(&str, &[u32], f64); 2] = [("is", &[1, 2, 4, 16], 60.0), ("sp", &[1, 4, 9, 16], 1800.0)];
    for (program, numbers, base) in programs {
        for (class, size) in [("S", 0.8), ("W", 1.1), ("A", 1.0)] {
            for (who, factor) in [(OURS, 1.0), (SHMEM_PEER, 0.7)] {
                for form in ["putget", "ptr"] {
                    for pes in numbers {
                        let row = of(Rate, row(program, who, program, form));
                        let row = Measurement { class: class.to_owned(), samples: 3, ..row };
                        add(rows, (*pes, 0, 0), row, base * size * factor * f64::from((*pes).min(2)));
                    }
                }
            }
        }
    }
}
