//! The control part of a job's memory, mapped: header, PE blocks and team slots.

use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ferroshmem_platform::mapping::{self, MapAddress};
use ferroshmem_platform::{Features, NodeCores, socket};
use ferroshmem_simd as simd;
use ferroshmem_tuning::{CopySizes, Tuning};

use super::part;
use super::plan::{MIN_STRIDE, Plan};
use crate::constants::PREDEFINED_TEAMS;
use ferroshmem_layout::inbox::Inbox;
use ferroshmem_layout::{
    DeclarationWords, EXPORTS, Exports, FAILURES, Failures, Header, MAGIC, MAX_TEAMS, Offsets, PeBlock, PeState,
    REFUSED, SHADOW, TeamSlot, VERSION, WaitKind,
};

/// A mapped control part. Lives until the process ends: PEs may wait in it at any time.
#[derive(Debug, Clone, Copy)]
pub struct Control {
    base: NonNull<u8>,
    offsets: Offsets,
}

// SAFETY: all that is reachable is constant after creation or atomic.
unsafe impl Send for Control {}
// SAFETY: as above.
unsafe impl Sync for Control {}

impl Control {
    /// Creates the memory of a node's `n_pes` PEs, of a job whose nodes have at most `widest`
    /// PEs. They may use `cores` cores and choose algorithms by `tuning`.
    pub fn create(
        plan: &Plan,
        n_pes: usize,
        widest: usize,
        cores: impl Into<NodeCores>,
        tuning: Tuning,
        launcher_pid: u32,
    ) -> io::Result<(File, Self)> {
        let offsets = Offsets::new(n_pes, plan.stride);
        let cores = cores.into();
        let file = mapping::memory_file(offsets.file_size())?;
        let this = Self::map(&file, offsets)?;
        let header = Header {
            magic: MAGIC,
            version: VERSION,
            n_pes: n_pes as u32,
            heap_size: plan.heap_size,
            slot_size: plan.stride,
            cores: cores.count as u32,
            quota: cores.quota.into(),
            has_localities: socket::has_several_nodes().into(),
            non_temporal_threshold: simd::non_temporal_threshold_of(
                n_pes,
                CopySizes::known(tuning.copies.non_temporal),
            ),
            features: Features::here().word(),
            launcher_pid,
            widest: widest as u32,
            job_number: Default::default(),
            next_pe: Default::default(),
            layout_failed: Default::default(),
            start_arrived: Default::default(),
            start_epoch: Default::default(),
            finalized: Default::default(),
            heaps_given_back: Default::default(),
            failing: Default::default(),
            reporter: Default::default(),
            images_differ: Default::default(),
            image: Default::default(),
            reproducible: Default::default(),
            first_group: Default::default(),
            agreed: Default::default(),
            independent: Default::default(),
            connection: Default::default(),
            left: Default::default(),
            tuning,
        };
        // SAFETY: the mapping is at least a header long, page aligned, and still private
        // to this process.
        unsafe { this.base.cast::<Header>().write(header) };
        Ok((file, this))
    }

