//! Messages: sends and receives that are matched by team, sender and tag (extension).
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::thread;

use ferroshmem_api::check::Concerns;
use ferroshmem_api::message::{self, Status};
use ferroshmem_api::record::{self, Kind, Operation, Record};

use crate::error::{Error, TeamError, Truncated};
use crate::pe::Pe;
use crate::plain::Plain;
use crate::team::Team;
use crate::team::{AsMember, Member};

/// A message that was received, or is there to be received.
///
/// ```
/// # let world = ferroshmem::World::init()?;
/// let sending = world.begin_send(world.my_pe().next(), 1, vec![2.5; 10])?;
/// let arrival = world.probe(None, Some(1))?;
/// let mut numbers = vec![0.0; arrival.elements::<f64>()];
/// world.receive(arrival.from, Some(arrival.tag), &mut numbers)?;
/// assert_eq!(numbers, [2.5; 10]);
/// # drop(sending);
/// # Ok::<(), ferroshmem::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The sender.
    pub from: Member,
    /// Its tag.
    pub tag: u32,
    /// Its bytes.
    pub bytes: usize,
}

impl Arrival {
    fn of(team: &Team<'_>, status: &Status) -> Self {
        Self { from: team.numbered(status.source as usize), tag: status.tag as u32, bytes: status.bytes }
    }

    /// How many whole elements of type `T` it has.
    ///
    /// As in the example of [`Team::probe`].
    pub fn elements<T: Plain>(&self) -> usize {
        self.bytes.checked_div(size_of::<T>()).unwrap_or(0)
    }
}

/// Whose message is received: that of a [`Pe`] or a [`Member`], or of any with `None`.
///
/// ```
/// # let world = ferroshmem::World::init()?;
/// let (me, mut number) = (world.my_pe(), [0]);
/// let sending = world.begin_send(me.next(), 7, vec![me.number()])?;
/// world.receive(me.previous(), Some(7), &mut number)?;
/// assert_eq!(number[0], me.previous().number());
/// # drop(sending);
/// # Ok::<(), ferroshmem::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` names no sender of a message",
    note = "give a `Pe` without `Some`, a `Member`, or `None` for any sender"
)]
pub trait AsSource: sealed::AsSource {}

impl AsSource for Pe {}
impl AsSource for Member {}
impl AsSource for Option<Member> {}

mod sealed {
    use super::{AsMember, Member, Pe, Team, TeamError};

    /// Any sender, as the C interface has it.
    const ANY: i32 = -1;

    pub trait AsSource {
        /// Its number in the team as the C interface has it.
        #[doc(hidden)]
        fn source_in(self, team: &Team<'_>) -> Result<i32, TeamError>;
    }

    fn number(team: &Team<'_>, member: impl AsMember) -> Result<i32, TeamError> {
        team.number_of(member).map(|number| number as i32)
    }

    impl AsSource for Pe {
        fn source_in(self, team: &Team<'_>) -> Result<i32, TeamError> {
            number(team, self)
        }
    }

    impl AsSource for Member {
        fn source_in(self, team: &Team<'_>) -> Result<i32, TeamError> {
            number(team, self)
        }
    }

    impl AsSource for Option<Member> {
        fn source_in(self, team: &Team<'_>) -> Result<i32, TeamError> {
            self.map_or(Ok(ANY), |member| number(team, member))
        }
    }
}

/// Messages (extension). A message goes to a member of the team with a tag, which is below 2<sup>31</sup>. A receive
/// takes the first message of a PE or a member, or of any with `None`, that has a tag, or any with `None`. The messages
/// of a sender that a receive takes are received in the order in which they were sent.
///
/// All members are in one job. A tag of 2<sup>31</sup> or more is a panic.
///
/// ```
/// # use ferroshmem::World;
/// let world = World::init()?;
/// let sending = world.begin_send(world.my_pe().next(), 7, vec![1.5; 1000])?;
/// let mut numbers = [0.0; 1000];
/// let arrival = world.receive(None, Some(7), &mut numbers)?;
/// assert_eq!((arrival.elements::<f64>(), numbers[999]), (1000, 1.5));
/// let mine = sending.wait(); // may be changed again
/// # assert_eq!(mine.len(), 1000);
/// # Ok::<(), ferroshmem::Error>(())
/// ```
impl Team<'_> {
    /// Sends a message, and waits until `data` may be changed: where it is long, until it is received.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let me = world.my_pe();
    /// let receiving = world.begin_receive(me.previous(), Some(3), vec![0])?; // before all send
    /// world.send(me.next(), 3, &[me.number()])?;
    /// let (numbers, _) = receiving.wait()?;
    /// assert_eq!(numbers, [me.previous().number()]);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `to` is a member of another team, or a PE that is not in this one.
    #[track_caller]
    pub fn send<T: Plain>(&self, to: impl AsMember, tag: u32, data: &[T]) -> Result<(), TeamError> {
        let to = self.number_of(to)? as i32;
        let (source, bytes) = (data.as_ptr().cast(), size_of_val(data));
        let tag = number(tag);
        let _record = self.record("Team::send", Kind::Send, to, bytes);
        // SAFETY: a slice is readable, and this call waits.
        unsafe { message::send("Team::send", self.handle(), source, bytes, to, tag) };
        Ok(())
    }

