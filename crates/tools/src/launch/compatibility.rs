//! Options of other launchers: `mpirun` and `oshrun` of Open MPI, `mpiexec` of Hydra, `srun` of Slurm, `aprun` of Cray.
//! Those with a meaning here are read as the option of ours that has it; the others are answered with what to
//! write instead.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;

use Meaning::{Instead, Noted, Nothing, Same, Translated, Words};

use super::failure::{self, Failure};
use super::hosts::list::expanded;

/// An option of another launcher.
pub(super) struct Foreign {
    /// Its names, without dashes; after one or two of them.
    names: &'static [&'static str],
    /// How many values follow it.
    pub values: usize,
    meaning: Meaning,
}

/// What an option of another launcher is here.
enum Meaning {
    /// This option of ours, with the same value.
    Same(&'static str),
    /// These words.
    Words(&'static [&'static str]),
    /// What the function makes of its values; the error is what to write instead.
    Translated(fn(&[&str]) -> Result<Vec<String>, String>),
    /// Here it is always so.
    Nothing,
    /// It changes no result, and has no effect here for this reason, which is shown.
    Noted(&'static str),
    /// What to write.
    Instead(&'static str),
}

/// As `-x`, for the programs of all sections.
pub(super) const GLOBAL: &str = "--global-variable";
const NO_PARAMETERS: &str =
    "no MCA parameters here: set variables of the library by -x (oshmem_info lists them), libfabric's likewise";
const OUTPUT: &str = "--output DIR, for files DIR/pe.N.out and DIR/pe.N.err, --output NAME.%t for one file of each PE, \
    or > FILE and 2> FILE after the command";
const MERGED: &str = "2>&1 after the command";
const TIMES: &str = "oshrun --label ... | ts, of the package moreutils";
const ORDER: &str = "name the hosts in the order of their PEs by --hosts or --hostfile, and give --bind-to";
const FILES: &str = "programs and files must be on every host at the same path";
const PER_NODE: &str = "--ppn N for PEs per host, --bind-to and --map-by spread within one";
const ASK_SLURM: &str = "ask Slurm for it: give it to salloc or sbatch, and start oshrun inside";
const STEP: &str = "inside an allocation of Slurm's, --launcher-option WORD passes a word to srun";
const NUMACTL: &str = "numactl in front of PROGRAM; memory of a PE that is bound is on its NUMA node anyway";
const INHERITED: &str = "PEs inherit the whole environment: start oshrun by env -i, and set variables by -x";
const RECOVERY: &str = "a PE that ends badly ends its job; jobs that outlive others are made by shmemx_spawn";
const SECTIONS: &str = "write the programs on the command line, with ':' between them";

/// All that are known. What is an option of ours is not looked up here.
static ALL: &[Foreign] = &[
    // Where, and how many.
    option(&["ntasks"], 1, Same("-n")),
    option(&["host", "H"], 1, Same("--hosts")),
    option(&["w", "nodelist"], 1, Translated(node_list)),
    option(&["machinefile", "f", "default-hostfile", "F", "nodefile"], 1, Same("--hostfile")),
    option(&["N", "perhost", "npernode", "ntasks-per-node"], 1, Same("--ppn")),
    option(&["c", "cpus-per-task", "cpus-per-proc", "cpus-per-rank", "d", "depth"], 1, Same("--cores")),
    option(&["oversubscribe", "overcommit", "O"], 0, Nothing),
    option(&["nooversubscribe"], 0, Instead("give the hosts their slots: --hosts HOST:SLOTS")),
    option(&["pernode"], 0, Words(&["--ppn", "1"])),
    option(&["rankfile", "rf"], 1, Instead(ORDER)),
    option(&["rr"], 0, Instead(ORDER)),
    option(&["nodes"], 1, Translated(nodes)),
    option(&["npersocket", "ntasks-per-socket", "ntasks-per-core", "ppr", "S"], 1, Instead(PER_NODE)),
    option(&["nolocal", "skip-launch-node"], 0, Instead("name the other hosts alone by --hosts or --hostfile")),
    // Cores.
    option(&["bind-to-core"], 0, Words(&["--bind-to", "core"])),
    option(&["bind-to-socket"], 0, Words(&["--bind-to", "socket"])),
    option(&["bind-to-none"], 0, Words(&["--bind-to", "none"])),
    option(&["bycore", "byslot"], 0, Words(&["--map-by", "compact"])),
    option(&["bysocket", "bynode"], 0, Words(&["--map-by", "spread"])),
    option(&["cpu-bind", "cpu_bind", "cc"], 1, Translated(cpu_bind)),
    option(&["m", "distribution"], 1, Translated(distribution)),
    option(&["rank-by"], 1, Translated(rank_by)),
    option(&["use-hwthread-cpus"], 0, Words(&["--bind-to", "hwthread"])),
    option(&["cpu-set", "cpu-list"], 1, Instead("taskset -c LIST oshrun ...: PEs use no other CPUs than oshrun may")),
    option(
        &["threads-per-core", "hint", "j"],
        1,
        Instead("--bind-to core, for all hardware threads of a core, or hwthread"),
    ),
    option(&["mem-bind", "membind"], 1, Instead(NUMACTL)),
    option(
        &["display-map", "display-devel-map", "display-allocation", "print-rank-map"],
        0,
        Words(&["--report-bindings"]),
    ),
    option(&["display"], 1, Words(&["--report-bindings"])),
    // Environment and directory.
    option(&["genv"], 2, Translated(|values| pair(GLOBAL, values))),
    option(&["env"], 2, Translated(|values| pair("-x", values))),
    option(&["genvlist"], 1, Translated(|values| names(GLOBAL, values[0]))),
    option(&["envlist"], 1, Translated(|values| names("-x", values[0]))),
    option(&["export"], 1, Translated(export)),
    option(&["genvall", "envall", "noprefix", "E", "preserve-env"], 0, Nothing),
    option(&["genvnone", "envnone"], 0, Instead(INHERITED)),
    option(&["chdir", "D"], 1, Same("--wdir")),
    option(
        &["prefix"],
        1,
        Instead("-x LD_LIBRARY_PATH=DIR/lib; oshcc writes the library's folder into programs anyway"),
    ),
    option(&["path"], 1, Instead("PATH=DIR:$PATH oshrun ...: programs are searched for in PATH")),
    option(&["preload-binary"], 0, Instead(FILES)),
    option(&["preload-files", "bcast"], 1, Instead(FILES)),
    // Input and output.
    option(&["tag-output", "l", "prepend-rank"], 0, Words(&["--label"])),
    option(&["output-filename", "output-directory"], 1, Same("--output")),
    option(&["s", "input", "i"], 1, Same("--stdin")),
    option(&["u", "unbuffered", "q", "quiet", "Q"], 0, Nothing),
    option(&["o", "outfile-pattern"], 1, Translated(output_pattern)),
    option(&["errfile-pattern", "e", "error"], 1, Instead(OUTPUT)),
    option(&["prepend-pattern"], 1, Instead("--label, which marks each line with the number of its PE")),
    option(&["print-all-exitcodes"], 0, Words(&["--verbose"])),
    option(&["pty"], 0, Instead("start oshrun on the terminal: PE 0 reads it, and each PE writes to it")),
    option(&["xterm"], 1, Instead("--debugger 'xterm -e gdb -p {pid}' --debug-pes LIST")),
    option(&["X", "disable-status", "leave-session-attached"], 0, Nothing),
    option(&["merge-stderr-to-stdout"], 0, Instead(MERGED)),
    option(&["timestamp-output"], 0, Instead(TIMES)),
    // Ends.
    option(&["K", "kill-on-bad-exit"], 0, Nothing),
    option(&["t", "time"], 1, Translated(time)),
    option(&["maxtime"], 1, Same("--timeout")),
    option(&["abort-on-non-zero-status", "quit-on-interrupt"], 0, Nothing),
    option(&["get-stack-traces", "report-state-on-timeout", "disable-recovery"], 0, Nothing),
    option(&["W", "wait"], 1, Instead("PEs that end do not end the others: --timeout and --hang-timeout do")),
    option(&["k", "no-kill"], 0, Instead(RECOVERY)),
    option(&["disable-auto-cleanup", "enable-recovery", "continuous"], 0, Instead(RECOVERY)),
    // How the launcher works.
    option(&["allow-run-as-root"], 0, Nothing),
    option(&["mpi", "topolib"], 1, Nothing),
    option(&["mca", "gmca", "omca", "prtemca", "pmixmca", "gpmixmca"], 2, Noted(NO_PARAMETERS)),
    option(&["am", "tune"], 1, Noted(NO_PARAMETERS)),
    option(&["personality", "demux", "usize", "localhost", "keepalive", "stream-buffering"], 1, Nothing),
    option(&["disable-hostname-propagation", "pmi-port", "debug-daemons", "show-progress"], 0, Nothing),
    option(&["do-not-resolve", "propagate", "resv-ports", "b"], 0, Nothing),
    option(&["report-pid", "report-uri"], 1, Instead("--verbose, which prints the process of each PE")),
    option(&["info"], 0, Instead("oshmem_info")),
    option(
        &["bootstrap", "rmk"],
        1,
        Instead("--launcher slurm|hydra|openmpi|prte, and --launch-agent COMMAND instead of ssh"),
    ),
    option(&["launcher-exec", "bootstrap-exec"], 1, Same("--launch-agent")),
    option(&["iface"], 1, Instead("-x SHMEM_FABRIC_INTERFACE=NAME")),
    option(&["nice"], 0, Instead("nice -n N oshrun ...")),
    option(&["gtool"], 1, Instead("--debugger COMMAND, or the tool in front of PROGRAM")),
    option(&["configfile", "app", "multi-prog"], 1, Instead(SECTIONS)),
    option(&["gdb", "debug"], 0, Instead("start the job, then gdb -p PID of its PE")),
    option(
        &[
            "p", "partition", "A", "account", "mem", "mem-per-cpu", "gres", "gpus", "gpus-per-task", "gpus-per-node",
            "gpu-bind", "G", "reservation", "exclude", "J", "job-name", "C", "constraint", "qos", "comment",
            "dependency", "begin", "licenses", "switches", "mail-type", "mail-user", "tmp", "mincpus",
            "sockets-per-node", "cores-per-socket", "cpus-per-gpu", "mem-per-gpu", "ntasks-per-gpu", "gpus-per-socket",
            "gpus-per-proc", "M", "clusters", "wckey", "deadline", "prefer", "B", "extra-node-info", "core-spec",
            "thread-spec", "container",
        ],
        1,
        Instead(ASK_SLURM),
    ),
    option(&["immediate", "I", "contiguous", "spread-job"], 0, Instead(ASK_SLURM)),
    option(&["exclusive", "overlap", "exact"], 0, Instead(STEP)),
    option(
        &[
            "jobid", "relative", "r", "network", "signal", "prolog", "epilog", "task-prolog", "task-epilog",
            "cpu-freq", "acctg-freq", "het-group", "slurmd-debug", "threads", "tres-per-task", "tres-bind",
            "accel-bind", "gpu-freq", "open-mode", "export-file", "treewidth", "msg-timeout",
        ],
        1,
        Instead(STEP),
    ),
];

const fn option(names: &'static [&'static str], values: usize, meaning: Meaning) -> Foreign {
    Foreign { names, values, meaning }
}

impl Foreign {
    /// The option of this name, and the value that is attached to a short one (`-c4`).
    pub(super) fn find(name: &[u8]) -> Option<(&'static Self, Option<&[u8]>)> {
        let named = |name: &[u8]| {
            let is = |o: &&Self| o.names.iter().any(|n| n.as_bytes() == name);
            ALL.iter().find(is)
        };
        if let Some(found) = named(name) {
            return Some((found, None));
        }
        let (letter, value) = name.split_at_checked(1)?;
        let attached = value.first().is_some_and(u8::is_ascii_digit);
        // Slurm's -K1 is -K.
        let found = named(letter).filter(|o| attached && (o.values == 1 || matches!(o.meaning, Nothing)))?;
        Some((found, Some(value)))
    }

