//! Groups of threads, for tests: the collectives' own code over memory of one process.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io::Write as _;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::{Arc, RwLock};

use ferroshmem_platform::socket::Locality;
use ferroshmem_tuning::{Algorithm, Collective, DecisionTable};

use super::channel::{Channel, Slots};
use super::{Group, MemberAddresses, Traffic};
use crate::job::Localities;
use crate::team::{LocalMembers, Members, Position};
use crate::wait::flag;
use ferroshmem_layout::{TeamSlot, WaitKind};

/// Memory of the members of groups, by which counts know whose an address is: its beginning, the bytes from one
/// member's to the next one's, and the number of members.
static OWNED: RwLock<Vec<(usize, usize, usize)>> = RwLock::new(Vec::new());

/// The member whose memory an address is in.
pub(super) fn owner(address: usize) -> Option<usize> {
    let owned = OWNED.read().unwrap();
    owned.iter().find_map(|(start, step, members)| {
        let member = address.checked_sub(*start)? / step;
        (member < *members).then_some(member)
    })
}

fn own(start: usize, step: usize, members: usize) {
    OWNED.write().unwrap().push((start, step, members));
}

fn disown(start: usize) {
    OWNED.write().unwrap().retain(|(other, ..)| *other != start);
}

/// The slots of one group.
struct Memory {
    first: NonNull<TeamSlot>,
    size: usize,
}

// SAFETY: slots are shared memory: atomics, and cells used as the collectives promise.
unsafe impl Send for Memory {}
// SAFETY: slots are shared memory: atomics, and cells used as the collectives promise.
unsafe impl Sync for Memory {}

impl Memory {
    fn layout(size: usize) -> Layout {
        Layout::array::<TeamSlot>(size).unwrap()
    }

    fn new(size: usize) -> Self {
        // SAFETY: the layout is not empty; zero bytes are valid slots.
        let first = unsafe { alloc_zeroed(Self::layout(size)) }.cast();
        let first: NonNull<TeamSlot> = NonNull::new(first).unwrap();
        own(first.addr().get(), size_of::<TeamSlot>(), size);
        Self { first, size }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        disown(self.first.addr().get());
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.first.as_ptr().cast(), Self::layout(self.size)) };
    }
}

/// One thread as a member.
pub struct Member {
    /// Its number.
    pub me: usize,
    /// Number of members.
    pub size: usize,
    /// Whether sums are those of `SHMEM_REPRODUCIBLE=1`.
    pub reproducible: bool,
    members: LocalMembers,
    memory: Arc<Memory>,
    position: Position,
}

impl Member {
    /// All members of a new group that has gone through so many epochs and small broadcasts, by which the members have
    /// left nothing in what lies in their slots.
    pub fn all(size: usize, count: u32) -> impl Iterator<Item = Self> {
        let memory = Arc::new(Memory::new(size));
        (0..size).map(move |me| {
            // SAFETY: one of the slots, which live as long as the memory.
            let slot = unsafe { memory.first.add(me).as_ref() };
            flag::post(&slot.ring.taken.count, count);
            Self {
                me,
                size,
                members: LocalMembers::new(Members::world(size), me, &Localities::default()),
                reproducible: false,
                memory: memory.clone(),
                position: Position::after(count),
            }
        })
    }

    /// The memory of all members' slots, in whole pages.
    pub fn slots(&self) -> std::ops::Range<usize> {
        let start = self.memory.first.as_ptr().addr();
        start..start + Memory::layout(self.memory.size).size()
    }

    /// The same member, where member m of all is on socket `sockets[m]`.
    pub fn on_sockets(mut self, sockets: &[usize]) -> Self {
        let localities = Localities::new(sockets.iter().map(|socket| Locality::new(*socket, 0)));
        self.members = LocalMembers::new(Members::clone(&self.members), self.me, &localities);
        self
    }

