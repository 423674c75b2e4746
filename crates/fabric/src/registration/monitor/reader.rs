//! The thread that reads events, and the watches that it marks.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{io, process, ptr, thread};

use ferroshmem_platform::atomic::{Atomic as _, AtomicNumber as _, Atomics, Std};
use ferroshmem_platform::thread::spawn;

use super::kernel::Userfaultfd;
use super::slots::{Loss, SLOTS, Slots};
use crate::registration::span::Span;
use ferroshmem_platform::machine::page_size;

/// Lives as long as the process: memory stays armed, and a thread that unmaps it waits for a reader.
pub(super) struct Reader {
    kernel: Userfaultfd,
    pub slots: Slots,
    /// Free slots. Held while memory is armed and disarmed; never taken to read events.
    free: Mutex<Vec<usize>>,
    readers: Readers,
    /// The process that all this is of.
    process: u32,
}

/// Counts the threads that may have read events and not yet marked what they concern.
#[derive(Default)]
struct Readers<A: Atomics = Std>(A::Usize);

impl<A: Atomics> Readers<A> {
    /// Takes events from the kernel and marks what they concern, by `mark`.
    fn read(&self, mark: impl FnOnce()) {
        // Raised before an event is taken: see `Reader::drain`.
        self.0.fetch_add(1, SeqCst);
        mark();
        self.0.fetch_sub(1, SeqCst);
    }

    /// Whether all is marked that was taken before this.
    fn have_marked(&self) -> bool {
        A::fence(SeqCst);
        self.0.load(SeqCst) == 0
    }
}

impl Reader {
    /// Starts the thread, and unmaps a page to see that this is noticed. The error says what is
    /// missing.
    pub(super) fn start() -> Result<&'static Reader, String> {
        let kernel = Userfaultfd::open().map_err(|error| match error.raw_os_error() {
            Some(libc::EPERM) => "userfaultfd is forbidden here".to_owned(),
            Some(libc::EINVAL | libc::ENOSYS) => "userfaultfd of Linux 5.19 is missing".to_owned(),
            _ => format!("userfaultfd: {error}"),
        })?;
        let reader: &'static Reader = Box::leak(Box::new(Reader {
            kernel,
            slots: Slots::new(),
            free: Mutex::new((0..SLOTS).rev().collect()),
            readers: Readers::default(),
            process: process::id(),
        }));
        let page = Page::map().map_err(|error| format!("mmap: {error}"))?;
        let seen: &'static AtomicBool = Box::leak(Box::default());
        spawn("shmem-unmap", 64 << 10, move || {
            reader.kernel.wait();
            // The event of the page is there and unread.
            seen.store(reader.kernel.changing(), SeqCst);
            reader.run()
        })
        .map_err(|error| format!("no thread to read userfaultfd: {error}"))?;
        let slot = reader.arm(page.span()).ok_or("userfaultfd does not watch memory here")?;
        drop(page);
        let noticed = reader.notices(slot) && seen.load(SeqCst);
        reader.disarm(slot);
        match noticed {
            true => Ok(reader),
            false => Err("userfaultfd does not report what it should".to_owned()),
        }
    }

    /// Whether a watch is marked whose memory was unmapped before. Where the answer is yes,
    /// the thread only has to get a core; where it is no, something is amiss with the kernel.
    fn notices(&self, slot: usize) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(10) {
            if self.drain() && self.slots.loss(slot) == Loss::Unmapped {
                return true;
            }
        }
        false
    }

    /// Nothing in here takes a lock, allocates or frees, or else it could wait for a thread
    /// that waits for it.
    fn run(&self) -> ! {
        loop {
            self.kernel.wait();
            self.read();
        }
    }

    /// Reads what events there are. Any thread may do so.
    fn read(&self) {
        self.readers.read(|| self.kernel.read(|event| self.slots.mark(event)));
    }

    /// Waits until all slots are marked that concern memory unmapped before: not at all as a
    /// rule, and no more than some milliseconds where threads unmap without pause.
    ///
    /// Whatever was unmapped before this call is, for the kernel, a change under way until the
    /// event was read. If there is none under way, all such events have been read, so the threads
    /// that read them had raised `readers` by then; and if that is zero, they have been marked.
    pub(super) fn drain(&self) -> bool {
        const YIELDS: u32 = 4;
        const SLEEPS: u32 = 20;
        for round in 0..1 + YIELDS + SLEEPS {
            match round {
                0 => {}
                1..=YIELDS => thread::yield_now(),
                _ => thread::sleep(Duration::from_micros(50)),
            }
            let changing = self.kernel.changing();
            if !changing && self.readers.have_marked() {
                return true;
            }
            if changing {
                self.read();
            }
        }
        false
    }

    /// Watches a span; gives its slot.
    pub(super) fn arm(&self, span: Span) -> Option<usize> {
        if self.process != process::id() {
            return None;
        }
        let mut free = self.lock();
        let slot = free.pop()?;
        self.slots.fill(slot, span);
        if self.kernel.arm(span).is_ok() {
            return Some(slot);
        }
        // The kernel looks at all of the span before it arms any of it.
        self.slots.free(slot);
        free.push(slot);
        None
    }

    /// Ends a watch.
    pub(super) fn disarm(&self, slot: usize) {
        // A child of fork has the descriptor, but it is of the parent's memory.
        if self.process != process::id() {
            return;
        }
        let mut free = self.lock();
        let (span, loss) = (self.slots.span(slot), self.slots.loss(slot));
        self.slots.free(slot);
        // Addresses that were unmapped may belong to another userfaultfd of the program by
        // now, and older kernels would take them from that.
        if loss < Loss::Unmapped {
            self.slots.unwatched(span, |bare| self.kernel.disarm(bare));
        }
        free.push(slot);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<usize>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A page of memory of its own.
struct Page(*mut libc::c_void);

impl Page {
    fn map() -> io::Result<Page> {
        let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping where the kernel likes.
        let start = unsafe { libc::mmap(ptr::null_mut(), page_size(), access, kind, -1, 0) };
        if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Page(start)) }
    }

    fn span(&self) -> Span {
        Span { start: self.0 as usize, end: self.0 as usize + page_size() }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: the page that `map` mapped, which no reference is to.
        unsafe { libc::munmap(self.0, page_size()) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;

    use loom::{sync::Arc, sync::Mutex, sync::atomic::AtomicU32, thread};

    use super::*;
    use crate::Loom;

    /// Memory was unmapped: who finds no event of it, and no thread that reads, finds it marked.
    #[test]
    fn memory_is_marked_when_no_thread_reads_its_event() {
        loom::model(|| {
            // The lock is the kernel's.
            let shared = Arc::new((Readers::<Loom>::default(), Mutex::new(true), AtomicU32::new(0)));
            let reader = shared.clone();
            let reader = thread::spawn(move || {
                let (readers, changing, marked) = &*reader;
                readers.read(|| {
                    *changing.lock().unwrap() = false;
                    marked.store(1, Relaxed);
                });
            });
            let (readers, changing, marked) = &*shared;
            let is_changing = *changing.lock().unwrap();
            if !is_changing && readers.have_marked() {
                assert_eq!(marked.load(Relaxed), 1);
            }
            reader.join().unwrap();
        });
    }
}
