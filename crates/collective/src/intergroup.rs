//! Collectives between the two groups of a connection, as MPI defines those of intercommunicators: each group
//! gets what the other one contributes.
//!
//! They follow the patterns of a team's collectives ([`super`]), over all members of the connection, and take as
//! many synchronisations. Arrays are symmetric within a group alone. So before the first synchronisation,
//! members leave the places of their arrays in words of their slots. A member writes these again only in a
//! later call, after a synchronisation that follows the reading of them by all members.

use std::ops::Range;

use ferroshmem_core::connection::Groups;
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::group::{Group, MemberAddresses};
use ferroshmem_layout::{RING_BYTES, SMALL};
use ferroshmem_simd::{self as simd, Operator};
use ferroshmem_tuning::{Algorithm, Collective, EAGER};

use super::broadcast::RING_MEMBERS;
use super::{copy, copy_part, from_on, slices_of};

/// The words that a member leaves: places of its arrays, and the root of a broadcast as a member's number, if
/// the member knows it.
const DEST: usize = 0;
const SOURCE: usize = 1;
const ROOT: usize = 2;
/// The bytes that group 0 contributes to each PE of group 1, and those that it gets.
const LENGTHS: [usize; 2] = [3, 4];
/// Instead of a root.
const NO_ROOT: u64 = u64::MAX;

/// A call of a collective between groups by this PE.
pub struct Intergroup<'a> {
    /// All members.
    pub group: &'a Group<'a>,
    /// Their groups.
    pub groups: &'a Groups,
    /// `dest` of this PE, and its place ([`ferroshmem_core::memory::AddressSpace::place`]).
    pub dest: (*mut u8, u64),
    /// `source` of this PE, and its place.
    pub source: (*const u8, u64),
    /// Bytes that this group contributes, to each PE of the other group where these differ.
    pub sent: usize,
    /// Bytes that the other group contributes.
    pub received: usize,
}

/// A PE's part in a broadcast between groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// It is the root.
    Root,
    /// It is on the root's group.
    None,
    /// It receives from this member.
    From(usize),
}

/// What a collective of both groups does, on a node and between nodes. The safety is that of the C routines: `dest` and
/// `source` are symmetric within the group and valid for the lengths given; they do not overlap.
#[allow(clippy::missing_safety_doc, reason = "said above")]
pub trait BothGroups {
    /// Synchronises all members.
    fn sync(&self);

    /// Copies the root's `source` to `dest` of all PEs of the other group.
    unsafe fn broadcast(&self, part: Part);

    /// Gathers in `dest` what each PE of the other group has for this one, or for all.
    unsafe fn exchange(&self, collective: Collective);

    /// Reduces `n` elements of each `source` of the other group to `dest`.
    unsafe fn reduce(&self, n: usize, op: &'static Operator);
}

/// Where the arrays of one group are.
struct GroupArrays<'a> {
    members: Range<usize>,
    dest: MemberAddresses<'a, u8>,
    source: MemberAddresses<'a, u8>,
}

/// The safety of the collectives is that of the C routines: `dest` and `source` are symmetric within the group and
/// valid for the lengths given; they do not overlap.
impl<'a> Intergroup<'a> {
    /// Leaves where this PE's arrays are, for the members of both groups.
    fn publish_addresses(&self, root: u64) {
        for (word, value) in [(DEST, self.dest.1), (SOURCE, self.source.1), (ROOT, root)] {
            self.group.publish_call_word(word, value);
        }
    }

