//! Remote memory of one operation, piece by piece.

use crate::address::RmaIov;
use crate::libfabric::fi_rma_iov;

/// Pieces of remote memory in one operation at most.
pub(crate) const MAX_IOVS: usize = 4;

/// Remote memory of one PE.
#[derive(Clone, Copy)]
pub(crate) struct IovList {
    list: [fi_rma_iov; MAX_IOVS],
    n: usize,
    bytes: usize,
}

impl IovList {
    /// No memory.
    pub(crate) const EMPTY: IovList =
        IovList { list: [fi_rma_iov { addr: 0, len: 0, key: 0 }; MAX_IOVS], n: 0, bytes: 0 };

    /// One piece of `len` bytes.
    #[inline]
    pub(crate) fn new(iov: RmaIov, len: usize) -> IovList {
        let mut list = IovList::EMPTY;
        list.append(iov, len, 1);
        list
    }

    /// Adds `len` bytes, to the last piece if they follow it. False: there would be more than
    /// `max` pieces.
    pub(crate) fn append(&mut self, iov: RmaIov, len: usize, max: usize) -> bool {
        if let Some(last) = self.n.checked_sub(1).map(|i| &mut self.list[i])
            && last.key == iov.key
            && last.addr.wrapping_add(last.len as u64) == iov.address
        {
            last.len += len;
        } else if self.n < max {
            self.list[self.n] = fi_rma_iov { addr: iov.address, len, key: iov.key };
            self.n += 1;
        } else {
            return false;
        }
        self.bytes += len;
        true
    }

    /// The pieces.
    pub(crate) fn as_slice(&self) -> &[fi_rma_iov] {
        &self.list[..self.n]
    }

    /// The only piece, if there is one.
    #[inline]
    pub(crate) fn single(&self) -> Option<fi_rma_iov> {
        (self.n == 1).then_some(self.list[0])
    }

    /// Bytes of all pieces.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}