    /// Waits for a message, and writes it to the first elements of `buffer`.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (me, mut buffer) = (world.my_pe(), [0; 8]);
    /// let sending = world.begin_send(me.next(), 3, vec![me.number(); 2])?;
    /// let arrival = world.receive(me.previous(), None, &mut buffer)?; // of any tag
    /// assert_eq!((arrival.tag, arrival.elements::<usize>()), (3, 2));
    /// assert_eq!(buffer[..3], [me.previous().number(), me.previous().number(), 0]);
    /// # drop(sending);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the buffer is shorter than the message, of which it then has the first bytes; or if `from` is a member of
    /// another team, or a PE that is not in this one.
    #[track_caller]
    pub fn receive<T: Plain>(&self, from: impl AsSource, tag: Option<u32>, buffer: &mut [T]) -> Result<Arrival, Error> {
        let (from, tag) = self.pattern(from, tag)?;
        let (dest, bytes) = (buffer.as_mut_ptr().cast(), size_of_val(buffer));
        let mut status = Status::default();
        let _record = self.record("Team::receive", Kind::Receive, from, bytes);
        // SAFETY: plain data may be overwritten, by any bytes, and this call waits.
        unsafe {
            let name = "Team::receive";
            message::recv(name, self.handle(), dest, bytes, from, tag, &raw mut status);
        }
        Ok(arrived(self, &status, bytes)?)
    }

    /// Waits for a message, and leaves it.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let sending = world.begin_send(world.my_pe().next(), 1, vec![5u16; 10])?;
    /// let arrival = world.probe(None, Some(1))?;
    /// assert_eq!((arrival.bytes, arrival.elements::<u16>()), (20, 10));
    /// let mut numbers = vec![0u16; 10]; // there is time to make room
    /// world.receive(arrival.from, Some(1), &mut numbers)?;
    /// assert_eq!(numbers, [5; 10]);
    /// # drop(sending);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `from` is a member of another team, or a PE that is not in this one.
    #[track_caller]
    pub fn probe(&self, from: impl AsSource, tag: Option<u32>) -> Result<Arrival, TeamError> {
        let (from, tag) = self.pattern(from, tag)?;
        let mut status = Status::default();
        let _record = self.record("Team::probe", Kind::Receive, from, 0);
        // SAFETY: the status is a variable.
        unsafe { message::probe("Team::probe", self.handle(), from, tag, &raw mut status) };
        Ok(Arrival::of(self, &status))
    }

    /// The first message that such a receive would take, if it is there.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// assert_eq!(world.try_probe(None, Some(9))?, None); // nobody has sent, and it does not wait
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `from` is a member of another team, or a PE that is not in this one.
    pub fn try_probe(&self, from: impl AsSource, tag: Option<u32>) -> Result<Option<Arrival>, TeamError> {
        let (from, tag) = self.pattern(from, tag)?;
        let mut status = Status::default();
        let name = "Team::try_probe";
        // SAFETY: the status is a variable.
        let found = unsafe { message::iprobe(name, self.handle(), from, tag, &raw mut status) };
        record::note(Operation::Receive);
        Ok((found != 0).then(|| Arrival::of(self, &status)))
    }

