//! Broadcast.

use super::{Arrays, Call, MOST, UNTOUCHED, calls, data, everywhere, run_patiently};
use crate::choice::Collective;
use crate::collective::broadcast::broadcast;
use crate::group::Group;

pub fn check(arrays: &Arrays, group: &Group<'_>, call: &Call) {
    let me = group.me;
    // Active sets leave the root's destination alone.
    let to_root = !call.salt.is_multiple_of(3);
    let mine = data(call, me, call.bytes);
    arrays.prepare(call, me, mine);
    let (dest, source) = arrays.places(call, me);
    // SAFETY: the arrays are long enough; all members call this.
    unsafe { broadcast(group, dest, source, call.bytes, call.root, to_root) };
    let result = if me == call.root && !to_root && !call.in_place {
        &[UNTOUCHED; MOST][..call.bytes]
    } else {
        data(call, call.root, call.bytes)
    };
    arrays.check(call, me, mine, result);
}

#[test]
fn all_get_the_roots_source() {
    everywhere(Collective::Broadcast);
}

#[test]
fn any_member_can_be_the_root() {
    let size = 6;
    let arrays = Arrays::new(size, MOST);
    let calls = calls(Collective::Broadcast, &[9, 5000], size);
    run_patiently(size, |member| {
        for call in &calls {
            for root in 0..size {
                let call = Call { root, ..*call };
                call.check(&arrays, &member);
            }
        }
    });
}