    /// A number that differs once PE `pe` of the node has entered or left a collective, or a wait of some length.
    pub fn progress(&self, pe: usize) -> u64 {
        let block = self.pe_block(pe);
        let mut digest = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |word: u64| digest = (digest ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(7);
        add(block.state.load(Ordering::Relaxed).into());
        add(block.wait.serial.load(Ordering::Relaxed).into());
        add(block.wait.kind.load(Ordering::Relaxed).into());
        for (index, word) in block.team_ids.words.iter().enumerate() {
            let mut used = word.load(Ordering::Relaxed);
            while used != 0 {
                let team = index * 64 + used.trailing_zeros() as usize;
                used &= used - 1;
                let own = &self.team_slot(team, pe).own;
                add(own.entered.load(Ordering::Relaxed).into());
            }
        }
        digest
    }

    /// Creates the memory of a connection, of groups with so many members, whose jobs end independently or not; its
    /// number is `number`.
    pub fn create_connection(
        number: u32,
        groups: [usize; 2],
        independent: bool,
        cores: NodeCores,
        tuning: Tuning,
    ) -> io::Result<(File, Self)> {
        let all = groups[0] + groups[1];
        let plan = Plan { heap_size: 0, stride: MIN_STRIDE };
        let (file, this) = Self::create(&plan, all, all, cores, tuning, 0)?;
        let header = this.header();
        header.job_number.store(number, Ordering::Relaxed);
        let first_group = groups[0] as u32;
        header.first_group.store(first_group, Ordering::Relaxed);
        let independent = independent.into();
        header.independent.store(independent, Ordering::Relaxed);
        Ok((file, this))
    }

    /// Maps the control part of a job's memory that the launcher made. The error says what
    /// is wrong with it.
    pub fn open(file: &File) -> io::Result<Self> {
        let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let len = file.metadata()?.len();
        if len < size_of::<Header>() as u64 {
            return Err(wrong("not the memory of a FerroSHMEM job"));
        }
        let mut head = [0; offset_of!(Header, cores)];
        file.read_exact_at(&mut head, 0)?;
        let long = |at| u64::from_ne_bytes(std::array::from_fn(|i| head[at + i]));
        let short = |at| u32::from_ne_bytes(std::array::from_fn(|i| head[at + i]));
        let (magic, version) = (long(offset_of!(Header, magic)), short(offset_of!(Header, version)));
        let offsets = Offsets::new(short(offset_of!(Header, n_pes)) as usize, long(offset_of!(Header, slot_size)));
        if magic != MAGIC {
            return Err(wrong("not the memory of a FerroSHMEM job"));
        }
        if version != VERSION || offsets.file_size() > len {
            return Err(wrong(
                "oshrun and the program's library come from different FerroSHMEM builds: use the oshrun of the \
                    library's installation, or, for Rust, install crates/tools from the sources of the crate",
            ));
        }
        Self::map(file, offsets)
    }

    /// Makes this process, which cannot join the job of this memory, the one that says so; false if another has.
    /// `oshrun` adds no line of its own then.
    #[cold]
    #[inline(never)]
    pub(super) fn claim_refusal(file: &File) -> bool {
        let mut magic = [0; size_of::<u64>()];
        let is_of_a_job = file.read_exact_at(&mut magic, offset_of!(Header, magic) as u64).is_ok()
            && u64::from_ne_bytes(magic) == MAGIC
            && file.metadata().is_ok_and(|info| info.len() >= EXPORTS as u64);
        if !is_of_a_job {
            return true;
        }
        // SAFETY: placed where there is room.
        let mapped = unsafe { mapping::map_shared(file.as_fd(), 0, EXPORTS, MapAddress::Anywhere) };
        mapped.is_ok_and(|base| {
            // SAFETY: within the mapping, which is never removed; aligned, as `REFUSED` is.
            let word = unsafe { &*base.add(REFUSED).cast::<AtomicU32>() };
            word.swap(1, Ordering::AcqRel) == 0
        })
    }

    /// Whether a process has said why it cannot join the job.
    pub fn is_refused(&self) -> bool {
        self.at::<AtomicU32>(REFUSED).load(Ordering::Acquire) != 0
    }

    fn map(file: &File, offsets: Offsets) -> io::Result<Self> {
        let len = offsets.control_size();
        Ok(Self { base: part::map(file, 0, len, part::CONTROL_AT)?, offsets })
    }

    fn at<T>(&self, offset: usize) -> &'static T {
        debug_assert!(offset + size_of::<T>() <= self.offsets.control_size());
        // SAFETY: within the mapping (asserted), which is never removed; the offsets are
        // aligned for their types; every bit pattern of these types is valid.
        unsafe { self.base.add(offset).cast::<T>().as_ref() }
    }

