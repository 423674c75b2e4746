//! Agreements of the members that are left of a team on several nodes, in a resilient job.
//!
//! Each member has a record that others read over the fabric. Nodes learn of failures in different orders, so a count
//! of them stands for the same set on all nodes only once all members show that they know the same.
//!
//! The first member that is not known to have failed *proposes*. It reads the records of all that are not known to have
//! failed. If one of them has decided, it decides the same. If some have a proposal, it proposes again what the latest
//! member has proposed. Else it waits until all are in this agreement and know the same failures, and proposes these
//! and the values combined. The others copy the proposal to their records, unless they have one of a later member. Once
//! all have the proposer's own, it decides; the others copy that, too.
//!
//! All decide the same. Let *a* be the first to decide by its own proposal, and *b* a later proposer. Only PEs that
//! have ended are known to have failed, so *b* began to read after *a* had ended. (PEs of a node that is cut off end
//! before others know them to have failed. If all of them were stopped, they end as soon as they go on; what one of
//! them still decides then, it does by records that it read before, or that have not changed since.) Each member that
//! lived when *a* decided had copied its proposal, so *b* found that in every record, or one of a proposer between
//! them, which is the same by this argument. A member may copy a proposal of *a* after *b* has read its record; then
//! *a* has not decided.
//!
//! A member that has decided may enter the next agreement, which needs the value of each that lives. So no other member
//! is two agreements behind, and a record has the decision before, too. Once no PE fails any more, all members come to
//! know the same failures, and one proposes until it decides.
//!
//! A record of a PE that has failed reads as zero over the fabric, which is that of no agreement.

use std::mem::offset_of;
use std::time::Duration;

use super::hierarchy::HierarchicalTeam;
use super::survivors::Agreed;
use crate::internode::Internode;
use crate::job::mailboxes;
use crate::team::Health;
use crate::wait::WaitReason;
use ferroshmem_layout::{
    AgreementNumber, AgreementRecord, AgreementWords, Decision, Known, MailboxPage, Proposal, TeamMailbox,
};

/// First and longest sleep between looks at the records.
const SLEEPS: (Duration, Duration) = (Duration::from_micros(50), Duration::from_micros(500));

/// An agreement, as one member sees it.
struct Agreement<'a> {
    me: usize,
    number: AgreementNumber,
    own: &'a AgreementWords,
}

/// The other members, as one sees them.
trait Others {
    fn size(&self) -> usize;
    /// Whether a member is known to have failed.
    fn has_failed(&self, member: usize) -> bool;
    /// The failures that this member knows.
    fn known(&self) -> Known;
    /// The records of members, in their order. What is looked at before them has been read before.
    fn read(&self, members: &[usize]) -> Vec<AgreementRecord>;
    /// Of which members this one, which does not propose, reads the records, so that what `first` says spreads.
    fn sources(&self, first: usize) -> Vec<usize>;
}

impl Agreement<'_> {
    /// Does what can be done now; the decision, once there is one.
    fn step(&self, others: &impl Others) -> Option<Decision> {
        let mine = self.own.read();
        let known = others.known();
        if mine.known(self.number) != Some(known) {
            self.own.know(self.number, known);
        }
        let first = (0..others.size()).find(|member| *member == self.me || !others.has_failed(*member))?;
        let decision = if first == self.me { self.lead(others, known) } else { self.follow(others, first) }?;
        self.own.decide(self.number, decision);
        Some(decision)
    }

    /// Of the first member that is left.
    fn lead(&self, others: &impl Others, known: Known) -> Option<Decision> {
        let number = self.number;
        let left: Vec<_> =
            (0..others.size()).filter(|member| *member == self.me || !others.has_failed(*member)).collect();
        let records = others.read(&left);
        let (mut value, mut latest, mut knows_same) = (Some(u32::MAX), None::<Proposal>, true);
        for record in &records {
            if let Some(decision) = record.decision(number) {
                return Some(decision);
            }
            value = value.zip(record.value(number)).map(|(all, value)| all & value);
            latest = latest.into_iter().chain(record.proposal(number)).max_by_key(|proposal| proposal.by);
            knows_same &= record.known(number) == Some(known);
        }
        let own = self.own.read().proposal(number).filter(|proposal| proposal.by == self.me);
        if let Some(own) = own {
            let is_seen = |record: &AgreementRecord| record.proposal(number) == Some(own);
            return records.iter().all(is_seen).then_some(own.decision);
        }
        let decision = match (latest, value) {
            (Some(latest), Some(_)) => latest.decision,
            (None, Some(value)) if knows_same => Decision { failures: known.count, value },
            _ => return None,
        };
        self.own.propose(number, Proposal { by: self.me, decision });
        None
    }

    /// Of another member than the first one that is left.
    fn follow(&self, others: &impl Others, first: usize) -> Option<Decision> {
        let records = others.read(&others.sources(first));
        if let Some(decision) = records.iter().find_map(|record| record.decision(self.number)) {
            return Some(decision);
        }
        let before = self.own.read().proposal(self.number).map_or(0, |proposal| proposal.by);
        let of_first = |proposal: &Proposal| proposal.by == first;
        let proposal = records.iter().find_map(|record| record.proposal(self.number).filter(of_first));
        if let Some(proposal) = proposal.filter(|proposal| proposal.by >= before) {
            self.own.propose(self.number, proposal);
        }
        None
    }
}

