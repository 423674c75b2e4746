//! Barriers, and tasks that their members share.

use ferroshmem_core::barrier::{self, SocketTree, TaskBarrier};
use ferroshmem_core::team::Members;
use ferroshmem_core::wait::flag;

use super::common::{AlwaysSleep, Cells, ModelWord, members, model};

/// Members, and how often threads are preempted: more of both takes minutes.
const SIZES: [(usize, usize); 2] = [(2, 2), (3, 1)];

/// Two barriers in a row: `size` members write their cell, synchronise, read all cells,
/// synchronise, and write again.
fn barrier_model<B>(size: usize, preemptions: usize, barrier: impl Fn() -> B + Sync + Send + 'static)
where
    B: Fn(usize, u32) + Send + Sync + 'static,
{
    model(preemptions, move || {
        members(size, (barrier(), Cells::new()), move |me, (barrier, cells): &(B, Cells)| {
            cells.write(me, me as u32 + 1);
            barrier(me, 1);
            for i in 0..size {
                assert_eq!(cells.read(i), i as u32 + 1);
            }
            barrier(me, 2);
            cells.write(me, 0);
        });
    });
}

fn central_barrier(size: usize, preemptions: usize) {
    barrier_model(size, preemptions, move || {
        let (arrivals, release) = (ModelWord::new(), ModelWord::new());
        move |_, epoch| {
            let all = size as u32;
            let nothing = || ();
            barrier::central(&arrivals, &release, all, epoch, || AlwaysSleep, nothing);
        }
    });
}

#[test]
fn the_central_barrier_holds_all_members() {
    for (size, preemptions) in SIZES {
        central_barrier(size, preemptions);
    }
}

/// Three flags of each member, for even and odd epochs, as the slots of a team have them.
fn flags(size: usize) -> Vec<[[ModelWord; 3]; 2]> {
    let three = || [ModelWord::new(), ModelWord::new(), ModelWord::new()];
    (0..size).map(|_| [three(), three()]).collect()
}

fn dissemination_barrier(size: usize, preemptions: usize) {
    barrier_model(size, preemptions, move || {
        let flags = flags(size);
        move |me, epoch| {
            let flag = |m: usize, k: usize| &flags[m][epoch as usize % 2][k];
            let post = |m, k| flag::post(flag(m, k), epoch);
            let wait = |k| flag::wait(flag(me, k), epoch, || AlwaysSleep);
            barrier::dissemination(me, size, post, wait);
        }
    });
}

#[test]
fn the_dissemination_barrier_holds_all_members() {
    for (size, preemptions) in SIZES {
        dissemination_barrier(size, preemptions);
    }
}

/// Values beside flags, in lines of even and odd epochs: a member writes the line of an epoch again after the next but
/// one has begun, when its value has been read.
#[test]
fn values_of_an_epoch_are_read_before_the_next_but_one() {
    model(2, || {
        members(2, (flags(2), Cells::new()), |me, (flags, values)| {
            for epoch in 1..=3 {
                let parity = epoch as usize % 2;
                let post = |m: usize, k: usize| {
                    values.write(2 * m + parity, 10 * epoch + me as u32);
                    flag::post(&flags[m][parity][k], epoch);
                };
                let wait = |k: usize| {
                    flag::wait(&flags[me][parity][k], epoch, || AlwaysSleep);
                    assert_eq!(values.read(2 * me + parity), 10 * epoch + 1 - me as u32);
                };
                barrier::dissemination(me, 2, post, wait);
            }
        });
    });
}

fn tree_barrier(size: usize, preemptions: usize) {
    barrier_model(size, preemptions, move || {
        let flags = flags(size);
        move |me, epoch| {
            // Of three members none is the third child: flag 2 can be the release.
            let flag = |m: usize, k: usize| &flags[m][epoch as usize % 2][k.min(2)];
            let post = |m, k| flag::post(flag(m, k), epoch);
            let wait = |k| flag::wait(flag(me, k), epoch, || AlwaysSleep);
            barrier::tree(me, size, post, wait);
        }
    });
}

#[test]
fn the_tree_barrier_holds_all_members() {
    for (size, preemptions) in SIZES {
        tree_barrier(size, preemptions);
    }
}

#[test]
#[ignore = "takes minutes"]
fn barriers_hold_three_members_that_are_preempted_twice() {
    for barrier in [central_barrier, dissemination_barrier, tree_barrier] {
        barrier(3, 2);
    }
}

/// Two members on a socket and one on another, whose leaders exchange flags; then each member on its own.
#[test]
fn the_barrier_of_sockets_holds_all_members() {
    const MAPS: [&[&[u32]]; 3] = [&[&[0, 1], &[2]], &[&[0], &[1]], &[&[0], &[1], &[2]]];

    for sockets in MAPS {
        let size = sockets.iter().map(|members| members.len()).sum();
        let preemptions = if size == 2 { 2 } else { 1 };
        barrier_model(size, preemptions, move || {
            let flags = flags(size);
            move |me, epoch| {
                let own = sockets.iter().position(|s| s.contains(&(me as u32)));
                let own = own.expect("each member is on a socket");
                let position = sockets[own].iter().position(|m| *m as usize == me);
                let mine = Members::of(sockets[own].to_vec());
                let tree = SocketTree {
                    mine: &mine,
                    position: position.expect("it is there"),
                    own,
                    count: sockets.len(),
                    exchanges: sockets.len() == 2,
                };
                // Of the flags of the tree, no member uses more than three.
                let flag = |m: usize, k: usize| {
                    let k = [0, 0, 0, 0, 2, 0, 1, 0, 0, 1][k];
                    &flags[m][epoch as usize % 2][k]
                };
                let leader = |socket: usize| sockets[socket][0] as usize;
                let post = |m, k| flag::post(flag(m, k), epoch);
                let wait = |k| flag::wait(flag(me, k), epoch, || AlwaysSleep);
                barrier::by_sockets(&tree, leader, post, wait);
            }
        });
    }
}

/// The last member to arrive works alone, and all members see its result.
#[test]
fn the_last_to_arrive_works_for_all() {
    model(2, || {
        let words = [ModelWord::new(), ModelWord::new()];
        members(2, (words, Cells::new()), |me, ([arrivals, release], cells)| {
            cells.write(me, me as u32 + 1);
            let work = || cells.write(2, cells.read(0) + cells.read(1));
            barrier::central(arrivals, release, 2, 1, || AlwaysSleep, work);
            assert_eq!(cells.read(2), 3);
        });
    });
}

/// Two tasks, two members, two epochs: each task is done once, after all members have arrived,
/// and all members see the results of both, whether or not the second member takes tasks.
#[test]
fn shared_tasks_are_done_once_before_any_member_leaves() {
    for helpers in [2, 1] {
        model(2, move || {
            let words = std::array::from_fn(|_| ModelWord::new());
            members(2, (words, Cells::new()), move |me, (words, cells)| {
                let [arrivals, next, done, arrived, finished] = words;
                let barrier = TaskBarrier { arrivals, next, done, arrived, finished };
                cells.write(me, 1);
                let task = |i: u32| cells.write(i as usize, cells.read(i as usize) + 1);
                for (epoch, expected) in [(1, 2), (2, 3)] {
                    barrier.arrive(2, epoch, (2, me < helpers), || AlwaysSleep, task);
                    assert_eq!((cells.read(0), cells.read(1)), (expected, expected));
                }
            });
        });
    }
}

/// Member 0 works after both have arrived, and the other sees it, twice.
#[test]
fn one_member_works_before_the_other_leaves() {
    model(2, || {
        let words: [ModelWord; 3] = std::array::from_fn(|_| ModelWord::new());
        members(2, (words, Cells::new()), |me, (w, cells)| {
            for epoch in 1..=2 {
                cells.write(me, epoch);
                let work = (me == 0).then_some(|| cells.write(2, cells.read(0) + cells.read(1)));
                let sleep = || AlwaysSleep;
                barrier::behind_first(&w[0], (&w[1], &w[2]), 2, epoch, work, sleep, |_| AlwaysSleep);
                assert_eq!(cells.read(2), 2 * epoch);
            }
        });
    });
}
