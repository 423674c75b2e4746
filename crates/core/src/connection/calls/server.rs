//! The group that is called.

use std::ffi::{CStr, c_char, c_void};
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use ferroshmem_platform::atomic::Std;

use super::message::{Cursor, DEFINITION, Head, Line, word_of};
use super::registry::{self, Kernel, Kind};
use super::remote::Message;
use super::served::{ServedCalls, leave_after};
use super::{Chunk, MessagePlace};
use crate::connection::Connection;
use crate::failure::fatal::fatal;
use crate::job;
use crate::wait::{Waiter, flag};
use ferroshmem_layout::{CallLines, PeState};

/// The kernel that runs; null: none does.
static RUNNING: AtomicPtr<Kernel> = AtomicPtr::new(ptr::null_mut());

/// The name of the kernel that runs on this PE.
pub(crate) fn running() -> Option<String> {
    // SAFETY: kernels are valid for ever.
    let kernel = unsafe { RUNNING.load(Ordering::Relaxed).as_ref() };
    kernel.map(|kernel| kernel.signature().to_string())
}

/// What a kernel is given for an array: a pointer to it, for C, behind which Rust finds its length.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct ArrayArgument {
    /// Where it is.
    pub at: *const u8,
    /// How long it is.
    pub bytes: usize,
}

/// A kernel that calls have a number of.
struct OwnKernel {
    kernel: &'static Kernel,
    params: Box<[(Kind, usize)]>,
}

/// Runs kernels until no call follows. The number of calls; None if the callers have failed.
pub fn serve(connection: &Connection, name: &str, quiet: impl Fn()) -> Option<u64> {
    if let Some(kernel) = running() {
        fatal(name, format_args!("kernel {kernel} runs on this PE: call it outside of kernels"));
    }
    let served = &connection.served;
    if served.is_served.swap(true, Ordering::AcqRel) && !served.ended.load(Ordering::Acquire) {
        if connection.has_failed() {
            // What had come has been run.
            return None;
        }
        fatal(name, "another thread of this PE runs kernels already: let one do so");
    }
    if served.ended.load(Ordering::Acquire) {
        return Some(0);
    }
    watch_exit();
    let lines = connection.call_lines();
    let n = connection.own().len();
    let remote = connection.remote();
    let mut server = Server {
        connection,
        name,
        is_alone: n == 1 || remote.is_some(),
        message: None,
        chunks: Vec::new(),
        known: Vec::new(),
        args: Vec::new(),
        arrays: Vec::new(),
        buffer: Vec::new(),
    };
    let mut next: *const AtomicU64 = &raw const lines.first;
    let mut number = 0u32;
    let mut calls = 0;
    loop {
        number = number.wrapping_add(1);
        flag::wait_for_at_least(&lines.sent, number & flag::VALUE, || Waiter::idle(connection.wait_reason(name)));
        if !flag::reached(flag::value(&lines.sent), number & flag::VALUE) {
            return None;
        }
        served.taken.store(number, Ordering::Relaxed);
        let base = match remote {
            Some(remote) => server.taken(remote.calls().next()),
            // SAFETY: in the block of the first member, or in a message that is not free before this PE has
            // finished the next one.
            None => server.at(MessagePlace(unsafe { &*next }.load(Ordering::Relaxed))),
        };
        let Some(base) = base else {
            served.ended.store(true, Ordering::Release);
            return Some(calls);
        };
        // SAFETY: the message is there.
        calls += unsafe { server.run(base) };
        quiet();
        if let Some(remote) = remote {
            remote.calls().finish(remote, number);
            continue;
        }
        // SAFETY: its chunk is mapped as long as the server lives.
        let head = unsafe { base.cast::<Head>().as_ref() };
        if head.finished.fetch_add(1, Ordering::AcqRel) + 1 == n as u32 {
            flag::post(&lines.finished.count, number & flag::VALUE);
        }
        next = &raw const head.next;
    }
}

