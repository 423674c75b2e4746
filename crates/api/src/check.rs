//! The arguments of a call, checked by their roles (`SHMEM_CHECK=1`): what the exported functions
//! call first. `crates/abi` says which role each parameter has, and generates the calls.
//!
//! PEs, contexts, teams, roots, active sets, comparisons and signal operators are also looked at without
//! checks, by the routines themselves. Checks are made here so that all of a call's arguments are known
//! to be good before the call has any effect.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::{mem, ptr};

use ferroshmem_core::constants::{CTX_INVALID, SIGNAL_ADD, SIGNAL_SET, TEAM_INVALID};
use ferroshmem_core::failure::checks;
use ferroshmem_core::failure::fatal::fatal;
pub use ferroshmem_core::memory::{Argument, MemoryKind};
use ferroshmem_core::point::Comparison;
use ferroshmem_core::team::Team;
use ferroshmem_layout::profile::team::ACTIVE_SET;
use ferroshmem_profiling::{self as profiling, RecordedCall, Scope};
pub use ferroshmem_profiling::{Kind, ended};
use ferroshmem_runtime::{self as runtime, Runtime};

/// Whether a call is to be checked or recorded, or the library is not initialised, which [`Check::of`] then finds.
#[inline(always)] // a comparison in every exported function that has something to check
pub fn is_due() -> bool {
    !checks::are_waived()
}

/// What handles and numbers say whom a recorded call concerns.
#[derive(Debug, Clone, Copy)]
pub enum Concerns {
    /// No PE in particular.
    None,
    /// No PE in particular, by a context.
    Context(usize),
    /// A PE of a context.
    Pe(usize, c_int),
    /// The members of a team, with a root.
    Team(usize, c_int),
    /// A PE of a team.
    TeamPe(usize, c_int),
    /// The members of an active set: start, log2 of the stride, size; with a root.
    Set(c_int, c_int, c_int, c_int),
    /// All PEs.
    World,
}

impl Concerns {
    /// Found without ending the job: of an argument that is wrong the routine says so itself.
    pub(crate) fn scope(self, rt: &Runtime, routine: &'static str) -> Scope {
        let of_team = |team: &Team, root: c_int| Scope::Team {
            members: team.members.triplet(),
            id: team.id as u64 | u64::from(team.members.digest()) << 33,
            root: root.max(0) as u32,
        };
        match self {
            Self::None | Self::Context(_) => Scope::None,
            Self::Pe(context, pe) => Scope::Pe(rt.call(routine, context, pe).pe),
            Self::Team(team, root) => rt.teams.get(team).map_or(Scope::None, |team| of_team(team, root)),
            Self::TeamPe(team, pe) => {
                let team = rt.teams.get(team).filter(|team| team.connection().is_none());
                let index = usize::try_from(pe).ok();
                let pe = team.zip(index).filter(|(team, i)| *i < team.members.size);
                pe.map_or(Scope::None, |(team, i)| Scope::Pe(team.members.pe(i)))
            }
            Self::Set(start, log_stride, size, root) => Scope::Team {
                members: (start, 1_i32.checked_shl(log_stride as u32).unwrap_or(0), size.max(1) as u32),
                id: ACTIVE_SET,
                root: root.max(0) as u32,
            },
            Self::World => of_team(rt.teams.world(), 0),
        }
    }
}

/// A call, as the exported function sees it.
#[derive(Debug, Clone, Copy)]
pub struct Recorded {
    /// C name of the routine.
    pub routine: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Whom it concerns.
    pub concerns: Concerns,
    /// Bytes moved, of this PE.
    pub bytes: usize,
    /// A symmetric address, or 0.
    pub address: usize,
    /// A second one, or 0.
    pub signal: usize,
}