    /// What `oshrun` reads in its place. `shown` is the option as it was written.
    pub(super) fn translate(&self, shown: &OsStr, values: &[OsString]) -> Result<Vec<OsString>, Failure> {
        let instead = |text: &str| {
            let shown = shown.to_string_lossy();
            Failure::usage(format!("{shown} is an option of another launcher; here: {text}"))
        };
        if values.len() < self.values {
            let shown = shown.to_string_lossy();
            let n = self.values;
            return Err(Failure::usage(format!("{shown} takes {n} value(s)")));
        }
        match self.meaning {
            Same(option) => Ok([&[option.into()], values].concat()),
            Words(words) => Ok(words.iter().map(OsString::from).collect()),
            Nothing => Ok(Vec::new()),
            Noted(text) => {
                failure::print_line(&format!("{} has no effect: {text}", shown.display()));
                Ok(Vec::new())
            }
            Instead(text) => Err(instead(text)),
            Translated(function) => {
                let text: Option<Vec<&str>> = values.iter().map(|v| v.to_str()).collect();
                let words = function(&text.ok_or_else(|| instead("give it as UTF-8"))?);
                let words = words.map_err(|text| instead(&text))?;
                Ok(words.into_iter().map(OsString::from).collect())
            }
        }
    }
}

/// The value of `--bind-to`, `--map-by` or `--output` as another launcher has it, in words of ours, and further options
/// that it stands for, or stands for alone. What is none of theirs stays as it is.
pub(super) fn value_of(option: &[u8], value: &OsStr) -> Result<(Option<OsString>, Vec<OsString>), Failure> {
    let failed =
        |text: &str, why: String| Failure::usage(format!("--{} {text}: {why}", String::from_utf8_lossy(option)));
    match (option, value.to_str()) {
        (b"bind-to", Some(text)) => Ok((Some(bind_to(text).into()), Vec::new())),
        (b"output", Some(text)) => match directives(text).map_err(|why| failed(text, format!("here: {why}")))? {
            Some(words) => Ok((None, words)),
            None => Ok((Some(text.into()), Vec::new())),
        },
        // Hydra's own word for how it reaches hosts.
        (b"launcher", Some("ssh")) => Ok((Some("hydra".into()), Vec::new())),
        (b"launcher", Some("rsh")) => Ok((Some("hydra".into()), ["--launch-agent", "rsh"].map(OsString::from).into())),
        (b"map-by", Some(text)) => {
            let (order, others) = map_by(text).map_err(|why| failed(text, why))?;
            Ok((Some(order), others))
        }
        _ => Ok((Some(value.to_owned()), Vec::new())),
    }
}

/// What Open MPI 5's `--output` asks for, if each of its parts is of that launcher.
fn directives(text: &str) -> Result<Option<Vec<OsString>>, &'static str> {
    let mut words = Vec::new();
    for part in text.split([',', ':']) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        match name.to_ascii_lowercase().as_str() {
            "tag" | "tag-detailed" | "tag-fullname" | "rank" => words.push("--label".into()),
            "dir" => words.push(format!("--output={value}").into()),
            "file" => return Err(OUTPUT),
            "merge" | "merge-stderr-to-stdout" => return Err(MERGED),
            "timestamp" => return Err(TIMES),
            _ => return Ok(None),
        }
    }
    words.dedup();
    Ok(Some(words))
}

