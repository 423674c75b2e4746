//! What the engine costs beside the same transfers written straight against libfabric.
//!
//!     cargo bench -p ferroshmem-fabric --bench direct
//!
//! Two processes over loopback (`SHMEM_FABRIC_INTERFACE` names another interface,
//! `SHMEM_FABRIC` a provider, `SHMEM_LIBFABRIC` a library), or on two hosts with a file system in
//! common: there, the program that this builds is run as `direct --socket FILE` and as
//! `direct --target FILE`. Rounds of both kinds take turns;
//! the medians are compared, and the spread is the middle half of the rounds. The target polls
//! in both cases.

use std::ffi::c_void;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::ptr;
use std::sync::Arc;
use std::time::Instant;

use ferroshmem_fabric::endpoint::{BATCH, Completed, Endpoint};
use ferroshmem_fabric::{AtomicOp, Config, Context, Events, Fabric, Op, Remote, Width, discovery, libfabric};

const LEN: usize = 4 << 20;
const MIB: usize = 1 << 20;
const ROUNDS: usize = 31;
const KEY: u64 = 0x5eed;
/// Where requests and replies are in the memory, beyond what else is written.
const REQUEST: usize = LEN - 4096;
const REPLY: usize = LEN - 2048;
/// Where messages are received.
const MESSAGE: usize = LEN - 1024;

struct Quiet;

impl Events for Quiet {
    fn peer_failed(&self, pe: usize, reason: &str) {
        eprintln!("PE {pe} failed: {reason}");
        std::process::exit(1);
    }
    fn memory_changed(&self) {}
    fn tick(&self) {}
}

fn config(pe: usize) -> Config {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    Config {
        provider: set("SHMEM_FABRIC"),
        interface: Some(set("SHMEM_FABRIC_INTERFACE").unwrap_or("lo".into())),
        library: set("SHMEM_LIBFABRIC"),
        pe,
        n_pes: 2,
        ..Config::default()
    }
}

/// An endpoint and memory, with nothing around them.
struct Bare {
    endpoint: Endpoint,
    memory: Vec<u8>,
    mr: *mut libfabric::fid_mr,
    /// Where the peer's memory begins, and its key.
    base: u64,
    key: u64,
    peer: libfabric::fi_addr_t,
    contexts: [*mut c_void; BATCH],
    done: usize,
}

impl Bare {
    fn open() -> Bare {
        let library = discovery::open_library(&config(0)).unwrap();
        let best = discovery::enumerate(&library, &config(0), false).into_iter().next();
        let endpoint = Endpoint::open(library, best.unwrap().info, false).unwrap();
        let memory = vec![1u8; LEN];
        let access = libfabric::FI_REMOTE_READ | libfabric::FI_REMOTE_WRITE | libfabric::FI_READ | libfabric::FI_WRITE;
        let mut mr = ptr::null_mut();
        // SAFETY: the memory lives as long as the process.
        let result = unsafe {
            let (domain, base) = (endpoint.domain, memory.as_ptr().cast());
            libfabric::fi_mr_reg(domain, base, LEN, access.into(), KEY, &raw mut mr)
        };
        assert_eq!(result, 0);
        Bare { endpoint, memory, mr, base: 0, key: 0, peer: 0, contexts: [ptr::null_mut(); BATCH], done: 0 }
    }

    fn meet(&mut self, socket: &mut UnixStream) {
        let base = self.endpoint.address_of(self.memory.as_ptr());
        // SAFETY: registered above.
        let key = unsafe { (*self.mr).key };
        let mut mine = [base.to_le_bytes(), key.to_le_bytes()].concat();
        mine.extend(self.endpoint.name().unwrap());
        let theirs = swap(socket, &mine);
        self.base = u64::from_le_bytes(theirs[..8].try_into().unwrap());
        self.key = u64::from_le_bytes(theirs[8..16].try_into().unwrap());
        self.peer = self.endpoint.insert(&theirs[16..]).unwrap();
    }

    fn poll(&mut self) {
        match self.endpoint.read(&mut self.contexts) {
            Completed::Some(n) => self.done += n,
            Completed::Nothing => {}
            Completed::Failed(failure) => panic!("{}", failure.reason),
        }
    }

