//! `oshrun` with programs that know nothing of OpenSHMEM: options, streams, exit status.

mod support;

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;

use nix::sys::resource::Resource;
use support::{Job, oshrun, run, script};

#[test]
fn status_of_the_job() {
    assert_eq!(run(&mut script("-n 3", "exit 0")).code, Some(0));
    let ended = run(&mut script("-n 3", "if [ $PE = 1 ]; then exit 3; fi; sleep 100"));
    assert_eq!(ended.code, Some(3));
    assert_eq!(ended.stderr, "oshrun: PE 1 (\"sh\") exited with status 3; ended the job\n");
    let ended = run(&mut script("-n 3", "if [ $PE = 2 ]; then kill -SEGV $$; fi; sleep 100"));
    assert_eq!(ended.code, Some(128 + libc::SIGSEGV));
    assert!(ended.stderr.contains("PE 2 (\"sh\") was killed by SIGSEGV (segmentation fault"));
    assert_eq!(ended.stderr.lines().count(), 1);
    let ended = run(&mut script("-n 2", "if [ $PE = 1 ]; then kill -40 $$; fi; sleep 100"));
    assert_eq!(ended.code, Some(128 + 40));
}

#[test]
fn what_cannot_run_is_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let write = |name: &str, text: &str| {
        fs::write(path(name), text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(path(name), mode).unwrap();
    };
    write("garbage", "\x01\x02");
    write("orphan", "#!/no/such/interpreter\n");
    for (command, status, word) in [
        ("-n 0 true".to_owned(), 2, "'0'"),
        ("-n 100000 true".to_owned(), 2, "'100000'"),
        ("-n many true".to_owned(), 2, "'many'"),
        ("-n 4000 true : -n 4000 true".to_owned(), 2, "8000"),
        (String::new(), 2, "no program"),
        ("-n 2 --no-such-option true".to_owned(), 2, "--no-such-option"),
        ("-n 2 --trace-pes 0 true".to_owned(), 2, "not provided: --trace"),
        ("-n 2 --wdir /no/such/dir true".to_owned(), 2, "/no/such/dir"),
        ("-n 2 -x SHMEM_SYMMETRIC_SIZE=much true".to_owned(), 2, "much"),
        ("-n 2 no-such-program".to_owned(), 127, "no-such-program"),
        ("-n 2 ./no-such-program".to_owned(), 127, "no such file"),
        ("-n 2 /etc/passwd".to_owned(), 126, "executable"),
        (format!("-n 2 {}", path("")), 126, "directory"),
        (format!("-n 2 {}", path("garbage")), 126, "#!"),
        (format!("-n 2 {}", path("orphan")), 126, "interpreter"),
        (format!("-n 1 touch {} : -n 1 ./no-such-program", path("made")), 127, "no such file"),
        (format!("--profile={} no-such-program", path("page.html")), 127, "no such program"),
        ("memory -n 2 true".to_owned(), 127, "--check=memory"),
    ] {
        let ended = run(&mut oshrun(&command.split_whitespace().collect::<Vec<_>>()));
        assert_eq!(ended.code, Some(status), "{command}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{command}: {}", ended.stderr);
        assert!(ended.stderr.starts_with("oshrun: "), "{command}: {}", ended.stderr);
        assert!(ended.stderr.contains(word), "{command}: {}", ended.stderr);
        assert_eq!(ended.stdout, "", "{command}");
    }
    assert!(!fs::exists(path("made")).unwrap(), "a PE ran although another could not");
    // What was said before is said.
    let ended = run(&mut oshrun(&["-v", "-n", "2", &path("orphan")]));
    assert!(ended.stderr.starts_with("oshrun: 2 PEs on ") && ended.stderr.lines().count() == 2, "{}", ended.stderr);
    // Users of shells know the error, not always its cause.
    write("here", "#!/bin/sh\n");
    let ended = run(oshrun(&["-n", "2", "here"]).current_dir(dir.path()));
    let line = "oshrun: cannot run \"here\": no such program in PATH; the one here is ./here\n";
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(127), line));
}