/// A PE leaves the group: it must have run what has been called.
pub(crate) fn leave(connection: &Connection, name: &str) {
    if let Some(kernel) = running() {
        fatal(name, format_args!("kernel {kernel} runs for the group: end the group outside of kernels"));
    }
    let (lines, served) = (connection.call_lines(), &connection.served);
    if served.ended.load(Ordering::Acquire) {
        return;
    }
    let is_called = match connection.remote() {
        Some(remote) => remote.calls().leave(remote),
        None => is_called(lines, served),
    };
    if is_called {
        fatal(
            name,
            "PEs that have started this one call a kernel, which it has not run: call shmemx_kernel_serve before",
        );
    }
}

/// This PE takes no messages any more. Whether there is one that it has not taken.
fn is_called(lines: &CallLines, served: &ServedCalls) -> bool {
    let sent = leave_after::<Std>(&lines.left, &lines.sent);
    let unserved = sent.wrapping_sub(served.taken.load(Ordering::Relaxed)) & flag::VALUE;
    let first = MessagePlace(lines.first.load(Ordering::Relaxed));
    // The end alone is no call.
    unserved > 0 && first != MessagePlace::END
}

/// Notices a kernel that ends the process.
fn watch_exit() {
    extern "C" fn at_exit() {
        let is_asked_for = |job: &job::Attachment| {
            let state = job.block().state.load(Ordering::Relaxed);
            PeState::from_word(state) == PeState::GlobalExit
        };
        let may_not = job::joined().is_some_and(|job| job.is_of_this_process() && !is_asked_for(job));
        if let Some(kernel) = running().filter(|_| may_not) {
            fatal("shmemx_kernel_serve", format_args!("kernel {kernel} has called exit: have it return"));
        }
    }
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function may be called at any time.
        unsafe { libc::atexit(at_exit) };
    });
}

struct Server<'a> {
    connection: &'a Connection,
    name: &'a str,
    /// No other PE runs the kernels, so this one can be given the message's arrays.
    is_alone: bool,
    /// Between nodes: the message whose kernels run.
    message: Option<Message>,
    chunks: Vec<Chunk>,
    known: Vec<OwnKernel>,
    /// Where the arguments of a call are.
    args: Vec<*const c_void>,
    /// The arrays of a call, and which arguments they are.
    arrays: Vec<(usize, ArrayArgument)>,
    /// This PE's copies of them.
    buffer: Vec<Line>,
}