fn bind_to(text: &str) -> &str {
    // What follows the colon says what is done where PEs outnumber cores, which they may.
    let (what, qualifier) = text.split_once(':').unwrap_or((text, ""));
    if !["", "overload-allowed", "if-supported"].contains(&&*qualifier.to_ascii_lowercase()) {
        return text;
    }
    match what {
        "hwthreads" | "hwt" | "thread" | "threads" => "hwthread",
        "cores" | "cpu" => "core",
        "l3" | "cache" => "l3cache",
        "package" | "sockets" => "socket",
        "ldoms" | "ldom" => "numa",
        _ => what,
    }
}

/// The order, and further options.
fn map_by(text: &str) -> Result<(OsString, Vec<OsString>), String> {
    let mut parts = text.split([':', ',']);
    let what = parts.next().unwrap_or_default();
    let mut others: Vec<OsString> = Vec::new();
    let order = match what.to_ascii_lowercase().as_str() {
        "compact" | "slot" | "core" | "hwthread" | "" => "compact",
        "spread" | "node" | "socket" | "package" | "numa" | "l3cache" => "spread",
        "ppr" => {
            let n = parts.next().unwrap_or_default();
            if !matches!(parts.next(), Some("node" | "host")) {
                return Err(format!("here: {PER_NODE}"));
            }
            others.extend(["--ppn", n].map(OsString::from));
            "compact"
        }
        _ => return Err("give compact or spread".into()),
    };
    for part in parts {
        let upper = part.to_ascii_uppercase();
        match upper.strip_prefix("PE=") {
            Some(n) => others.extend(["--cores", n].map(OsString::from)),
            // Where the order spreads, it does so over all.
            None if ["OVERSUBSCRIBE", "OVERLOAD-ALLOWED", "INHERIT", "NOINHERIT"].contains(&upper.as_str()) => {}
            None if upper == "SPAN" && order == "spread" => {}
            None if upper == "DISPLAY" => others.push("--report-bindings".into()),
            None => return Err(format!("\"{part}\" has no meaning here")),
        }
    }
    Ok((order.into(), others))
}