#[test]
fn a_page_stays_until_there_is_another() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("page.html");
    fs::write(&page, "of an earlier job").unwrap();
    let page = page.display().to_string();
    for options in [
        &[&format!("--profile={page}"), "no-such-program"][..],
        &["--profile-dir", "/proc/no", "--trace", &page, "true"],
        &["--profile-from", "/no/such/records", "--trace", &page],
    ] {
        let ended = run(&mut oshrun(options));
        assert_ne!(ended.code, Some(0), "{options:?}");
        assert_eq!(fs::read_to_string(&page).unwrap(), "of an earlier job", "{options:?}: {}", ended.stderr);
    }
    fs::remove_file(&page).unwrap();
    run(&mut oshrun(&[&format!("--profile={page}"), "no-such-program"]));
    assert!(!fs::exists(&page).unwrap(), "an empty page");
}

#[test]
fn labelled_lines_are_whole() {
    let ended = run(&mut script(
        "-n 4 --label",
        "for i in 1 2 3 4 5; do printf 'PE %s ' $PE; sleep 0.01; echo line $i; done; echo oops >&2; printf end",
    ));
    assert_eq!(ended.code, Some(0));
    for pe in 0..4 {
        let label = format!("[{pe}] ");
        let lines: Vec<_> = ended.stdout.lines().filter_map(|l| l.strip_prefix(&label)).collect();
        let mut expected: Vec<_> = (1..=5).map(|i| format!("PE {pe} line {i}")).collect();
        expected.push("end".to_owned());
        assert_eq!(lines, expected);
    }
    let mut errors: Vec<_> = ended.stderr.lines().collect();
    errors.sort_unstable();
    assert_eq!(errors, ["[0] oops", "[1] oops", "[2] oops", "[3] oops"]);
}

#[test]
fn labelled_output_arrives_in_full() {
    let ended = run(&mut script("-n 2 --label", "seq 200000"));
    assert_eq!(ended.code, Some(0));
    let of_pe = |pe| ended.stdout.lines().filter(|l| l.starts_with(&format!("[{pe}] "))).count();
    assert_eq!((of_pe(0), of_pe(1)), (200_000, 200_000));
}

#[test]
fn output_that_nobody_reads_ends_the_job() {
    let mut command = script("-n 2 --label", "yes");
    let text = format!("{} -n 2 --label yes | head -n 1", command.get_program().display());
    command = std::process::Command::new("sh");
    command.args(["-c", &text]);
    let ended = run(&mut command);
    assert!(ended.stdout == "[0] y\n" || ended.stdout == "[1] y\n", "{}", ended.stdout);
}

#[test]
fn output_files() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("deep/er");
    let options = format!("-n 11 --output {}", out.display());
    let ended = run(&mut script(&options, "echo I am $PE; echo so $PE >&2"));
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "", ""));
    for pe in 0..11 {
        let read = |kind| fs::read_to_string(out.join(format!("pe.{pe:02}.{kind}"))).unwrap();
        assert_eq!(read("out"), format!("I am {pe}\n"));
        assert_eq!(read("err"), format!("so {pe}\n"));
    }
    assert_eq!(fs::read_dir(out).unwrap().count(), 22);
    let named = format!("-n 2 --output {}/of.%j.%t", dir.path().display());
    let mut job = script(&named, "echo I am $PE; echo so $PE >&2");
    assert_eq!(run(job.env("SLURM_JOB_ID", "7")).code, Some(0));
    for pe in 0..2 {
        let read = fs::read_to_string(dir.path().join(format!("of.7.{pe}"))).unwrap();
        assert_eq!(read, format!("I am {pe}\nso {pe}\n"));
    }
    for name in ["of.%j", "of.%j.%t", "of.%u.%t"] {
        let ended = run(&mut script(&format!("-n 2 --output {name}"), ":"));
        assert!(ended.code == Some(2) && ended.stderr.contains("a name with %t (or %r)"), "{}", ended.stderr);
    }
}

#[test]
fn input_goes_to_the_first_pe() {
    let ended = Job::start(&mut script("-n 3 --label", "cat; echo done"), "a\nb\n").wait();
    let mut lines: Vec<_> = ended.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["[0] a", "[0] b", "[0] done", "[1] done", "[2] done"]);
}

