//! Broadcast.

use ferroshmem_core::group::Group;
use ferroshmem_core::group::threads::Array;
use ferroshmem_tuning::{Algorithm, Choice, Collective, DecisionTable};

use super::{Arrays, MOST, TestCall, UNTOUCHED, calls, data, everywhere, run_oversubscribed};
use crate::broadcast::broadcast;

pub(super) fn check(arrays: &Arrays, group: &Group<'_>, call: &TestCall) {
    let me = group.me;
    // Active sets leave the root's destination alone.
    let to_root = !call.salt.is_multiple_of(3);
    let mine = data(call, me, call.bytes);
    arrays.prepare(call, me, mine);
    let (dest, source) = arrays.addresses(call, me);
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
    let calls = calls(Collective::Broadcast, &[9, 9, 5000, 5000], size);
    run_oversubscribed(size, |member| {
        for call in &calls {
            for root in 0..size {
                let call = TestCall { root, ..*call };
                call.check(&arrays, &member);
            }
        }
    });
}

/// Roots run ahead of slow members while the ring has room: no entry is overwritten before all
/// members have taken it, for any sequence of roots.
#[test]
fn small_broadcasts_do_not_wait_and_do_not_mix() {
    let decisions = DecisionTable::fixed(Collective::Broadcast, Choice::direct(Algorithm::Eager));
    for size in [2, 3, 5] {
        let numbers = Array::<u64>::new(size, 55);
        run_oversubscribed(size, |member| {
            let me = member.me;
            for call in 0..6000_usize {
                // Long runs of one root, then changing ones.
                let root = if call % 300 < 200 { call / 300 } else { call } % size;
                let n = [1, 7, 8, 55][call % 4];
                if me == root {
                    numbers.of(me)[..n].fill(call as u64);
                }
                if (call + me * 37).is_multiple_of(211) {
                    std::thread::sleep(std::time::Duration::from_micros(300));
                }
                let addresses = numbers.addresses(me).bytes();
                // SAFETY: the arrays are long enough; all members call this.
                unsafe {
                    broadcast(&member.group(&decisions), addresses, addresses, n * 8, root, true);
                };
                assert!(numbers.of(me)[..n].iter().all(|x| *x == call as u64), "call {call}");
            }
        });
    }
}
