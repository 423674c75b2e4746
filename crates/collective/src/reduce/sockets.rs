//! Reductions of members on several sockets: each socket reduces its own members' values, and what passes
//! between sockets is one result of each.

use ferroshmem_core::barrier::{self, EXCHANGE, RELEASE};
use ferroshmem_core::team::Sockets;
use ferroshmem_layout::FLAG_BYTES;
use ferroshmem_tuning::EAGER;

use super::recursive_doubling::FlagBuffer;
use super::reduction::Reduction;
use crate::copy_to_socket;

/// Reduces by sockets.
///
/// # Safety
/// That of [`super::reduce`].
pub(super) unsafe fn reduce(r: &Reduction<'_>, sockets: &Sockets) {
    let bytes = r.n * r.op.size();
    // SAFETY: that of this function; the values fit what they are sent by.
    unsafe {
        if bytes <= FLAG_BYTES {
            in_flags(r, sockets);
        } else if bytes <= EAGER {
            in_buffers(r, sockets);
        } else {
            by_slices(r, sockets);
        }
    }
}

/// The values go up the tree of the barrier with its flags, and the result comes down.
///
/// # Safety
/// That of [`super::reduce`]; the values fit a flag.
unsafe fn in_flags(r: &Reduction<'_>, sockets: &Sockets) {
    let (me, n, bytes) = (r.group.me, r.n, r.n * r.op.size());
    let (mut mine, mut theirs) = (FlagBuffer::new(), FlagBuffer::new());
    let (mine, theirs) = (mine.as_mut_ptr(), theirs.as_mut_ptr());
    let epoch = r.group.epoch();
    // SAFETY: the caller promises `n` elements at `dest` and `source`, which fit a flag and so the two
    // values.
    unsafe {
        r.copy(mine, r.source.of(me), n);
        barrier::by_sockets(
            &sockets.tree(true),
            |socket| sockets.leader(socket),
            |member, k| epoch.send(member, k, mine, bytes),
            |k| {
                if k == RELEASE {
                    return epoch.receive(k, mine, bytes);
                }
                epoch.receive(k, theirs, bytes);
                // The two leaders get the same bits: the first socket's operand comes first.
                if k == EXCHANGE && sockets.own > 0 {
                    r.combine(mine, theirs, mine, n);
                } else {
                    r.combine(mine, mine, theirs, n);
                }
            },
        );
        r.copy(r.dest.of(me), mine, n);
    }
}

/// The flags of the tree announce values in the members' buffers; the members of a socket read the result in
/// that of their leader.
///
/// # Safety
/// That of [`super::reduce`]; the values fit the eager buffers.
unsafe fn in_buffers(r: &Reduction<'_>, sockets: &Sockets) {
    let (me, n, bytes) = (r.group.me, r.n, r.n * r.op.size());
    let epoch = r.group.epoch();
    let mine = epoch.eager(me);
    let leader = |socket| sockets.leader(socket);
    let tree = sockets.tree(false);
    // SAFETY: the caller promises `n` elements at `dest` and `source`, which fit the buffers. A member's
    // buffer is read by its parent after the flag for it, and written by the member, if it is a leader, after the
    // parent's answer; the members of its socket read it after the leader's.
    unsafe {
        epoch.write_eager(r.source.of(me), bytes);
        barrier::by_sockets(
            &tree,
            leader,
            |member, k| epoch.post(member, k),
            |k| {
                epoch.wait(k);
                if k != RELEASE {
                    let theirs = epoch.eager(tree.child(leader, k));
                    r.combine(mine, mine, theirs, n);
                } else if sockets.position == 0 {
                    let above = leader(barrier::parent(sockets.own));
                    r.copy(mine, epoch.eager(above), n);
                }
            },
        );
        r.copy(r.dest.of(me), epoch.eager(leader(sockets.own)), n);
    }
}

/// Each member reduces its slice of the elements of its socket's members to its own destination. Then each
/// socket reduces a part of the elements from these results of all sockets, to its members, each of whom does a
/// slice; and takes the other parts from the sockets that reduced them. So an element crosses from each
/// other socket to one, and from there to each.
///
/// # Safety
/// That of [`super::reduce`].
unsafe fn by_slices(r: &Reduction<'_>, sockets: &Sockets) {
    let (me, n, elem) = (r.group.me, r.n, r.op.size());
    let (mine, count) = (sockets.mine(), sockets.count());
    let part = |of: usize, number: usize| share(0..n, of, number, elem);
    r.group.sync();
    {
        let slice = part(mine.size, sockets.position);
        let r = r.part(slice);
        let (dest, source) = (|_| r.dest.of(me), |i| r.source.of(mine.pe(i)).cast_const());
        // SAFETY: the caller promises arrays of `n` elements on every member; all members have entered,
        // and no other member of this socket reads these elements of its sources, or writes this one's `dest`.
        unsafe { r.fold((&dest, 1), (&source, mine.size), r.n, false) };
    }
    r.group.sync();
    // Who in a socket has reduced the elements from `start` on, and up to where.
    let owner = |socket: usize, start: usize| {
        let members = sockets.members(socket);
        let slices = (0..members.size).map(|i| (members.pe(i), part(members.size, i)));
        let mut containing = slices.filter(|(_, slice)| slice.contains(&start));
        containing.next().expect("the slices are all elements")
    };
    let mut slice = share(part(count, sockets.own), mine.size, sockets.position, elem);
    while !slice.is_empty() {
        let owners = (0..count).map(|socket| owner(socket, slice.start));
        let end = owners.fold(slice.end, |end, (_, owned)| end.min(owned.end));
        let piece = r.part(slice.start..end);
        let source = |socket: usize| {
            let (member, _) = owner(socket, slice.start);
            piece.dest.of(member).cast_const()
        };
        let dest = |i: usize| piece.dest.of(mine.pe(i));
        // SAFETY: the caller promises arrays of `n` elements on every member; all sockets have reduced
        // theirs, and of this socket's arrays no other member uses these elements.
        unsafe { piece.fold((&dest, mine.size), (&source, count), piece.n, false) };
        slice.start = end;
    }
    r.group.sync();
    for socket in (0..count).filter(|socket| *socket != sockets.own) {
        let theirs = sockets.members(socket);
        let from = theirs.pe(sockets.position % theirs.size);
        let piece = r.part(share(part(count, socket), mine.size, sockets.position, elem));
        let (source, bytes) = (piece.dest.of(from), piece.n * elem);
        // SAFETY: the caller promises arrays of `n` elements on every member; that socket has the
        // result of these elements, and no other member writes them on this one.
        unsafe {
            copy_to_socket(r.group, &piece.dest, sockets.members_on_socket(), source, (bytes, 2 * r.n * elem));
        };
    }
    r.group.leave();
}

/// Share `number` of `count` shares of a range of elements: whole cache lines, so that no line has two
/// writers.
fn share(range: std::ops::Range<usize>, count: usize, number: usize, elem: usize) -> std::ops::Range<usize> {
    let per_line = (crate::LINE / elem).max(1);
    let lines = range.len().div_ceil(per_line);
    let length = lines.div_ceil(count) * per_line;
    let at = |share: usize| (range.start + share * length).min(range.end);
    at(number)..at(number + 1)
}