    fn write(&mut self, len: usize) {
        let delivered = libfabric::FI_COMPLETION | libfabric::FI_DELIVERY_COMPLETE;
        // SAFETY: the memory is registered here and there. Contexts are needed where the
        // provider wants their space; those tested do not.
        let begin = |bare: &Bare| unsafe {
            let iov = libc::iovec { iov_base: bare.memory.as_ptr().cast_mut().cast(), iov_len: len };
            let to = libfabric::fi_rma_iov { addr: bare.base, len, key: bare.key };
            let message = libfabric::fi_msg_rma {
                msg_iov: &raw const iov,
                desc: &raw mut (*bare.mr).mem_desc,
                iov_count: 1,
                addr: bare.peer,
                rma_iov: &raw const to,
                rma_iov_count: 1,
                context: ptr::null_mut(),
                data: 0,
            };
            libfabric::fi_writemsg(bare.endpoint.ep, &raw const message, delivered.into())
        };
        while begin(self) != 0 {
            self.poll();
        }
    }

    fn read(&mut self, len: usize) {
        // SAFETY: as for writes.
        let begin = |bare: &Bare| unsafe {
            let to = bare.memory.as_ptr().cast_mut().cast();
            let (ep, desc) = (bare.endpoint.ep, (*bare.mr).mem_desc);
            let (peer, base, key) = (bare.peer, bare.base, bare.key);
            libfabric::fi_read(ep, to, len, desc, peer, base, key, ptr::null_mut())
        };
        while begin(self) != 0 {
            self.poll();
        }
    }

    fn fetch_add(&mut self) {
        // SAFETY: as for writes; the words are apart.
        let begin = |bare: &Bare| unsafe {
            let at = bare.memory.as_ptr().cast_mut();
            let (ep, desc) = (bare.endpoint.ep, (*bare.mr).mem_desc);
            let (peer, base, key) = (bare.peer, bare.base, bare.key);
            let (operand, result) = (at.cast(), at.add(64).cast());
            let (word, add) = (libfabric::FI_UINT64, libfabric::FI_SUM);
            let none = ptr::null_mut();
            libfabric::fi_fetch_atomic(ep, operand, result, desc, peer, base, key, word, add, none)
        };
        while begin(self) != 0 {
            self.poll();
        }
    }

    /// Writes words that the target does not acknowledge.
    fn inject(&mut self, at: usize, words: &[u64]) {
        // SAFETY: the memory is registered there, and has room.
        let begin = |bare: &Bare| unsafe {
            let (ep, from, len) = (bare.endpoint.ep, words.as_ptr().cast(), size_of_val(words));
            let (peer, address, key) = (bare.peer, bare.base + at as u64, bare.key);
            libfabric::fi_inject_write(ep, from, len, peer, address, key)
        };
        while begin(self) != 0 {
            self.poll();
        }
    }

    fn word(&self, at: usize) -> u64 {
        // SAFETY: an aligned word of the memory, which the peer writes.
        unsafe { self.memory.as_ptr().add(at).cast::<u64>().read_volatile() }
    }

    /// Sends a request and waits for the reply: the shortest way there and back.
    fn call(&mut self, number: u64) {
        self.inject(REQUEST, &[1, 2, 3, number]);
        while self.word(REPLY + 8) != number {
            self.poll();
        }
    }

    /// Replies to a request, if it is later than the last.
    fn reply(&mut self, last: &mut u64) {
        let number = self.word(REQUEST + 24);
        if number != *last {
            *last = number;
            self.inject(REPLY, &[7, number]);
        }
    }

    /// Sends a message that the target need not acknowledge.
    fn send(&mut self, number: u64) {
        let words = [1, 2, 3, number];
        let iov = libc::iovec { iov_base: words.as_ptr().cast_mut().cast(), iov_len: size_of_val(&words) };
        let message = libfabric::fi_msg {
            msg_iov: &raw const iov,
            desc: ptr::null_mut(),
            iov_count: 1,
            addr: self.peer,
            context: ptr::without_provenance_mut(1),
            data: 0,
        };
        let flags = libfabric::FI_INJECT | libfabric::FI_INJECT_COMPLETE | libfabric::FI_COMPLETION;
        // SAFETY: the message and what it points to are read during the call.
        let begin = |bare: &Bare| unsafe { libfabric::fi_sendmsg(bare.endpoint.ep, &raw const message, flags.into()) };
        while begin(self) != 0 {
            self.poll();
        }
    }

    /// Lets libfabric receive a message at [`MESSAGE`].
    fn receive(&mut self) {
        // SAFETY: the memory is registered and has room.
        let begin = |bare: &Bare| unsafe {
            let to = bare.memory.as_ptr().add(MESSAGE).cast_mut().cast();
            let context = ptr::without_provenance_mut(2);
            let (ep, desc) = (bare.endpoint.ep, (*bare.mr).mem_desc);
            libfabric::fi_recv(ep, to, 1024, desc, libfabric::ADDR_NOTAVAIL, context)
        };
        while begin(self) != 0 {
            self.poll();
        }
    }