    /// The arrays of a group of which a member has left the place in `word`.
    fn left(&self, member: usize, word: usize) -> MemberAddresses<'a, u8> {
        let place = self.group.call_word(member, word);
        let (bases, offset) = self.groups.at_place(place);
        MemberAddresses::irregular(self.group.local_members(), bases, offset)
    }

    /// The arrays of a group, which its first member has left. After the first synchronisation.
    fn arrays(&self, index: usize) -> GroupArrays<'a> {
        let members = self.groups.of(index);
        GroupArrays { dest: self.left(members.start, DEST), source: self.left(members.start, SOURCE), members }
    }

    /// Bytes that a group contributes.
    fn sent_by(&self, index: usize) -> usize {
        if index == self.groups.own { self.sent } else { self.received }
    }

    /// With `SHMEM_CHECK=1`: all members call the same routine with lengths that fit, and arrays that are
    /// symmetric within their group.
    pub fn check(&self, part: Option<Part>) {
        self.group.match_routine();
        self.publish_addresses(self.root_of(part));
        for (word, index) in LENGTHS.into_iter().zip(0..) {
            let bytes = self.sent_by(index) as u64;
            self.group.publish_call_word(word, bytes);
        }
        self.group.sync();
        if self.group.has_failed() {
            return;
        }
        let name = self.group.name;
        let own = self.groups.own();
        let left = |member, word| self.group.call_word(member, word);
        for member in 0..self.group.size {
            let [there, back] = LENGTHS.map(|word| left(member, word));
            let [sent, got] = [0, 1].map(|index| self.sent_by(index) as u64);
            if (there, back) != (sent, got) {
                let who = self.describe(member);
                fatal(
                    name,
                    format_args!(
                        "the groups give {sent} and {got} bytes here, but {there} and {back} on {who}: all PEs must \
                            give the same"
                    ),
                );
            }
            let arrays = [("dest", DEST, self.dest.1), ("source", SOURCE, self.source.1)];
            for (array, word, place) in arrays {
                if own.contains(&member) && left(member, word) != place && part.is_none() {
                    let who = self.describe(member);
                    fatal(
                        name,
                        format_args!("{array} is not that of {who}: give an array that is symmetric in this group"),
                    );
                }
            }
        }
        if let Some(part) = part {
            let (root, group) = self.root(part);
            let receivers = self.groups.of(group);
            let names = |member: usize| member == root || receivers.contains(&member);
            let expected = |member| if names(member) { root as u64 } else { NO_ROOT };
            if (0..self.group.size).any(|member| left(member, ROOT) != expected(member)) {
                self.refuse_roots();
            }
        }
        self.group.sync();
    }

    /// A member, for messages.
    fn describe(&self, member: usize) -> String {
        let own = self.groups.own();
        if own.contains(&member) {
            return format!("PE {} of this group", member - own.start);
        }
        let index = member - self.groups.others().start;
        format!("PE {index} of the group")
    }

    fn root_of(&self, part: Option<Part>) -> u64 {
        match part {
            Some(Part::Root) => self.group.me as u64,
            Some(Part::From(root)) => root as u64,
            Some(Part::None) | None => NO_ROOT,
        }
    }

    /// The root of a broadcast and the group that receives, after the first synchronisation. PEs that do not agree
    /// end the job.
    fn root(&self, part: Part) -> (usize, usize) {
        let left = |member: usize| self.group.call_word(member, ROOT);
        let group = self.receiving(part);
        let named = left(self.groups.of(group).start);
        let root = usize::try_from(named).ok();
        let root = root.filter(|root| self.groups.of(1 - group).contains(root));
        let mine = self.root_of(Some(part));
        let agreed = root.filter(|root| left(*root) == named && [named, NO_ROOT].contains(&mine));
        let Some(root) = agreed else {
            self.refuse_roots();
        };
        (root, group)
    }

    /// The group that receives.
    fn receiving(&self, part: Part) -> usize {
        match part {
            Part::From(_) => self.groups.own,
            Part::Root | Part::None => 1 - self.groups.own,
        }
    }

    fn refuse_roots(&self) -> ! {
        fatal(
            self.group.name,
            "the PEs do not agree on the root: one PE gives SHMEMX_ROOT, the others of its group SHMEMX_PROC_NULL, and \
                those of the other group the number of that PE",
        )
    }
}

