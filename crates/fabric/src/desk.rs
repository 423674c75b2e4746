//! Atomic operations with a result and short reads, where the target's software does them anyway.
//!
//! Over sockets, libfabric's own cost several completions: 15 us for a read of 8 bytes and 18 for a
//! fetching atomic, where a write there and a write back that nobody is told of take 13.5 (the
//! `direct` benchmark). So a thread that waits for the result writes a question to the target's
//! desk; whoever lets the provider work there answers it, by a write to the desk of who asked.

use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Mutex, MutexGuard};

use crate::endpoint::Endpoint;
use crate::engine::Engine;
use crate::local::Region;
use crate::question::{LONGEST, Question};
use crate::segment::register;
use crate::slip::{CONTENT, Place, Slip, Words};
use crate::{Config, Error, Remote, sys};

/// PEs of a job at most: everybody looks through the places of all others.
const PES: usize = 64;

pub(crate) struct Desk {
    /// Dropped before the memory.
    region: Region,
    /// Where the places begin, as peers name it.
    base: u64,
    /// A question of each PE, then an answer of each.
    places: Box<[Place]>,
    me: usize,
    /// The numbers of the last questions to each PE; whoever asks holds its lock.
    asked: Box<[Mutex<u64>]>,
    clerk: Mutex<Clerk>,
    /// Somebody wanted to attend while the clerk was busy.
    again: AtomicBool,
}

/// What has been answered.
struct Clerk {
    /// The numbers of the last questions of each PE.
    last: Box<[u64]>,
    /// Answers for which there was no room.
    unsent: Vec<(usize, Slip)>,
}

impl Desk {
    /// None: the provider's own operations are better, or there are too many PEs.
    pub(crate) fn open(
        endpoint: &Endpoint,
        config: &Config,
        inject: usize,
    ) -> Result<Option<Desk>, Error> {
        let n = config.n_pes;
        let provider = endpoint.info.provider();
        let by_software = provider == "tcp;ofi_rxm" && !endpoint.pins;
        if !by_software || inject < size_of::<Words>() || n > PES || config.pe >= n {
            return Ok(None);
        }
        let places: Box<[Place]> = (0..2 * n).map(|_| Place::default()).collect();
        let base = places.as_ptr().cast();
        // SAFETY: the places live until the region is gone.
        let region = unsafe { register(endpoint, base, size_of_val(&*places), true, &|_| false)? };
        Ok(Some(Desk {
            region,
            base: endpoint.address_of(base),
            places,
            me: config.pe,
            asked: (0..n).map(|_| Mutex::new(0)).collect(),
            clerk: Mutex::new(Clerk {
                last: vec![0; n].into(),
                unsent: Vec::new(),
            }),
            again: AtomicBool::new(false),
        }))
    }

    /// Address and key, for peers.
    pub(crate) fn address(&self) -> (u64, u64) {
        (self.base, self.region.key())
    }

    fn n(&self) -> usize {
        self.asked.len()
    }

    /// The clerk, if it is free. Else it may have passed by the place that has just been written
    /// to: then whoever has it is told to look again.
    fn clerk(&self) -> Option<MutexGuard<'_, Clerk>> {
        let clerk = self.clerk.try_lock().ok().or_else(|| {
            self.again.store(true, SeqCst);
            self.clerk.try_lock().ok() // which may have come too late
        })?;
        self.again.swap(false, SeqCst);
        Some(clerk)
    }

    /// Where the place is that this PE writes to at another's desk.
    fn theirs(&self, desk: u64, answers: bool) -> u64 {
        let index = self.me + if answers { self.n() } else { 0 };
        desk + (index * size_of::<Place>()) as u64
    }
}

