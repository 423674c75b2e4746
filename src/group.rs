//! Who takes part in a collective, and how they synchronise: a team, or an active set with
//! its work array. Collectives are written once, over this.

use std::ffi::c_long;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::barrier;
use crate::fatal::fatal;
use crate::job::region::{WaitKind, name_from_words, name_to_words};
use crate::runtime::Runtime;
use crate::team::{Members, Team};
use crate::wait::{Waiter, What, counter};

/// Elements of a work array (`SHMEM_SYNC_SIZE`), of which the first [`ROUNDS`] count posts.
pub const SYNC_SIZE: usize = 32;
const ROUNDS: usize = 16;
const VALUE: usize = 16;
const CALL: usize = 24;

/// The PEs of one collective call.
#[derive(Debug)]
pub struct Group<'a> {
    /// The runtime.
    pub rt: &'a Runtime,
    /// C name of the routine.
    pub name: &'static str,
    /// The PEs.
    pub members: Members,
    /// This PE's number among them.
    pub me: usize,
    channel: Channel<'a>,
}

#[derive(Debug)]
enum Channel<'a> {
    Team(&'a Team),
    /// Address of the work array, a symmetric object.
    WorkArray(usize),
}

impl<'a> Group<'a> {
    /// A collective of a team, entered now.
    #[inline]
    pub fn of_team(rt: &'a Runtime, name: &'static str, team: &'a Team) -> Self {
        team.enter(rt);
        Self {
            rt,
            name,
            members: team.members,
            me: team.index,
            channel: Channel::Team(team),
        }
    }

    /// A collective of an active set (standard, "Active-set-based collectives").
    pub fn of_active_set(
        rt: &'a Runtime,
        name: &'static str,
        start: i32,
        log_stride: i32,
        size: i32,
        work_array: *mut c_long,
    ) -> Self {
        let describe =
            format_args!("PE_start = {start}, logPE_stride = {log_stride}, PE_size = {size}");
        let world = Members::world(rt.n_pes);
        let members = (0..31)
            .contains(&log_stride)
            .then(|| world.strided(start, 1 << log_stride, size))
            .flatten();
        let Some(members) = members else {
            fatal(
                name,
                format_args!(
                    "{describe} is not a set of PEs of this job (0 to {})",
                    rt.n_pes - 1
                ),
            );
        };
        let Some(me) = members.index_of(rt.me) else {
            fatal(
                name,
                format_args!("this PE is not in the active set ({describe})"),
            );
        };
        let channel = Channel::WorkArray(work_array.expose_provenance());
        Self {
            rt,
            name,
            members,
            me,
            channel,
        }
    }

    /// Number of PEs.
    #[inline]
    pub fn size(&self) -> usize {
        self.members.size
    }

    /// Synchronises the members and their memory.
    #[inline]
    pub fn sync(&self) {
        match self.channel {
            Channel::Team(team) => barrier::sync(self.rt, self.name, team),
            Channel::WorkArray(array) => self.sync_by_counters(array),
        }
    }

    /// The dissemination barrier over counters, which leaves the work array as it was.
    fn sync_by_counters(&self, array: usize) {
        let members = (
            self.members.start,
            self.members.stride,
            self.members.size as u32,
        );
        let what = What {
            kind: WaitKind::ActiveSet,
            routine: self.name,
            address: array,
            team: 0,
            members,
            sequence: 0,
        };
        let mut waiter = Waiter::new(&what);
        let (mut distance, mut k) = (1, 0);
        while distance < self.size() {
            counter::post(self.counter(array, (self.me + distance) % self.size(), k));
            counter::take(self.counter(array, self.me, k), &mut waiter);
            distance *= 2;
            k += 1;
        }
    }

    fn counter(&self, array: usize, member: usize, round: usize) -> &AtomicU32 {
        debug_assert!(round < ROUNDS);
        let word = self.work_word(array, member, round).cast::<AtomicU32>();
        // SAFETY: within the work array (see `work_word`); its elements are 8-byte aligned,
        // and during the call only the members' atomics touch it.
        unsafe { &*word }
    }