fn cpu_bind(values: &[&str]) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    for word in values[0].split(',') {
        let to = match word {
            "verbose" | "v" => {
                words.push("--report-bindings".into());
                continue;
            }
            "quiet" | "q" => continue,
            "no" => "none",
            // Of Cray's aprun: one core, or those that -d gives.
            "depth" => continue,
            "numa_node" => "numa",
            other => bind_to(other),
        };
        if !["none", "hwthread", "core", "socket", "numa"].contains(&to) {
            return Err("--bind-to hwthread|core|l3cache|numa|socket|none".into());
        }
        words.extend(["--bind-to".into(), to.into()]);
    }
    Ok(words)
}

fn distribution(values: &[&str]) -> Result<Vec<String>, String> {
    let order = match values[0] {
        "block" | "block:block" => "compact",
        "cyclic" | "cyclic:cyclic" | "block:cyclic" => "spread",
        _ => return Err("--map-by compact|spread".into()),
    };
    Ok(vec!["--map-by".into(), order.into()])
}

/// A number of nodes is that of the hosts that are named; one is this.
fn nodes(values: &[&str]) -> Result<Vec<String>, String> {
    if values[0] == "1" { Ok(Vec::new()) } else { Err("name the hosts by --hosts, or give --ppn N".into()) }
}

