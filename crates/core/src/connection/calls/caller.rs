//! The group that calls.

use std::collections::{HashMap, VecDeque};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::io;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use ferroshmem_platform::atomic::Std;
use ferroshmem_platform::mapping;

use super::message::{Cursor, DEFINITION, Head, word_of};
use super::registry::kinds::{ARRAY, POINTER};
use super::registry::{self, Kind, NESTED, Signature};
use super::remote::{Message, UNSERVED};
use super::served::have_left;
use super::{Chunk, MIN_CHUNK, MessagePlace};
use crate::connection::Connection;
use crate::wait::{Waiter, flag};
use ferroshmem_layout::CallLines;

/// Bytes of messages that are not finished, from which on a caller waits for room. A single message may be longer.
const MOST_BYTES: usize = 64 << 20;

/// `shmemx_kernel_arg_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Argument {
    /// Where it is.
    pub addr: *const c_void,
    /// Bytes, of an array those of an element.
    pub size: usize,
    /// Elements.
    pub nelems: usize,
    /// As `__builtin_classify_type` says, or a kind of `shmem/kernels.h`.
    pub kind: c_int,
}

/// `shmemx_kernel_call_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Call {
    /// The kernel.
    pub name: *const c_char,
    /// Number of arguments.
    pub n_args: usize,
    /// The arguments.
    pub args: *const Argument,
}

impl Call {
    /// # Safety
    /// The call is valid.
    unsafe fn name(&self) -> Result<&[u8], CallError> {
        if self.name.is_null() {
            return Err(CallError::NoName);
        }
        // SAFETY: the caller promises a string.
        Ok(unsafe { CStr::from_ptr(self.name) }.to_bytes())
    }

    /// # Safety
    /// The call is valid.
    unsafe fn args(&self) -> impl Iterator<Item = Argument> {
        let (args, n) = match self.args.is_null() {
            true => (std::ptr::dangling(), 0),
            false => (self.args, self.n_args),
        };
        // SAFETY: the caller promises so many; one that is nested is itself an argument.
        let args = unsafe { std::slice::from_raw_parts(args, n) };
        args.iter().map(|arg| match arg.kind {
            // SAFETY: as above.
            NESTED => unsafe { *arg.addr.cast() },
            _ => *arg,
        })
    }
}

/// Why a kernel cannot be called.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what they are")]
pub enum CallError {
    /// The call names no kernel.
    #[error("name is a null pointer: give the name of a kernel")]
    NoName,
    /// A PE of the group does not have it.
    #[error(
        "PE {pe} of the group has no kernel \"{name}\": {program}; one of a shared object is there if that is opened \
            before shmem_init"
    )]
    NoKernel { pe: usize, name: String, program: String },
    /// It takes another number of arguments.
    #[error("kernel \"{name}\" takes {taken} argument(s), not {given}: {program}")]
    Count { name: String, given: usize, taken: usize, program: String },
    /// It takes another argument.
    #[error("argument {number} of kernel \"{name}\" is {given}, and the parameter {taken}: {program}")]
    Argument { number: usize, name: String, given: String, taken: String, program: String },
    /// An argument is a pointer.
    #[error(
        "argument {number} of kernel \"{name}\" is a pointer, which the group cannot follow: give \
            SHMEMX_ARRAY(pointer, n)"
    )]
    Pointer { number: usize, name: String },
    /// A PE of the group takes no calls any more.
    #[error("{UNSERVED}")]
    Left,
    /// The group has failed.
    #[error("the group has failed")]
    Failed,
    /// There is no memory.
    #[error("the arguments find no room in the memory of the connection: {0}")]
    Memory(#[from] io::Error),
}

fn describe((kind, size): (Kind, usize)) -> String {
    match kind {
        Kind::Integer => format!("an integer of {size} bytes"),
        Kind::Real => format!("a floating-point number of {size} bytes"),
        Kind::Array => format!("an array of elements of {size} bytes"),
        Kind::Object => format!("an object of {size} bytes"),
    }
}

/// The calls of this PE.
#[derive(Debug, Default)]
pub struct Caller {
    /// How many messages all callers have made.
    made: u64,
    /// On the first member: what it has sent.
    sender: Option<Sender>,
}

/// A kernel that has been called.
#[derive(Debug)]
struct RemoteKernel {
    name: Box<[u8]>,
    params: Box<[(Kind, usize)]>,
    is_defined: bool,
}