    /// Begins a send of `data`, which [`Sending::wait`] returns.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let sending = world.begin_send(world.my_pe().next(), 2, vec![1; 1000])?;
    /// let mut numbers = [0; 1000];
    /// world.receive(world.my_pe().previous(), Some(2), &mut numbers)?;
    /// let mine = sending.wait(); // may be changed again
    /// assert_eq!(mine, numbers);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `to` is a member of another team, or a PE that is not in this one.
    #[track_caller]
    pub fn begin_send<T: Plain>(&self, to: impl AsMember, tag: u32, data: Vec<T>) -> Result<Sending<'_, T>, TeamError> {
        let (to, tag) = (self.number_of(to)? as i32, number(tag));
        let mut request = Request::of(self, data);
        let (source, bytes) = (request.buffer.data.cast(), request.buffer.bytes());
        let (name, handle) = ("Team::begin_send", &raw mut request.handle);
        let _record = self.record(name, Kind::Send, to, bytes);
        // SAFETY: the request keeps the buffer until it is complete, or for ever.
        unsafe { message::isend(name, self.handle(), source, bytes, to, tag, handle) };
        Ok(Sending(request))
    }

    /// Begins a receive of at most as many elements as `buffer` has, which [`Receiving::wait`] returns.
    ///
    /// As in the example of [`send`](Self::send).
    ///
    /// # Errors
    /// If `from` is a member of another team, or a PE that is not in this one.
    pub fn begin_receive<T: Plain>(
        &self,
        from: impl AsSource,
        tag: Option<u32>,
        buffer: Vec<T>,
    ) -> Result<Receiving<'_, T>, TeamError> {
        let (from, tag) = self.pattern(from, tag)?;
        let mut request = Request::of(self, buffer);
        let (dest, bytes) = (request.buffer.data.cast(), request.buffer.bytes());
        let (name, handle) = ("Team::begin_receive", &raw mut request.handle);
        // SAFETY: as above; plain data may be overwritten, by any bytes.
        unsafe { message::irecv(name, self.handle(), dest, bytes, from, tag, handle) };
        Ok(Receiving(request))
    }

    /// Begins to record a call, if calls are.
    #[track_caller]
    fn record(&self, name: &'static str, kind: Kind, pe: i32, bytes: usize) -> Option<Record> {
        record::begin((name, Location::caller()), kind, Concerns::TeamPe(self.handle(), pe), bytes, 0)
    }

    fn pattern(&self, from: impl AsSource, tag: Option<u32>) -> Result<(i32, i32), TeamError> {
        Ok((from.source_in(self)?, tag.map_or(-1, number)))
    }
}

/// A tag as the C interface has it.
#[track_caller]
fn number(tag: u32) -> i32 {
    i32::try_from(tag).unwrap_or_else(|_| panic!("tag {tag} is out of range: give 0 to {}", i32::MAX))
}

/// What was received in `room` bytes.
fn arrived(team: &Team<'_>, status: &Status, room: usize) -> Result<Arrival, Truncated> {
    let bytes = status.bytes;
    if status.error != 0 {
        return Err(Truncated { bytes, room });
    }
    Ok(Arrival::of(team, status))
}

/// The parts of a vector, of which no reference exists while the library uses its elements.
#[derive(Debug)]
struct Buffer<T> {
    data: *mut T,
    len: usize,
    capacity: usize,
}

impl<T> Buffer<T> {
    fn of(data: Vec<T>) -> Self {
        let mut data = ManuallyDrop::new(data);
        Self { data: data.as_mut_ptr(), len: data.len(), capacity: data.capacity() }
    }

    fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// The vector.
    ///
    /// # Safety
    /// The library uses it no more, and this is called once.
    unsafe fn take(&self) -> Vec<T> {
        // SAFETY: the parts of a vector; the caller's promise.
        unsafe { Vec::from_raw_parts(self.data, self.len, self.capacity) }
    }
}

/// A send or a receive under way. Its buffer is leaked if this is forgotten.
#[derive(Debug)]
struct Request<'t, T: Plain> {
    /// 0 once it is complete.
    handle: usize,
    buffer: Buffer<T>,
    status: Status,
    team: &'t Team<'t>,
    /// Whether it is in the hands of the caller again.
    is_taken: bool,
    owner: PhantomData<T>,
}

impl<'t, T: Plain> Request<'t, T> {
    fn of(team: &'t Team<'_>, data: Vec<T>) -> Self {
        Self {
            handle: 0,
            buffer: Buffer::of(data),
            status: Status::default(),
            team,
            is_taken: false,
            owner: PhantomData,
        }
    }

    fn test(&mut self, name: &'static str) -> bool {
        // SAFETY: the request's variable, and a status.
        let is_complete =
            self.handle == 0 || unsafe { message::test(name, &raw mut self.handle, &raw mut self.status) } != 0;
        record::note(Operation::Receive);
        is_complete
    }

    #[track_caller]
    fn wait(&mut self, name: &'static str) {
        let _record = self.team.record(name, Kind::Receive, -1, 0);
        if self.handle != 0 {
            // SAFETY: the request's variable, and a status.
            unsafe { message::wait(name, &raw mut self.handle, &raw mut self.status) };
        }
    }

    /// Takes a receive back that has no message; false if it has one.
    fn cancel(&mut self, name: &'static str) -> bool {
        // SAFETY: the request's variable.
        self.handle != 0 && unsafe { message::cancel(name, &raw mut self.handle) } != 0
    }