/// Slurm's forms: minutes, minutes:seconds, hours:minutes:seconds, each but the first after days-hours as well.
fn time(values: &[&str]) -> Result<Vec<String>, String> {
    let (days, rest) = values[0].split_once('-').map_or(("0", values[0]), |(days, rest)| (days, rest));
    let mut parts = vec![days];
    parts.extend(rest.split(':'));
    let numbers: Result<Vec<u64>, _> = parts.iter().map(|part| part.parse::<u32>().map(u64::from)).collect();
    let is_after_days = values[0].contains('-');
    let [days, hours, minutes, seconds] = match (numbers.as_deref(), is_after_days) {
        (Ok([d, m]), false) => [*d, 0, *m, 0],
        (Ok([d, m, s]), false) => [*d, 0, *m, *s],
        (Ok([d, h]), true) => [*d, *h, 0, 0],
        (Ok([d, h, m]), true) => [*d, *h, *m, 0],
        (Ok([d, h, m, s]), _) => [*d, *h, *m, *s],
        _ => return Err("--timeout SECONDS".into()),
    };
    let limit = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
    // 0 is no limit.
    Ok(if limit == 0 { Vec::new() } else { vec!["--timeout".into(), limit.to_string()] })
}

fn rank_by(values: &[&str]) -> Result<Vec<String>, String> {
    match values[0] {
        // The order of the cores is that of the PEs.
        "slot" | "fill" => Ok(Vec::new()),
        _ => Err("PEs are numbered in the order in which --map-by gives them cores".into()),
    }
}