/// What the first member keeps to send messages.
#[derive(Debug)]
struct Sender {
    /// The kernels that members have: the first of those that have them, and these.
    programs: Vec<(usize, Vec<Signature>)>,
    numbers: HashMap<Box<[u8]>, u32>,
    known: Vec<RemoteKernel>,
    /// The kernel that was called last, which is often the next one.
    last: usize,
    /// The kernels that the calls of a message are of.
    called: Vec<u32>,
    /// The chunk of the last message, and the bytes used of it.
    chunk: Option<(Chunk, usize)>,
    /// Chunks before that, with the number of the last message in each.
    retired: VecDeque<(u64, Chunk)>,
    free: Vec<Chunk>,
    /// Bytes of all chunks that may have memory; between nodes, of messages that are under way.
    bytes: usize,
    /// Where the place of the next message is to be written.
    tail: NonNull<AtomicU64>,
    /// Between nodes: messages that may not be finished, and their bytes.
    under_way: VecDeque<(u64, usize)>,
}

// SAFETY: the tail is in shared memory that lives as long as the connection does.
unsafe impl Send for Sender {}

impl Caller {
    /// Makes the calls of one message; its number.
    ///
    /// # Safety
    /// The calls are valid.
    pub unsafe fn call(&mut self, connection: &Connection, name: &str, calls: &[Call]) -> Result<u64, CallError> {
        self.made += 1;
        if connection.me == 0 {
            let sender = match &mut self.sender {
                Some(sender) => sender,
                none => none.insert(Sender::new(connection)?),
            };
            // SAFETY: the caller promises that all calls have valid names and arguments.
            unsafe { sender.send(connection, name, self.made, calls)? };
        }
        Ok(self.made)
    }

    /// Says that no call follows.
    pub(crate) fn end(&mut self, connection: &Connection) {
        if let (Some(remote), 0) = (connection.remote(), connection.me) {
            remote.calls().end(remote);
        } else if connection.me == 0 {
            let lines = connection.call_lines();
            let tail = self.sender.as_ref().map_or(&lines.first, |sender| {
                // SAFETY: it lives as long as the connection.
                unsafe { sender.tail.as_ref() }
            });
            tail.store(MessagePlace::END.0, Ordering::Relaxed);
            self.made += 1;
            flag::post(&lines.sent, self.made as u32 & flag::VALUE);
        }
    }

    /// How many messages the other group has finished.
    pub fn finished(&self, lines: &CallLines) -> u64 {
        let seen = flag::value(&lines.finished.count);
        // Fewer than 2^30 are under way, on this PE or on one that is ahead.
        let ahead = (seen.wrapping_sub(self.made as u32) << 1) as i32 >> 1;
        self.made.saturating_add_signed(ahead.into())
    }
}

/// Waits until the other group has finished a message; false if it has failed before.
pub fn wait(connection: &Connection, name: &str, message: u64) -> bool {
    let word = &connection.call_lines().finished.count;
    flag::wait_for_at_least(word, message as u32 & flag::VALUE, || Waiter::new(connection.wait_reason(name)));
    flag::reached(flag::value(word), message as u32 & flag::VALUE)
}

impl Sender {
    fn new(connection: &Connection) -> io::Result<Self> {
        let mut programs: Vec<(usize, Vec<Signature>)> = Vec::new();
        for (pe, member) in connection.others().enumerate() {
            let table = connection.table_of_kernels(member);
            let kernels = registry::published(&connection.file, table)?;
            if programs.iter().all(|(_, known)| *known != kernels) {
                programs.push((pe, kernels));
            }
        }
        Ok(Self {
            programs,
            numbers: HashMap::new(),
            known: Vec::new(),
            last: 0,
            called: Vec::new(),
            chunk: None,
            retired: VecDeque::new(),
            free: Vec::new(),
            bytes: 0,
            tail: NonNull::from(&connection.call_lines().first),
            under_way: VecDeque::new(),
        })
    }

