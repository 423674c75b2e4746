//! A slow and lossy link: frames are taken from one interface and put on another, later or
//! never. Traffic control would do it in the kernel, where the kernel has netem: many have not.

use super::network::Impairment;
use anyhow::{Context, Result};
use fastrand::Rng;
use nix::net::if_::if_nametoindex;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Frames that wait in one direction; more are lost, as in a switch.
const QUEUE: usize = 1000;

/// The largest frame: segments are not cut to packets between namespaces.
const FRAME: usize = 70_000;

/// How soon a relay notices that it is to stop.
const TICK: Duration = Duration::from_millis(20);

/// A relay that runs. Dropped, it stops.
pub(super) struct Relay {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

struct State {
    impairment: Mutex<Impairment>,
    stop: AtomicBool,
}

impl Relay {
    /// Carries frames between two interfaces of this network namespace.
    pub(super) fn between(interfaces: [&str; 2], impairment: Impairment) -> Result<Self> {
        let [one, other] = interfaces.map(open);
        let (one, other) = (File::from(one?), File::from(other?));
        let state = Arc::new(State { impairment: Mutex::new(impairment), stop: AtomicBool::new(false) });
        let shared = state.clone();
        let thread = thread::spawn(move || carry([&one, &other], &shared));
        Ok(Self { state, thread: Some(thread) })
    }

    /// Changes what happens to frames from now on.
    pub(super) fn set(&self, impairment: Impairment) {
        *self.state.impairment.lock().unwrap_or_else(PoisonError::into_inner) = impairment;
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One direction.
struct Direction<'a> {
    from: &'a File,
    to: &'a File,
    waiting: VecDeque<(Instant, Vec<u8>)>,
    /// When the last frame has left, at the link's rate.
    free: Instant,
}

impl Direction<'_> {
    /// Sends what is due; returns when the next is.
    fn send(&mut self, now: Instant) -> Option<Instant> {
        while let Some((due, frame)) = self.waiting.front() {
            if *due > now {
                return Some(*due);
            }
            // A frame that the interface does not take is a lost frame.
            let _ = (&mut &*self.to).write(frame);
            self.waiting.pop_front();
        }
        None
    }

    /// Takes what has come.
    fn receive(&mut self, link: &Impairment, random: &mut Rng, buffer: &mut [u8]) {
        while let Ok(length) = (&mut &*self.from).read(buffer) {
            let now = Instant::now();
            if random.f64() < link.loss || self.waiting.len() >= QUEUE {
                continue;
            }
            let sending =
                if link.rate == 0 { Duration::ZERO } else { Duration::from_secs_f64(length as f64 / link.rate as f64) };
            self.free = self.free.max(now) + sending;
            self.waiting.push_back((self.free + link.delay, buffer[..length].to_vec()));
        }
    }
}

fn carry(ends: [&File; 2], state: &State) {
    let direction = |from, to| Direction { from, to, waiting: VecDeque::new(), free: Instant::now() };
    let mut directions = [direction(ends[0], ends[1]), direction(ends[1], ends[0])];
    let mut random = Rng::with_seed(0x9e37_79b9_7f4a_7c15);
    let mut buffer = vec![0; FRAME];
    while !state.stop.load(Ordering::Relaxed) {
        let link = *state.impairment.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let next = directions.iter_mut().filter_map(|direction| direction.send(now)).min();
        let pause = next.map_or(TICK, |due| due.saturating_duration_since(now).min(TICK));
        let mut events = ends.map(|end| PollFd::new(end.as_fd(), PollFlags::POLLIN));
        // An interrupted wait is a short one.
        let _ = ppoll(&mut events, Some(TimeSpec::from_duration(pause)), None);
        for direction in &mut directions {
            direction.receive(&link, &mut random, &mut buffer);
        }
    }
}

/// A packet socket on an interface, for whole frames with what the kernel has put off: check
/// sums, and cutting into packets (packet(7), `PACKET_VNET_HDR`).
fn open(interface: &str) -> Result<OwnedFd> {
    let index = if_nametoindex(interface).with_context(|| interface.to_owned())?;
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // With protocol 0, no frame is received before the socket is bound.
    // SAFETY: socket takes integers only.
    let raw = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
    if raw < 0 {
        return Err(io::Error::last_os_error()).context("cannot open a packet socket");
    }
    // SAFETY: the kernel has just made this descriptor for this process.
    let socket = unsafe { OwnedFd::from_raw_fd(raw) };
    for option in [libc::PACKET_VNET_HDR, libc::PACKET_IGNORE_OUTGOING] {
        let on: libc::c_int = 1;
        // SAFETY: `on` is an int of the length that is passed, and outlives the call.
        let result = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_PACKET,
                option,
                (&raw const on).cast(),
                size_of_val(&on) as libc::socklen_t,
            )
        };
        checked(result).context("a packet socket lacks an option")?;
    }
    // SAFETY: sockaddr_ll has integers only, for which zero bytes are a value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = i32::try_from(index)?;
    // SAFETY: `address` has the length that is passed, and outlives the call.
    let result = unsafe {
        libc::bind(socket.as_raw_fd(), (&raw const address).cast(), size_of_val(&address) as libc::socklen_t)
    };
    checked(result).context("cannot bind a packet socket")?;
    Ok(socket)
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