/// One file of each PE, whose name has its number.
fn output_pattern(values: &[&str]) -> Result<Vec<String>, String> {
    if ["%t", "%r"].iter().any(|number| values[0].contains(number)) {
        Ok(vec![format!("--output={}", values[0])])
    } else {
        Err(OUTPUT.into())
    }
}

fn node_list(values: &[&str]) -> Result<Vec<String>, String> {
    let hosts = expanded(values[0])
        .ok_or("--hosts HOST,HOST... (scontrol show hostnames LIST prints them), or --hostfile FILE")?;
    Ok(vec!["--hosts".into(), hosts.join(",")])
}

/// An option of ours for a variable, from its name and its value.
fn pair(option: &str, values: &[&str]) -> Result<Vec<String>, String> {
    Ok(vec![option.into(), format!("{}={}", values[0], values[1])])
}

/// The same for each of a list of names.
fn names(option: &str, list: &str) -> Result<Vec<String>, String> {
    let each = list.split(',').filter(|name| !name.is_empty());
    Ok(each.flat_map(|name| [option.into(), name.into()]).collect())
}

/// `ALL`, names and pairs.
fn export(values: &[&str]) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    for item in values[0].split(',') {
        match item {
            "ALL" => {}
            "NONE" | "NIL" => return Err(INHERITED.into()),
            pair => words.extend([GLOBAL.into(), pair.into()]),
        }
    }
    Ok(words)
}

/// An option without its dashes and without a value after `=`, and that value.
pub(super) fn parts(token: &[u8]) -> (&[u8], Option<OsString>) {
    let end = token.iter().position(|b| *b == b'=');
    let name = &token[..end.unwrap_or(token.len())];
    let name = name.strip_prefix(b"-").unwrap_or(name);
    let name = name.strip_prefix(b"-").unwrap_or(name);
    let value = end.map(|at| OsString::from_vec(token[at + 1..].to_vec()));
    (name, value)
}

/// The names of all options of other launchers that are known, in groups: those that are read, then those that are
/// answered.
#[cfg(test)]
fn all_names() -> [Vec<&'static str>; 2] {
    let read = |o: &&Foreign| !matches!(o.meaning, Instead(_));
    let (read, answered): (Vec<&Foreign>, Vec<&Foreign>) = ALL.iter().partition(read);
    [read, answered].map(|options| options.iter().flat_map(|o| o.names).copied().collect())
}

#[cfg(test)]
mod tests {
    use super::super::options::{self, Binding, CommandLine, Input, Mapping};
    use super::*;

    fn read(line: &str) -> Result<CommandLine, String> {
        let arguments = line.split_whitespace().map(OsString::from).collect();
        options::parse(arguments, 6).map_err(|f| f.to_string())
    }