    /// The vector of a request that is complete or was cancelled.
    fn take(&mut self) -> Vec<T> {
        debug_assert!(self.handle == 0 && !self.is_taken);
        self.is_taken = true;
        // SAFETY: the request has ended, and `is_taken` says that the vector was not taken before.
        unsafe { self.buffer.take() }
    }

    /// Ends it. A PE that panics ends its job: it does not wait, and leaks the buffer.
    fn end(&mut self, name: &'static str, is_receive: bool) {
        if self.is_taken || thread::panicking() {
            return;
        }
        if !is_receive || !self.cancel(name) {
            self.wait(name);
        }
        drop(self.take());
    }
}

/// A send under way, of data that it owns. If it is dropped, that waits as [`wait`](Self::wait) does.
///
/// ```
/// # let world = ferroshmem::World::init()?;
/// let mut sending = world.begin_send(world.my_pe().next(), 2, vec![1u8; 100])?;
/// world.receive(None, Some(2), &mut [0u8; 100])?;
/// while !sending.is_complete() {
///     // compute
/// }
/// let data = sending.wait(); // may be changed
/// # Ok::<(), ferroshmem::Error>(())
/// ```
#[derive(Debug)]
pub struct Sending<'t, T: Plain>(Request<'t, T>);

impl<T: Plain> Sending<'_, T> {
    /// Whether the data are sent: [`wait`](Self::wait) will not wait.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let mut sending = world.begin_send(world.my_pe().next(), 2, vec![1u8; 100])?;
    /// world.receive(None, Some(2), &mut [0u8; 100])?;
    /// while !sending.is_complete() {
    ///     // compute
    /// }
    /// assert_eq!(sending.wait(), [1; 100]); // at once
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn is_complete(&mut self) -> bool {
        self.0.test("Sending::is_complete")
    }

    /// Waits until the data are sent, and returns them.
    ///
    /// As in the example of [`is_complete`](Self::is_complete).
    #[track_caller]
    pub fn wait(mut self) -> Vec<T> {
        self.0.wait("Sending::wait");
        self.0.take()
    }
}

impl<T: Plain> Drop for Sending<'_, T> {
    fn drop(&mut self) {
        self.0.end("Sending::drop", false);
    }
}

/// A receive under way, with a buffer that it owns. If it is dropped, it is cancelled, or its message is
/// received and dropped.
///
/// ```
/// # let world = ferroshmem::World::init()?;
/// let me = world.my_pe();
/// let receiving = world.begin_receive(me.previous(), Some(3), vec![0; 4])?;
/// world.send(me.next(), 3, &[1, 2, 3])?;
/// let (numbers, arrival) = receiving.wait()?;
/// assert_eq!((numbers, arrival.elements::<i32>()), (vec![1, 2, 3, 0], 3));
/// # Ok::<(), ferroshmem::Error>(())
/// ```
#[derive(Debug)]
pub struct Receiving<'t, T: Plain>(Request<'t, T>);

impl<T: Plain> Receiving<'_, T> {
    /// Whether the message is received: [`wait`](Self::wait) will not wait.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let me = world.my_pe();
    /// let mut receiving = world.begin_receive(me.previous(), Some(4), vec![0; 3])?;
    /// world.send(me.next(), 4, &[5, 6])?;
    /// while !receiving.is_complete() {
    ///     // compute
    /// }
    /// assert_eq!(receiving.wait()?.0, [5, 6, 0]); // at once
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn is_complete(&mut self) -> bool {
        self.0.test("Receiving::is_complete")
    }

    /// Waits for the message. Elements of the buffer that it does not reach are as they were.
    ///
    /// As in the example of [`is_complete`](Self::is_complete).
    ///
    /// # Errors
    /// If the buffer is shorter than the message.
    #[track_caller]
    pub fn wait(mut self) -> Result<(Vec<T>, Arrival), Truncated> {
        self.0.wait("Receiving::wait");
        let room = self.0.buffer.bytes();
        let buffer = self.0.take();
        let arrival = arrived(self.0.team, &self.0.status, room)?;
        Ok((buffer, arrival))
    }

    /// Takes the receive back; itself, if it has a message.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let receiving = world.begin_receive(None, Some(9), vec![0u64; 8])?;
    /// let buffer = match receiving.cancel() {
    ///     Ok(buffer) => buffer, // nobody has sent
    ///     Err(receiving) => receiving.wait()?.0,
    /// };
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a message has matched it: wait for that.
    pub fn cancel(mut self) -> Result<Vec<T>, Self> {
        if self.0.cancel("Receiving::cancel") {
            return Ok(self.0.take());
        }
        Err(self)
    }
}

impl<T: Plain> Drop for Receiving<'_, T> {
    fn drop(&mut self) {
        self.0.end("Receiving::drop", true);
    }
}
