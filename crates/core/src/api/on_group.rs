//! A collective call on a group, team or active set: from addresses to addresses, with the checks
//! that `SHMEM_CHECK=1` asks for.

use std::ffi::c_int;

use super::{Reduce, ops::Sum};
use crate::collective::alltoall::Strides;
use crate::collective::{alltoall, broadcast, collect, internode, reduce, scan};
use crate::failure::fatal::fatal;
use crate::group::{Group, MemberAddresses};
use crate::node::Node;

/// A call under way. The safety of its methods is that of the C routines: `dest` and `source`
/// are symmetric and valid for the lengths that the standard demands.
pub(super) struct OnGroup<'a> {
    pub node: &'a Node,
    pub group: &'a Group<'a>,
}

impl<'a> OnGroup<'a> {
    fn dest<T>(&self, dest: *mut T, n: usize) -> MemberAddresses<'a, T> {
        self.addresses("dest", dest, n)
    }

    fn source<T>(&self, source: *const T, n: usize) -> MemberAddresses<'a, T> {
        self.addresses("source", source, n)
    }

    /// Where the members' copies of `n` elements at `addr` are. Of no elements the address is
    /// not looked at.
    fn addresses<T>(&self, argument: &str, addr: *const T, n: usize) -> MemberAddresses<'a, T> {
        if n == 0 {
            return MemberAddresses::at_stride(addr.cast_mut(), 0, self.group.me);
        }
        let memory = &self.node.transport.memory;
        MemberAddresses::resolve(memory, self.group, argument, addr, n * size_of::<T>())
    }

    /// The same call where the members are not in one node group. Out of line of calls whose members
    /// are: it needs much of the stack.
    #[cold]
    #[inline(never)]
    fn internode(&self, body: impl FnOnce(&internode::InternodeCall<'_>)) {
        body(&internode::InternodeCall {
            node: self.node,
            group: self.group,
            subgroups: self.group.subgroups(),
        });
    }

    /// With `SHMEM_CHECK=1`: the two arrays, lengths in bytes, do not overlap, unless they are
    /// the same and may be.
    fn apart<T>(&self, dest: *mut T, to: usize, source: *const T, from: usize, may_be_same: bool) {
        if !self.node.settings.check || to == 0 || from == 0 {
            return;
        }
        let (d, s) = (dest.addr(), source.addr());
        if (d == s && may_be_same) || d + to <= s || s + from <= d {
            return;
        }
        let allowed = if may_be_same {
            "they must be the same or apart"
        } else {
            "they must not"
        };
        fatal(
            self.group.name,
            format_args!(
                "dest = {d:#x} ({to} bytes) and source = {s:#x} ({from} bytes) overlap: {allowed}"
            ),
        );
    }

    pub(super) unsafe fn broadcast(
        &self,
        dest: *mut u8,
        source: *const u8,
        bytes: usize,
        root: c_int,
        to_root: bool,
    ) {
        let root = match usize::try_from(root) {
            Ok(root) if root < self.group.size => root,
            _ => fatal(
                self.group.name,
                format_args!(
                    "PE_root = {root} is out of range: 0 to {}",
                    self.group.size - 1
                ),
            ),
        };
        self.apart(dest, bytes, source, bytes, true);
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

    pub(super) unsafe fn collect(&self, dest: *mut u8, source: *const u8, bytes: usize) {
        if !self.group.is_local() {
            let check = |total| self.apart(dest, total, source, bytes, false);
            // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
            return self
                .internode(|call| unsafe { internode::collect(call, dest, source, bytes, check) });
        }
        let addresses = |total| {
            self.apart(dest, total, source, bytes, false);
            (self.dest(dest, total), self.source(source, bytes))
        };
        // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
        unsafe { collect::collect(self.group, source, bytes, addresses) };
    }

    pub(super) unsafe fn fcollect(&self, dest: *mut u8, source: *const u8, bytes: usize) {
        let total = bytes * self.group.size;
        self.apart(dest, total, source, bytes, false);
        if !self.group.is_local() {
            // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
            return self
                .internode(|call| unsafe { internode::fcollect(call, dest, source, bytes) });
        }
        let (dest, source) = (self.dest(dest, total), self.source(source, bytes));
        // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
        unsafe { collect::fcollect(self.group, dest, source, bytes) };
    }

    pub(super) unsafe fn alltoall(&self, dest: *mut u8, source: *const u8, bytes: usize) {
        let total = bytes * self.group.size;
        self.apart(dest, total, source, total, false);
        if !self.group.is_local() {
            // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
            return self
                .internode(|call| unsafe { internode::alltoall(call, dest, source, bytes) });
        }
        let (dest, source) = (self.dest(dest, total), self.source(source, total));
        // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
        unsafe { alltoall::alltoall(self.group, dest, source, bytes) };
    }

    pub(super) unsafe fn alltoalls(
        &self,
        dest: *mut u8,
        source: *const u8,
        dst: isize,
        sst: isize,
        n: usize,
        elem: usize,
    ) {
        let strides = match (usize::try_from(dst), usize::try_from(sst)) {
            (Ok(dest @ 1..), Ok(source @ 1..)) => Strides { dest, source, elem },
            _ => fatal(
                self.group.name,
                format_args!("strides dst = {dst} and sst = {sst} must be 1 or more"),
            ),
        };
        let all = n * self.group.size;
        let extent = |stride: usize| match all {
            0 => 0,
            _ => ((all - 1) * stride + 1) * elem,
        };
        let (to, from) = (extent(strides.dest), extent(strides.source));
        self.apart(dest, to, source, from, false);
        if !self.group.is_local() {
            // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
            return self
                .internode(|call| unsafe { internode::alltoalls(call, dest, source, strides, n) });
        }
        let (dest, source) = (self.dest(dest, to), self.source(source, from));
        // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
        unsafe { alltoall::alltoalls(self.group, dest, source, strides, n) };
    }

    pub(super) unsafe fn reduce<T: Reduce<Op>, Op>(
        &self,
        dest: *mut T,
        source: *const T,
        n: usize,
    ) {
        let bytes = n * size_of::<T>();
        self.apart(dest, bytes, source, bytes, true);
        if !self.group.is_local() {
            // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
            return self
                .internode(|call| unsafe { internode::reduce::<T, Op>(call, dest, source, n) });
        }
        let (dest, source) = (self.dest(dest, n), self.source(source, n));
        // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
        unsafe { reduce::reduce::<T, Op>(self.group, dest, source, n) };
    }

    pub(super) unsafe fn scan<T: Reduce<Sum>>(
        &self,
        dest: *mut T,
        source: *const T,
        n: usize,
        inclusive: bool,
    ) {
        let bytes = n * size_of::<T>();
        self.apart(dest, bytes, source, bytes, true);
        if !self.group.is_local() {
            // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
            return self
                .internode(|call| unsafe { internode::scan(call, dest, source, n, inclusive) });
        }
        let (dest, source) = (self.dest(dest, n), self.source(source, n));
        // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
        unsafe { scan::scan(self.group, dest, source, n, inclusive) };
    }
}