impl Server<'_> {
    /// Where a message is that has been taken, if there is one.
    fn taken(&mut self, message: Option<Message>) -> Option<NonNull<u8>> {
        self.message = message;
        self.message.as_mut().map(Message::base)
    }

    /// Where the message at a place is; None at the end.
    fn at(&mut self, place: MessagePlace) -> Option<NonNull<u8>> {
        if place == MessagePlace::END {
            return None;
        }
        let is_it = |chunk: &Chunk| chunk.start == place.chunk();
        if !self.chunks.first().is_some_and(is_it) {
            // The one used last comes first.
            let i = self.chunks.iter().position(is_it).unwrap_or_else(|| {
                let file = &self.connection.file;
                let chunk = Chunk::map(file, place.chunk(), place.log2_size());
                let chunk = chunk.unwrap_or_else(|e| fatal(self.name, e));
                self.chunks.push(chunk);
                self.chunks.len() - 1
            });
            self.chunks.swap(0, i);
        }
        NonNull::new(self.chunks[0].at(place.offset()))
    }

    /// Runs the kernels of the message at `base`; how many.
    ///
    /// # Safety
    /// There is a message.
    unsafe fn run(&mut self, base: NonNull<u8>) -> u64 {
        let mut cursor = Cursor::new(Some(base));
        let mut calls = 0;
        // SAFETY: the caller promises a message, whose records are read as they were written.
        unsafe {
            for _ in 0..cursor.read() {
                let word = cursor.read();
                if word as u32 & DEFINITION != 0 {
                    self.define(&mut cursor, (word >> 32) as usize);
                } else {
                    self.call(&mut cursor, word as usize);
                    calls += 1;
                }
            }
        }
        calls
    }

    /// Reads a definition, whose name has so many bytes: looks for the kernel, and compares.
    ///
    /// # Safety
    /// It is there.
    unsafe fn define(&mut self, cursor: &mut Cursor, name_len: usize) {
        // SAFETY: the caller promises that the cursor is at a whole call.
        let (params, name) = unsafe {
            let params = (0..cursor.read()).map(|_| cursor.read()).collect::<Vec<_>>();
            let name = cursor.array(name_len).cast_const();
            (params, std::slice::from_raw_parts(name, name_len))
        };
        let found = registry::find(name).map(|kernel| (kernel, kernel.signature().params));
        let same = |own: &[(Kind, usize)]| own.iter().map(|p| word_of(*p)).eq(params.clone());
        let Some((kernel, params)) = found.filter(|(_, own)| same(own)) else {
            let name = String::from_utf8_lossy(name);
            let program = registry::list(&registry::own());
            fatal(self.name, format_args!("kernel \"{name}\" is called, with {} arguments: {program}", params.len()));
        };
        self.known.push(OwnKernel { kernel, params });
    }

    /// Reads a call of the kernel with a number, and runs that.
    ///
    /// # Safety
    /// It is there.
    unsafe fn call(&mut self, cursor: &mut Cursor, number: usize) {
        let OwnKernel { kernel, params } = &self.known[number];
        self.args.clear();
        self.arrays.clear();
        for (i, (kind, size)) in params.iter().enumerate() {
            let at = if *kind == Kind::Array {
                // SAFETY: the caller promises that the cursor is at a whole call.
                let bytes = unsafe { cursor.read() } as usize * size;
                let at = cursor.array(bytes).cast_const();
                self.arrays.push((i, ArrayArgument { at, bytes }));
                at
            } else {
                cursor.value(*size).cast_const()
            };
            self.args.push(at.cast());
        }
        if !self.arrays.is_empty() {
            if !self.is_alone {
                copy_arrays(&mut self.arrays, &mut self.buffer);
            }
            // As arguments, the addresses of the arrays are values.
            for (i, array) in &self.arrays {
                self.args[*i] = ptr::from_ref(array).cast();
            }
        }
        let mut why = [const { MaybeUninit::<u8>::uninit() }; 200];
        why[0].write(0);
        RUNNING.store(ptr::from_ref(*kernel).cast_mut(), Ordering::Relaxed);
        let (args, to) = (self.args.as_ptr(), why.as_mut_ptr().cast::<c_char>());
        // SAFETY: the arguments are as its parameters say.
        let has_failed = unsafe { kernel.run()(args, to, why.len()) } != 0;
        RUNNING.store(ptr::null_mut(), Ordering::Relaxed);
        if has_failed {
            // SAFETY: the kernel has written a string, or it is empty.
            let why = unsafe { CStr::from_ptr(to) };
            let signature = kernel.signature();
            fatal(
                self.name,
                format_args!("kernel {signature} has thrown: {}: catch it in the kernel", why.to_string_lossy()),
            );
        }
    }
}

/// Copies arrays to a buffer, and says where they are there.
fn copy_arrays(arrays: &mut [(usize, ArrayArgument)], buffer: &mut Vec<Line>) {
    let lines = |bytes: usize| bytes.div_ceil(64);
    let all = arrays.iter().map(|(_, array)| lines(array.bytes)).sum();
    if buffer.len() < all {
        buffer.resize(all, Line::ZERO);
    }
    let mut to = buffer.as_mut_ptr();
    for (_, ArrayArgument { at, bytes }) in arrays {
        // SAFETY: the message has so many bytes there, and the buffer room for all arrays.
        unsafe { to.cast::<u8>().copy_from_nonoverlapping(*at, *bytes) };
        *at = to.cast_const().cast();
        to = to.wrapping_add(lines(*bytes));
    }
}
