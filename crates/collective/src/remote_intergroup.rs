//! Collectives between the two groups of a connection that are on different nodes: members say where their arrays are
//! when they synchronise, get what is theirs from the other group, and synchronise again. From members of their own
//! node they load it.
//!
//! To synchronise, the members of each node, of both groups, synchronise in memory, then the first of each exchanges
//! messages with those of the other nodes, and then they synchronise again.

use ferroshmem_core::connection::Connection;
use ferroshmem_core::connection::disconnects::Disconnects;
use ferroshmem_core::connection::remote_job::RemoteJob;
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::group::Group;
use ferroshmem_core::internode::{GLOBALS, HEAP};
use ferroshmem_core::memory::{AddressSpace, IN_GLOBALS};
use ferroshmem_core::wait::record::Recorder;
use ferroshmem_fabric::Remote;
use ferroshmem_simd::{self as simd, Operator};
use ferroshmem_tuning::Collective;

use super::intergroup::{BothGroups, Part};

/// A call of a collective between groups on different nodes by this PE.
pub struct RemoteIntergroup<'a> {
    /// The members of this node.
    pub group: &'a Group<'a>,
    /// The other group.
    pub remote: &'a RemoteJob,
    /// Its members.
    pub connection: &'a Connection,
    /// `dest` of this PE, and its place ([`ferroshmem_core::memory::AddressSpace::place`]).
    pub dest: (*mut u8, u64),
    /// `source` of this PE, and its place.
    pub source: (*mut u8, u64),
    /// Bytes that the other group contributes, of each PE where these differ.
    pub received: usize,
    /// This PE's symmetric memory.
    pub space: &'a AddressSpace,
}

impl RemoteIntergroup<'_> {
    /// Synchronises all members, and gives them a word. Once the connection has failed, whose groups are independent,
    /// what follows does nothing.
    fn synchronise(&self, word: u64) {
        let number = self.remote.enter_sync(word);
        self.group.sync();
        if self.group.me == 0 && !self.connection.has_failed() {
            let _shown = Recorder::start(&self.connection.wait_reason(self.group.name));
            self.remote.sync_other_nodes(number);
        }
        if self.group.size > 1 {
            self.group.sync();
        }
        refuse_to_wait(self.group.name, self.connection);
    }

    /// Synchronises all members; says where the source is.
    fn enter(&self) {
        self.synchronise(self.source.1);
    }

    /// Waits for what has been begun.
    fn complete(&self) {
        let _shown = Recorder::start(&self.connection.wait_reason(self.group.name));
        self.remote.quiet();
    }

    /// Where the `bytes` bytes from `at` on in the source of a member of the other group are, if its memory is mapped.
    #[inline(never)]
    fn local(&self, member: usize, at: usize, bytes: usize) -> Option<*const u8> {
        let place = self.remote.place_of(member).checked_add(at as u64)?;
        let address = self.connection.address_of(self.space, place, bytes as u64)?;
        let copy = self.connection.translate(self.space, address, bytes, member)?;
        Some(copy.cast_const())
    }

    /// Gets `bytes` bytes from `at` on in the source of a member of the other group, which are complete after a quiet.
    ///
    /// # Safety
    /// There are as many; as many fit at `to`, until a quiet.
    unsafe fn begin_get(&self, to: *mut u8, member: usize, at: usize, bytes: usize) {
        if self.connection.has_failed() {
            // Not all members have said where their arrays are.
            return;
        }
        if let Some(from) = self.local(member, at, bytes) {
            // SAFETY: the caller promises that `to` is writable for `bytes` bytes; as many are mapped at the source.
            return unsafe { simd::copy(to, from, bytes) };
        }
        let place = self.remote.place_of(member);
        let (segment, start) = match place.checked_sub(IN_GLOBALS) {
            Some(offset) => (GLOBALS, offset),
            None => (HEAP, place),
        };
        let from = Remote { pe: member, segment, offset: start as usize + at };
        let (fabric, context) = (self.remote.fabric(), self.remote.context());
        // SAFETY: the caller promises that `to` is writable for `bytes` bytes until the context is
        // quiet.
        unsafe { fabric.get_nbi(context, to, from, bytes) };
    }
}

/// Ends the job if a member has left the group without calling this collective, of which the other group is not
/// independent.
pub fn refuse_to_wait(name: &str, connection: &Connection) {
    let disconnects = connection.remote().map(RemoteJob::disconnects);
    let Some(member) = disconnects.and_then(Disconnects::missing) else {
        return;
    };
    if connection.is_independent() {
        return;
    }
    let number = connection.first + member;
    let of = match connection.own().contains(&member) {
        true => "this job",
        false => "the connected job",
    };
    fatal(
        name,
        format_args!(
            "PE {number}, which is of {of}, has left the group without calling it: have all PEs of both groups call it \
                before they disconnect"
        ),
    );
}

impl BothGroups for RemoteIntergroup<'_> {
    fn sync(&self) {
        self.synchronise(0);
    }

    unsafe fn broadcast(&self, part: Part) {
        self.enter();
        if let Part::From(root) = part
            && self.received > 0
        {
            // SAFETY: the caller promises arrays of so many bytes, which stay until all are here again.
            unsafe { self.begin_get(self.dest.0, root, 0, self.received) };
            self.complete();
        }
        self.sync();
    }

    unsafe fn exchange(&self, collective: Collective) {
        let (bytes, me) = (self.received, self.connection.me - self.connection.own().start);
        let at = match collective {
            Collective::Alltoall => me * bytes,
            _ => 0,
        };
        self.enter();
        if bytes > 0 {
            for (i, member) in self.connection.others().enumerate() {
                // SAFETY: the caller promises a block of each member, and room for them.
                unsafe { self.begin_get(self.dest.0.add(i * bytes), member, at, bytes) };
            }
            self.complete();
        }
        self.sync();
    }

    /// Always in the order of the other group's members.
    unsafe fn reduce(&self, n: usize, op: &'static Operator) {
        /// Bytes of sources that are here at a time.
        const ROOM: usize = 1 << 20;

        let others = self.connection.others();
        let exact = self.connection.reproducible;
        let step = (ROOM / (others.len() * op.size())).clamp(1, n.max(1));
        // Aligned for elements of all types.
        let each = (step * op.size()).next_multiple_of(size_of::<u128>());
        let mut room = vec![0u128; others.len() * each / size_of::<u128>()];
        let room = room.as_mut_ptr().cast::<u8>();
        let slot = |i: usize| room.wrapping_add(i * each);
        self.enter();
        for start in (0..n).step_by(step) {
            let count = step.min(n - start);
            let (at, bytes) = (start * op.size(), count * op.size());
            let in_place = others.clone().map(|member| self.local(member, at, bytes));
            let in_place: Vec<Option<*const u8>> = in_place.collect();
            // SAFETY: the caller promises `n` elements at the sources and at `dest`; there is room for `step` of each.
            unsafe {
                for (i, member) in others.clone().enumerate() {
                    if in_place[i].is_none() {
                        self.begin_get(slot(i), member, at, bytes);
                    }
                }
                self.complete();
                let dest = self.dest.0.add(at);
                let sources = |i: usize| in_place[i].unwrap_or(slot(i).cast_const());
                op.fold(exact, (&|_| dest, 1), (&sources, others.len()), count, false);
            }
        }
        self.sync();
    }
}
