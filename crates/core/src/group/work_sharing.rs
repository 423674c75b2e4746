//! Sharing work on the program's arrays among the members of a group.

use std::ops::Range;

use super::Group;

/// The extent of work to share.
#[derive(Debug, Clone)]
pub struct Work {
    /// Units of work, such as elements.
    pub total: usize,
    /// The units of this member, if each member does its own.
    pub own: Range<usize>,
    /// Units to take at a time, if they are taken on demand.
    pub piece: usize,
    /// Bytes of all members' arrays that the work touches.
    pub bytes: usize,
}

/// Most bytes of work that is taken on demand: any PE may take any piece, so in time each PE maps
/// all pages of all arrays.
const ON_DEMAND: usize = 8 << 20;

impl Group<'_> {
    /// Once all members have entered, runs `work`, which touches `bytes` bytes of all members'
    /// arrays, on one member; returns when it is done. With the central barrier and small arrays,
    /// that is the last member to arrive; otherwise it is `member`, between two
    /// synchronisations.
    pub fn run_on_one(&self, member: usize, bytes: usize, work: impl FnOnce()) {
        let work = || {
            if !self.has_failed() {
                work();
            }
        };
        if self.has_central_barrier() && bytes <= ON_DEMAND {
            return self.epoch().synchronise_with(work);
        }
        self.sync();
        if self.me == member {
            work();
        }
        self.leave();
    }

    /// Once all members have entered, so that all arrays are ready, the members do all units of
    /// `work` by calls of `do_units`; returns when all are done.
    ///
    /// Where each PE has a core, every member does its own units. Where PEs outnumber cores, the
    /// running PEs take parts until none is left, which needs fewer context switches. Work on
    /// more than [`ON_DEMAND`] bytes is never taken on demand.
    pub fn share_work(&self, work: Work, do_units: impl Fn(Range<usize>)) {
        let Work { total, piece, .. } = work;
        let do_units = |units| {
            if !self.has_failed() {
                do_units(units);
            }
        };
        if !self.has_central_barrier() || total == 0 || work.bytes > ON_DEMAND {
            self.sync();
            if !work.own.is_empty() {
                do_units(work.own);
            }
            return self.leave();
        }
        let parts = total.div_ceil(piece);
        let part = |i: usize| i * piece..((i + 1) * piece).min(total);
        let epoch = self.epoch();
        if parts == 1 {
            epoch.synchronise_with(|| do_units(part(0)));
        } else {
            epoch.synchronise_with_tasks(self.size, parts, |i| do_units(part(i)));
        }
    }

    /// Once all members have entered, by the central barrier, members 0 to `helpers` - 1 take `tasks` tasks, of which
    /// there is at least one, as they run; returns when all are done. So only these map the pages that the tasks touch.
    pub fn share_among(&self, helpers: usize, tasks: usize, do_task: impl Fn(usize)) {
        self.epoch().synchronise_with_tasks(helpers, tasks, |task| {
            if !self.has_failed() {
                do_task(task);
            }
        });
    }

    /// As [`share_work`](Self::share_work), with one unit for each member, which touches `bytes`
    /// bytes: calls `do_one` with the member's number.
    pub fn share_by_member(&self, bytes: usize, do_one: impl Fn(usize)) {
        let work = Work { total: self.size, own: self.me..self.me + 1, piece: 1, bytes: bytes * self.size };
        self.share_work(work, |members| members.for_each(&do_one));
    }
}
