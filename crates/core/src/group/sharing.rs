//! Sharing out work on the users' arrays between the members of a group.

use std::ops::Range;

use super::Group;

/// What to do, and how much it is.
#[derive(Debug, Clone)]
pub struct Work {
    /// Units of work, say elements.
    pub total: usize,
    /// The units of this member, if each does its own.
    pub own: Range<usize>,
    /// Units to take at a time, if they are taken on demand.
    pub piece: usize,
    /// Bytes of all members' arrays that are touched.
    pub bytes: usize,
}

/// Most bytes to work on by whoever happens to run: as any PE may come to do it, each comes to
/// map all of the pages.
const ON_DEMAND: usize = 8 << 20;

impl Group<'_> {
    /// When all members are here, has one of them do `work` on `bytes` bytes of all members'
    /// arrays; when that is done, all go on. It is the last one to arrive, if there is one and
    /// the arrays are not large; else `member`, between two synchronisations.
    pub fn have_one_work(&self, member: usize, bytes: usize, work: impl FnOnce()) {
        if self.has_last() && bytes <= ON_DEMAND {
            return self.epoch().synchronise_with(work);
        }
        self.sync();
        if self.me == member {
            work();
        }
        self.leave();
    }

    /// When all members are here, so that all arrays are ready, has all units of `work` done
    /// by calls of `do_part` with parts of them; when that is done, all go on.
    ///
    /// Where each PE has a core, every member does its own units. Where PEs outnumber cores,
    /// those that happen to run take pieces until nothing is left: work done by as many PEs as
    /// there are cores needs fewer switches between them. Large arrays are not worked on like
    /// this ([`ON_DEMAND`]).
    pub fn share_out(&self, work: Work, do_part: impl Fn(Range<usize>)) {
        let Work { total, piece, .. } = work;
        if !self.has_last() || total == 0 || work.bytes > ON_DEMAND {
            self.sync();
            if !work.own.is_empty() {
                do_part(work.own);
            }
            return self.leave();
        }
        let pieces = total.div_ceil(piece);
        let part = |i: usize| i * piece..((i + 1) * piece).min(total);
        let epoch = self.epoch();
        if pieces == 1 {
            epoch.synchronise_with(|| do_part(part(0)));
        } else {
            epoch.synchronise_sharing(pieces, |i| do_part(part(i)));
        }
    }

    /// As [`share_out`](Self::share_out), for work that there is once for each member, with
    /// `bytes` bytes touched each time: `do_one` gets the number of one.
    pub fn share_out_members(&self, bytes: usize, do_one: impl Fn(usize)) {
        let work = Work {
            total: self.size,
            own: self.me..self.me + 1,
            piece: 1,
            bytes: bytes * self.size,
        };
        self.share_out(work, |members| members.for_each(&do_one));
    }
}