#[test]
fn input_goes_to_another_pe_or_none() {
    for (option, expected) in [("--stdin 2", "[2] a"), ("-s 1", "[1] a"), ("--input=none", "[0] done")] {
        let options = format!("-n 3 --label {option}");
        let ended = Job::start(&mut script(&options, "cat; echo done"), "a\n").wait();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let mut lines = ended.stdout.lines();
        assert!(lines.any(|l| l == expected), "{option}: {}", ended.stdout);
        let read = ended.stdout.lines().filter(|l| l.ends_with(" a")).count();
        assert_eq!(read, usize::from(expected.ends_with('a')), "{option}");
    }
}

#[test]
fn lines_of_other_launchers_run() {
    for line in [
        "--host localhost:4 --oversubscribe --allow-run-as-root --tag-output -np 2",
        "-l -genv A 1 -ppn 2",
        "--ntasks=2 --label --mpi=pmix -K --export=ALL,A=1",
    ] {
        let ended = run(script(line, "echo $A").env("A", "1"));
        let mut lines: Vec<_> = ended.stdout.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["[0] 1", "[1] 1"], "{line}: {}", ended.stderr);
    }
    let ended = run(&mut script("-n 1 --mca btl self", ":"));
    assert!(ended.code == Some(0) && ended.stderr.starts_with("oshrun: --mca has no effect: "), "{}", ended.stderr);
    let ended = run(script("-n 1", ":").env("XT_SYMMETRIC_HEAP_SIZE", "1g"));
    let line =
        "oshrun: XT_SYMMETRIC_HEAP_SIZE is a variable of Cray SHMEM and has no effect; here: SHMEM_SYMMETRIC_SIZE\n";
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), line));
}

#[test]
fn programs_of_one_job() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().canonicalize().unwrap().display().to_string();
    let options = format!(
        "--label -n 2 -x A=1 printenv A FERROSHMEM_JOB : -np 1 -wdir {dir} pwd : -n 1 printenv FERROSHMEM_JOB A"
    );
    let ended = run(oshrun(&options.split_whitespace().collect::<Vec<_>>()).env("A", "0"));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for line in ["[0] 1", "[1] 1", &format!("[2] {dir}"), "[3] 0"] {
        assert!(ended.stdout.lines().any(|l| l == line), "{line}: {}", ended.stdout);
    }
    for pe in [0, 1, 3] {
        let label = format!("[{pe}] ");
        let mut of_pe = ended.stdout.lines().filter_map(|l| l.strip_prefix(&label));
        assert!(of_pe.any(|l| l.ends_with(&format!(":{pe}"))), "{}", ended.stdout);
    }
}

#[test]
fn arguments_pass_untouched() {
    let arguments = ["-n", "1", "printf", "%s|", "-n", "", "a b", "--label", "-x", "é"];
    assert_eq!(run(&mut oshrun(&arguments)).stdout, "-n||a b|--label|-x|é|");
}

#[test]
fn pes_can_be_bound() {
    let ended = run(&mut script("-n 1 --bind-to hwthread", "nproc"));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "1\n"));
}

#[test]
fn pes_that_outnumber_cores_are_bound_in_turn() {
    let cores = std::thread::available_parallelism().unwrap().get();
    let n_pes = 3 * cores;
    let ended = run(&mut script(
        &format!("-n {n_pes} --bind-to hwthread"),
        "sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status",
    ));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let mut pes_on = std::collections::BTreeMap::new();
    for core in ended.stdout.lines() {
        *pes_on.entry(core).or_insert(0) += 1;
    }
    assert_eq!(pes_on.len(), cores, "{pes_on:?}");
    assert!(pes_on.values().all(|pes| *pes == 3), "{pes_on:?}");
}