impl BothGroups for Intergroup<'_> {
    fn sync(&self) {
        self.group.sync();
    }

    unsafe fn broadcast(&self, part: Part) {
        let (group, bytes) = (self.group, self.sent);
        let (dest, source) = (self.dest.0, self.source.0);
        let choice = group.choose(Collective::Broadcast, bytes);
        let is_eager = choice.algorithm == Algorithm::Eager;
        // SAFETY: the caller promises `bytes` bytes at the root's `source` and `dest` of the other group, which
        // have one writer for each byte.
        unsafe {
            if is_eager && bytes <= RING_BYTES && group.size <= RING_MEMBERS {
                let root = match part {
                    Part::Root => Some(group.me),
                    Part::None => None,
                    Part::From(root) => Some(root),
                };
                return group.broadcast_small(root, None, dest, source, bytes);
            }
            if is_eager && bytes <= EAGER {
                let epoch = group.epoch();
                if part == Part::Root {
                    epoch.write_eager(source, bytes);
                }
                epoch.synchronise();
                if let Part::From(root) = part {
                    copy(group, dest, epoch.eager(root), bytes);
                }
                return;
            }
            self.publish_addresses(self.root_of(Some(part)));
            // Places, after the first synchronisation.
            let arrays = || {
                let (root, index) = self.root(part);
                let source = self.left(root, SOURCE).of(root).cast_const();
                (self.arrays(index), source)
            };
            match choice.algorithm {
                Algorithm::Push => {
                    let root = if part == Part::Root { group.me } else { group.size };
                    group.run_on_one(root, (1 + group.size) * bytes, || {
                        let (receivers, source) = arrays();
                        for member in receivers.members {
                            copy(group, receivers.dest.of(member), source, bytes);
                        }
                    });
                }
                Algorithm::Pull => group.share_by_member(2 * bytes, |member| {
                    // The root's group does not look where the arrays are: that moves cache lines.
                    if self.groups.of(self.receiving(part)).contains(&member) {
                        let (receivers, source) = arrays();
                        copy(group, receivers.dest.of(member), source, bytes);
                    }
                }),
                _ => {
                    // All members of both groups copy a part to all that receive.
                    let work = slices_of(group, bytes, 1, 1 + group.size);
                    group.share_work(work, |part| {
                        let (receivers, source) = arrays();
                        let (to, from) = (receivers.dest.from(part.start), source.add(part.start));
                        for member in receivers.members {
                            copy_part(group, to.of(member), from, part.len(), bytes);
                        }
                    });
                }
            }
        }
    }

    /// Each PE gets a block of each PE of the other group, in their order. By [`Collective::Alltoall`] the block of
    /// its own number in their `source`, by [`Collective::Fcollect`] their `source`.
    unsafe fn exchange(&self, collective: Collective) {
        let (group, groups) = (self.group, self.groups);
        let (own, others) = (groups.own(), groups.others());
        let is_alltoall = collective == Collective::Alltoall;
        // Blocks of a source.
        let blocks = |readers: usize| if is_alltoall { readers } else { 1 };
        let choice = group.choose(collective, self.sent.max(self.received));
        let longest = |sent: usize, readers: usize| sent.saturating_mul(blocks(readers));
        let fits = longest(self.sent, others.len()).max(longest(self.received, own.len())) <= EAGER;
        if choice.algorithm == Algorithm::Eager && fits {
            let epoch = group.epoch();
            let block = if is_alltoall { group.me - own.start } else { 0 };
            // SAFETY: the caller promises as many bytes at `source`, and a block of each PE of the other group at
            // `dest`.
            unsafe {
                epoch.write_eager(self.source.0, longest(self.sent, others.len()));
                epoch.synchronise();
                for (i, member) in others.enumerate() {
                    let from = epoch.eager(member).wrapping_add(block * self.received);
                    let to = self.dest.0.wrapping_add(i * self.received);
                    copy(group, to, from, self.received);
                }
            }
            return;
        }
        self.publish_addresses(NO_ROOT);
        let all = self.sent.max(self.received) * group.size;
        let reads = choice.algorithm != Algorithm::Push;
        group.share_by_member(2 * all, |one| {
            let own_index = usize::from(one >= groups.sizes[0]);
            let (mine, other) = (self.arrays(own_index), self.arrays(1 - own_index));
            let index = one - mine.members.start;
            let count = other.members.len();
            for i in from_on(index % count, count) {
                let ((reader, r), (writer, w)) =
                    if reads { ((&mine, index), (&other, i)) } else { ((&other, i), (&mine, index)) };
                let bytes = self.sent_by(if reads { 1 - own_index } else { own_index });
                let to = reader.dest.from(w * bytes).of(reader.members.start + r);
                let block = if is_alltoall { r } else { 0 };
                let from = writer.source.from(block * bytes);
                // SAFETY: the caller promises blocks of `bytes` bytes on all members; each block of a `dest`
                // has one writer.
                unsafe { copy_part(group, to, from.of(writer.members.start + w), bytes, 2 * all) };
            }
        });
    }

    /// Reduces `n` elements of the sources of the other group, on each PE.
    unsafe fn reduce(&self, n: usize, op: &'static Operator) {
        let (group, bytes) = (self.group, n * op.size());
        if n == 0 {
            return group.sync();
        }
        let algorithm = group.choose(Collective::Reduce, bytes).algorithm;
        let is_small = matches!(algorithm, Algorithm::Eager | Algorithm::RecursiveDoubling);
        let is_pair = group.size == 2 && !group.has_central_barrier();
        if is_pair && bytes <= group.flag_bytes() {
            let epoch = group.epoch();
            // SAFETY: the caller promises `n` elements at `source` and `dest`. Each has entered the epoch when
            // the other one completes it.
            unsafe {
                epoch.send(1 - group.me, 0, self.source.0, bytes);
                epoch.receive(0, self.dest.0, bytes);
            }
            return;
        }
        if is_small && bytes <= EAGER {
            // SAFETY: the caller promises that source and destination have `n` elements.
            return unsafe { self.reduce_eager(n, op) };
        }
        self.publish_addresses(NO_ROOT);
        let streaming = simd::past_caches(bytes);
        let work = slices_of(group, n, op.size(), 2 * group.size);
        group.share_work(work, |part| {
            let start = part.start * op.size();
            for index in 0..2 {
                let (from, to) = (self.arrays(index), self.arrays(1 - index));
                let (source, dest) = (from.source.from(start), to.dest.from(start));
                let source = |i: usize| source.of(from.members.start + i).cast_const();
                let dest = |i: usize| dest.of(to.members.start + i);
                let (sources, dests) = (from.members.len(), to.members.len());
                let moved = part.len() * op.size();
                group.traffic().moved(sources * moved, dests * moved);
                // SAFETY: the caller promises arrays of `n` elements on every member; all members have
                // entered, and no other member writes these elements.
                unsafe { op.fold(group.reproducible, (&dest, dests), (&source, sources), part.len(), streaming) };
            }
        });
    }
}