impl Engine {
    /// Asks the target and waits for what it answers. None: libfabric is to do it.
    pub(crate) fn ask(&self, at: Remote, question: Question) -> Option<[u8; LONGEST]> {
        let desk = self.desk.as_ref()?;
        let len = question.len();
        let aligned = matches!(question, Question::Read(_)) || at.offset.is_multiple_of(len);
        if len > LONGEST || !aligned {
            return None;
        }
        let peer = self.peer(at.pe);
        let (base, key) = peer.desk?;
        if self.spot(peer, at).run < len {
            return None;
        }
        // A thread at a time; others need not wait for it.
        let mut number = desk.asked[at.pe].try_lock().ok()?;
        *number += 1;
        let slip = Slip {
            number: *number,
            content: question.to_words(at.segment, at.offset),
        };
        let words = slip.to_words();
        let to = desk.theirs(base, false);
        peer.begun.fetch_add(1, Relaxed);
        self.submit(at.pe, || self.hand_in(&words, peer.address, to, key));
        let place = &desk.places[desk.n() + at.pe];
        let mut answer = None;
        self.wait(|| {
            answer = place.after(slip.number - 1);
            answer.is_some()
        });
        peer.answers.fetch_add(1, Relaxed);
        let words = answer?.content;
        let mut bytes = [0; LONGEST];
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
        Some(bytes)
    }

    fn hand_in(&self, words: &Words, peer: sys::fi_addr_t, to: u64, key: u64) -> isize {
        let (ep, len) = (self.endpoint.ep, size_of::<Words>());
        // SAFETY: as many bytes as are said; they may be changed on return.
        unsafe { sys::fi_inject_write(ep, words.as_ptr().cast(), len, peer, to, key) }
    }

    /// Answers what has been asked; says how many questions were or are to be answered.
    #[inline]
    pub(crate) fn attend(&self) -> usize {
        match &self.desk {
            Some(desk) => self.attend_at(desk),
            None => 0,
        }
    }

    fn attend_at(&self, desk: &Desk) -> usize {
        let mut total = 0;
        while let Some(mut clerk) = desk.clerk() {
            let result = self.answer_all(desk, &mut clerk);
            drop(clerk);
            match result {
                Ok(n) => total += n,
                // Not with the clerk: it is told to the owner, who may put to others.
                Err((pe, why)) => self.lost(pe, &why),
            }
            if !desk.again.load(SeqCst) {
                break;
            }
        }
        total
    }

    fn answer_all(&self, desk: &Desk, clerk: &mut Clerk) -> Result<usize, (usize, String)> {
        let mut n = 0;
        for (pe, slip) in std::mem::take(&mut clerk.unsent) {
            self.reply(desk, clerk, pe, slip)?;
        }
        for pe in 0..desk.n() {
            let Some(slip) = desk.places[pe].after(clerk.last[pe]) else {
                continue;
            };
            clerk.last[pe] = slip.number;
            let content = self.answer(slip).ok_or((
                pe,
                "it asks for memory that this PE does not share".to_owned(),
            ))?;
            self.reply(desk, clerk, pe, Slip { content, ..slip })?;
            n += 1;
        }
        // Who is owed an answer is a reason not to sleep.
        Ok(n + clerk.unsent.len())
    }

    fn answer(&self, slip: Slip) -> Option<[u64; CONTENT]> {
        let (question, segment, offset) = Question::from_words(slip.content)?;
        let at = self.segments.place(segment, offset, question.len())?;
        // SAFETY: shared memory, where whoever asks is to have aligned words only.
        Some(unsafe { question.answer(at) })
    }

    fn reply(
        &self,
        desk: &Desk,
        clerk: &mut Clerk,
        pe: usize,
        slip: Slip,
    ) -> Result<(), (usize, String)> {
        let peer = self.peers.get(pe);
        let Some((peer, (base, key))) = peer.and_then(|peer| Some((peer, peer.desk?))) else {
            return Err((pe, "it asks, but has not said where to answer".to_owned()));
        };
        let to = desk.theirs(base, true);
        match self.hand_in(&slip.to_words(), peer.address, to, key) {
            0 => {}
            result if result == -(sys::FI_EAGAIN as isize) => clerk.unsent.push((pe, slip)),
            result => return Err((pe, self.endpoint.library.words(result))),
        }
        Ok(())
    }
}
