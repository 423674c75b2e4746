//! Streams of items.

use ferroshmem::{Error, Pace, World};

use crate::data::{Particle, elements};

programs!("streams": everything_arrives, questions_and_answers, dropped);

/// Items of all PEs to all, one by one and by slices, steady or not, twice.
fn everything_arrives(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_member().number(), world.n_members());
    for pace in [Pace::Bursty, Pace::Steady] {
        let mut stream = world.stream::<[u32; 3]>(pace)?;
        for round in 0..2 {
            let mut next = vec![0; n];
            let mut arrived = |from: usize, item: [u32; 3]| {
                assert_eq!(item, [from as u32, next[from], round]);
                next[from] += 1;
            };
            for i in 0..500 {
                for to in world.members() {
                    let item = [me as u32, i, round];
                    stream.push(to, item, |from, item| arrived(from.number(), item))?;
                }
            }
            for to in world.members() {
                let items: Vec<_> = (500..800).map(|i| [me as u32, i, round]).collect();
                let mut left = &items[..];
                while !left.is_empty() {
                    let n = stream.try_push_slice(to, left)?;
                    left = &left[n..];
                    while let Some((from, items)) = stream.view() {
                        for item in items {
                            arrived(from.number(), *item);
                        }
                    }
                }
            }
            stream.drain().for_each(|(from, item)| arrived(from.number(), item));
            assert!(stream.is_done() && stream.pull().is_none());
            assert_eq!(next, vec![800; n]);
            stream.reset();
        }
    }
    Ok(())
}

/// Questions by one stream, answers by another: the owner answers each question that it pulls.
fn questions_and_answers(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_member().number(), world.n_members());
    let value = |pe: usize, i: u64| (pe as u64) << 32 | (i * i);
    let mut questions = world.stream::<u64>(Pace::Bursty)?;
    let mut answers = world.stream::<[u64; 2]>(Pace::Bursty)?;
    let (mut asked, mut sum, mut known) = (0u64, 0, 0);
    let check = |known: &mut u64, from: usize, [i, answer]: [u64; 2]| {
        assert_eq!(answer, value(from, i));
        *known += 1;
    };
    loop {
        if asked < 3000 {
            let to = world.member((me + asked as usize) % n)?;
            asked += u64::from(questions.try_push(to, asked)?);
            if asked == 3000 {
                questions.end();
            }
        }
        // Another PE may wait for room for its answers.
        for (from, pair) in answers.arrivals() {
            check(&mut known, from.number(), pair);
        }
        if let Some((from, i)) = questions.pull() {
            sum += i;
            answers.push(from, [i, value(me, i)], |from, pair| {
                check(&mut known, from.number(), pair);
            })?;
        } else if questions.is_done() {
            break;
        }
    }
    answers.drain().for_each(|(from, pair)| check(&mut known, from.number(), pair));
    assert_eq!((known, sum > 0), (3000, true));
    Ok(())
}

/// A stream that is dropped with items in it, and others open; and one of a team.
fn dropped(world: &World) -> Result<(), Error> {
    let half = world.split_strided(0, 2, world.n_members().div_ceil(2))?;
    let mut other = world.stream::<u8>(Pace::Steady)?;
    if let Some(half) = &half {
        let mut stream = half.stream::<Particle>(Pace::Bursty)?;
        let items: Vec<Particle> = elements(0, 0, 10);
        for to in half.members() {
            assert!(stream.try_push_slice(to, &items)? <= 10);
        }
    }
    let mut pushed = 0;
    for to in world.members() {
        pushed += usize::from(other.try_push(to, 1)?);
    }
    assert_eq!(pushed, world.n_members());
    assert_eq!(other.drain().count(), world.n_members());
    Ok(())
}
