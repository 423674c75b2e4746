//! Places in symmetric memory, by which PEs tell each other where the data of a message are.

use ferroshmem_core::node::Node;

/// Where in symmetric memory bytes are, if PE `peer` can reach them.
#[inline(never)] // of long messages alone
pub(super) fn of(node: &Node, at: *const u8, bytes: u64, peer: usize) -> u64 {
    let space = node.transport.memory.space;
    let is_other = node.transport.runs_other_program(peer);
    space.place_of(at.expose_provenance(), bytes as usize, is_other)
}

/// Where PE `peer`'s bytes at a place are mapped in this process.
pub(super) fn address(node: &Node, place: u64, bytes: u64, peer: usize) -> Option<*mut u8> {
    let space = node.transport.memory.space;
    let index = node.job.placement.local_index(peer)?;
    space.translate(space.address(place)?, bytes as usize, index)
}