    fn counts(line: &str) -> Vec<usize> {
        let read = read(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        read.sections.iter().map(|s| s.n_pes).collect()
    }

    fn variables(line: &str, section: usize) -> Vec<String> {
        let read = read(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        let pair = |(n, v): &(OsString, OsString)| format!("{}={}", n.display(), v.display());
        read.sections[section].environment.iter().map(pair).collect()
    }

    #[test]
    fn lines_of_other_launchers_are_read() {
        for (line, expected) in [
            // Open MPI
            ("--host localhost:4 --oversubscribe --allow-run-as-root -np 4 ./a -N 7", 4),
            ("-H localhost:8 -npernode 3 ./a", 3),
            ("-n 3 --tag-output --report-bindings --bind-to core:overload-allowed --map-by slot ./a", 3),
            ("--map-by ppr:2:node:PE=3 --bind-to core ./a", 2),
            ("-n 2 --stdin none --display-map --output-filename d ./a", 2),
            // Hydra
            ("-l -genv OMP_NUM_THREADS 1 -n 2 ./a", 2),
            ("-prepend-rank -ppn 5 -genvall ./a", 5),
            // Slurm
            ("--ntasks=4 -c2 -l -K --mpi=pmix --cpu-bind=verbose,cores -D /tmp ./a", 4),
            ("--n 4 -Q -X -E --rank-by slot --noprefix --personality ompi ./a", 4),
            ("--mca btl tcp,self --tune file -n 3 ./a", 3),
            ("-n4 --cpus-per-task 2 -m cyclic --kill-on-bad-exit=1 --export=ALL,A=1 ./a", 4),
            // Cray
            ("-n 8 -N8 -d 2 ./a", 8),
        ] {
            assert_eq!(counts(line), [expected], "{line}");
        }
    }

    #[test]
    fn they_mean_here_what_they_mean_there() {
        let o = read("-n 2 -l --cpu-bind=verbose,sockets -m cyclic ./a").unwrap();
        assert!(o.streams.label && o.placement.report_bindings);
        assert_eq!((o.placement.bind_to, o.placement.map_by), (Binding::Socket, Mapping::Spread));
        let o = read("--map-by node:PE=2:OVERSUBSCRIBE -i none ./a").unwrap();
        assert_eq!((o.placement.map_by, o.placement.cores), (Mapping::Spread, Some(2)));
        assert_eq!(o.streams.stdin, Input::None);
        let o = read("--bind-to package --output-filename d ./a").unwrap();
        assert_eq!(o.placement.bind_to, Binding::Socket);
        assert_eq!(o.streams.output, Some("d".into()));
        for line in ["-o job.%t ./a", "--output=job.%t ./a", "-outfile-pattern job.%t ./a"] {
            assert_eq!(read(line).unwrap().streams.output, Some("job.%t".into()), "{line}");
        }
        assert_eq!(read("--output dir=d ./a").unwrap().streams.output, Some("d".into()));
        let streams = read("--output TAG,rank ./a").unwrap().streams;
        assert!(streams.label && streams.output.is_none());
        assert_eq!(counts("-w n[08-10,12],m ./a"), [5]);
        let version = read("-version").unwrap_err();
        assert!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
        assert!(read("-print-all-exitcodes ./a").unwrap().streams.verbose);
        let o = read("-vv -K1 --nodes=1 --bind-to core:IF-SUPPORTED --map-by socket:SPAN:DISPLAY ./a").unwrap();
        assert!(o.streams.verbose && o.placement.report_bindings);
        assert_eq!((o.placement.bind_to, o.placement.map_by), (Binding::Core, Mapping::Spread));
        for (line, expected) in [
            ("--time=5", Some(300)),
            ("-t 1:30", Some(90)),
            ("-t 01:00:05", Some(3605)),
            ("-t 1-2", Some(26 * 3600)),
            ("-t 1-2:03:04", Some(26 * 3600 + 184)),
            ("-t 0", None),
            ("-maxtime 7", Some(7)),
        ] {
            let limit = read(&format!("{line} ./a")).unwrap().times.timeout;
            assert_eq!(limit.map(|limit| limit.as_secs()), expected, "{line}");
        }
        assert_eq!(read("-n 2 -d 2 -cc depth ./a").unwrap().placement.cores, Some(2));
        assert!(read("-launcher ssh -hosts a:1 ./a").unwrap().hosts.is_some());
        let o = read("-n 1 ./a -l -genv X 1").unwrap();
        assert!(!o.streams.label, "options end at the program");
        assert_eq!(o.sections[0].arguments, ["-l", "-genv", "X", "1"]);
    }

    #[test]
    fn global_variables_hold_for_all_programs() {
        let line = "-genv A 1 --export=ALL,B=2 -env C 3 -n 1 ./a : -n 1 -env A 4 ./b";
        assert_eq!(variables(line, 0), ["A=1", "B=2", "C=3"]);
        // What is set last counts.
        assert_eq!(variables(line, 1), ["A=1", "B=2", "A=4"]);
        let path = std::env::var("PATH").unwrap();
        assert_eq!(variables("-genvlist PATH -n 1 ./a", 0), [format!("PATH={path}")]);
    }

    #[test]
    fn the_others_are_answered_in_one_line() {
        for (line, instead) in [
            ("--output file=d/f ./a", "--output DIR"),
            ("--output TAG,timestamp ./a", "moreutils"),
            ("-o job.log ./a", "> FILE"),
            ("-o job.%j ./a", "> FILE"),
            ("-i input ./a", "< FILE"),
            ("--nice=5 ./a", "nice -n"),
            ("--cpus-per-gpu=1 ./a", "salloc"),
            ("--npersocket 2 ./a", "--ppn N"),
            ("--mem-bind=local ./a", "numactl"),
            ("--exact ./a", "--launcher-option"),
            ("--no-kill ./a", "shmemx_spawn"),
            ("--path /opt/bin ./a", "PATH=DIR"),
            ("-info ./a", "oshmem_info"),
            ("-genvnone ./a", "env -i"),
            ("--time soon ./a", "--timeout SECONDS"),
            ("-t 999999999999999999-1 ./a", "--timeout SECONDS"),
            ("--nodes=2 ./a", "--hosts"),
            ("--dependency=afterok:1 ./a", "salloc"),
            ("--map-by slot:SPAN ./a", "no meaning"),
            ("-p debug ./a", "salloc"),
            ("--map-by ppr:2:socket ./a", "--ppn"),
            ("--map-by board ./a", "compact"),
            ("-w node[4-1] ./a", "--hosts"),
            ("--cpu-bind=map_cpu:0,1 ./a", "--bind-to"),
            ("--export=NONE ./a", "env -i"),
            ("--rank-by node ./a", "--map-by"),
            ("-iface eth0 ./a", "SHMEM_FABRIC_INTERFACE"),
            ("--configfile f", "':'"),
            ("-genv A", "2 value(s)"),
        ] {
            let error = read(line).expect_err(line);
            assert!(error.contains(instead), "{line}: {error}");
            assert!(!error.contains('\n'), "{line}: {error}");
        }
    }

    #[test]
    fn no_name_is_there_twice_and_each_is_documented() {
        let page = include_str!("../../../../docs/oshrun.md");
        let [read, answered] = all_names();
        let mut all = [&read[..], &answered].concat();
        for name in &read {
            let documented = [format!("`-{name}"), format!("`--{name}")];
            let is_there = documented.iter().any(|d| {
                page.match_indices(d.as_str()).any(|(at, d)| page[at + d.len()..].starts_with([' ', '`', '[']))
            });
            assert!(is_there, "docs/oshrun.md lacks {name}");
        }
        let n = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), n);
    }
}
