//! Pushing: items go to the ring of a local PE, or to the frame of a link.

use ferroshmem_core::node::Node;
use ferroshmem_core::team::out_of_range;

use super::link::Network;
use super::local_pe::{HERE, Route};
use super::ring::Pushed;
use super::state::State;

/// Calls of push after which this PE looks what has come by links.
const PUSHES: u32 = 128;

impl State {
    /// Pushes up to `n` items to member `pe`; how many found room.
    ///
    /// # Safety
    /// `items` is readable for the bytes of `n` items.
    #[inline]
    pub unsafe fn push_many(&mut self, node: &Node, name: &str, items: *const u8, n: usize, pe: i32) -> usize {
        let Some(route) = self.routes.get(pe as u32 as usize) else {
            out_of_range(name, pe, self.routes.len(), "stream's team");
        };
        let Route { link, local } = *route;
        if link != HERE {
            // SAFETY: the caller promises that `items` is readable for `n` items.
            return unsafe { self.push_remote(node, items, n, (link, local)) };
        }
        let size = self.options.item;
        let source = self.me.0;
        let mut done = 0;
        while done < n {
            let to = &mut self.local_pes[local as usize].producer;
            let at = items.wrapping_add(done * size);
            // SAFETY: the caller promises the items.
            let pushed = unsafe { to.push(at, size, source) };
            match pushed {
                Pushed::Yes => {
                    done += 1;
                    if n > 1 && done < n {
                        // SAFETY: as above.
                        done += unsafe { to.push_more(at.wrapping_add(size), size, n - done) };
                    }
                    if !to.is_dirty {
                        to.is_dirty = true;
                        self.dirty.push(local);
                    }
                }
                Pushed::YesPublish => {
                    done += 1;
                    self.publish(local);
                }
                Pushed::Full => {
                    self.publish(local);
                    self.progress(node);
                    break;
                }
            }
        }
        if self.options.is_steady {
            self.publish(local);
        }
        if self.spans_nodes() {
            self.count_push(node, n as u32);
        }
        done
    }

    /// As [`push_many`](Self::push_many), to number `local` of another node.
    ///
    /// # Safety
    /// As for that.
    #[inline(never)]
    unsafe fn push_remote(&mut self, node: &Node, items: *const u8, n: usize, (link, local): (u32, u32)) -> usize {
        let internode = node.transport.remote();
        let network = Network { fabric: internode.fabric(), context: &self.context };
        let to = &mut self.outgoing[link as usize];
        let size = self.options.item;
        let mut done = 0;
        // SAFETY: the caller promises the items.
        while done < n && unsafe { to.push(network, items.wrapping_add(done * size), local as u16) } {
            done += 1;
        }
        if self.options.is_steady {
            to.progress(network, true);
        }
        if done < n {
            self.progress(node);
        } else {
            self.count_push(node, n as u32);
        }
        done
    }

    /// Makes progress once in a while.
    fn count_push(&mut self, node: &Node, n: u32) {
        self.pushes = self.pushes.saturating_add(n);
        if self.pushes >= PUSHES {
            self.pushes = 0;
            self.progress(node);
        }
    }

    /// Sends all that was pushed.
    pub fn flush(&mut self, node: &Node) {
        self.publish_all();
        for link in &mut self.outgoing {
            link.is_flushed = link.is_pending();
        }
        self.progress(node);
    }
}