    /// The header.
    pub fn header(&self) -> &'static Header {
        self.at(0)
    }

    /// The word that says where PE `pe` runs.
    pub fn place(&self, pe: usize) -> &'static AtomicU32 {
        debug_assert!(pe < self.n_pes());
        self.at(self.offsets.place(pe))
    }

    /// PE `pe`'s block.
    pub fn pe_block(&self, pe: usize) -> &'static PeBlock {
        debug_assert!(pe < self.n_pes());
        self.at(self.offsets.pe_block(pe))
    }

    /// PE `pe`'s slot of team `team`.
    pub fn team_slot(&self, team: usize, pe: usize) -> &'static TeamSlot {
        debug_assert!(pe < self.n_pes());
        self.at(self.offsets.team_slot(team, pe))
    }

    /// PE `pe`'s inbox.
    #[inline]
    pub fn inbox(&self, pe: usize) -> &'static Inbox {
        debug_assert!(pe < self.n_pes());
        self.at(self.offsets.inbox(pe))
    }

    /// PE `pe` of the job, `index` on this node, has failed, and the job goes on, of which it is recorded next.
    pub fn note_failure(&self, index: usize, pe: usize) {
        let (block, header) = (self.pe_block(index), self.header());
        block.state.store(PeState::Failed as u32, Ordering::Release);
        // It waits no more.
        block.wait.kind.store(WaitKind::None as u32, Ordering::Release);
        // The next PE that fails explains its failure, too.
        for word in [&header.reporter, &header.failing] {
            let _ = word.compare_exchange(pe as u32 + 1, 0, Ordering::AcqRel, Ordering::Acquire);
        }
    }

    /// Which PEs have failed.
    pub fn failures(&self) -> &'static Failures {
        self.at(FAILURES)
    }

    /// Prepares the memory of PE `pe`, which has failed, for a process that takes its number: the heap stays as it is.
    pub fn revive(&self, file: &File, pe: usize) {
        let (block, offsets) = (self.pe_block(pe), self.offsets);
        let used = block.team_ids.words.each_ref().map(|word| word.load(Ordering::Relaxed));
        let ids = (PREDEFINED_TEAMS..MAX_TEAMS).filter(|id| used[id / 64] & 1 << (id % 64) != 0);
        // The slots of teams that the PE was in, but for the words of their agreements.
        let agreed = offset_of!(TeamSlot, gathering.agreed);
        for slot in ids.flat_map(|id| [id, id + SHADOW]).map(|id| offsets.team_slot(id, pe)) {
            self.clear(slot + offset_of!(TeamSlot, published)..slot + agreed);
            self.clear(slot + agreed + size_of::<u64>()..slot + size_of::<TeamSlot>());
        }
        let (restarts, epochs) = (block.restarts.load(Ordering::Relaxed), &block.team_epochs);
        let streams_used = block.streams_used.load(Ordering::Relaxed);
        // Flags that others have written are of no later epoch than theirs.
        let others = (0..self.n_pes()).map(|pe| self.pe_block(pe).team_epochs.load(Ordering::Relaxed));
        let latest = others.max().unwrap_or(0);
        // What the PE has declared stays: others may be in shmem_init, and compare theirs with PE 0's.
        let (start, kept) = (offsets.pe_block(pe), offset_of!(PeBlock, declaration));
        let after = kept + size_of::<DeclarationWords>();
        self.clear(start..start + kept);
        self.clear(start + after..start + size_of::<PeBlock>());
        block.restarts.store(restarts + 1, Ordering::Relaxed);
        // Others may still write to what they have known of it.
        block.streams_used.store(streams_used, Ordering::Relaxed);
        epochs.store(latest, Ordering::Relaxed);
        let globals = offsets.globals(pe);
        mapping::punch_hole(file.as_fd(), globals, offsets.globals(pe + 1) - globals);
        let inbox = offsets.inbox(pe);
        mapping::punch_hole(file.as_fd(), inbox as u64, size_of::<Inbox>() as u64);
    }

    /// Makes the slots of the predefined teams as they were at the beginning, while no PE uses them.
    pub fn renew_world(&self, file: &File) {
        let (start, end) = (self.offsets.team_slot(0, 0), self.offsets.team_slot(PREDEFINED_TEAMS, 0));
        mapping::punch_hole(file.as_fd(), start as u64, (end - start) as u64);
    }

    /// Writes zeros to words of the control part that other processes may read.
    fn clear(&self, range: Range<usize>) {
        for at in range.step_by(size_of::<AtomicU64>()) {
            self.at::<AtomicU64>(at).store(0, Ordering::Relaxed);
        }
    }

    /// What PEs of other jobs may import.
    pub fn exports(&self) -> &'static Exports {
        self.at(EXPORTS)
    }

    /// Removes the mapping.
    ///
    /// # Safety
    /// Nothing refers to what is in it.
    pub unsafe fn unmap(self) {
        // SAFETY: mapped by `map`; the caller promises that nothing refers to it.
        unsafe { mapping::unmap(self.base.addr().get(), self.offsets.control_size()) };
    }

    /// In the memory of a connection: whether both groups are to be connected.
    pub fn is_agreed(&self) -> bool {
        self.header().agreed.load(Ordering::Acquire) != 0
    }

    /// In the memory of a connection: whether the end of one group is not the other's.
    pub fn is_independent(&self) -> bool {
        self.header().independent.load(Ordering::Relaxed) != 0
    }

    /// Number of PEs of the node.
    pub fn n_pes(&self) -> usize {
        self.header().n_pes as usize
    }

    /// Where things are in the file.
    pub fn offsets(&self) -> Offsets {
        self.offsets
    }
}