/// What is told of a call that is to be recorded, with an address in the frame of [`record`].
pub(crate) type Watch = fn(&Recorded, &'static Runtime, usize);

/// The function that is told of each; null if there is none.
static WATCH: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// Has `told` be told of each.
pub(crate) fn watch(told: Watch) {
    WATCH.store(told as *mut (), Ordering::Release);
}

/// Begins to record a call, if calls are recorded; [`ended`] ends it.
#[cold]
#[inline(never)]
pub fn record(call: &Recorded) {
    if profiling::is_on()
        && let Some(rt) = runtime::current()
    {
        let watch = WATCH.load(Ordering::Acquire);
        if !watch.is_null() {
            let mark = 0_u8;
            // SAFETY: a function that `watch` was given.
            (unsafe { mem::transmute::<*mut (), Watch>(watch) })(call, rt, (&raw const mark).addr());
        }
        profiling::begin(&RecordedCall {
            routine: call.routine,
            kind: call.kind,
            scope: call.concerns.scope(rt, call.routine),
            bytes: call.bytes,
            address: call.address,
            signal: call.signal,
        });
    }
}

/// An argument with its name in the prototype.
pub type Named<T> = (&'static str, T);

/// The bytes that a call accesses at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// How many of them are below the address: the stride is negative.
    below: usize,
    /// All of them; 0 if the call accesses nothing, whatever the address.
    bytes: usize,
}

impl Extent {
    /// `bytes` bytes at the address.
    pub const fn of(bytes: usize) -> Self {
        Self { below: 0, bytes }
    }
}

/// A call whose arguments are checked. Each method ends the job over an argument that is wrong.
#[derive(Debug, Clone, Copy)]
pub struct Check {
    name: &'static str,
    rt: &'static Runtime,
}

impl Check {
    /// A call of routine `name`: the library must be initialised. None if checks are off.
    pub fn of(name: &'static str) -> Option<Self> {
        let rt = runtime::get(name);
        checks::are_on().then_some(Self { name, rt })
    }

    fn refuse(&self, message: impl std::fmt::Display) -> ! {
        fatal(self.name, message)
    }

    /// A PE of the context, both of which must exist.
    pub fn pe(&self, ctx: usize, pe: c_int) {
        self.rt.call(self.name, ctx, pe);
    }

    /// A context, or `SHMEM_CTX_INVALID` for the routines that then do nothing.
    pub fn context(&self, ctx: usize) {
        if ctx != CTX_INVALID {
            self.rt.team_of_context(self.name, ctx);
        }
    }

    /// A team; its number of PEs.
    pub fn team(&self, team: usize) -> usize {
        match self.rt.teams.find(self.name, team) {
            Some(team) => team.members.size,
            None => self.refuse("the team is SHMEM_TEAM_INVALID: check the result of the split"),
        }
    }

    /// A team, or `SHMEM_TEAM_INVALID` for the routines that then return an error.
    pub fn team_or_invalid(&self, team: usize) {
        if team != TEAM_INVALID {
            self.team(team);
        }
    }

    /// An active set; its number of PEs.
    pub fn active_set(&self, start: c_int, log_stride: c_int, size: c_int) -> usize {
        let last = (0..31).contains(&log_stride).then(|| {
            let distance = (i64::from(size) - 1).checked_shl(log_stride as u32);
            distance.map(|d| i64::from(start) + d)
        });
        let n_pes = self.rt.node.n_pes;
        match last.flatten() {
            Some(last) if start >= 0 && size >= 1 && last < n_pes as i64 => size as usize,
            _ => self.refuse(format_args!(
                "PE_start = {start}, logPE_stride = {log_stride}, PE_size = {size} is not a set of PEs: this job has \
                    PEs 0 to {}",
                n_pes - 1
            )),
        }
    }

    /// The root of a collective of `members` PEs.
    pub fn root(&self, root: c_int, members: usize) {
        if usize::try_from(root).is_ok_and(|root| root < members) {
            return;
        }
        self.refuse(format_args!("PE_root = {root} is out of range: give 0 to {}", members - 1));
    }

    /// A comparison, one of `SHMEM_CMP_*`.
    pub fn comparison(&self, cmp: c_int) {
        Comparison::new(self.name, cmp);
    }

    /// The update of a signal.
    pub fn signal_operation(&self, sig_op: c_int) {
        if ![SIGNAL_SET, SIGNAL_ADD].contains(&sig_op) {
            self.refuse(format_args!("sig_op = {sig_op}: give SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD"));
        }
    }

    /// A number of elements that has the type `int`.
    pub fn count(&self, (name, n): Named<c_int>) -> usize {
        usize::try_from(n).unwrap_or_else(|_| self.refuse(format_args!("{name} = {n} is negative: give 0 or more")))
    }

    /// So many elements of `size` bytes, of each of `members` PEs.
    pub fn elements(&self, (name, n): Named<usize>, members: usize, size: usize) -> Extent {
        let bytes = n
            .checked_mul(members)
            .and_then(|all| all.checked_mul(size))
            .filter(|bytes| isize::try_from(*bytes).is_ok());
        match bytes {
            Some(bytes) => Extent::of(bytes),
            None => self.refuse(format_args!(
                "{name} = {n}: so many elements of {size} bytes exceed the address space: give the number of elements, \
                    which must not be negative"
            )),
        }
    }

    /// So many elements of each of `members` PEs.
    pub fn of_members(&self, count: Named<usize>, members: usize) -> usize {
        self.elements(count, members, 1).bytes
    }

    /// `count` blocks of `block` elements of `size` bytes, whose starts are `stride` elements apart.
    pub fn strided(
        &self,
        (stride_name, stride): Named<isize>,
        (block_name, block): Named<usize>,
        (count_name, count): Named<usize>,
        size: usize,
    ) -> Extent {
        if block == 0 || count == 0 {
            return Extent::of(0);
        }
        let one = self.elements((block_name, block), 1, size);
        self.elements((count_name, count), 1, size);
        let reach = isize::try_from(count - 1)
            .ok()
            .and_then(|steps| steps.checked_mul(stride))
            .and_then(|elements| elements.checked_mul(size as isize));
        let bytes = reach.and_then(|reach| reach.unsigned_abs().checked_add(one.bytes));
        match (reach, bytes) {
            (Some(reach), Some(bytes)) => Extent { below: reach.min(0).unsigned_abs(), bytes },
            _ => self.refuse(format_args!(
                "{stride_name} = {stride}: {count} blocks at this stride exceed the address space: give the stride in \
                    elements"
            )),
        }
    }

    /// A stride of a symmetric array, whose elements would else all be the same.
    pub fn stride(&self, (name, stride): Named<isize>, extent: Extent) {
        if stride == 0 && extent.bytes != 0 {
            self.refuse(format_args!("the stride {name} is 0: give 1 or more"));
        }
    }

    /// A stride of a collective.
    pub fn positive_stride(&self, (name, stride): Named<isize>) {
        if stride < 1 {
            self.refuse(format_args!("the stride {name} = {stride} is not positive: give 1 or more"));
        }
    }

    fn not_null(&self, name: &str, addr: usize, remedy: &str) {
        if addr == 0 {
            self.refuse(format_args!("{name} is a null pointer: {remedy}"));
        }
    }

    fn aligned(&self, name: &str, addr: usize, align: usize) {
        if !addr.is_multiple_of(align) {
            self.refuse(format_args!("{name} = {addr:#x} is not aligned: give a multiple of {align}"));
        }
    }

    /// A symmetric address, at a multiple of `align`, of which this PE's copy has the extent, within
    /// one block of the heap or the globals.
    pub fn symmetric(&self, name: &'static str, addr: *const c_void, extent: Extent, align: usize) {
        let Extent { below, bytes } = extent;
        if bytes == 0 {
            return;
        }
        let remedy = "give symmetric memory, from shmem_malloc or a global variable";
        self.not_null(name, addr.addr(), remedy);
        self.aligned(name, addr.addr(), align);
        let argument = Argument { routine: self.name, name };
        let transport = &self.rt.node.transport;
        let memory = &transport.memory;
        let lowest = addr.wrapping_byte_sub(below);
        // What PEs of another job lend is theirs alone: which PE it is used for, the routine looks at.
        let mut connections = transport.connections.iter();
        let (space, at) = (memory.space, lowest.addr());
        // Of failures, waits take the count, which is the job's.
        let count = &raw const self.rt.node.job.control.failures().count;
        if space.kind(at, bytes) == MemoryKind::NotSymmetric
            && (connections.any(|(_, c)| c.other_holds(space, at, bytes)) || at == count.addr())
        {
            return;
        }
        memory.own(argument, lowest, bytes);
        memory.check_block(argument, lowest.addr(), bytes);
    }

    /// Memory of this PE, which need not be symmetric. Whether it is mapped is the processor's to
    /// find out.
    pub fn local(&self, name: &'static str, addr: *const c_void, extent: Extent) {
        if extent.bytes == 0 {
            return;
        }
        self.not_null(name, addr.addr(), "give memory of this PE");
        let start = addr.addr().checked_sub(extent.below);
        if start.and_then(|s| s.checked_add(extent.bytes)).is_none() {
            self.refuse(format_args!(
                "{name} = {addr:p}: {} bytes exceed the address space: give an array of so many",
                extent.bytes
            ));
        }
    }

    /// As [`local`](Self::local), for variables that the library writes at a multiple of `align`.
    pub fn variable(&self, name: &'static str, addr: *const c_void, extent: Extent, align: usize) {
        self.local(name, addr, extent);
        if extent.bytes != 0 {
            self.aligned(name, addr.addr(), align);
        }
    }

    /// A configuration, which may be null if its mask is 0.
    pub fn configuration(&self, name: &'static str, addr: *const c_void, mask: Named<i64>) {
        if mask.1 != 0 && addr.is_null() {
            self.refuse(format_args!(
                "{name} is a null pointer, but {} is not 0: give a configuration, or the mask 0",
                mask.0
            ));
        }
    }

    /// The arrays of a collective, which do not overlap, unless they are the same and may be.
    pub fn apart(&self, dest: *const c_void, to: Extent, source: *const c_void, from: Extent, may_be_same: bool) {
        let (d, s) = (dest.addr(), source.addr());
        let (to, from) = (to.bytes, from.bytes);
        if to == 0 || from == 0 || (d == s && may_be_same) || d + to <= s || s + from <= d {
            return;
        }
        let allowed =
            if may_be_same { "give the same array twice, or two that are apart" } else { "give two that are apart" };
        self.refuse(format_args!("dest = {d:#x} ({to} bytes) and source = {s:#x} ({from} bytes) overlap: {allowed}"));
    }
}
