//! Bytes that members move between their copies of symmetric arrays.

use super::channel::Channel;
use super::{Group, MemberAddresses};
use crate::offload;
use crate::transport::{Location, Transport};
use ferroshmem_fabric::Blocks;

impl<'a> Group<'a> {
    /// Copies `bytes` bytes of member `member`'s copy of `from`.
    ///
    /// # Safety
    /// The source is readable and `to` writable for `bytes` bytes; they are the same or do not
    /// overlap.
    #[inline]
    pub unsafe fn get(&self, to: *mut u8, from: &MemberAddresses<'_, u8>, member: usize, bytes: usize) {
        self.traffic.moved(bytes, bytes);
        // SAFETY: the caller promises a valid source and destination of `bytes` bytes, which are
        // the same or do not overlap.
        unsafe {
            match self.remote(member) {
                Some((transport, pe)) => {
                    let call = transport.internal_call(self.name, pe);
                    transport.get(&call, to.cast(), from.of(self.me).cast(), bytes);
                }
                None => copy_apart(to, from.of(member), bytes),
            }
        }
    }

    /// As [`get`](Self::get), for members between which mailboxes are; complete after the next quiet of the context,
    /// which knows nothing of copies that workers make: so what this node has is copied at once.
    ///
    /// # Safety
    /// As there, until then.
    pub unsafe fn get_nbi(&self, to: *mut u8, from: &MemberAddresses<'_, u8>, member: usize, bytes: usize) {
        let Some((transport, pe)) = self.remote(member) else {
            unreachable!("local members read others' arrays themselves");
        };
        self.traffic.moved(bytes, bytes);
        let (call, from) = (transport.internal_call(self.name, pe), from.of(self.me).cast());
        // SAFETY: the caller promises a valid source and destination of `bytes` bytes.
        unsafe {
            match transport.locate(&call, "source", from, bytes) {
                Location::Local(from) => copy_apart(to, from, bytes),
                Location::Remote(_) => transport.get_nbi(&call, to.cast(), from, bytes),
            }
        }
    }

    /// Copies `bytes` bytes to member `member`'s copy of `to`. A PE that sees what this PE posts
    /// later sees the bytes.
    ///
    /// # Safety
    /// `from` is readable and the destination writable for `bytes` bytes; they are the same or do
    /// not overlap.
    #[inline]
    pub unsafe fn put(&self, to: &MemberAddresses<'_, u8>, member: usize, from: *const u8, bytes: usize) {
        self.traffic.moved(bytes, bytes);
        // SAFETY: the caller promises a valid source and destination of `bytes` bytes, which are
        // the same or do not overlap.
        unsafe {
            match self.remote(member) {
                Some((transport, pe)) => {
                    let call = transport.internal_call(self.name, pe);
                    transport.put(&call, to.of(self.me).cast(), from.cast(), bytes);
                }
                None => copy_apart(to.of(member), from, bytes),
            }
        }
    }

    /// Copies `n` elements of `elem` bytes to member `member`'s copy of `to`, where they are
    /// `to_step` bytes apart; in `from` they are `from_step` bytes apart.
    ///
    /// # Safety
    /// All elements are readable in the source and writable in the destination, and do not
    /// overlap.
    pub unsafe fn put_strided(
        &self,
        to: &MemberAddresses<'_, u8>,
        to_step: usize,
        member: usize,
        (from, from_step): (*const u8, usize),
        elem: usize,
        n: usize,
    ) {
        let Some((transport, pe)) = self.remote(member) else {
            unreachable!("local members copy strided arrays themselves");
        };
        self.traffic.moved(n * elem, n * elem);
        let own = to.of(self.me).cast();
        let call = transport.internal_call(self.name, pe);
        let blocks =
            Blocks { bytes: elem, count: n, local_stride: from_step as isize, remote_stride: to_step as isize };
        // SAFETY: the caller promises that all elements are valid on both sides and do not
        // overlap.
        unsafe { transport.put_blocks(&call, own, from.cast(), blocks) };
    }

    /// The transport and the PE number by which a member's arrays are reached, if not by loads and
    /// stores.
    fn remote(&self, member: usize) -> Option<(&'a Transport, usize)> {
        match &self.channel {
            Channel::Mailboxes(mailboxes) => Some((&mailboxes.team.node.transport, mailboxes.pe(member))),
            Channel::WorkArray(array) if array.transport.internode().is_some() => {
                Some((array.transport, array.members.pe(member)))
            }
            _ => None,
        }
    }
}

/// Copies `bytes` bytes, unless source and destination are the same.
///
/// # Safety
/// `from` is readable and `to` writable for `bytes` bytes; they are the same or do not overlap.
#[inline]
unsafe fn copy_apart(to: *mut u8, from: *const u8, bytes: usize) {
    if !std::ptr::eq(to, from) {
        // SAFETY: the caller promises that `from` is readable and `to` writable for `bytes` bytes.
        unsafe { offload::copy(to, from, bytes) };
    }
}