    /// Sends the message of a number.
    ///
    /// # Safety
    /// The calls are valid.
    unsafe fn send(
        &mut self,
        connection: &Connection,
        name: &str,
        number: u64,
        calls: &[Call],
    ) -> Result<(), CallError> {
        self.called.clear();
        for call in calls {
            // SAFETY: the caller promises that name and arguments of the call are valid.
            let kernel = unsafe { self.check(call)? };
            self.called.push(kernel);
        }
        // SAFETY: without memory, nothing is written.
        let bytes = unsafe { self.write(Cursor::new(None), calls).len() };
        if let Some(remote) = connection.remote() {
            self.room_between_nodes(connection, name, number, bytes);
            let mut message = Message::new(bytes);
            message.fill();
            // SAFETY: the message has as many bytes.
            unsafe { self.write(Cursor::new(Some(message.base())), calls) };
            self.define();
            let lines = connection.call_lines();
            flag::post(&lines.sent, number as u32 & flag::VALUE);
            remote.calls().send(remote, &message);
            return self.look_for_left(connection);
        }
        let place = self.room(connection, name, number, bytes)?;
        let (chunk, _) = self.chunk.as_ref().expect("there is room in it");
        let base = NonNull::new(chunk.at(place.offset())).expect("it is mapped");
        // SAFETY: as many bytes are free there, from a multiple of 64 on.
        let head = unsafe {
            base.cast::<Head>().write(Head { next: AtomicU64::new(0), finished: Default::default() });
            self.write(Cursor::new(Some(base)), calls);
            base.cast::<Head>().as_ref()
        };
        self.define();
        // SAFETY: it is in a chunk that is not free yet, or in the block of the first member.
        unsafe { self.tail.as_ref() }.store(place.0, Ordering::Relaxed);
        self.tail = NonNull::from(&head.next);
        let lines = connection.call_lines();
        flag::post(&lines.sent, number as u32 & flag::VALUE);
        self.look_for_left(connection)
    }

    /// The kernels that have been called are known to all from here on.
    fn define(&mut self) {
        for kernel in &self.called {
            self.known[*kernel as usize].is_defined = true;
        }
    }

    /// That no PE has left which is to run what has been sent.
    fn look_for_left(&self, connection: &Connection) -> Result<(), CallError> {
        if have_left::<Std>(&connection.call_lines().left) { Err(CallError::Left) } else { Ok(()) }
    }

    /// The number of the kernel that is called, which takes the arguments.
    ///
    /// # Safety
    /// The call is valid.
    unsafe fn check(&mut self, call: &Call) -> Result<u32, CallError> {
        // SAFETY: the caller promises that the name of the call is a C string.
        let name = unsafe { call.name()? };
        let is_last = |last: &usize| self.known.get(*last).is_some_and(|k| *k.name == *name);
        let number = match Some(self.last).filter(is_last) {
            Some(last) => last as u32,
            None => match self.numbers.get(name) {
                Some(number) => *number,
                None => self.find(name)?,
            },
        };
        self.last = number as usize;
        let params = &self.known[number as usize].params;
        let text = || String::from_utf8_lossy(name).into_owned();
        let n_args = if call.args.is_null() { 0 } else { call.n_args };
        if n_args != params.len() {
            return Err(CallError::Count { name: text(), given: n_args, taken: params.len(), program: self.list(0) });
        }
        // SAFETY: the caller promises that the call has as many arguments as it says.
        for (i, arg) in unsafe { call.args() }.enumerate() {
            if arg.kind == POINTER {
                return Err(CallError::Pointer { number: i + 1, name: text() });
            }
            let given = (Kind::of(arg.kind), arg.size);
            if given != params[i] {
                return Err(CallError::Argument {
                    number: i + 1,
                    name: text(),
                    given: describe(given),
                    taken: describe(params[i]),
                    program: self.list(0),
                });
            }
        }
        Ok(number)
    }

    /// What a program has.
    fn list(&self, program: usize) -> String {
        registry::list(&self.programs[program].1)
    }

    /// Gives a kernel that all programs have a number.
    fn find(&mut self, name: &[u8]) -> Result<u32, CallError> {
        let mut params: Option<&[(Kind, usize)]> = None;
        for (i, (pe, kernels)) in self.programs.iter().enumerate() {
            let found = kernels.iter().find(|kernel| *kernel.name == *name);
            let found = found.map(|kernel| &*kernel.params);
            let fits = params.is_none_or(|params| found == Some(params));
            let Some(found) = found.filter(|_| fits) else {
                return Err(CallError::NoKernel {
                    pe: *pe,
                    name: String::from_utf8_lossy(name).into_owned(),
                    program: self.list(i),
                });
            };
            params = Some(found);
        }
        let known = RemoteKernel { name: name.into(), params: params.unwrap_or_default().into(), is_defined: false };
        let number = self.known.len() as u32;
        self.known.push(known);
        self.numbers.insert(name.into(), number);
        Ok(number)
    }