/// By default, or not: other jobs on this machine may have its cores.
#[test]
fn pes_that_fit_are_bound_as_reported() {
    const CPUS: &str = "echo PE $PE: $(sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status)";
    let n_pes = std::thread::available_parallelism().unwrap().get();
    for options in ["", "--bind-to core", "--bind-to hwthread --map-by spread"] {
        let line = format!("-n {n_pes} --report-bindings {options}");
        let ended = run(&mut script(&line, CPUS));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        if ended.stderr.contains("not bound") {
            assert!(options.is_empty(), "{options}: {}", ended.stderr);
            assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
            continue;
        }
        assert_eq!(ended.stderr.lines().count(), n_pes, "{}", ended.stderr);
        for pe in ended.stdout.lines() {
            let (name, cpus) = pe.split_once(": ").unwrap();
            let reported = format!("oshrun: {name}: CPUs {cpus}: ");
            assert!(ended.stderr.contains(&reported), "{pe}: {}", ended.stderr);
        }
    }
}

/// While one job has all cores, another one is not bound by default, and waits as PEs do that share a core.
#[test]
fn jobs_do_not_take_each_others_cores() {
    let n_pes = std::thread::available_parallelism().unwrap().get();
    if n_pes < 2 {
        return;
    }
    let line = format!("-n {n_pes} --bind-to core");
    let inner = format!("{} -v -n {n_pes} --report-bindings true", env!("CARGO_BIN_EXE_oshrun"));
    // The outer job has no cores of its own if jobs of other tests have them as it starts: then it is tried again.
    let body = format!("if [ $PE = 0 ]; then taskset -p -c 0-1023 $$ >&2; {inner}; fi");
    let attempts = (0..20).map(|_| run(&mut script(&line, &body)));
    let mut attempts = attempts.inspect(|ended| assert_eq!(ended.code, Some(0), "{}", ended.stderr));
    let ended = attempts.find(|ended| ended.stderr.contains("PEs are not bound"));
    let ended = ended.expect("in one of many jobs, the inner one finds all cores taken");
    let shared = format!("{n_pes} PEs on 1 cores, ");
    assert!(ended.stderr.contains(&shared), "{}", ended.stderr);
}

/// A thread of oshrun wakes up on each core that PEs share, and on none that they do not.
#[test]
fn time_slices_are_kept_where_pes_share_cores() {
    let cores = std::thread::available_parallelism().unwrap().get();
    let kept = "grep -q '^slices of' /proc/$PPID/task/*/comm";
    // The threads begin after the last PE, which the watchdog waits for.
    let until_kept = format!("until {kept} 2>/dev/null; do sleep 0.01; done");
    let shared = format!("--time-slice 200 -n {}", cores + 1);
    assert_eq!(run(&mut script(&shared, &until_kept)).code, Some(0));
    let fitting = format!("--time-slice 200 -n 1 --cores {cores}");
    let ended = run(&mut script(&fitting, &format!("sleep 0.2; ! {kept}")));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let ended = run(&mut script("--time-slice 5 -n 1", "true"));
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("give a number of microseconds, 20 or more"));
}

#[test]
fn pes_that_do_not_fit_are_not_bound() {
    let cores = std::thread::available_parallelism().unwrap().get();
    let n_pes = cores + 1;
    let ended = run(&mut script(&format!("-n {n_pes} --report-bindings"), "nproc"));
    assert_eq!(ended.stdout, format!("{cores}\n").repeat(n_pes));
    let reason = format!(": {n_pes} PEs on {cores} CPUs\n");
    assert!(ended.stderr.ends_with(&reason), "{}", ended.stderr);
    let ended = run(&mut script("-n 1 --report-bindings --bind-to none", "nproc"));
    assert_eq!(ended.stdout, format!("{cores}\n"));
    assert!(ended.stderr.ends_with(": --bind-to none\n"), "{}", ended.stderr);
}

#[test]
fn a_pe_gets_nothing_but_the_memory_of_the_job_and_a_socket() {
    let ended = run(&mut script("-n 2 --label", "ls -l /proc/$$/fd | sed -n 's/.* -> //p'"));
    let of_pe_1 = ended.stdout.lines().filter(|l| l.starts_with("[1] "));
    let files: Vec<_> = of_pe_1
        .filter(|l| !l.contains("pipe:") && !l.contains("/dev/null"))
        .map(|l| l.split(":[").next().unwrap_or_default())
        .collect();
    assert_eq!(files, ["[1] /memfd:ferroshmem (deleted)", "[1] socket"]);
}