    /// Sends a message and waits for the reply.
    fn exchange(&mut self, number: u64) {
        self.send(number);
        while self.word(MESSAGE + 24) != number {
            self.poll();
        }
        self.receive();
    }

    /// Replies to a message.
    fn echo(&mut self, last: &mut u64) {
        let number = self.word(MESSAGE + 24);
        if number != *last {
            *last = number;
            self.receive();
            self.send(number);
        }
    }

    fn finish(&mut self, n: usize) {
        while self.done < n {
            self.poll();
        }
        self.done = 0;
    }
}

fn swap(socket: &mut UnixStream, mine: &[u8]) -> Vec<u8> {
    let len = u32::try_from(mine.len()).unwrap();
    socket.write_all(&len.to_le_bytes()).unwrap();
    socket.write_all(mine).unwrap();
    let mut len = [0; 4];
    socket.read_exact(&mut len).unwrap();
    let mut theirs = vec![0; u32::from_le_bytes(len) as usize];
    socket.read_exact(&mut theirs).unwrap();
    theirs
}

/// The engine, with memory of the same size.
fn open(socket: &mut UnixStream, pe: usize) -> (Fabric, Vec<u8>) {
    let fabric = Fabric::open(&config(pe), Arc::new(Quiet)).unwrap();
    let mut memory = vec![1u8; LEN];
    // SAFETY: lives as long as the process.
    unsafe { fabric.share(0, memory.as_mut_ptr(), LEN, LEN).unwrap() };
    let theirs = swap(socket, &fabric.address());
    let mut address = std::iter::once((1 - pe, theirs.as_slice()));
    fabric.connect(2, &mut address).unwrap();
    (fabric, memory)
}

/// Polls what the socket says, until it ends: 'b' the bare endpoint, 'e' the engine, 'n'
/// nothing, as a target that computes.
fn target(mut socket: UnixStream) {
    let mut bare = Bare::open();
    bare.meet(&mut socket);
    let (fabric, _memory) = open(&mut socket, 1);
    socket.set_nonblocking(true).unwrap();
    let mut what = [b'n'];
    let mut last = bare.word(REQUEST + 24);
    let mut last_message = bare.word(MESSAGE + 24);
    bare.receive();
    loop {
        for _ in 0..64 {
            match what[0] {
                b'b' => {
                    bare.poll();
                    bare.reply(&mut last);
                    bare.echo(&mut last_message);
                }
                b'e' => _ = fabric.progress(),
                _ => {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                    break;
                }
            }
        }
        match socket.read(&mut what) {
            Ok(0) => return,
            Ok(_) => socket.write_all(b"!").unwrap(),
            Err(_) => {}
        }
    }
}

#[derive(Default)]
struct Rounds(Vec<f64>);

impl Rounds {
    /// Microseconds for each of `n`.
    fn time(&mut self, n: usize, f: impl FnOnce()) {
        let begin = Instant::now();
        f();
        self.0.push(begin.elapsed().as_secs_f64() * 1e6 / n as f64);
    }

    fn median(&mut self) -> f64 {
        self.0.sort_by(f64::total_cmp);
        self.0[self.0.len() / 2]
    }

    fn show(&mut self, name: &str) -> f64 {
        let median = self.median();
        let n = self.0.len();
        let (low, high) = (self.0[n / 4], self.0[3 * n / 4]);
        let least = self.0[0];
        println!("{name:46} {median:9.3} us   {low:9.3} to {high:9.3}, least {least:.3}");
        median
    }
}

/// The way to the target: a process of its own, or one on another host that finds a socket. None:
/// this was the target.
fn meet() -> Option<UnixStream> {
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    match (words.next().as_deref(), words.next()) {
        (Some("--target"), Some(path)) => {
            let begin = Instant::now();
            let socket = loop {
                match UnixStream::connect(&path) {
                    Ok(socket) => break socket,
                    Err(error) => assert!(begin.elapsed().as_secs() < 60, "{path}: {error}"),
                }
                std::thread::sleep(std::time::Duration::from_millis(10));
            };
            target(socket);
            None
        }
        (Some("--socket"), Some(path)) => {
            let _ = std::fs::remove_file(&path);
            Some(UnixListener::bind(&path).unwrap().accept().unwrap().0)
        }
        _ => {
            let (socket, other) = UnixStream::pair().unwrap();
            // SAFETY: no other threads yet.
            if unsafe { libc::fork() } == 0 {
                drop(socket);
                target(other);
                return None;
            }
            Some(socket)
        }
    }
}

