//! Starting the PEs of a case, and what they find when they start.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use ferroshmem_fabric::{Aggregate, Config, Context, Events, Fabric, Remote};
use libtest_mimic::Failed;

/// Longest time that a case may take: then its processes are killed.
const LIMIT: Duration = Duration::from_secs(60);
/// Exit status of a process whose peer has failed.
pub(crate) const PEER_FAILED: i32 = 77;

#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub name: &'static str,
    pub n: usize,
    /// Bytes of segment 0, which are there once they are touched.
    pub heap: usize,
    /// Bytes of it that are said to be in use at first; the others from the start of the case.
    pub ready: usize,
    /// Memory is registered as for providers that pin it.
    pub pinned: bool,
    /// The provider, unless `SHMEM_FABRIC` names one.
    pub provider: Option<&'static str>,
    /// Short puts go together so.
    pub aggregate: Option<Aggregate>,
    /// Contexts use endpoints of their own, so many beside the first.
    pub endpoints: usize,
    /// PEs go on when another has failed.
    pub survives: bool,
    /// PEs are told of those that have ended, or that say that they stop, and go on.
    pub loses: bool,
    /// How often it is run.
    pub repeats: usize,
    pub run: fn(&Job),
    /// Exit status that each PE should have; None: killed by a signal.
    pub ends: fn(usize) -> Option<i32>,
}

impl Case {
    pub(crate) const fn new(name: &'static str, n: usize, run: fn(&Job)) -> Case {
        Case {
            name,
            n,
            heap: 16 << 20,
            ready: usize::MAX,
            pinned: false,
            provider: None,
            aggregate: None,
            endpoints: 0,
            survives: false,
            loses: false,
            repeats: 1,
            run,
            ends: |_| Some(0),
        }
    }

    pub(crate) const fn aggregating(self, aggregate: Aggregate) -> Case {
        Case { aggregate: Some(aggregate), ..self }
    }

    pub(crate) const fn own_endpoints(self, endpoints: usize) -> Case {
        Case { endpoints, ..self }
    }

    /// What pins memory has atomics of its own, as rxm has.
    pub(crate) const fn pinned(self) -> Case {
        Case { pinned: true, ..self.by_rxm() }
    }

    pub(crate) const fn by_rxm(self) -> Case {
        Case { provider: Some("tcp;ofi_rxm"), ..self }
    }
}

/// One process's part.
pub(crate) struct Job {
    pub pe: usize,
    pub n: usize,
    endpoints: usize,
    is_aggregating: bool,
    pub fabric: Fabric,
    pub context: Context,
    pub heap: *mut u8,
    pub counts: Arc<Counts>,
    /// Which run of the case it is.
    pub seed: u64,
    lines: mpsc::Receiver<String>,
    /// PEs that are gone, as the parent says.
    pub gone: Mutex<mpsc::Receiver<usize>>,
}

// SAFETY: cases use the lines from one thread alone; the heap is shared memory.
unsafe impl Sync for Job {}

/// What the parent says of a PE that is gone; what a PE says that is about to stop.
const GONE: &str = "gone ";
pub(crate) const STOPS: &str = "stops";

#[derive(Default)]
pub(crate) struct Counts {
    pub changes: AtomicUsize,
    pub ticks: AtomicUsize,
    /// Failures of PEs that this one survives.
    pub failures: AtomicUsize,
    /// Records that have come, by PE.
    pub records: [AtomicU64; 8],
    survives: bool,
}

impl Events for Counts {
    fn peer_failed(&self, pe: usize, reason: &str) {
        if self.survives {
            self.failures.fetch_add(1, Relaxed);
            return;
        }
        eprintln!("PE {pe} failed: {reason}");
        std::process::exit(PEER_FAILED);
    }

    fn memory_changed(&self) {
        self.changes.fetch_add(1, Relaxed);
    }

    /// Each has its number.
    fn record_arrived(&self, pe: usize, record: &[u8]) -> bool {
        let number = self.records[pe].fetch_add(1, AcqRel);
        record.first_chunk().is_some_and(|first| u64::from_ne_bytes(*first) == number)
    }

    fn tick(&self) {
        self.ticks.fetch_add(1, Relaxed);
    }
}

impl Job {
    /// Byte `offset` of a PE's heap.
    pub(crate) fn at(&self, pe: usize, offset: usize) -> Remote {
        Remote { pe, segment: 0, offset }
    }

    /// A context as the case has them, which has the endpoint of this number, if there are any.
    pub(crate) fn new_context(&self, number: usize) -> Context {
        let context = match self.is_aggregating {
            true => Context::aggregating(),
            false => Context::default(),
        };
        if self.endpoints > 0 {
            context.use_own_endpoint(number);
        }
        context
    }