#[test]
fn a_limit_on_file_sizes_holds_for_pes_alone() {
    let oshrun = env!("CARGO_BIN_EXE_oshrun");
    let limited = |limit: &str| {
        let script = format!("{limit}; exec {oshrun} -n 2 sh -c 'ulimit -f'");
        run(std::process::Command::new("sh").args(["-c", &script]))
    };
    let ended = limited("ulimit -S -f 1000");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "1000\n1000\n"), "{}", ended.stderr);
    let ended = limited("ulimit -f 1000");
    assert_eq!(ended.code, Some(1), "{:?}", ended.status);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("512000 bytes on files") && ended.stderr.contains("ulimit -f"), "{}", ended.stderr);
}

#[test]
fn names_cannot_break_a_line() {
    for (arguments, status, shown) in [
        (&["a\nb\u{1b}[31m"][..], 127, "\"a\\nb\\u{1b}[31m\""),
        (&["-n", "1", "--wdir", "/x\ny", "true"], 2, "/x\\ny"),
        (&["-x", "A\nB", "true"], 2, "A\\nB"),
        (&["--hosts", "a\nb", "true"], 2, "a\\nb"),
    ] {
        let ended = run(&mut oshrun(arguments));
        assert_eq!(ended.code, Some(status), "{}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(ended.stderr.contains(shown), "{}", ended.stderr);
    }
}

/// Lines that cannot be printed change neither the status nor what runs.
#[test]
fn what_is_said_need_not_be_read() {
    for (line, status) in [("no-such-program", 127), ("-n 1 --mca btl self true", 0)] {
        let (_, nobody) = std::io::pipe().unwrap();
        let mut command = oshrun(&line.split_whitespace().collect::<Vec<_>>());
        assert_eq!(command.stderr(nobody).status().unwrap().code(), Some(status), "{line}");
    }
}

#[test]
fn output_that_is_lost_is_an_error() {
    for line in ["--help", "-n 1 --label echo lost"] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = oshrun(&line.split_whitespace().collect::<Vec<_>>()).stdout(full).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), errors.lines().count()), (Some(1), 1), "{line}: {errors}");
        assert!(errors.contains("No space left on device"), "{line}: {errors}");
    }
}

/// Those that oshrun was given, and its own, do not fit into the limit, which holds for the PEs alone.
#[test]
fn a_limit_on_open_files_holds_for_pes_alone() {
    let mut command = oshrun(&["-n", "40", "--label", "sh", "-c", "ulimit -S -n"]);
    // SAFETY: system calls only.
    unsafe {
        command.pre_exec(|| {
            let (_, hard) = nix::sys::resource::getrlimit(Resource::RLIMIT_NOFILE)?;
            nix::sys::resource::setrlimit(Resource::RLIMIT_NOFILE, 128, hard)?;
            for _ in 0..80 {
                libc::dup(libc::STDIN_FILENO);
            }
            Ok(())
        })
    };
    let ended = run(&mut command);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout.lines().filter(|line| line.ends_with("] 128")).count(), 40, "{}", ended.stdout);
    let low = format!("ulimit -n 64; exec {} -n 40 --label true", env!("CARGO_BIN_EXE_oshrun"));
    let ended = run(std::process::Command::new("sh").args(["-c", &low]));
    assert!(ended.code == Some(1) && ended.stderr.contains("(ulimit -n)"), "{}", ended.stderr);
}

#[test]
fn help_and_version() {
    let ended = run(&mut oshrun(&["--help"]));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(ended.stdout.contains("--bind-to") && !ended.stdout.contains('\x1b'));
    let longest = ended.stdout.lines().map(|line| line.chars().count()).max();
    assert!((72..=80).contains(&longest.unwrap()), "{}", ended.stdout);
    let ended = run(&mut oshrun(&["--version"]));
    assert_eq!(ended.stdout, format!("oshrun {}\n", env!("CARGO_PKG_VERSION")));
}