impl HierarchicalTeam<'_> {
    /// An agreement of the members that are left.
    #[cold]
    #[inline(never)]
    pub(super) fn agree(&self, health: &Health, value: u32, reason: &WaitReason<'_>) -> Agreed {
        let own = &self.page().agreement;
        let number = own.read().number().next();
        own.enter(number, value);
        let agreement = Agreement { me: self.team.index, number, own };
        let others = Members { team: self, health };
        // It ends by an agreement alone.
        let reason = WaitReason { ending: None, ..*reason };
        let mut agreed = Agreed { failures: 0, value };
        self.node.transport.wait_until(&reason, SLEEPS, &mut || {
            let decision = agreement.step(&others);
            decision.inspect(|made| agreed = Agreed { failures: made.failures, value: made.value }).is_some()
        });
        agreed
    }
}

/// The members of a team in their mailboxes.
struct Members<'a> {
    team: &'a HierarchicalTeam<'a>,
    health: &'a Health,
}

impl Members<'_> {
    fn pe(&self, member: usize) -> usize {
        self.team.team.members.pe(member)
    }

    fn local_index(&self, member: usize) -> Option<usize> {
        self.team.node.job.placement.local_index(self.pe(member))
    }
}

impl Others for Members<'_> {
    fn size(&self) -> usize {
        self.team.team.members.size
    }

    fn has_failed(&self, member: usize) -> bool {
        self.health.is_failed(member, self.health.count())
    }

    fn known(&self) -> Known {
        Known::of(self.team.node.job.control.failures())
    }

    fn read(&self, members: &[usize]) -> Vec<AgreementRecord> {
        let internode = self.team.internode;
        let fabric = internode.fabric();
        let mut records = vec![AgreementRecord::default(); members.len()];
        let page = offset_of!(TeamMailbox, all) + offset_of!(MailboxPage, agreement);
        let at = mailboxes::team_mailbox_offset(self.team.team.id) + page;
        let mut is_remote = false;
        for (member, record) in members.iter().zip(&mut records) {
            match self.local_index(*member) {
                Some(index) => {
                    *record = internode.mailboxes.team_mailbox(index, self.team.team.id).all.agreement.read();
                }
                None => {
                    is_remote = true;
                    let (to, from) = (std::ptr::from_mut(record).cast(), Internode::mailbox(self.pe(*member), at));
                    // SAFETY: the record lives, and is not looked at, until the quiet below.
                    unsafe { fabric.get_nbi(&internode.context, to, from, size_of::<AgreementRecord>()) };
                }
            }
        }
        if is_remote {
            fabric.quiet(&internode.context);
        }
        records
    }

    fn sources(&self, first: usize) -> Vec<usize> {
        // One member of each node reads what is on another; the others read what it has copied.
        let here = (0..self.size()).filter(|member| self.local_index(*member).is_some() && !self.has_failed(*member));
        let mut sources: Vec<_> = here.collect();
        if self.local_index(first).is_none() && sources.first() == Some(&self.team.team.index) {
            sources.push(first);
        }
        sources.retain(|member| *member != self.team.team.index);
        sources
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::thread;

    use super::*;
    use ferroshmem_layout::Failures;

    const SIZE: usize = 6;
    const NODES: usize = 3;
    const AGREEMENTS: usize = 40;

    fn zeroed<T>() -> Box<T> {
        // SAFETY: zero bytes are valid: the types have atomics only.
        unsafe { Box::<T>::new_zeroed().assume_init() }
    }

    /// Members on nodes that learn of failures at different times.
    struct Job {
        records: [Box<AgreementWords>; SIZE],
        lists: [Box<Failures>; NODES],
        has_ended: [AtomicBool; SIZE],
        random: AtomicU64,
    }

    /// A member has ended.
    struct Ended;

    fn node_of(member: usize) -> usize {
        member % NODES
    }

    impl Job {
        fn new(seed: u64) -> Self {
            Self {
                records: std::array::from_fn(|_| zeroed()),
                lists: std::array::from_fn(|_| zeroed()),
                has_ended: Default::default(),
                random: AtomicU64::new(seed),
            }
        }

        /// True once in so many times.
        fn once_in(&self, times: u64) -> bool {
            let number = self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
            let mixed = (number ^ number >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (mixed >> 33).is_multiple_of(times)
        }

        /// Has some node learn of some failure.
        fn spread_failures(&self) {
            for (member, ended) in self.has_ended.iter().enumerate() {
                for list in self.lists.iter().filter(|_| ended.load(Ordering::Acquire) && self.once_in(4)) {
                    list.record_once(member);
                }
            }
        }

        /// The failures at the head of a node's list.
        fn first(&self, node: usize, count: usize) -> BTreeSet<usize> {
            self.lists[node].between(0, count).collect()
        }

        fn agree(&self, me: usize, value: u32) -> Result<Decision, Ended> {
            let own = &*self.records[me];
            let number = own.read().number().next();
            own.enter(number, value);
            let agreement = Agreement { me, number, own };
            let view = View { job: self, me, ended: AtomicBool::new(false) };
            loop {
                let decision = agreement.step(&view);
                if view.ended.load(Ordering::Relaxed) {
                    return Err(Ended);
                }
                if let Some(decision) = decision {
                    return Ok(decision);
                }
                self.spread_failures();
                thread::yield_now();
            }
        }
    }

    struct View<'a> {
        job: &'a Job,
        me: usize,
        /// This member ends: what it does from then on, nobody sees.
        ended: AtomicBool,
    }

    impl Others for View<'_> {
        fn size(&self) -> usize {
            SIZE
        }

        fn has_failed(&self, member: usize) -> bool {
            let list = &self.job.lists[node_of(self.me)];
            list.between(0, list.count()).any(|failed| failed == member)
        }

        fn known(&self) -> Known {
            Known::of(&self.job.lists[node_of(self.me)])
        }

        fn read(&self, members: &[usize]) -> Vec<AgreementRecord> {
            let job = self.job;
            let read = |member: &usize| {
                if job.once_in(8) {
                    thread::yield_now();
                }
                let has_failed = node_of(*member) != node_of(self.me) && job.has_ended[*member].load(Ordering::Acquire);
                if has_failed { AgreementRecord::default() } else { job.records[*member].read() }
            };
            let records = members.iter().map(read).collect();
            // Two are left, so that there is something to agree on. It waits here as if it had ended.
            let living = job.has_ended.iter().filter(|ended| !ended.load(Ordering::Relaxed)).count();
            if job.once_in(200) && living > 2 && self.me != SIZE - 1 {
                self.ended.store(true, Ordering::Relaxed);
                return vec![AgreementRecord::default(); members.len()];
            }
            records
        }

        fn sources(&self, first: usize) -> Vec<usize> {
            let mates = (0..SIZE).filter(|member| node_of(*member) == node_of(self.me) && !self.has_failed(*member));
            let mut sources: Vec<_> = mates.collect();
            if sources.first() == Some(&self.me) && node_of(first) != node_of(self.me) {
                sources.push(first);
            }
            sources.retain(|member| *member != self.me);
            sources
        }
    }

    /// Members end at any point between two reads; all others decide the same, also as those that decided and ended.
    #[test]
    fn all_decide_the_same_whoever_ends() {
        let mut ended = 0;
        for seed in 0..60 {
            let job = Job::new(seed * 0x1234_5677);
            let run = |me: usize| {
                let mut decisions = Vec::new();
                for i in 0..AGREEMENTS {
                    let value = u32::MAX ^ 1 << ((me + i) % 32);
                    match job.agree(me, value) {
                        Ok(decision) => decisions.push((decision, job.first(node_of(me), decision.failures))),
                        Err(Ended) => {
                            job.has_ended[me].store(true, Ordering::Release);
                            return decisions;
                        }
                    }
                }
                // The others may read what this one has decided, and learn of failures by it.
                decisions
            };
            let all = thread::scope(|threads| {
                let members: Vec<_> = (0..SIZE).map(|me| threads.spawn(move || run(me))).collect();
                members.into_iter().map(|member| member.join().unwrap()).collect::<Vec<_>>()
            });
            ended += job.has_ended.iter().filter(|ended| ended.load(Ordering::Relaxed)).count();
            for (i, (decision, failed)) in all[SIZE - 1].iter().enumerate() {
                assert!(all.iter().all(|d| d.get(i).is_none_or(|d| d == &(*decision, failed.clone()))), "{all:?}");
                // The values of all that have gone on are in it.
                for me in (0..SIZE).filter(|me| all[*me].len() > i) {
                    assert_eq!(decision.value & 1 << ((me + i) % 32), 0);
                    assert!(!failed.contains(&me));
                }
            }
            assert_eq!(all[SIZE - 1].len(), AGREEMENTS);
        }
        assert!(ended > 60, "only {ended} members have ended");
    }
}