    /// As [`new_context`](Self::new_context), of a thread of its own in any case.
    pub(crate) fn numbered_context(&self, number: usize) -> Context {
        let context = self.new_context(number);
        context.use_own_endpoint(number);
        context
    }

    /// Puts bytes into a PE's heap; they may be changed on return.
    pub(crate) fn put(&self, context: &Context, at: Remote, data: &[u8]) {
        // SAFETY: within the heap, and the source is free on return.
        unsafe { self.fabric.put(context, at, data.as_ptr(), data.len()) };
    }

    /// Puts a word.
    pub(crate) fn put_word(&self, context: &Context, at: Remote, value: u64) {
        self.put(context, at, &value.to_ne_bytes());
    }

    /// Gets so many bytes of a PE's heap.
    pub(crate) fn get(&self, context: &Context, at: Remote, len: usize) -> Vec<u8> {
        let mut bytes = vec![0xee; len];
        // SAFETY: within heap and buffer, which is filled on return.
        unsafe { self.fabric.get(context, bytes.as_mut_ptr(), at, len) };
        bytes
    }

    /// A word of the own heap.
    pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: within the heap, which is aligned to pages; peers write words.
        unsafe { &*self.heap.add(offset).cast() }
    }

    pub(crate) fn half(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { &*self.heap.add(offset).cast() }
    }

    /// Bytes of the own heap, copied.
    pub(crate) fn bytes(&self, offset: usize, len: usize) -> Vec<u8> {
        // SAFETY: within the heap, and no peer writes there at that time.
        unsafe { std::slice::from_raw_parts(self.heap.add(offset), len).to_vec() }
    }

    pub(crate) fn next(&self) -> usize {
        (self.pe + 1) % self.n
    }

    /// Sends a line by way of the parent to all PEs, which all do so; returns them by PE.
    pub(crate) fn exchange(&self, line: &str) -> Vec<String> {
        println!("{line}");
        let read = |_| self.lines.recv().expect("the parent's line");
        (0..self.n).map(read).collect()
    }

    pub(crate) fn barrier(&self) {
        self.exchange("-");
    }
}

fn config(case: &Case, pe: usize) -> Config {
    let provider = std::env::var("SHMEM_FABRIC").ok();
    let provider = provider.or_else(|| case.provider.map(str::to_owned));
    // Providers of one node have no interface.
    let loopback = (provider.as_deref() != Some("shm")).then(|| "lo".into());
    Config {
        interface: std::env::var("SHMEM_FABRIC_INTERFACE").ok().or(loopback),
        provider,
        library: std::env::var("SHMEM_LIBFABRIC").ok(),
        pe,
        n_pes: case.n,
        aggregate: case.aggregate.unwrap_or_default(),
        endpoints: case.endpoints,
        tick: Duration::from_millis(100),
        survives: case.survives,
        // Many processes on few cores take long to connect.
        peer_timeout: Duration::from_secs(if case.n > 16 { 40 } else { 5 }),
        ..Config::default()
    }
}

/// The part of a process.
pub(crate) fn take_part(case: &Case) {
    let number = |name| std::env::var(name).unwrap().parse::<usize>().unwrap();
    let (pe, n) = (number("FABRIC_TEST_PE"), case.n);
    let counts = Arc::new(Counts { survives: case.survives, ..Counts::default() });
    let open = if case.pinned { Fabric::open_pinned } else { Fabric::open };
    let fabric = open(&config(case, pe), counts.clone()).unwrap();
    let heap = map(case.heap);
    // SAFETY: mapped until the process ends; all accesses are of the case's making.
    unsafe {
        fabric.share(0, heap, case.heap, case.heap.min(case.ready)).unwrap();
    };
    let address = fabric.address();
    assert!(address.len() < 1024);
    let (lines, gone) = read_lines();
    let mut job = Job {
        pe,
        n,
        endpoints: case.endpoints,
        is_aggregating: case.aggregate.is_some(),
        fabric,
        context: Context::default(),
        heap,
        counts,
        seed: number("FABRIC_TEST_RUN") as u64,
        lines,
        gone: Mutex::new(gone),
    };
    job.context = job.new_context(0);
    let hex: String = address.iter().map(|b| format!("{b:02x}")).collect();
    let addresses: Vec<Vec<u8>> = job.exchange(&hex).iter().map(|line| unhex(line)).collect();
    let mut numbered = addresses.iter().map(Vec::as_slice).enumerate();
    job.fabric.connect(n, &mut numbered).unwrap();
    job.fabric.extend(0, case.heap).unwrap();
    job.barrier();
    (case.run)(&job);
    job.fabric.quiet(&job.context);
    job.barrier();
}

/// What the parent says.
fn read_lines() -> (mpsc::Receiver<String>, mpsc::Receiver<usize>) {
    let ((to_lines, lines), (to_gone, gone)) = (mpsc::channel(), mpsc::channel());
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            let _ = match line.strip_prefix(GONE) {
                Some(pe) => to_gone.send(pe.parse().unwrap()).is_ok(),
                None => to_lines.send(line).is_ok(),
            };
        }
    });
    (lines, gone)
}