/// On a terminal, errors have colour unless the user wants none, and help is as wide as it is.
#[test]
fn terminals_show_colour_and_set_the_width() {
    if !Path::new("/dev/pts/ptmx").exists() {
        println!("skipped: /dev/pts has no terminals (mount devpts)");
        return;
    }
    let size = nix::pty::Winsize { ws_row: 50, ws_col: 60, ws_xpixel: 0, ws_ypixel: 0 };
    let shown = |arguments: &[&str], no_color: &str| {
        let pty = nix::pty::openpty(Some(&size), None).unwrap();
        let mut command = oshrun(arguments);
        command.env("NO_COLOR", no_color).env("TERM", "xterm");
        command.stdout(pty.slave.try_clone().unwrap()).stderr(pty.slave);
        command.status().unwrap();
        drop(command);
        // A read gives what one write of the other side left, and EIO after the last of them.
        let mut bytes = Vec::new();
        let end = std::fs::File::from(pty.master).read_to_end(&mut bytes);
        assert_eq!(end.map_err(|e| e.raw_os_error()), Err(Some(libc::EIO)));
        String::from_utf8(bytes).unwrap()
    };
    let line = "cannot run \"no-such-program\": no such program in PATH\r\n";
    assert_eq!(shown(&["no-such-program"], "1"), format!("oshrun: {line}"));
    let coloured = shown(&["no-such-program"], "");
    assert!(coloured.starts_with("\x1b[") && coloured.ends_with(&format!("oshrun:\x1b[0m {line}")), "{coloured:?}");
    let ended = shown(&["-n", "1", "sh", "-c", "exit 3"], "");
    assert!(ended.starts_with("\x1b[") && ended.contains("exited with status 3"), "{ended:?}");
    let help = shown(&["--help"], "1");
    let longest = help.lines().filter(|line| !line.starts_with("   ")).map(|line| line.chars().count()).max();
    assert!(longest.unwrap() <= 61, "{help}");
}

/// Scripts for shells know the options; bash and fish, if they are here, complete a value.
#[test]
fn completions_are_generated() {
    let oshrun = env!("CARGO_BIN_EXE_oshrun");
    for shell in ["bash", "zsh", "fish"] {
        let output = std::process::Command::new(oshrun).args(["--generate", shell]).output().expect("oshrun runs");
        let script = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{shell}");
        assert!(script.contains("spawn-timeout") && script.contains("l3cache"), "{shell}: {script}");
        // bash keeps a branch that nothing leads to.
        let times = script.matches("global-variable").count();
        assert!(times <= usize::from(shell == "bash"), "{shell}: {script}");
    }
    let complete = format!(
        "source <('{oshrun}' --generate bash); COMP_WORDS=(oshrun --bind-to so); COMP_CWORD=2; \
         _oshrun oshrun so --bind-to; echo \"${{COMPREPLY[@]}}\""
    );
    match std::process::Command::new("bash").args(["-c", &complete]).output() {
        Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout), "socket\n", "{output:?}"),
        Err(_) => eprintln!("note: bash is not installed"),
    }
    // zsh reads its script only while it completes: what it can read is syntax.
    for (shell, script, printed) in [
        ("zsh", format!("'{oshrun}' --generate zsh | zsh -n"), ""),
        (
            "fish",
            format!("fish -c \"'{oshrun}' --generate fish | source; complete -C 'oshrun --bind-to so'\""),
            "socket",
        ),
    ] {
        let version = std::process::Command::new(shell).arg("--version").output();
        if version.is_err() {
            eprintln!("note: {shell} is not installed");
            continue;
        }
        let ended = run(std::process::Command::new("sh").args(["-c", &script]));
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{shell}");
        assert!(ended.stdout.starts_with(printed), "{shell}: {}", ended.stdout);
    }
    // Neither without a shell, nor for another one.
    let without = run(std::process::Command::new(oshrun).arg("--generate"));
    assert!(without.stderr.contains("bash, zsh, fish") && without.stderr.lines().count() == 1, "{}", without.stderr);
    let output = std::process::Command::new(oshrun).args(["--generate", "tcsh"]).output().expect("oshrun runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("bash, zsh, fish") && errors.lines().count() == 1, "{errors}");
}
