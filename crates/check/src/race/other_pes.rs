//! Where this process has the memory of other PEs, as `shmem_ptr` gives it.

use std::ops::Range;

use crate::job::ThisPe;

/// The PEs, and what is to be added to an own address of a heap, or of the variables: the lowest memory first.
#[derive(Debug)]
pub(super) struct OtherPes(Vec<(usize, usize)>);

impl OtherPes {
    /// Of the memory that has the address `at`.
    pub(super) fn of(job: &ThisPe, at: usize) -> Self {
        let others = (0..job.n_pes).filter(|pe| *pe != job.me);
        Self::new(at, others.filter_map(|pe| Some((pe, job.library.ptr(at, pe)?))).collect())
    }

    /// The same, whose address is another one here for each PE.
    fn new(at: usize, mut places: Vec<(usize, usize)>) -> Self {
        places.sort_unstable_by_key(|(_, place)| *place);
        Self(places.into_iter().map(|(pe, place)| (pe, place.wrapping_sub(at))).collect())
    }

    /// The PE that has an address, and this PE's own address of the same, if that is in `own`.
    pub(super) fn find(&self, at: usize, own: &Range<usize>) -> Option<(usize, usize)> {
        // No PE's memory is within another's: it can be that of the last PE alone whose memory begins before.
        let after = self.0.partition_point(|(_, distance)| own.start.wrapping_add(*distance) <= at);
        let (pe, distance) = self.0.get(after.checked_sub(1)?)?;
        let here = at.wrapping_sub(*distance);
        own.contains(&here).then_some((*pe, here))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_of_the_pe_whose_memory_it_is_in() {
        let (at, stride, own) = (0x1_0000_1000, 0x10_0000, 0x1_0000_0000..0x1_0000_8000);
        // PE 500 looks; of others, some are on another host.
        let others = (0..1000).filter(|pe| *pe != 500 && pe % 3 != 0);
        let pes = OtherPes::new(at, others.clone().rev().map(|pe| (pe, at + pe * stride - 500 * stride)).collect());
        for pe in others {
            let start = own.start + pe * stride - 500 * stride;
            assert_eq!(pes.find(start, &own), Some((pe, own.start)));
            assert_eq!(pes.find(start + 0x7fff, &own), Some((pe, own.end - 1)));
            assert_eq!(pes.find(start - 1, &own), None);
            assert_eq!(pes.find(start + 0x8000, &own), None);
        }
        let of_none = [0, own.start, own.start + 400 * stride + 8, usize::MAX];
        assert!(of_none.into_iter().all(|at| pes.find(at, &own).is_none()));
    }
}
