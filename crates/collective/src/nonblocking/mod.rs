//! Collectives that go on after their calls.
//!
//! Those of a team are executed one after the other by its `Queue`, those of neighbours in a graph ([`neighbors`])
//! each by itself. Both may start many times (`Persistent`).

pub mod edge;
pub mod exchange;
mod neighbors;
mod persistent;
mod queue;
pub mod strided;

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ferroshmem_core::constants::PREDEFINED_TEAMS;
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::handle::Table;
use ferroshmem_core::node::Node;
use ferroshmem_core::team::Team;
use ferroshmem_core::transport::request::is_one_sided;
use ferroshmem_core::wait::progress::{self, Advance};

use crate::graph::Graph;
use exchange::{Arrays, Combination, Exchange};
use neighbors::Neighbors;
use persistent::{Persistent, Plan, Started, is_persistent};
pub use queue::{Operation, count_completed, is_complete};
use queue::{Queue, Start, lock};

/// The queues of all teams that have had a non-blocking collective.
#[derive(Debug, Default)]
pub struct Queues {
    /// By the ids of the teams.
    table: Table<Arc<Queue>>,
    all: Mutex<Vec<Arc<Queue>>>,
    persistent: Table<Persistent>,
    graphs: Table<Graph>,
    /// The exchanges of persistent requests between neighbours, and those that were freed while one may write to them.
    neighbors: Mutex<Vec<Arc<Neighbors>>>,
    /// Persistent requests and graphs made so far.
    inits: AtomicU64,
}

impl Queues {
    fn queue(&self, node: &Node, team: &Team) -> &Arc<Queue> {
        self.table.get(team.id).unwrap_or_else(|| self.add(node, team))
    }

    /// From now on, operations of the teams that there are end when a member fails.
    pub fn become_resilient(&self, node: &Node, since: usize) {
        let (job, internode) = (node.job, node.transport.internode());
        lock(&self.all).iter().for_each(|queue| queue.shadow.become_resilient(job, internode, since));
    }

    /// Begins a collective on a team by an exchange, or with `is_persistent` makes a request that does; returns the
    /// request, which is not 0. None if no exchange does it, on all members alike.
    ///
    /// # Safety
    /// The arrays are as the collective needs them until it is complete, and while the request has started.
    #[inline(never)]
    pub unsafe fn begin_exchange(
        &self,
        name: &'static str,
        node: &'static Node,
        team: &Team,
        (result, arrays): (Combination, Arrays),
        is_persistent: bool,
    ) -> Option<u64> {
        let queue = self.queue(node, team);
        if queue.shadow.hierarchy.is_some() || node.settings.check {
            return None;
        }
        let group = queue.group(node, name);
        let exchange = Exchange::new(&group, result, arrays)?;
        if is_persistent {
            return Some(self.insert(name, Plan::Team { queue: queue.clone(), start: Start::Exchange(exchange) }));
        }
        // SAFETY: the caller promises arrays as the collective needs them.
        Some(queue.request(unsafe { queue.begin_exchange(node, &group, &exchange) }))
    }

    /// The same by an operation, whatever the collective is.
    pub fn begin(
        &self,
        name: &'static str,
        node: &'static Node,
        team: &Team,
        operation: Operation,
        is_persistent: bool,
    ) -> u64 {
        let queue = self.queue(node, team);
        if is_persistent {
            return self.insert(name, Plan::Team { queue: queue.clone(), start: Start::Operation(operation) });
        }
        queue.request(queue.begin(node, operation))
    }

    #[cold]
    fn add(&self, node: &Node, team: &Team) -> &Arc<Queue> {
        let mut all = lock(&self.all);
        // Another thread may have been first.
        if self.table.get(team.id).is_none() {
            let queue = Arc::new(Queue::new(node, team));
            all.push(queue.clone());
            progress::COLLECTIVES.fetch_add(1, Ordering::Relaxed);
            self.table.insert_at(team.id, queue);
        }
        self.table.get(team.id).unwrap_or_else(|| fatal("non-blocking collectives", "there are too many teams"))
    }

