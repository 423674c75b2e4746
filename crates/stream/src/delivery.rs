//! Pulling: what is in the rings to this PE, given to the program.

use ferroshmem_core::node::Node;

use super::ring;
use super::state::State;

impl State {
    /// Passes what the program has seen.
    #[inline]
    pub(super) fn pass(&mut self) {
        if self.viewed > 0 {
            let ring = &mut self.consumers[self.active[0] as usize];
            ring.pass(self.viewed, self.options.item);
            self.viewed = 0;
        }
    }

    /// Finds the next items: whether there are any.
    #[inline]
    pub(super) fn find(&mut self) -> bool {
        match self.active.front() {
            Some(first) if self.consumers[*first as usize].left > 0 => true,
            _ => self.find_block(),
        }
    }

    #[inline(never)]
    fn find_block(&mut self) -> bool {
        loop {
            let Self { active, is_active, consumers, own, .. } = self;
            // A ring that is read as far as its tail was known gives way to the others.
            if active.front().is_some_and(|f| consumers[*f as usize].is_read()) {
                active.rotate_left(1);
            }
            let words = |n: u32| consumers[n as usize].words();
            ring::take_ready(&own.ready, words, |n| {
                if !std::mem::replace(&mut is_active[n as usize], true) {
                    active.push_back(n);
                }
            });
            let Some(first) = active.front().copied() else {
                return false;
            };
            if consumers[first as usize].next_block() {
                return true;
            }
            active.pop_front();
            is_active[first as usize] = false;
        }
    }

    /// Whether an item can be pulled now, after progress if none could.
    pub(super) fn look(&mut self, node: &Node) -> bool {
        self.pass();
        if self.find() {
            return true;
        }
        if self.options.is_steady {
            self.publish_all();
        }
        self.progress(node);
        self.find()
    }

    /// The items that can be pulled together: where they are, how many, and their source. They stay until the next call
    /// that pulls.
    #[inline]
    pub fn view(&mut self, node: &Node) -> Option<(*const u8, u32, u32)> {
        self.pass();
        if !self.find() && !self.look(node) {
            return None;
        }
        let ring = &self.consumers[self.active[0] as usize];
        self.viewed = ring.left;
        Some((ring.items(), ring.left, ring.source))
    }

    /// Pulls an item; its source.
    ///
    /// # Safety
    /// `item` is writable for an item's bytes.
    #[inline]
    pub unsafe fn pull(&mut self, node: &Node, item: *mut u8) -> Option<u32> {
        self.pass();
        if !self.find() && !self.look(node) {
            return None;
        }
        let size = self.options.item;
        let ring = &mut self.consumers[self.active[0] as usize];
        // SAFETY: the caller promises room for the item, which is there.
        unsafe { ring::copy(ring.items(), item, size) };
        let source = ring.source;
        ring.pass(1, size);
        Some(source)
    }

    /// Passes all items that are there.
    pub(super) fn pass_all(&mut self) {
        self.pass();
        while self.find() {
            let ring = &mut self.consumers[self.active[0] as usize];
            ring.pass(ring.left, self.options.item);
        }
    }
}