    fn work_word(&self, array: usize, member: usize, index: usize) -> *mut u8 {
        let pe = self.members.pe(member);
        let array = std::ptr::with_exposed_provenance(array);
        let there = self.rt.remote(self.name, "pSync", array, SYNC_SIZE * 8, pe);
        // SAFETY: index < SYNC_SIZE, and all of the array was just found to be symmetric.
        unsafe { there.add(index * 8) }
    }

    fn value_word(&self, member: usize) -> &AtomicU64 {
        match self.channel {
            Channel::Team(team) => &team.slot(self.rt, member).own.value,
            // SAFETY: within the work array, 8-byte aligned, accessed as an atomic only.
            Channel::WorkArray(array) => unsafe {
                &*self.work_word(array, member, VALUE).cast::<AtomicU64>()
            },
        }
    }

    /// Publishes a value to the other members, who read it after the next synchronisation.
    pub fn publish(&self, value: u64) {
        self.value_word(self.me).store(value, Ordering::Release);
    }

    /// The value that `member` published.
    pub fn published(&self, member: usize) -> u64 {
        self.value_word(member).load(Ordering::Acquire)
    }

    /// Takes the published value back: a work array must be left as it was.
    pub fn unpublish(&self) {
        self.publish(0);
    }

    fn call_word(&self, member: usize, i: usize) -> &AtomicU64 {
        match self.channel {
            Channel::Team(team) => &team.slot(self.rt, member).own.call[i],
            // SAFETY: as for `value_word`; i < 6 and CALL + 6 <= SYNC_SIZE.
            Channel::WorkArray(array) => unsafe {
                &*self.work_word(array, member, CALL + i).cast::<AtomicU64>()
            },
        }
    }

    /// With `SHMEM_CHECK=1`: all members call the same routine with the same arguments. A
    /// difference ends the job with a line that names both PEs.
    #[inline]
    pub fn check_agreement(&self, arguments: &[(&str, u64)]) {
        if self.rt.settings.check && self.size() > 1 {
            self.agree_on_routine();
            self.agree_on_arguments(arguments);
        }
    }

    /// The first member whose words differ from those of member 0.
    fn first_difference(&self, words: [u64; 6]) -> Option<(usize, [u64; 6])> {
        for (i, word) in words.into_iter().enumerate() {
            self.call_word(self.me, i).store(word, Ordering::Release);
        }
        self.sync();
        let of = |m: usize| std::array::from_fn(|i| self.call_word(m, i).load(Ordering::Acquire));
        let first = of(0);
        let different = (1..self.size()).find(|m| of(*m) != first);
        self.sync();
        for i in 0..words.len() {
            self.call_word(self.me, i).store(0, Ordering::Release);
        }
        self.sync();
        different.map(|m| (m, first))
    }

    fn agree_on_routine(&self) {
        if let Some((member, first)) = self.first_difference(name_to_words(self.name)) {
            self.only_on(member);
            let other = name_from_words(first);
            fatal(
                self.name,
                format_args!("PE {} calls {other} at this point", self.members.pe(0)),
            );
        }
    }

    fn agree_on_arguments(&self, arguments: &[(&str, u64)]) {
        let words = std::array::from_fn(|i| arguments.get(i).map_or(0, |a| a.1));
        if let Some((member, first)) = self.first_difference(words) {
            self.only_on(member);
            let (&(name, mine), other) = arguments
                .iter()
                .zip(first)
                .find(|(mine, other)| mine.1 != *other)
                .expect("the words differ");
            let show = |value: u64| match name {
                "ptr" => format!("{value:#x}"),
                _ => (value as i64).to_string(),
            };
            let (mine, other, pe) = (show(mine), show(other), self.members.pe(0));
            fatal(
                self.name,
                format_args!("{name} is {mine} here, but {other} on PE {pe}"),
            );
        }
    }

    /// Returns on `member` alone: one PE reports, the others wait to be ended.
    fn only_on(&self, member: usize) {
        if self.me != member {
            loop {
                std::thread::sleep(std::time::Duration::from_secs(1));
            }
        }
    }

    /// Where member `member`'s copy of the `len` bytes at `addr` is.
    #[inline]
    pub fn remote<T>(&self, argument: &str, addr: *const T, len: usize, member: usize) -> *mut u8 {
        self.rt.remote(
            self.name,
            argument,
            addr.cast(),
            len,
            self.members.pe(member),
        )
    }
}