impl Intergroup<'_> {
    /// As [`reduce`](Self::reduce), of values that fit the eager buffers. With the central barrier, the last
    /// member to arrive reduces for all.
    unsafe fn reduce_eager(&self, n: usize, op: &Operator) {
        let (group, groups) = (self.group, self.groups);
        let epoch = group.epoch();
        let (own, others) = (groups.own(), groups.others());
        let bytes = n * op.size();
        group.traffic().moved(others.len() * bytes, bytes);
        let fold_group = |members: Range<usize>, dest: *mut u8, buffer: &dyn Fn(usize) -> *mut u8| {
            let source = |i: usize| buffer(members.start + i).cast_const();
            // SAFETY: the buffers have room for `n` elements, and are read only after all members have
            // written theirs.
            unsafe { op.fold(group.reproducible, (&|_| dest, 1), (&source, members.len()), n, false) };
        };
        // SAFETY: the caller promises `n` elements at `source` and `dest`; the buffers have room for them. What
        // the last member to arrive leaves, all members read before they arrive again.
        unsafe {
            if group.has_central_barrier() && bytes <= SMALL {
                // On cache lines that are read anyway.
                copy(group, epoch.contribution(group.me), self.source.0, bytes);
                epoch.synchronise_with(|| {
                    for members in [own, others.clone()] {
                        let result = epoch.result(members.start);
                        fold_group(members, result, &|m| epoch.contribution(m));
                    }
                });
                return copy(group, self.dest.0, epoch.result(others.start), bytes);
            }
            epoch.write_eager(self.source.0, bytes);
            if group.has_central_barrier() {
                epoch.synchronise_with(|| {
                    for members in [own, others.clone()] {
                        let first = epoch.eager(members.start);
                        fold_group(members, first, &|m| epoch.eager(m));
                    }
                });
                copy(group, self.dest.0, epoch.eager(others.start), bytes);
            } else {
                epoch.synchronise();
                fold_group(others, self.dest.0, &|m| epoch.eager(m));
            }
        }
    }
}
