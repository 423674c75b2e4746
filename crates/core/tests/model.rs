//! Every interleaving of the waiting algorithms, by loom: no thread sleeps for ever, none
//! leaves a barrier early, locks exclude. The algorithms are the library's own, over a word
//! whose futex is modelled by a mutex and a condition variable. A lost wake-up shows as a
//! deadlock, which loom reports.

mod model {
    mod barriers;
    mod batches;
    mod chunks;
    mod common;
    mod handovers;
    mod inbox;
    mod locks;
    mod waits;
}
