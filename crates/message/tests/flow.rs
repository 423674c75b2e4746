//! Flow control and matching of messages between nodes, in every order in which PEs act and records arrive: two PEs
//! send to a third, which receives. The library's own credit, windows and matching, between queues that keep each
//! sender's order as the fabric's messages do.
//!
//! In every state that can be reached, what the receiver keeps for a sender is within the sender's credit, and
//! fragments are within the window. In every last state, all sends and receives are complete, each receive has the
//! first message that it takes, and each message the first receive that takes it.

use std::collections::{HashSet, VecDeque};

use ferroshmem_layout::inbox::{Envelope, Kind};
use ferroshmem_message::credit::{Credit, FragmentWindow};
use ferroshmem_message::matching::Matching;
use ferroshmem_message::request::Pattern;

/// The longest eager message, and the most fragments that a receiver has not taken.
const EAGER: u64 = 2;
const WINDOW: u64 = 2;
const ANY: i32 = -1;

/// A message of a sender's program: its tag and its bytes.
type Message = (i32, u64);
/// A receive of the receiver's program: source and tag.
type Wanted = (i32, i32);

/// What the PEs do.
struct Programs {
    sends: [Vec<Message>; 2],
    receives: Vec<Wanted>,
    /// Bytes of credit.
    limit: u64,
    /// The receiver says what it has matched.
    is_answered: bool,
}

/// A record on its way to the receiver. Messages go by their number among the sender's.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Record {
    Eager(usize),
    Ready(usize),
    /// A byte of a message.
    Fragment(usize),
}