fn unhex(line: &str) -> Vec<u8> {
    let digits = line.as_bytes().chunks_exact(2);
    let byte = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).unwrap();
        u8::from_str_radix(text, 16).unwrap()
    };
    digits.map(byte).collect()
}

fn map(len: usize) -> *mut u8 {
    // SAFETY: a new mapping of a new file without a name.
    unsafe {
        let file = libc::memfd_create(c"heap".as_ptr(), libc::MFD_CLOEXEC);
        assert!(file >= 0);
        assert_eq!(libc::ftruncate(file, len as i64), 0);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let heap = libc::mmap(std::ptr::null_mut(), len, access, libc::MAP_SHARED | libc::MAP_NORESERVE, file, 0);
        assert_ne!(heap, libc::MAP_FAILED);
        libc::close(file);
        heap.cast()
    }
}

/// The parent's part: passes lines on until all have ended.
pub(crate) fn run(case: &Case) -> Result<(), Failed> {
    let more = std::env::var("FABRIC_TEST_REPEATS").ok().filter(|_| case.repeats > 1);
    for number in 0..more.map_or(case.repeats, |n| n.parse().unwrap()) {
        run_once(case, number).map_err(|failed| format!("run {number}: {}", failed.message().unwrap_or_default()))?;
    }
    Ok(())
}

fn run_once(case: &Case, number: usize) -> Result<(), Failed> {
    let program = std::env::current_exe()?;
    let mut children = Vec::new();
    let (lines, inbox) = mpsc::channel();
    for pe in 0..case.n {
        let mut child = Command::new(&program)
            .env("FABRIC_TEST_CASE", case.name)
            .env("FABRIC_TEST_PE", pe.to_string())
            .env("FABRIC_TEST_RUN", number.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().expect("a pipe");
        let lines = lines.clone();
        std::thread::spawn(move || relay(pe, out, &lines));
        children.push(child);
    }
    drop(lines);
    let mut inputs: Vec<Option<ChildStdin>> = children.iter_mut().map(|child| child.stdin.take()).collect();
    let outcome = serve(case, &inbox, &mut inputs);
    for (pe, child) in children.iter_mut().enumerate() {
        // Those that have stopped end so, too.
        if outcome.is_err() || case.loses && (case.ends)(pe).is_none() {
            child.kill()?;
        }
    }
    inputs.clear();
    let ends: Vec<Option<i32>> = children.iter_mut().map(end).collect::<Result<_, _>>()?;
    outcome?;
    for (pe, &end) in ends.iter().enumerate() {
        if end != (case.ends)(pe) {
            return Err(format!("PE {pe} ended with {end:?}").into());
        }
    }
    Ok(())
}

fn relay(pe: usize, out: ChildStdout, lines: &mpsc::Sender<(usize, Option<String>)>) {
    for line in BufReader::new(out).lines().map_while(Result::ok) {
        if lines.send((pe, Some(line))).is_err() {
            return;
        }
    }
    let _ = lines.send((pe, None));
}

/// Collects a line of each and sends all to all, until there are no more.
fn serve(
    case: &Case,
    inbox: &mpsc::Receiver<(usize, Option<String>)>,
    inputs: &mut [Option<ChildStdin>],
) -> Result<(), Failed> {
    let end = std::time::Instant::now() + LIMIT;
    let mut waiting: Vec<Option<String>> = vec![None; case.n];
    let mut gone = vec![false; case.n];
    loop {
        let left = end.saturating_duration_since(std::time::Instant::now());
        match inbox.recv_timeout(left) {
            Ok((pe, line)) if case.loses && line.as_deref().is_none_or(|line| line == STOPS) => {
                gone[pe] = true;
                tell(inputs, &format!("{GONE}{pe}\n"));
            }
            Ok((pe, Some(line))) => waiting[pe] = Some(line),
            Ok((_, None)) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(()),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                return Err(format!("not done after {LIMIT:?}").into());
            }
        }
        if gone.iter().all(|gone| *gone) {
            return Ok(());
        }
        if waiting.iter().zip(&gone).all(|(line, gone)| line.is_some() || *gone) {
            let all: String = waiting.iter().map(|l| format!("{}\n", l.as_deref().unwrap_or("-"))).collect();
            waiting.fill(None);
            tell(inputs, &all);
        }
    }
}

fn tell(inputs: &mut [Option<ChildStdin>], text: &str) {
    for input in inputs.iter_mut().flatten() {
        // One that has ended takes no more.
        let _ = input.write_all(text.as_bytes());
    }
}

fn end(child: &mut Child) -> std::io::Result<Option<i32>> {
    Ok(child.wait()?.code())
}
