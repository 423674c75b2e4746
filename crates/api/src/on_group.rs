//! A collective call on a group, team or active set: from addresses to addresses.

use std::ffi::c_int;

use ferroshmem_collective::alltoall::{Blocks, Strides};
use ferroshmem_collective::internode::Place;
use ferroshmem_collective::reduce::Receiver;
use ferroshmem_collective::{alltoall, broadcast, collect, gather, internode, reduce, scan};
use ferroshmem_core::failure::fatal::fatal;

use super::check::{self, Check, Extent};
pub(crate) use ferroshmem_core::group::{Group, MemberAddresses};
use ferroshmem_core::node::Node;
use ferroshmem_simd::Operator;

/// The arrays of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrays {
    pub dest: *mut u8,
    pub source: *const u8,
}

// SAFETY: symmetric memory, which no thread owns.
unsafe impl Send for Arrays {}

/// A collective with its arguments, but for the arrays: those of the methods of `OnGroup`.
#[allow(missing_docs, reason = "the arguments of the C routines")]
#[derive(Debug, Clone, Copy)]
pub enum Collective {
    Sync,
    Broadcast { bytes: usize, root: c_int, to_root: bool },
    Collect { bytes: usize },
    Fcollect { bytes: usize },
    Alltoall { bytes: usize },
    Alltoalls { dst: isize, sst: isize, n: usize, elem: usize },
    Reduce { n: usize, op: &'static Operator },
    Scan { n: usize, op: &'static Operator, inclusive: bool },
    Gather { bytes: usize, root: c_int, scatters: bool },
    Gatherv { displs: *const usize, n: usize, elem: usize, root: c_int, scatters: bool },
    Alltoallv { blocks: [*const usize; 3], elem: usize },
    ReducePart { part: Part, op: &'static Operator },
}

// SAFETY: arrays of the caller's, which leaves them alone until the collective is complete.
unsafe impl Send for Collective {}

/// Who gets what of a reduction.
#[derive(Debug, Clone, Copy)]
pub enum Part {
    /// This member `n` elements.
    Root(c_int, usize),
    /// Each member a block of `n` elements.
    Blocks(usize),
    /// Each member a block of as many elements as an array says, which is the same on all.
    Counts(*const usize),
}

impl Part {
    /// At which element the block of a member begins, and how many it has.
    ///
    /// # Safety
    /// An array has an element for each member.
    unsafe fn block(self, member: usize) -> (usize, usize) {
        match self {
            Self::Root(_, n) => (0, n),
            Self::Blocks(n) => (member.saturating_mul(n), n),
            // SAFETY: the caller promises an element for each member.
            Self::Counts(counts) => unsafe { (sum(counts, member), counts.add(member).read()) },
        }
    }
}

/// The sum of `n` numbers, at most the greatest number.
///
/// # Safety
/// There are as many.
unsafe fn sum(numbers: *const usize, n: usize) -> usize {
    // SAFETY: the caller promises as many.
    (0..n).fold(0_usize, |sum, i| sum.saturating_add(unsafe { numbers.add(i).read() }))
}

impl Collective {
    /// Some bytes that each of so many members moves.
    ///
    /// # Safety
    /// Arrays have an element for each member.
    pub(crate) unsafe fn bytes(&self, members: usize) -> usize {
        let (bytes, times) = match *self {
            Self::Sync => (0, 1),
            Self::Broadcast { bytes, .. } => (bytes, 1),
            Self::Collect { bytes } | Self::Fcollect { bytes } | Self::Alltoall { bytes } => (bytes, members),
            Self::Alltoalls { n, elem, .. } => (n.saturating_mul(elem), members),
            Self::Reduce { n, op } | Self::Scan { n, op, .. } => (n.saturating_mul(op.size()), 1),
            Self::Gather { bytes, .. } => (bytes, 1),
            Self::Gatherv { n, elem, .. } => (n, elem),
            // SAFETY: the caller promises an element for each member.
            Self::Alltoallv { blocks: [.., counts], elem } => (unsafe { sum(counts, members) }, elem),
            // SAFETY: as above.
            Self::ReducePart { part, op } => (unsafe { part.block(members - 1) }.1, op.size()),
        };
        bytes.saturating_mul(times)
    }
}

/// Gives a macro the collectives that have no code of their own beside [`OnGroup::execute`]: the routine's name, and
/// what comes after the arrays.
macro_rules! of_one_body {
    ($define:ident) => {
        $define! {
            /// Gathers a block of `bytes` bytes of each member at the root.
            gather(name, bytes: usize, root: c_int) = Collective::Gather { bytes, root, scatters: false };
            /// Gives each member a block of `bytes` bytes of the root.
            scatter(name, bytes: usize, root: c_int) = Collective::Gather { bytes, root, scatters: true };
            /// Gathers blocks of `n` elements of `elem` bytes to the root's displacements, or with `scatters` gives
            /// them to the members.
            gatherv(name, displs: *const usize, n: usize, elem: usize, root: c_int, scatters: bool) =
                Collective::Gatherv { displs, n, elem, root, scatters };
            /// Exchanges blocks of different lengths between all members, from and to displacements.
            alltoallv(name, to: *const usize, from: *const usize, counts: *const usize, elem: usize) =
                Collective::Alltoallv { blocks: [to, from, counts], elem };
            /// Reduces to the root.
            reduce_root(name, n: usize, op: Option<&'static Operator>, root: c_int) =
                Collective::ReducePart { part: Part::Root(root, n), op: known(name, op) };
            /// Reduces to a block of `n` elements on each member.
            reduce_scatter(name, n: usize, op: Option<&'static Operator>) =
                Collective::ReducePart { part: Part::Blocks(n), op: known(name, op) };
            /// Reduces to a block of `counts[i]` elements on member i.
            reduce_scatterv(name, counts: *const usize, op: Option<&'static Operator>) =
                Collective::ReducePart { part: Part::Counts(counts), op: known(name, op) };
            /// Combines the sources of the members before, and with `is_inclusive` not 0 the own one.
            scan_op(name, n: usize, op: Option<&'static Operator>, is_inclusive: c_int) =
                Collective::Scan { n, op: known(name, op), inclusive: is_inclusive != 0 };
        }
    };
}

pub(crate) use of_one_body;

/// A call under way. The safety of its methods is that of the C routines: `dest` and `source`
/// are symmetric and valid for the lengths that the standard demands.
pub(crate) struct OnGroup<'a> {
    pub node: &'a Node,
    pub group: &'a Group<'a>,
}

impl<'a> OnGroup<'a> {
    /// With `SHMEM_CHECK=1`: all members call this routine with the same `numbers`, and with arrays of so many elements
    /// at the same places.
    #[inline]
    fn check_same<const N: usize>(&self, numbers: [(&'static str, u64); N], arrays: [(*const u8, usize); 2]) {
        if self.node.settings.check {
            self.compare(&numbers, arrays);
        }
    }

    /// Globals are at other addresses on other PEs, so what is compared is the place of an array in the heap
    /// or the globals, if it has elements.
    #[cold]
    #[inline(never)]
    fn compare(&self, numbers: &[(&str, u64)], arrays: [(*const u8, usize); 2]) {
        let [dest, source] = arrays.map(|(addr, n)| if n > 0 { self.place(addr) } else { 0 });
        self.group.check_matching(self.node, &[numbers, &[("dest", dest), ("source", source)]].concat());
    }

    /// Where something symmetric is, the same on all PEs.
    fn place(&self, addr: *const u8) -> u64 {
        self.node.transport.memory.space.place(addr.addr())
    }

    fn dest(&self, dest: *mut u8, bytes: usize) -> MemberAddresses<'a, u8> {
        self.addresses("dest", dest, bytes)
    }

    fn source(&self, source: *const u8, bytes: usize) -> MemberAddresses<'a, u8> {
        self.addresses("source", source, bytes)
    }

    /// Where the members' copies of the `bytes` at `addr` are. Of no bytes the address is not looked at.
    #[inline(always)]
    fn addresses(&self, argument: &str, addr: *const u8, bytes: usize) -> MemberAddresses<'a, u8> {
        if bytes == 0 {
            return MemberAddresses::at_stride(addr.cast_mut(), 0, self.group.me);
        }
        let memory = &self.node.transport.memory;
        MemberAddresses::resolve(memory, self.group, argument, addr, bytes)
    }

    /// The number of the root.
    fn root(&self, root: c_int) -> usize {
        match usize::try_from(root) {
            Ok(root) if root < self.group.size => root,
            _ => fatal(
                self.group.name,
                format_args!("PE_root = {root} is out of range: give 0 to {}", self.group.size - 1),
            ),
        }
    }

    /// The same call where the members are not in one node group. Out of line of calls whose members
    /// are: it needs much of the stack.
    #[cold]
    #[inline(never)]
    fn internode(&self, body: impl FnOnce(&internode::InternodeCall<'_>)) {
        body(&internode::InternodeCall { node: self.node, group: self.group, subgroups: self.group.subgroups() });
    }

    /// With `SHMEM_CHECK=1`: the arrays of a collect, of which only now `total`, the bytes of all
    /// sources, is known.
    fn check_collect(&self, dest: *mut u8, total: usize, source: *const u8, bytes: usize) {
        if check::is_due()
            && total > 0
            && let Some(call) = Check::of(self.group.name)
        {
            let (to, from) = (Extent::of(total), Extent::of(bytes));
            call.symmetric("dest", dest.cast(), to, 1);
            call.apart(dest.cast(), to, source.cast(), from, false);
        }
    }

    /// Executes a collective. Out of line: what calls this has no copies of the algorithms of its own, which make
    /// calls on teams a little faster.
    ///
    /// # Safety
    /// The arrays are as the collective needs them.
    #[inline(never)]
    pub(crate) unsafe fn execute(&self, collective: &Collective, Arrays { dest, source }: Arrays) {
        // SAFETY: the caller promises arrays as the collective needs them.
        unsafe {
            match *collective {
                Collective::Sync => self.sync(),
                Collective::Broadcast { bytes, root, to_root } => self.broadcast(dest, source, bytes, root, to_root),
                Collective::Collect { bytes } => self.collect(dest, source, bytes),
                Collective::Fcollect { bytes } => self.fcollect(dest, source, bytes),
                Collective::Alltoall { bytes } => self.alltoall(dest, source, bytes),
                Collective::Alltoalls { dst, sst, n, elem } => self.alltoalls(dest, source, dst, sst, n, elem),
                Collective::Reduce { n, op } => self.reduce(dest, source, n, op),
                Collective::Scan { n, op, inclusive } => self.scan(dest, source, n, op, inclusive),
                Collective::Gather { bytes, root, scatters } => self.gather(dest, source, bytes, root, scatters),
                Collective::Gatherv { displs, n, elem, root, scatters } => {
                    self.gatherv(Arrays { dest, source }, displs, (n, elem), root, scatters);
                }
                Collective::Alltoallv { blocks, elem } => self.alltoallv(Arrays { dest, source }, blocks, elem),
                Collective::ReducePart { part, op } => self.reduce_part(Arrays { dest, source }, part, op),
            }
        }
    }

    pub(crate) fn sync(&self) {
        self.group.check_matching(self.node, &[]);
        self.group.sync();
    }

    pub(crate) unsafe fn broadcast(&self, dest: *mut u8, source: *const u8, bytes: usize, root: c_int, to_root: bool) {
        self.check_same(
            [("PE_root", root as u64), ("the length in bytes", bytes as u64)],
            [(dest, bytes), (source, bytes)],
        );
        let root = self.root(root);
        if !self.group.is_local() {
            // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
            return self.internode(|call| unsafe {
                internode::broadcast(call, dest, source, bytes, root, to_root);
            });
        }
        let (dest, source) = (self.dest(dest, bytes), self.source(source, bytes));
        // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
        unsafe { broadcast::broadcast(self.group, dest, source, bytes, root, to_root) };
    }

    pub(crate) unsafe fn collect(&self, dest: *mut u8, source: *const u8, bytes: usize) {
        self.check_same([], [(dest, 1), (source, 0)]);
        if !self.group.is_local() {
            let check = |total| self.check_collect(dest, total, source, bytes);
            // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
            return self.internode(|call| unsafe { internode::collect(call, dest, source, bytes, check) });
        }
        let addresses = |total| {
            self.check_collect(dest, total, source, bytes);
            (self.dest(dest, total), self.source(source, bytes))
        };
        // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
        unsafe { collect::collect(self.group, source, bytes, addresses) };
    }

    pub(crate) unsafe fn fcollect(&self, dest: *mut u8, source: *const u8, bytes: usize) {
        self.check_same([("the length in bytes", bytes as u64)], [(dest, bytes), (source, bytes)]);
        if !self.group.is_local() {
            // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
            return self.internode(|call| unsafe { internode::fcollect(call, dest, source, bytes) });
        }
        let total = bytes.saturating_mul(self.group.size);
        let (dest, source) = (self.dest(dest, total), self.source(source, bytes));
        // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
        unsafe { collect::fcollect(self.group, dest, source, bytes) };
    }

    pub(crate) unsafe fn alltoall(&self, dest: *mut u8, source: *const u8, bytes: usize) {
        self.check_same([("the length in bytes", bytes as u64)], [(dest, bytes), (source, bytes)]);
        if !self.group.is_local() {
            // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
            return self.internode(|call| unsafe { internode::alltoall(call, dest, source, bytes) });
        }
        let total = bytes.saturating_mul(self.group.size);
        let (dest, source) = (self.dest(dest, total), self.source(source, total));
        // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
        unsafe { alltoall::alltoall(self.group, dest, source, bytes) };
    }

    pub(crate) unsafe fn alltoalls(
        &self,
        dest: *mut u8,
        source: *const u8,
        dst: isize,
        sst: isize,
        n: usize,
        elem: usize,
    ) {
        self.check_same([("nelems", n as u64), ("dst", dst as u64), ("sst", sst as u64)], [(dest, n), (source, n)]);
        let strides = match (usize::try_from(dst), usize::try_from(sst)) {
            (Ok(dest @ 1..), Ok(source @ 1..)) => Strides { dest, source, elem },
            _ => fatal(
                self.group.name,
                format_args!("strides dst = {dst} and sst = {sst} must be positive: give 1 or more"),
            ),
        };
        let all = n.saturating_mul(self.group.size);
        let extent = |stride: usize| match all {
            0 => 0,
            _ => (all - 1).saturating_mul(stride).saturating_add(1).saturating_mul(elem),
        };
        let (to, from) = (extent(strides.dest), extent(strides.source));
        if !self.group.is_local() {
            // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
            return self.internode(|call| unsafe { internode::alltoalls(call, dest, source, strides, n) });
        }
        let (dest, source) = (self.dest(dest, to), self.source(source, from));
        // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
        unsafe { alltoall::alltoalls(self.group, dest, source, strides, n) };
    }

    /// A block of `bytes` bytes of each member to the root, or with `scatters` of the root to each member.
    pub(crate) unsafe fn gather(&self, dest: *mut u8, source: *const u8, bytes: usize, root: c_int, scatters: bool) {
        self.check_same(
            [("PE_root", root as u64), ("the length in bytes", bytes as u64)],
            [(dest, bytes), (source, bytes)],
        );
        let root = self.root(root);
        let (of_root, own) = (bytes.saturating_mul(self.group.size), bytes);
        let (to, from) = if scatters { (own, of_root) } else { (of_root, own) };
        if !self.group.is_local() {
            // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
            return self.internode(|call| unsafe {
                internode::gather(call, (dest, source), bytes, root, Place::InOrder, scatters);
            });
        }
        let copy = if scatters { gather::scatter } else { gather::gather };
        // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
        unsafe { copy(self.group, self.dest(dest, to), self.source(source, from), bytes, root) };
    }

    /// As [`gather`](Self::gather), of `n` elements of `elem` bytes, as many as each member says, at `displs[i]` of the
    /// root's array.
    pub(crate) unsafe fn gatherv(
        &self,
        Arrays { dest, source }: Arrays,
        displs: *const usize,
        (n, elem): (usize, usize),
        root: c_int,
        scatters: bool,
    ) {
        let arrays = [(dest.cast_const(), 1), (source, 1)];
        self.check_same(
            [("PE_root", root as u64), ("size", elem as u64), ("displs", self.place(displs.cast()))],
            arrays,
        );
        let (root, bytes) = (self.root(root), n.saturating_mul(elem));
        if !self.group.is_local() {
            let place = Place::At(displs, elem);
            // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
            return self.internode(|call| unsafe {
                internode::gather(call, (dest, source), bytes, root, place, scatters);
            });
        }
        let me = self.group.me;
        let ends = |at| match scatters {
            true => [dest, self.source(source.wrapping_add(at), bytes).of(root)],
            false => [self.dest(dest.wrapping_add(at), bytes).of(root), source.cast_mut()],
        };
        let used = if bytes > 0 { (me + 1) * size_of::<usize>() } else { 0 };
        let displs = self.addresses("displs", displs.cast(), used).cast();
        // SAFETY: as above; what is in the root's array is resolved once its place is known.
        unsafe { gather::copy_at(self.group, (displs, elem), root, bytes, ends) };
    }

    /// Blocks of different lengths between all members.
    pub(crate) unsafe fn alltoallv(
        &self,
        Arrays { dest, source }: Arrays,
        [dest_displs, source_displs, counts]: [*const usize; 3],
        elem: usize,
    ) {
        self.check_same(
            [("size", elem as u64), ("dest_displs", self.place(dest_displs.cast()))],
            [(dest, 1), (source, 1)],
        );
        let words = self.group.size * size_of::<usize>();
        let displs = self.addresses("dest_displs", dest_displs.cast(), words).cast();
        let blocks = Blocks { dest: displs, source: source_displs, counts, elem };
        if !self.group.is_local() {
            // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
            return self.internode(|call| unsafe { internode::alltoallv(call, dest, source, &blocks) });
        }
        let to = |at: usize, bytes| self.dest(dest.wrapping_add(at), bytes);
        // SAFETY: as above.
        unsafe { alltoall::alltoallv(self.group, to, source, &blocks) };
    }

    /// Elements are of the operator's type, as in [`scan`](Self::scan).
    pub(crate) unsafe fn reduce(&self, dest: *mut u8, source: *const u8, n: usize, op: &'static Operator) {
        self.check_same([("nreduce", n as u64)], [(dest, n), (source, n)]);
        if !self.group.is_local() {
            // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
            return self.internode(|call| unsafe { internode::reduce(call, dest, source, n, op, Receiver::All) });
        }
        let bytes = n.saturating_mul(op.size());
        let (dest, source) = (self.dest(dest, bytes), self.source(source, bytes));
        // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
        unsafe { reduce::reduce(self.group, dest, source, n, op) };
    }

    /// As [`reduce`](Self::reduce), with the result, or a part of it, for the members of `part` alone.
    pub(crate) unsafe fn reduce_part(&self, Arrays { dest, source }: Arrays, part: Part, op: &'static Operator) {
        let (size, me) = (self.group.size, self.group.me);
        // SAFETY: the caller promises a count for each member.
        let block = |member| unsafe { part.block(member) };
        let (last, of_last) = block(size - 1);
        let total = last.saturating_add(of_last);
        let (root, longest) = match part {
            Part::Root(root, n) => (Some(root), n),
            Part::Blocks(n) => (None, n),
            Part::Counts(_) => (None, (0..size).map(|member| block(member).1).max().unwrap_or(0)),
        };
        self.check_same(
            [
                ("PE_root", root.unwrap_or(0) as u64),
                ("the number of elements", total as u64),
                ("the greatest number in a block", longest as u64),
                ("the bytes of an element", op.size() as u64),
            ],
            [(dest, longest), (source, total)],
        );
        let root = root.map(|root| self.root(root));
        if !self.group.is_local() {
            let (first, own) = block(me);
            let receiver = root.map_or(Receiver::Blocks(first, own), Receiver::Root);
            // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
            return self.internode(|call| unsafe { internode::reduce(call, dest, source, total, op, receiver) });
        }
        let bytes = |n: usize| n.saturating_mul(op.size());
        let (dest, source) = (self.dest(dest, bytes(longest)), self.source(source, bytes(total)));
        // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
        unsafe {
            match root {
                Some(root) => reduce::reduce_root(self.group, dest, source, total, op, root),
                None => reduce::reduce_scatter(self.group, dest, source, (&block, total), op),
            }
        }
    }

    pub(crate) unsafe fn scan(
        &self,
        dest: *mut u8,
        source: *const u8,
        n: usize,
        op: &'static Operator,
        inclusive: bool,
    ) {
        self.check_same([("nelems", n as u64)], [(dest, n), (source, n)]);
        if !self.group.is_local() {
            // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
            return self.internode(|call| unsafe {
                internode::scan(call, dest, source, n, op, inclusive);
            });
        }
        let bytes = n.saturating_mul(op.size());
        let (dest, source) = (self.dest(dest, bytes), self.source(source, bytes));
        // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
        unsafe { scan::scan(self.group, dest, source, n, op, inclusive) };
    }
}