fn main() {
    let Some(mut socket) = meet() else { return };
    let mut bare = Bare::open();
    bare.meet(&mut socket);
    let (fabric, memory) = open(&mut socket, 0);
    let context = Context::default();
    let to = |offset| Remote { pe: 1, segment: 0, offset };
    let mut turn = |what: &[u8]| {
        socket.write_all(what).unwrap();
        socket.read_exact(&mut [0]).unwrap();
    };
    println!("{}, {ROUNDS} rounds", fabric.name());
    let from = memory.as_ptr();
    let mut number = 0;
    bare.receive();
    let mut all: [Rounds; 14] = Default::default();
    let [b8, e8, bm, em, nbi, far, bn, e64, bg, get, bf, fetch, there, by_message] = &mut all;
    for round in 0..=ROUNDS {
        turn(b"b");
        b8.time(1000, || {
            for _ in 0..1000 {
                bare.write(8);
                bare.finish(1);
            }
        });
        bg.time(1000, || {
            for _ in 0..1000 {
                bare.read(8);
                bare.finish(1);
            }
        });
        if !bare.endpoint.is_tcp_alone() {
            bf.time(1000, || {
                for _ in 0..1000 {
                    bare.fetch_add();
                    bare.finish(1);
                }
            });
        }
        there.time(1000, || {
            for _ in 0..1000 {
                number += 1;
                bare.call(number);
            }
        });
        by_message.time(1000, || {
            for _ in 0..1000 {
                number += 1;
                bare.exchange(number);
            }
        });
        bare.done = 0;
        bn.time(10_000, || {
            for _ in 0..10_000 {
                bare.write(8);
            }
            bare.finish(10_000);
        });
        bm.time(20, || {
            for _ in 0..20 {
                bare.write(MIB);
                bare.finish(1);
            }
        });
        turn(b"e");
        // SAFETY: within both memories; sources live until quiet.
        unsafe {
            e8.time(1000, || {
                for _ in 0..1000 {
                    fabric.put(&context, to(0), from, 8);
                    fabric.quiet(&context);
                }
            });
            nbi.time(10_000, || {
                for i in 0..10_000 {
                    fabric.put_nbi(&context, to(i * 16), from, 8);
                }
                fabric.quiet(&context);
            });
            e64.time(10_000, || {
                for _ in 0..10_000 {
                    fabric.put_nbi(&context, to(0), from, 65);
                }
                fabric.quiet(&context);
            });
            em.time(20, || {
                for _ in 0..20 {
                    fabric.put(&context, to(0), from, MIB);
                    fabric.quiet(&context);
                }
            });
            get.time(1000, || {
                for _ in 0..1000 {
                    fabric.get(&context, from.cast_mut(), to(0), 8);
                }
            });
            fetch.time(1000, || {
                for _ in 0..1000 {
                    fabric.fetch(&context, to(0), AtomicOp::new(Op::Add, Width::W64, 1));
                }
            });
            turn(b"n");
            far.time(1000, || {
                for _ in 0..1000 {
                    fabric.put(&context, to(0), from, 8);
                    fabric.quiet(&context);
                }
            });
        }
        if round == 0 {
            // Connections are made in the first.
            for rounds in [&mut *b8, e8, bm, em, nbi, far, bn, e64, bg, get, bf, fetch] {
                rounds.0.clear();
            }
        }
    }
    let bare8 = b8.show("8 bytes written, libfabric");
    let engine8 = e8.show("8 bytes put and quiet, engine");
    let bare_get = bg.show("8 bytes read, libfabric");
    let engine_get = get.show("8 bytes got, engine");
    there.show("there and back without completions, libfabric");
    by_message.show("message there and back, libfabric");
    // tcp has no atomics.
    let bare_fetch = (!bf.0.is_empty()).then(|| bf.show("fetch and add, libfabric"));
    let engine_fetch = fetch.show("fetch and add, engine");
    let bare_many = bn.show("8 bytes written, many at a time, libfabric");
    let many = nbi.show("8 bytes put_nbi, many, engine");
    e64.show("65 bytes put_nbi, many, engine");
    let bare_mib = bm.show("1 MiB written, libfabric");
    let engine_mib = em.show("1 MiB put and quiet, engine");
    far.show("8 bytes put and quiet, target computes");
    println!("8-byte put and quiet over libfabric: {:.3} (at most 1.15)", engine8 / bare8);
    println!("8-byte get over libfabric: {:.3}", engine_get / bare_get);
    if let Some(bare_fetch) = bare_fetch {
        println!("fetch and add over libfabric: {:.3}", engine_fetch / bare_fetch);
    }
    println!("non-blocking over blocking rate: {:.2} (at least 5)", engine8 / many);
    println!("non-blocking rate over libfabric's: {:.2}", bare_many / many);
    println!("1 MiB bandwidth over libfabric's: {:.3} (at least 0.95)", bare_mib / engine_mib);
}
