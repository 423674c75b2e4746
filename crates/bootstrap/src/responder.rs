//! A thread that answers each process that connects to a socket.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::{JoinHandle, sleep};
use std::time::Duration;

use ferroshmem_platform::thread;
use rustix::io::Errno;
use rustix::net::{Shutdown, SocketFlags, accept_with, shutdown};

/// Time without a free descriptor until the thread looks again.
const PAUSE: Duration = Duration::from_millis(20);

/// A listening socket, and the thread that answers there until this is dropped.
#[derive(Debug)]
pub struct Responder {
    listener: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Responder {
    /// Gives `answer` the socket of each process that connects; it does not block, so that none delays another.
    ///
    /// # Errors
    /// If the system starts no more threads.
    pub fn start(listener: OwnedFd, answer: Box<dyn Fn(OwnedFd) + Send>) -> std::io::Result<Self> {
        let listener = Arc::new(listener);
        let socket = Arc::clone(&listener);
        let run = move || run(&socket, &*answer);
        let thread = Some(thread::spawn("shmem-name", 64 << 10, run)?);
        Ok(Self { listener, thread })
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        // Ends the thread, too. Processes that this PE has forked may have the socket as well.
        let _ = shutdown(&*self.listener, Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Answers until the socket is shut down.
fn run(listener: &OwnedFd, answer: &dyn Fn(OwnedFd)) {
    loop {
        match accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Ok(socket) => answer(socket),
            Err(Errno::INTR | Errno::CONNABORTED) => {}
            Err(Errno::INVAL) => return,
            // The process has too many open files for now.
            Err(_) => sleep(PAUSE),
        }
    }
}
