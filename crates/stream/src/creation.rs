//! The creation of a stream, by all members of its team.

use std::collections::VecDeque;
use std::ptr;
use std::sync::atomic::Ordering;

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::group::Group;
use ferroshmem_core::job::StreamAreas;
use ferroshmem_core::node::Node;
use ferroshmem_core::team::{Health, Team};
use ferroshmem_core::wait::progress;
use ferroshmem_fabric::Context;

use super::Stream;
use super::link::{IncomingLink, OutgoingLink};
use super::local_pe::{HERE, LocalPe, Route};
use super::options::Options;
use super::ring::{Consumer, Producer, RingMemory, RingWords};
use super::shape::{self, Head, Nodes, Shape};
use super::state::State;
use super::table::Streams;

/// A stream cannot be created: a member has no memory left, or has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotCreated;

impl Streams {
    /// Creates a stream over a team; its handle. Collective.
    pub fn create(
        &self,
        node: &'static Node,
        name: &'static str,
        team: &Team,
        options: Options,
    ) -> Result<usize, NotCreated> {
        let areas = StreamAreas::of(node.job).unwrap_or_else(|e| {
            fatal(
                name,
                format_args!("cannot map the memory of streams: {e}: raise the limit of address space (ulimit -v)"),
            )
        });
        let placement = &node.job.placement;
        let node_of = |member| placement.of(team.members.pe(member)).node as usize;
        let nodes = Nodes::new(team.members.size, node_of);
        let (home, local) = nodes.ranks[team.index];
        let shape = nodes.shape(home as usize, options.item);
        let part = take_part(node, areas, &shape);
        let group = Group::of_team(node, name, team);
        let same = [("item_size", options.item as u64), ("options", options.is_steady.into())];
        group.check_matching(node, &same);
        let lacking = u64::from(part.is_none());
        let is_lacking = group.combine_words([lacking, 0, 0, 0])[0] != 0;
        let Some(offset) = part.filter(|_| !is_lacking) else {
            if let Some(offset) = part {
                areas.give_back(offset, shape.bytes());
            }
            return Err(NotCreated);
        };
        let epoch = group.epoch();
        epoch.publish(options.with_offset(offset));
        epoch.synchronise();
        if group.has_failed() {
            // Other members may have made it.
            return Err(NotCreated);
        }
        let offset_of = |member: u32| {
            let pe = team.members.pe(member as usize);
            options.offset_of(name, pe, epoch.published(member as usize))
        };
        let home_members = &nodes.members[home as usize];
        let offsets: Vec<usize> = home_members.iter().map(|m| offset_of(*m)).collect();
        let links =
            |links: Vec<shape::Link>| -> Vec<(shape::Link, usize)> { links.into_iter().map(|l| (l, 0)).collect() };
        let mut out = links(nodes.outgoing(team.index));
        let mut inc = links(nodes.incoming(team.index));
        let both = out.iter_mut().chain(&mut inc);
        both.for_each(|(link, offset)| *offset = offset_of(link.member));
        let area = areas.of_pe(node.job.index);
        let own = area.wrapping_add(offset);
        let place = |part: *mut u8, from: usize| RingMemory {
            // SAFETY: the words of a ring in a part, which is mapped for good and atomic.
            words: unsafe { &*part.wrapping_add(shape.words(from)).cast::<RingWords>() },
            data: part.wrapping_add(shape.data(from)),
            bytes: shape.ring(),
        };
        let local_pe = |(member, offset): (&u32, &usize)| {
            let index = placement.local_index(team.members.pe(*member as usize)).expect("on this node");
            let part = areas.of_pe(index).wrapping_add(*offset);
            LocalPe {
                producer: Producer::new(place(part, local as usize)),
                head: head(part),
                signals: &node.job.control.pe_block(index).signals,
            }
        };
        let outgoing = |(number, (link, offset)): (usize, &(shape::Link, usize))| {
            let there = nodes.shape(link.node, options.item);
            let pe = team.members.pe(link.member as usize);
            OutgoingLink::new((pe, *offset), (there, link.number), (own, shape, number))
        };
        let incoming = |(number, (link, offset)): (usize, &(shape::Link, usize))| {
            let there = nodes.shape(link.node, options.item);
            let pe = team.members.pe(link.member as usize);
            IncomingLink::new((pe, link.member, *offset), (there, link.number), (own, shape, number))
        };
        let route = |(to, local): &(u32, u32)| Route {
            link: if *to == home { HERE } else { *to - u32::from(*to > home) },
            local: *local,
        };
        let state = State {
            options,
            health: team.health().map(Health::copy),
            me: (team.index as u32, local as usize),
            routes: nodes.ranks.iter().map(route).collect(),
            local_pes: home_members.iter().zip(&offsets).map(local_pe).collect(),
            dirty: Vec::new(),
            own: head(own),
            consumers: (0..shape.locals).map(|from| Consumer::new(place(own, from))).collect(),
            active: VecDeque::new(),
            is_active: vec![false; shape.locals].into(),
            viewed: 0,
            outgoing: out.iter().enumerate().map(outgoing).collect(),
            incoming: inc.iter().enumerate().map(incoming).collect(),
            context: Context::default(),
            part: (offset, shape.bytes()),
            uses: 1,
            is_ended: false,
            is_closed: false,
            is_done: false,
            pushes: 0,
            vain: 0,
        };
        if state.spans_nodes() {
            progress::STREAMS.fetch_add(1, Ordering::Relaxed);
        }
        let generation = self.generation.fetch_add(1, Ordering::Relaxed);
        let handle = |index: usize| (generation & 0x7fff_ffff) << 32 | (index + 1);
        let index = self.table.insert(|index| Stream::new(handle(index), team, state));
        index.map(handle).ok_or(NotCreated)
    }
}

/// Takes a part of the own area, and clears its words.
fn take_part(node: &Node, areas: &StreamAreas, shape: &Shape) -> Option<usize> {
    let offset = node.take_stream_memory(areas, shape.bytes())?;
    let part = areas.of_pe(node.job.index).wrapping_add(offset);
    // SAFETY: the part was given to this call alone, and no member knows of it yet.
    unsafe { ptr::write_bytes(part, 0, shape.cleared()) };
    Some(offset)
}

/// The first words of a part.
fn head(part: *mut u8) -> &'static Head {
    // SAFETY: a part, which is mapped for good; its first words are atomic.
    unsafe { &*part.cast::<Head>() }
}
