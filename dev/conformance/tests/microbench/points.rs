//! What the programs print: every point of them, in a format, with figures that can be.

use anyhow::{Context as _, Result, bail, ensure};
use ferroshmem_conformance::Outcome;

/// Few and small points.
pub(crate) const QUICK: &[&str] = &["-t", "1", "-s", "5", "-M", "4096", "-f", "8"];
const SAMPLES: usize = 5;

/// The sizes of [`QUICK`].
const BYTES: &[usize] = &[1, 8, 64, 512, 4096];
const WORDS: &[usize] = &[8, 64, 512, 4096];
const SCALARS: &[usize] = &[1, 8];
const LONG: &[usize] = &[8];
const NONE: &[usize] = &[0];

pub(crate) const HEADER: &str = "operation,form,quantity,pes,pairs,bytes,samples,median,low,high,unit";
/// What a line of points is: operation, forms, quantity, sizes.
pub(crate) type Series = (&'static str, &'static [&'static str], &'static str, &'static [usize]);

const BOTH: &[&str] = &["call", "ptr"];
const CALL: &[&str] = &["call"];
const RMA: &[&str] = &["rma"];
const TWO_SIDED: &[&str] = &["sendrecv"];
const COLLECTIVE: &[&str] = &["collective"];

const LATENCY: &[Series] = &[
    ("put", BOTH, "latency", BYTES),
    ("get", BOTH, "latency", BYTES),
    ("copy", BOTH, "latency", BYTES),
    ("p", BOTH, "latency", SCALARS),
    ("g", BOTH, "latency", SCALARS),
    ("iput", BOTH, "latency", WORDS),
    ("iget", BOTH, "latency", WORDS),
    ("exchange", CALL, "latency", BYTES),
    ("exchange", TWO_SIDED, "latency", BYTES),
    ("sendrecv", TWO_SIDED, "latency", BYTES),
    ("sendrecv_deep", TWO_SIDED, "latency", LONG),
];

const BANDWIDTH: &[Series] = &[
    ("put", BOTH, "bandwidth", BYTES),
    ("put_nbi", CALL, "bandwidth", BYTES),
    ("get", BOTH, "bandwidth", BYTES),
    ("get_nbi", CALL, "bandwidth", BYTES),
    ("iput", BOTH, "bandwidth", WORDS),
    ("iget", BOTH, "bandwidth", WORDS),
    ("p", BOTH, "bandwidth", WORDS),
    ("g", BOTH, "bandwidth", WORDS),
    ("sendrecv", TWO_SIDED, "bandwidth", BYTES),
    ("put", BOTH, "rate", LONG),
    ("p", BOTH, "rate", LONG),
    ("sendrecv", TWO_SIDED, "rate", LONG),
];

const COLLECTIVES: &[Series] = &[
    ("barrier_all", CALL, "latency", NONE),
    ("sync_all", CALL, "latency", NONE),
    ("broadcast", CALL, "latency", WORDS),
    ("collect", CALL, "latency", WORDS),
    ("fcollect", CALL, "latency", WORDS),
    ("alltoall", CALL, "latency", WORDS),
    ("alltoalls", CALL, "latency", WORDS),
    ("reduce", CALL, "latency", WORDS),
    ("reduce_int", CALL, "latency", WORDS),
    ("sum_inscan", CALL, "latency", WORDS),
    ("sum_exscan", CALL, "latency", WORDS),
];

const UPDATES: &[Series] = &[
    ("random_put", CALL, "rate", LONG),
    ("random_add", CALL, "rate", LONG),
    ("random_fetch_add", CALL, "rate", LONG),
    ("random_fetch_add_nbi", CALL, "rate", LONG),
    ("random_get", CALL, "rate", LONG),
    ("random_get_nbi", CALL, "rate", LONG),
    ("pair_put", CALL, "rate", LONG),
    ("pair_add", CALL, "rate", LONG),
];

/// By PEs of one thread.
const STENCIL: &[Series] = &[("five_point", BOTH, "latency", NONE)];

const PACKING: &[Series] = &[("pack", BOTH, "latency", WORDS), ("unpack", BOTH, "latency", WORDS)];

const MPI_PACKING: &[Series] = &[("pack", &["rma", "sendrecv"], "latency", WORDS), ("unpack", RMA, "latency", WORDS)];

const PUTS: &[Series] = &[("one_to_all", CALL, "rate", LONG), ("all_to_all", CALL, "rate", LONG)];

/// By PEs of one thread.
const HALO: &[Series] = &[("halo", BOTH, "latency", WORDS)];

/// Each on a counter of its own and on one for all.
const ATOMICS: [[&str; 2]; 7] = [
    ["fetch_inc", "fetch_inc_contended"],
    ["fetch_add", "fetch_add_contended"],
    ["add", "add_contended"],
    ["swap", "swap_contended"],
    ["compare_swap", "compare_swap_contended"],
    ["fetch", "fetch_contended"],
    ["set", "set_contended"],
];

/// What the program for MPI measures of these: its forms are those of messages, or made of the one-sided ones.
fn by_mpi(series: &[Series], one_sided: &'static [&'static str]) -> Vec<Series> {
    let has = |(name, forms, ..): &&Series| {
        !["copy", "p", "g", "sync_all", "alltoalls"].contains(name) && (*name, *forms) != ("exchange", CALL)
    };
    let forms = |forms| if forms == TWO_SIDED { TWO_SIDED } else { one_sided };
    series.iter().filter(has).map(|&(name, of, quantity, sizes)| (name, forms(of), quantity, sizes)).collect()
}

/// What a program measures; OpenSHMEM before 1.5 has no non-blocking atomics, before 1.6 no scans, and messages
/// are FerroSHMEM's and MPI's.
pub(crate) fn series(program: &str, is_recent: bool) -> Vec<Series> {
    let atomics = |forms| {
        let names = ATOMICS.into_iter().flatten();
        names.map(|n| (n, forms, "latency", LONG)).collect()
    };
    let mut series: Vec<Series> = match program {
        "latency" => LATENCY.to_vec(),
        "bandwidth" => BANDWIDTH.to_vec(),
        "atomics" => atomics(BOTH),
        "collectives" => COLLECTIVES.to_vec(),
        "updates" => UPDATES.to_vec(),
        "stencil" => STENCIL.to_vec(),
        "packing" => PACKING.to_vec(),
        "puts" => PUTS.to_vec(),
        "halo" => HALO.to_vec(),
        "mpi-packing" => MPI_PACKING.to_vec(),
        "mpi-stencil" => by_mpi(STENCIL, TWO_SIDED),
        "mpi-halo" => by_mpi(HALO, &["sendrecv", "rma"]),
        "mpi-latency" => by_mpi(LATENCY, RMA),
        "mpi-bandwidth" => by_mpi(BANDWIDTH, RMA),
        "mpi-puts" => by_mpi(PUTS, RMA),
        "mpi-atomics" => atomics(RMA),
        "mpi-collectives" => by_mpi(COLLECTIVES, COLLECTIVE),
        other => panic!("there is no program {other}"),
    };
    let is_new = |(name, forms, ..): &Series| {
        name.ends_with("scan")
            || *name == "random_fetch_add_nbi"
            || (*forms == TWO_SIDED && !program.starts_with("mpi-"))
    };
    series.retain(|one| is_recent || !is_new(one));
    series
}

/// All points of a program, as rows begin, in order: `put,call,latency,2,1,8,5,`, with the unit.
fn points(series: &[Series], pes: usize) -> Vec<(String, &'static str)> {
    let mut points = Vec::new();
    for &(operation, forms, quantity, sizes) in series {
        let together = operation.ends_with("_contended")
            || operation.starts_with("random_")
            || ["five_point", "pack", "unpack", "halo"].contains(&operation)
            || operation.ends_with("_to_all")
            || COLLECTIVES.iter().any(|(name, ..)| *name == operation);
        let pairs = if together { 0 } else { pes / 2 };
        let unit = match quantity {
            "latency" => "us",
            "bandwidth" => "MB/s",
            _ => "Mop/s",
        };
        for form in forms {
            for bytes in sizes {
                points.push((format!("{operation},{form},{quantity},{pes},{pairs},{bytes},{SAMPLES},"), unit));
            }
        }
    }
    points
}

/// The output holds these points, no others, and figures that can be.
pub(crate) fn holds(outcome: &Outcome, series: &[Series], pes: usize) -> Result<()> {
    let mut lines = outcome.stdout.lines().filter(|l| !l.starts_with('#'));
    ensure!(lines.next() == Some(HEADER), "no header\n{outcome}");
    let mut lines: Vec<&str> = lines.collect();
    let mut points = points(series, pes);
    // Programs may go through forms and sizes in any order.
    lines.sort_unstable();
    points.sort_unstable();
    let missing = points.iter().find(|(p, _)| !lines.iter().any(|l| l.starts_with(p)));
    ensure!(missing.is_none(), "no row for {missing:?}\n{outcome}");
    ensure!(lines.len() == points.len(), "more rows\n{outcome}");
    for (line, (begin, unit)) in lines.into_iter().zip(points) {
        let rest = line.strip_prefix(&begin).context("rows are in order")?;
        let [median, low, high, of] = rest.split(',').collect::<Vec<_>>()[..] else {
            bail!("not 11 fields: {line}");
        };
        let [median, low, high]: [f64; 3] = [median.parse()?, low.parse()?, high.parse()?];
        let can_be = 0.0 < low && low <= median && median <= high && high.is_finite();
        ensure!(can_be && of == unit, "cannot be: {line}");
    }
    Ok(())
}
