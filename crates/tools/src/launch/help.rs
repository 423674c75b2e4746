//! What `oshrun -h` and `oshrun --help` say beside the options.

/// How a command line is made.
pub(super) const USAGE: &str = "oshrun [OPTIONS] PROGRAM [ARGUMENT]...
              [: [-n N] [-x VAR] [--wdir DIR] PROGRAM [ARGUMENT]...]...";

/// What `--help` says after the options.
pub(super) const DETAILS: &str = "\
Options end at PROGRAM; what follows is its own. Sections that ':' separates run different programs as \
one job; PEs are numbered through them in order. Standard input goes to PE 0.

With --hosts or --hostfile, or inside an allocation of several of Slurm's nodes, oshrun becomes a \
launcher that reaches the hosts: srun, Hydra's mpiexec, or mpirun of Open MPI; --verbose shows which and how.

Exit status: 0 if all PEs ended well, else that of the first PE that did not (128 + N if signal N \
ended it); 124 after --timeout, 66 if --check has findings, 126 or 127 if a program cannot be run, 2 for a wrong \
command line.";

/// The heading of options of programs.
pub(super) const PROGRAMS: &str = "Programs";

/// The heading of options of output and input.
pub(super) const STREAMS: &str = "Output and input";

/// What `-h` shows: the options that are used most, on one screen of 80 columns and 24 lines.
pub(super) const SUMMARY: &str = "
  -n N                 number of PEs; without it, one for each core
  -x VAR[=VALUE]       set a variable for the PEs; they inherit the environment
  --wdir DIR           run the PEs in this directory
  --hosts A:4,B:4      run them on these hosts; --hostfile FILE, --ppn N
  --bind-to WHAT       auto, hwthread, core, l3cache, numa, socket, none
  --map-by ORDER       compact, spread; --cores N for each; --report-bindings
  --label              mark each line of output with its PE
  --output DIR         write the output of each PE to files of its own
  --stdin PE           which PE reads standard input: its number (0), or none
  --timeout SECONDS    end the job then, and show what each PE waits for
  --hang-timeout SEC   the same after so long without progress; --hang-hint SEC
  --check              find misuse and wrong accesses to memory; --check=race
  --profile            show where the time goes; --trace FILE.html: all calls
  --status             show each second what the PEs do; --metrics FILE
  --gdb                show the threads of a PE that fails; --debugger COMMAND
  -v, --verbose        show what is started, and how it ends

Options of mpirun, mpiexec and srun are read where they mean something here.
The status is that of the first PE that failed, or 128 + N after signal N.
oshrun --help lists all options; oshrun(1) explains them.
";

/// Usage and [`SUMMARY`].
pub(super) fn summary() -> String {
    format!("Usage: {USAGE}\n{SUMMARY}")
}