    /// The queue and number of a request; None if it has ended, has not started, or its team is destroyed, so that it
    /// is complete.
    fn find(&self, name: &str, request: u64) -> Option<Started<'_>> {
        if is_persistent(request) {
            return self.persistent(name, request).started();
        }
        let id = (request as usize & 0xffff).checked_sub(1)?;
        let queue = self.table.get(id).filter(|queue| queue.tag == request as u32)?;
        Some(Started::Team(queue, (request >> 32) as u32))
    }

    /// Whether a request has begun something and not ended, complete or not.
    pub fn is_active(&self, name: &str, request: u64) -> bool {
        match is_persistent(request) {
            true => self.persistent(name, request).is_active(),
            false => request != 0,
        }
    }

    /// Ends a request that is complete; a persistent one may start again.
    pub fn end(&self, name: &str, request: &mut usize) {
        match is_persistent(*request as u64) {
            true => self.persistent(name, *request as u64).end(),
            false => *request = 0,
        }
    }

    /// Whether a request is complete; makes progress with it.
    pub fn test(&self, name: &str, node: &'static Node, request: u64) -> bool {
        match self.find(name, request) {
            None => !is_one_sided(request as usize) || node.transport.test_request(request as usize),
            Some(Started::Neighbors(neighbors, round)) => neighbors.test(node, round),
            Some(Started::Team(queue, number)) => {
                if !queue.is_complete(number) {
                    queue.test(node);
                }
                queue.is_complete(number)
            }
        }
    }

    /// Waits until a request is complete, and ends it.
    pub fn wait(&self, name: &str, node: &'static Node, request: &mut usize) {
        if is_persistent(*request as u64) {
            self.persistent(name, *request as u64).wait(name, node);
            return;
        }
        if let Some(Started::Team(queue, number)) = self.find(name, *request as u64) {
            queue.complete(node, number);
        } else if is_one_sided(*request) {
            node.transport.wait_request(name, *request);
        }
        *request = 0;
    }

    /// Whether a member has failed of those with whom a request is, in a resilient job.
    #[cold]
    #[inline(never)]
    pub fn has_failed(&self, name: &str, request: u64) -> bool {
        if is_persistent(request) {
            return self.persistent(name, request).has_failed();
        }
        let id = (request as usize & 0xffff).checked_sub(1);
        let queue = id.and_then(|id| self.table.get(id)).filter(|queue| queue.tag == request as u32);
        // A queue of the world ends when other processes take the numbers of PEs that had failed.
        let was_renewed = id.is_some_and(|id| id < PREDEFINED_TEAMS) && !is_one_sided(request as usize);
        queue.map_or(was_renewed, |queue| queue.shadow.has_failed())
    }

    /// The index of the one of several requests that completes first, if those that are active are of one team: they
    /// complete in their order.
    pub fn first_of_one_team(&self, name: &str, requests: &[usize]) -> Option<usize> {
        let mut first: Option<(usize, &Queue, u32)> = None;
        for (i, request) in requests.iter().enumerate() {
            match self.find(name, *request as u64) {
                None if is_one_sided(*request) => return None,
                None => {}
                Some(Started::Neighbors(..)) => return None,
                Some(Started::Team(queue, number)) => match first {
                    Some((_, other, _)) if !ptr::eq(queue, other) => return None,
                    Some((_, _, before)) if number.wrapping_sub(before) as i32 > 0 => {}
                    _ => first = Some((i, queue, number)),
                },
            }
        }
        first.map(|(i, ..)| i)
    }

    /// Makes progress with what no thread waits for.
    pub fn make_progress(&self, node: &'static Node) -> Advance {
        let mut all = node.transport.follow();
        for i in 0.. {
            // Not kept: what waits within an operation makes progress, too.
            let Ok(queue) = self.all.try_lock().map(|all| all.get(i).cloned()) else {
                all.is_under_way = true;
                break;
            };
            let Some(queue) = queue else {
                break;
            };
            let Advance { has_advanced, is_under_way } = queue.make_progress(node);
            all.has_advanced |= has_advanced;
            all.is_under_way |= is_under_way;
        }
        match self.neighbors.try_lock() {
            Ok(neighbors) => {
                for (has_advanced, is_under_way) in neighbors.iter().map(|neighbors| neighbors.make_progress(node)) {
                    all.has_advanced |= has_advanced;
                    all.is_under_way |= is_under_way;
                }
            }
            Err(_) => all.is_under_way = true,
        }
        all
    }

    /// Completes all operations of a team.
    pub fn drain(&self, node: &'static Node, team: usize) {
        if let Some(queue) = self.table.get(team) {
            queue.drain(node);
        }
    }

    /// Completes all operations.
    pub fn drain_all(&self, node: &'static Node) {
        let all = lock(&self.all).clone();
        for queue in all {
            queue.drain(node);
        }
        let neighbors = lock(&self.neighbors).clone();
        for neighbors in neighbors {
            neighbors.drain(node);
        }
    }

    /// Ends the queue of a team, whose members have completed all operations.
    pub fn leave(&self, node: &Node, team: usize) {
        if let Some(queue) = self.table.remove(team) {
            queue.has_ended.store(true, Ordering::Relaxed);
            queue.shadow.leave(node);
            progress::COLLECTIVES.fetch_sub(1, Ordering::Relaxed);
            lock(&self.all).retain(|other| !Arc::ptr_eq(other, &queue));
        }
    }
}
