use super::*;
use crate::EAGER;
use crate::algorithm::Form;

fn costs(members: usize, cores: usize) -> Costs {
    let parameters = Parameters::default_for(cores);
    Costs::new(parameters, members, cores, members > cores, None)
}

/// The choices that a collective has on one socket.
fn of_one_socket(collective: Collective) -> impl Iterator<Item = &'static Choice> {
    let all = collective.choices().iter();
    all.filter(|choice| choice.algorithm != Algorithm::Sockets)
}

const TEAMS: [(usize, usize); 14] = [
    (1, 1),
    (2, 2),
    (3, 2),
    (4, 2),
    (16, 2),
    (64, 2),
    (3, 64),
    (16, 64),
    (64, 64),
    (100, 64),
    (4096, 128),
    (65_536, 128),
    (65_536, 65_536),
    (65_535, 65_536),
];

#[test]
fn times_are_positive_and_grow() {
    for (members, cores) in TEAMS {
        let costs = costs(members, cores);
        for collective in Collective::ALL {
            for choice in of_one_socket(collective) {
                let mut before = 0.0;
                for k in 0..=40 {
                    let time = costs.time(collective, *choice, 1 << k);
                    if choice.algorithm == Algorithm::Eager && time.is_infinite() {
                        assert!(1 << k > collective.eager_limit(members));
                        continue;
                    }
                    assert!(time.is_finite() && time >= 0.0);
                    let least = match (collective, choice.algorithm) {
                        // The root of small ones looks at all members' counts.
                        (Collective::Broadcast, Algorithm::Eager) => 0.0,
                        // Volume on demand ends at one size for all, which is late for many cores.
                        _ if members > cores => 0.5,
                        _ => 0.999,
                    };
                    assert!(
                        time >= least * before,
                        "{collective:?} {choice} 2^{k} at {members} on {cores}: {time} < {before}"
                    );
                    before = time;
                }
            }
        }
    }
}

#[test]
fn times_by_sockets_grow() {
    for (size, sockets, cores) in [(4, 2, 4), (16, 2, 2), (64, 4, 64), (4096, 8, 4096)] {
        let shape = Shape { size, sockets, widest: size / sockets };
        let parameters = Parameters::default_for(cores);
        let costs = Costs::new(parameters, shape, cores, size > cores, None);
        for collective in Collective::ALL {
            let by_sockets = Choice::direct(Algorithm::Sockets);
            if !collective.choices().contains(&by_sockets) {
                continue;
            }
            let mut before = 0.0;
            for k in 0..=40 {
                let time = costs.time(collective, by_sockets, 1 << k);
                assert!(time.is_finite() && time >= 0.0);
                let least = match collective {
                    // Flags with values take one hop less; volume on demand ends at one size.
                    Collective::Broadcast => 0.0,
                    _ => 0.5,
                };
                assert!(time >= least * before, "{collective:?} 2^{k}, {size}: {time} < {before}");
                before = time;
            }
        }
    }
}

#[test]
fn put_get_costs_more() {
    for (members, cores) in TEAMS.into_iter().skip(1) {
        let costs = costs(members, cores);
        for choice in Collective::Reduce.choices() {
            if choice.form == Form::PutGet {
                let direct = Choice::direct(choice.algorithm);
                for n in [8, 1 << 10, 1 << 20] {
                    let time = |c| costs.time(Collective::Reduce, c, n);
                    assert!(time(*choice) >= time(direct), "{choice} {n} at {members}");
                }
            }
        }
    }
}

#[test]
fn more_members_take_longer() {
    for collective in Collective::ALL {
        for choice in collective.choices() {
            for n in [8, 1 << 20] {
                let time = |k: u32| costs(1 << k, 2).time(collective, *choice, n);
                for k in 2..16 {
                    let (fewer, more) = (time(k), time(k + 1));
                    assert!(fewer <= more, "{collective:?} {choice} {n}: {fewer} > {more}");
                }
            }
        }
    }
}

#[test]
fn sizes_ascend_and_hold_the_limit() {
    for members in [1, 2, 3, 16, 64, 2048, 2049, 65_536] {
        for collective in Collective::ALL {
            let all = sizes(collective, members);
            assert!(all.is_sorted_by(|a, b| a < b), "{all:?}");
            if collective == Collective::Barrier {
                assert_eq!(all, [0]);
                continue;
            }
            let limit = collective.eager_limit(members);
            assert!(limit <= EAGER && (limit == 0 || all.contains(&limit)));
            assert_eq!(all.last(), Some(&(1 << 24)));
        }
    }
}

#[test]
fn a_forced_barrier_counts() {
    let parameters = Parameters::default_for(64);
    let with = |name| {
        let barrier = Collective::Barrier.choice(name);
        let costs = Costs::new(parameters, 64, 64, false, barrier);
        let pull = Collective::Fcollect.choice("pull").expect("it exists");
        costs.time(Collective::Fcollect, pull, 8)
    };
    assert!(with("dissemination") < with("central"));
}

#[test]
fn page_tables_of_many_windows_are_not_built_for_a_word() {
    let eager = Choice::direct(Algorithm::Eager);
    for members in [64, 128, 256, 512, 1024, 2048] {
        for cores in [2, 4, 16] {
            let costs = costs(members, cores);
            let best = costs.best(Collective::Reduce, 8);
            assert_eq!(best, eager, "{members} PEs on {cores} cores");
        }
    }
}