    /// Epochs that it has begun.
    pub fn epochs(&self) -> u64 {
        self.position.epoch.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// A collective call with this decision table. Where the barrier is the central one, PEs count as
    /// outnumbering cores.
    pub fn group<'a>(&'a self, decisions: &'a DecisionTable) -> Group<'a> {
        let slots = Slots {
            first: self.memory.first,
            step: size_of::<TeamSlot>() as isize,
            local: &self.members,
            position: &self.position,
            decisions,
            kind: WaitKind::Team,
            team: 0,
            fragile: None,
        };
        Group {
            name: "test",
            me: self.me,
            size: self.size,
            reproducible: self.reproducible,
            oversubscribed: decisions.choose(Collective::Barrier, 0).algorithm == Algorithm::Central,
            members: &self.members,
            channel: Channel::Slots(slots),
            traffic: Traffic::default(),
        }
    }
}

/// Runs `body` on each of `members` in a thread of its own. A panic of one ends the process,
/// since the others would wait for it.
pub fn each<M: Send>(members: impl IntoIterator<Item = M>, body: impl Fn(M) + Sync) {
    std::thread::scope(|scope| {
        for member in members {
            let body = &body;
            scope.spawn(move || {
                let panic = catch_unwind(AssertUnwindSafe(|| body(member)));
                if let Err(payload) = panic {
                    let text = payload.downcast_ref::<String>().map_or("", String::as_str);
                    // Not by a macro, whose output the test runner would keep to itself.
                    let _ = writeln!(std::io::stderr(), "a member panicked: {text}");
                    std::process::abort();
                }
            });
        }
    });
}

/// Runs `body` on `size` threads that are the members of one group.
pub fn run(size: usize, body: impl Fn(Member) + Sync) {
    each(Member::all(size, 0), body);
}

/// A symmetric array: `n` elements for each of the members.
pub struct Array<T> {
    all: NonNull<T>,
    n: usize,
    members: usize,
    marker: PhantomData<T>,
}

// SAFETY: the members use it as the collectives promise.
unsafe impl<T: Send> Sync for Array<T> {}

/// Whole pages for so many bytes.
fn layout(bytes: usize) -> Layout {
    let layout = Layout::from_size_align(bytes, 4096).unwrap();
    layout.pad_to_align()
}

impl<T: Copy + Default> Array<T> {
    /// Defaults everywhere; one cache line more than needed between two members' parts.
    pub fn new(members: usize, n: usize) -> Self {
        let layout = Self::layout(members, n);
        // SAFETY: not empty.
        let all: NonNull<T> = NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap().cast();
        own(all.addr().get(), Self::step(n), members);
        let this = Self { all, n, members, marker: PhantomData };
        for m in 0..members {
            for i in 0..n {
                // SAFETY: within the allocation.
                unsafe { this.part(m).add(i).write(T::default()) };
            }
        }
        this
    }

    fn step(n: usize) -> usize {
        (n * size_of::<T>() + 64).next_multiple_of(64)
    }

    fn layout(members: usize, n: usize) -> Layout {
        layout(members * Self::step(n))
    }

    /// The memory of all members' parts, in whole pages.
    pub fn pages(&self) -> std::ops::Range<usize> {
        let start = self.all.as_ptr().addr();
        start..start + Self::layout(self.members, self.n).size()
    }

    fn part(&self, member: usize) -> *mut T {
        // SAFETY: within the allocation.
        unsafe { self.all.as_ptr().byte_add(member * Self::step(self.n)) }
    }

    /// Where the members' parts are, as member `me` sees it.
    pub fn addresses(&self, me: usize) -> MemberAddresses<'static, T> {
        MemberAddresses::at_stride(self.part(me), Self::step(self.n) as isize, me)
    }

    /// A member's own part, while no other member uses it.
    #[allow(clippy::mut_from_ref)]
    pub fn of(&self, member: usize) -> &mut [T] {
        // SAFETY: the tests touch a part outside collectives only by its owner.
        unsafe { std::slice::from_raw_parts_mut(self.part(member), self.n) }
    }
}

impl<T> Drop for Array<T> {
    fn drop(&mut self) {
        disown(self.all.addr().get());
        let step = (self.n * size_of::<T>() + 64).next_multiple_of(64);
        let layout = layout(self.members * step);
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.all.as_ptr().cast(), layout) };
    }
}
