//! Passes a message around the ring of PEs: each hop is one put with a signal.
//!
//!     cargo build --example ring && oshrun -n 4 target/debug/examples/ring [ROUNDS]
//!
//! The message counts its hops and carries one word per PE, to which that PE adds the round's
//! number. `put_signal` delivers the message before the signal, so a PE that sees the signal sees
//! the message: no fence, no barrier.

use std::error::Error;
use std::process::ExitCode;

use ferroshmem::{Compare, SignalUpdate, World};

const DEFAULT_ROUNDS: u64 = 1000;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let rounds = match std::env::args().nth(1) {
        Some(rounds) => rounds.parse()?,
        None => DEFAULT_ROUNDS,
    };
    let world = World::init()?;
    let (me, n) = (world.my_pe(), world.n_pes());
    let begins = me.number() == 0;

    let mut message = vec![0u64; 1 + n]; // hops, then one word per PE
    let inbox = world.alloc(message.len())?.open();
    let arrived = world.signals(1)?; // the round of the latest message in the inbox

    for round in 1..=rounds {
        // PE 0 begins a round when the message of the previous one has returned.
        arrived.wait_until(0, Compare::Ge(if begins { round - 1 } else { round }))?;
        inbox.get(me, 0, &mut message)?;
        message[0] += 1;
        message[1 + me.number()] += round;
        let signal = SignalUpdate::Set(round);
        inbox.put_signal(me.next(), 0, &message, &arrived, 0, signal)?;
    }

    if begins {
        arrived.wait_until(0, Compare::Ge(rounds))?;
        inbox.get(me, 0, &mut message)?;
        let (hops, words) = (message[0], &message[1..]);
        if hops != rounds * n as u64 || words.iter().any(|&word| word != rounds * (rounds + 1) / 2) {
            eprintln!("ring: the message is damaged after {hops} hops: {words:?}");
            return Ok(ExitCode::FAILURE);
        }
        println!("ring: {rounds} rounds of {n} PEs, {hops} hops");
    }
    Ok(ExitCode::SUCCESS)
}