/// A record on its way to a sender.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Answer {
    /// It may send bytes of a message up to this one.
    Clear(usize, u64),
    More(usize, u64),
    Credit(u64),
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Sender {
    /// Messages begun.
    begun: usize,
    credit: Credit,
    /// Bytes sent and allowed of messages whose receiver has matched; complete ones are gone.
    sending: Vec<(usize, u64, u64)>,
    /// Messages that are not complete.
    open: Vec<usize>,
    to_receiver: VecDeque<Record>,
    from_receiver: VecDeque<Answer>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct State {
    senders: [Sender; 2],
    /// Receives begun.
    begun: usize,
    /// With each message its sender and number.
    matching: Matching<(usize, usize)>,
    credits: [Credit; 2],
    /// Receives that take fragments: sender, message, receive, window.
    receiving: Vec<(usize, usize, usize, FragmentWindow)>,
    /// Matches in their order: receive, sender, message.
    matched: Vec<(usize, usize, usize)>,
    /// Receives that have their data.
    complete: Vec<usize>,
    /// Bytes of eager messages that are kept, for each sender.
    kept: [u64; 2],
}

impl Programs {
    fn envelope(&self, sender: usize, message: usize) -> Envelope {
        let (tag, bytes) = self.sends[sender][message];
        Envelope { kind: Kind::Eager, team: 0, source: sender as u32, tag, len: bytes as u32, bytes }
    }

    fn pattern(&self, receive: usize) -> Pattern {
        let (source, tag) = self.receives[receive];
        Pattern { team: 0, source, tag }
    }

    fn bytes(&self, sender: usize, message: usize) -> u64 {
        self.sends[sender][message].1
    }

    /// The states that follow.
    fn steps(&self, state: &State) -> Vec<State> {
        let mut next = Vec::new();
        for sender in 0..2 {
            if state.senders[sender].begun < self.sends[sender].len() {
                let mut state = state.clone();
                self.send(&mut state, sender);
                next.push(state);
            }
            let fragment = |(_, sent, allowed): &(usize, u64, u64)| sent < allowed;
            if let Some(at) = state.senders[sender].sending.iter().position(fragment) {
                let mut state = state.clone();
                self.send_fragment(&mut state.senders[sender], sender, at);
                next.push(state);
            }
            if !state.senders[sender].to_receiver.is_empty() {
                let mut state = state.clone();
                self.arrive(&mut state, sender);
                next.push(state);
            }
            if !state.senders[sender].from_receiver.is_empty() {
                let mut state = state.clone();
                self.answered(&mut state.senders[sender], sender);
                next.push(state);
            }
        }
        if state.begun < self.receives.len() {
            let mut state = state.clone();
            self.receive(&mut state);
            next.push(state);
        }
        next
    }

    fn send(&self, state: &mut State, sender: usize) {
        let one = &mut state.senders[sender];
        let message = one.begun;
        one.begun += 1;
        let bytes = self.bytes(sender, message);
        if bytes <= EAGER && one.credit.take(bytes, self.limit) {
            one.to_receiver.push_back(Record::Eager(message));
        } else {
            one.open.push(message);
            one.to_receiver.push_back(Record::Ready(message));
        }
    }

    fn send_fragment(&self, one: &mut Sender, sender: usize, at: usize) {
        let (message, sent, _) = &mut one.sending[at];
        let message = *message;
        *sent += 1;
        let is_all = *sent == self.bytes(sender, message);
        one.to_receiver.push_back(Record::Fragment(message));
        if is_all {
            one.sending.remove(at);
            one.open.retain(|open| *open != message);
        }
    }

    fn answered(&self, one: &mut Sender, sender: usize) {
        match one.from_receiver.pop_front() {
            Some(Answer::Clear(message, allowed)) => {
                if self.bytes(sender, message) == 0 {
                    one.open.retain(|open| *open != message);
                } else {
                    one.sending.push((message, 0, allowed));
                }
            }
            Some(Answer::More(message, allowed)) => {
                let mut sending = one.sending.iter_mut();
                let (.., old) = sending.find(|s| s.0 == message).expect("it is under way");
                assert!(*old < allowed, "a window that shrinks");
                *old = allowed;
            }
            Some(Answer::Credit(bytes)) => one.credit.give_back(bytes),
            None => {}
        }
    }

    /// A receive has matched a message.
    fn deliver(&self, state: &mut State, receive: usize, sender: usize, message: usize, is_eager: bool) {
        state.matched.push((receive, sender, message));
        let bytes = self.bytes(sender, message);
        let answers = &mut state.senders[sender].from_receiver;
        if is_eager {
            state.complete.push(receive);
            let owed = state.credits[sender].return_credit(bytes, self.limit);
            if let Some(owed) = owed.filter(|_| self.is_answered) {
                answers.push_back(Answer::Credit(owed));
            }
            return;
        }
        let window = FragmentWindow { done: 0, allowed: bytes.min(WINDOW), all: bytes };
        answers.push_back(Answer::Clear(message, window.allowed));
        if bytes == 0 {
            state.complete.push(receive);
        } else {
            state.receiving.push((sender, message, receive, window));
        }
    }

    fn receive(&self, state: &mut State) {
        let receive = state.begun;
        state.begun += 1;
        let pattern = self.pattern(receive);
        match state.matching.find(&pattern) {
            None => state.matching.post(pattern, receive as u64),
            Some(at) => {
                let (envelope, (sender, message)) = state.matching.remove(at).expect("it was found");
                let is_eager = envelope.kind == Kind::Eager;
                if is_eager {
                    state.kept[sender] -= envelope.bytes;
                }
                self.deliver(state, receive, sender, message, is_eager);
            }
        }
    }

    fn arrive(&self, state: &mut State, sender: usize) {
        let Some(record) = state.senders[sender].to_receiver.pop_front() else {
            return;
        };
        let (message, is_eager) = match record {
            Record::Eager(message) => (message, true),
            Record::Ready(message) => (message, false),
            Record::Fragment(message) => return self.take_fragment(state, sender, message),
        };
        let envelope = self.envelope(sender, message);
        if let Some(receive) = state.matching.take(&envelope) {
            return self.deliver(state, receive as usize, sender, message, is_eager);
        }
        let kind = if is_eager { Kind::Eager } else { Kind::Ready };
        if is_eager {
            state.kept[sender] += envelope.bytes;
            assert!(state.kept[sender] <= self.limit, "more is kept than the credit");
        }
        let envelope = Envelope { kind, ..envelope };
        state.matching.keep(envelope, (sender, message));
    }

    fn take_fragment(&self, state: &mut State, sender: usize, message: usize) {
        let mut receiving = state.receiving.iter();
        let at = receiving.position(|r| (r.0, r.1) == (sender, message));
        let at = at.expect("a fragment that was asked for");
        let (_, _, receive, window) = &mut state.receiving[at];
        assert!(window.done < window.allowed, "a fragment beyond the window");
        window.done += 1;
        if window.done == window.all {
            state.complete.push(*receive);
            state.receiving.remove(at);
        } else if let Some(allowed) = window.advance(WINDOW) {
            window.allowed = allowed;
            let answer = Answer::More(message, allowed);
            state.senders[sender].from_receiver.push_back(answer);
        }
    }

    /// What must be so when nothing is left to do.
    fn check_end(&self, state: &State) {
        for one in &state.senders {
            assert!(one.open.is_empty(), "sends hang: {state:?}");
        }
        assert_eq!(state.complete.len(), self.receives.len(), "receives hang: {state:?}");
        let matched = |sender: usize, message: usize| {
            let mut matched = state.matched.iter();
            matched.position(|m| (m.1, m.2) == (sender, message))
        };
        for (when, &(receive, sender, message)) in state.matched.iter().enumerate() {
            let pattern = self.pattern(receive);
            // No message that was sent before passes this receive by.
            for before in (0..message).filter(|m| pattern.takes(&self.envelope(sender, *m))) {
                let at = matched(sender, before);
                assert!(at.is_some_and(|at| at < when), "a message overtakes: {state:?}");
            }
            // No receive that was called before passes this message by.
            let envelope = self.envelope(sender, message);
            for before in (0..receive).filter(|r| self.pattern(*r).takes(&envelope)) {
                let mut earlier = state.matched[..when].iter();
                assert!(earlier.any(|m| m.0 == before), "a receive overtakes: {state:?}");
            }
        }
    }

    /// Goes through all states; how many there are.
    fn explore(&self) -> usize {
        let mut seen = HashSet::new();
        let mut open = vec![State::default()];
        while let Some(state) = open.pop() {
            let next = self.steps(&state);
            if next.is_empty() {
                self.check_end(&state);
            }
            for state in next {
                if seen.insert(state.clone()) {
                    open.push(state);
                }
            }
        }
        seen.len()
    }
}

/// Three short messages of each sender, with tags in different orders, to receives of any and of certain ones.
fn short(limit: u64, is_answered: bool) -> Programs {
    Programs {
        sends: [vec![(1, 1), (2, 1), (1, 2)], vec![(1, 2), (2, 0)]],
        receives: vec![(0, 2), (ANY, 1), (1, ANY), (0, ANY), (ANY, ANY)],
        limit,
        is_answered,
    }
}

#[test]
fn messages_within_credit_arrive_in_order() {
    assert!(short(8, true).explore() > 1000);
}

/// What is beyond credit is kept by its sender, and overtaken by nothing.
#[test]
fn messages_beyond_credit_arrive_in_order() {
    for limit in [0, 1, 2, 3] {
        assert!(short(limit, true).explore() > 1000);
    }
}

/// No send waits for credit: all complete though none comes back.
#[test]
fn sends_do_not_wait_for_credit() {
    for limit in [0, 2] {
        assert!(short(limit, false).explore() > 1000);
    }
}

/// Long messages of both senders, and short ones between them, to receives of any source.
#[test]
fn long_messages_stay_within_the_window() {
    let programs = Programs {
        sends: [vec![(1, 5), (2, 1)], vec![(1, 4)]],
        receives: vec![(ANY, 1), (0, ANY), (ANY, ANY)],
        limit: 2,
        is_answered: true,
    };
    assert!(programs.explore() > 1000);
}