#[cfg(test)]
mod tests {
    use ferroshmem_config::HeapSettings;
    use ferroshmem_platform::Machine;
    use ferroshmem_tuning::{Algorithm, Choice, Collective, Forced, Steps};

    use super::*;

    #[test]
    fn jobs_hand_on_what_was_measured() {
        let mut tuning = Tuning::default_for(2);
        let push = Choice::direct(Algorithm::Push);
        tuning.rules[0].pes = 3;
        tuning.rules[0].steps[Collective::Alltoalls as usize] = Steps::new([(usize::MAX, push)]);
        let sizes = Plan::new(3, &Machine::here(), HeapSettings::default()).unwrap();
        let (_file, control) = Control::create(&sizes, 3, 3, 2, tuning, 0).unwrap();
        for _ in 0..2 {
            let selection = control.header().selection(Forced::default());
            let decisions = selection.decisions(3);
            assert_eq!(decisions.choose(Collective::Alltoalls, 8), push);
        }
    }

    #[test]
    fn a_replacement_begins_anew_with_the_heap_of_the_pe_before() {
        let sizes = Plan::new(3, &Machine::here(), HeapSettings::default()).unwrap();
        let (file, control) = Control::create(&sizes, 3, 3, 2, Tuning::default_for(2), 0).unwrap();
        let (block, team) = (control.pe_block(1), PREDEFINED_TEAMS + 3);
        let (slot, other) = (control.team_slot(team, 1), control.team_slot(team + 1, 1));
        let (heap, globals) = (control.offsets().heap(1), control.offsets().globals(1));
        block.declaration.store(b"declared");
        block.pid.store(7, Ordering::Relaxed);
        block.team_ids.words[0].store(1 << team, Ordering::Relaxed);
        control.pe_block(2).team_epochs.store(99, Ordering::Relaxed);
        for slot in [slot, other] {
            slot.own.contribution.store(5, Ordering::Relaxed);
            slot.gathering.agreed.store(6, Ordering::Relaxed);
            slot.gathering.arrivals.store(7, Ordering::Relaxed);
            slot.flag(1, 0).flag.store(8, Ordering::Relaxed);
        }
        file.write_all_at(b"heap", heap).unwrap();
        file.write_all_at(b"globals", globals).unwrap();
        control.revive(&file, 1);
        control.revive(&file, 1);
        let word = |word: &AtomicU32| word.load(Ordering::Relaxed);
        assert_eq!((word(&block.restarts), word(&block.pid), word(&block.state)), (2, 0, 0));
        assert_eq!(block.declaration.load().as_deref(), Some(b"declared".as_slice()));
        assert_eq!(
            (block.team_ids.words[0].load(Ordering::Relaxed), block.team_epochs.load(Ordering::Relaxed)),
            (0, 99)
        );
        for (slot, left) in [(slot, [0; 2]), (other, [7, 8])] {
            assert_eq!([&slot.gathering.arrivals, &slot.flag(1, 0).flag].map(word), left);
            assert_eq!(
                [&slot.own.contribution, &slot.gathering.agreed].map(|word| word.load(Ordering::Relaxed)),
                [5, 6]
            );
        }
        let mut bytes = [0; 4];
        for (at, expected) in [(heap, b"heap"), (globals, b"\0\0\0\0")] {
            file.read_exact_at(&mut bytes, at).unwrap();
            assert_eq!(&bytes, expected);
        }
    }
}