    /// Writes the records of a message; the position after it.
    ///
    /// # Safety
    /// The calls are valid, and there is room for them if the cursor has memory.
    unsafe fn write(&self, mut cursor: Cursor, calls: &[Call]) -> Cursor {
        let mut defined = Vec::new();
        for (number, call) in self.called.iter().zip(calls) {
            let is_defined = self.known[*number as usize].is_defined;
            if !is_defined && !defined.iter().any(|(n, _)| n == number) {
                defined.push((*number, call));
            }
        }
        // SAFETY: as the caller promises, for all that follows.
        unsafe {
            cursor.write((defined.len() + calls.len()) as u64);
            for (number, call) in defined {
                let name = call.name().unwrap_or_default();
                let params = &self.known[number as usize].params;
                cursor.write((name.len() as u64) << 32 | u64::from(number | DEFINITION));
                cursor.write(params.len() as u64);
                params.iter().for_each(|param| cursor.write(word_of(*param)));
                Cursor::copy(cursor.array(name.len()), name.as_ptr(), name.len());
            }
            for (number, call) in self.called.iter().zip(calls) {
                cursor.write((*number).into());
                for arg in call.args() {
                    let bytes = arg.size.saturating_mul(arg.nelems);
                    let to = if arg.kind == ARRAY {
                        cursor.write(arg.nelems as u64);
                        cursor.array(bytes)
                    } else {
                        cursor.value(bytes)
                    };
                    Cursor::copy(to, arg.addr.cast(), bytes);
                }
            }
        }
        cursor
    }

    /// Waits until the other group has room for the message of a number.
    fn room_between_nodes(&mut self, connection: &Connection, name: &str, number: u64, bytes: usize) {
        let lines = connection.call_lines();
        while let Some((first, of_first)) = self.under_way.front().copied() {
            let finished = flag::value(&lines.finished.count);
            if !flag::reached(finished, first as u32 & flag::VALUE) {
                if self.bytes + bytes <= MOST_BYTES {
                    break;
                }
                wait(connection, name, first);
            }
            self.under_way.pop_front();
            self.bytes -= of_first;
        }
        self.under_way.push_back((number, bytes));
        self.bytes += bytes;
    }

    /// Finds room for the message of a number, in the current chunk or in another.
    fn room(
        &mut self,
        connection: &Connection,
        name: &str,
        number: u64,
        bytes: usize,
    ) -> Result<MessagePlace, CallError> {
        if let Some((chunk, used)) = &mut self.chunk {
            let start = used.next_multiple_of(64);
            if start + bytes <= chunk.size() {
                *used = start + bytes;
                return Ok(MessagePlace::new(chunk.start, chunk.log2_size, start));
            }
        }
        let log2_size = bytes.next_power_of_two().ilog2().max(MIN_CHUNK);
        self.reclaim(connection);
        while !self.has_free(log2_size) && self.bytes + (1 << log2_size) > MOST_BYTES {
            let Some((last, _)) = self.retired.front() else {
                break;
            };
            if !wait(connection, name, last + 1) {
                return Err(CallError::Failed);
            }
            self.reclaim(connection);
        }
        let chunk = match self.free.iter().position(|c| c.log2_size == log2_size) {
            Some(i) => self.free.swap_remove(i),
            None => {
                let end = connection.file.metadata()?.len();
                let start = end.max(connection.table_of_kernels(connection.len())).next_multiple_of(1 << log2_size);
                mapping::resize(&connection.file, start + (1 << log2_size))?;
                Chunk::map(&connection.file, start, log2_size)?
            }
        };
        self.bytes += chunk.size();
        let place = MessagePlace::new(chunk.start, log2_size, 0);
        if let Some((before, _)) = self.chunk.replace((chunk, bytes)) {
            self.retired.push_back((number - 1, before));
        }
        Ok(place)
    }

    fn has_free(&self, log2_size: u32) -> bool {
        self.free.iter().any(|chunk| chunk.log2_size == log2_size)
    }

    /// Takes chunks back whose messages are finished, and one behind them. They keep their memory, up to a limit.
    fn reclaim(&mut self, connection: &Connection) {
        let finished = flag::value(&connection.call_lines().finished.count);
        let is_free = |last: u64| flag::reached(finished, (last + 1) as u32 & flag::VALUE);
        while let Some((last, _)) = self.retired.front() {
            if !is_free(*last) {
                break;
            }
            let Some((_, chunk)) = self.retired.pop_front() else {
                break;
            };
            self.bytes -= chunk.size();
            let kept: usize = self.free.iter().map(Chunk::size).sum();
            if kept + chunk.size() > MOST_BYTES {
                mapping::punch_hole(connection.file.as_fd(), chunk.start, chunk.size() as u64);
            }
            self.free.push(chunk);
        }
    }
}
