//! Memory that is not part of a segment, and that peers may read for a while.

use std::sync::Mutex;

use super::buffers::{BufferGuard, Buffers};
use super::region::RmaAddress;
use crate::lock::lock;

/// Regions at a time: a bound on what the provider keeps.
const MOST: usize = 1024;

/// Memory of a PE that the others may read until it is [withdrawn](crate::Fabric::withdraw).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exposed {
    /// What peers call the first byte.
    pub address: u64,
    /// Key of the registration.
    pub key: u64,
}

/// Which of this PE's exposures one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exposure(u32);

/// All of this PE.
#[derive(Default)]
pub(crate) struct Exposures(Mutex<Table>);

#[derive(Default)]
struct Table {
    regions: Vec<BufferGuard>,
    free: Vec<u32>,
}

impl Exposures {
    /// Registers memory, unless too much is, or the provider refuses.
    ///
    /// # Safety
    /// The `len` bytes at `base` are readable until they are [withdrawn](Self::withdraw).
    pub(crate) unsafe fn add(&self, buffers: &Buffers, base: *const u8, len: usize) -> Option<(Exposure, Exposed)> {
        let at = {
            let mut table = lock(&self.0);
            let next = table.regions.len();
            let at = table.free.pop();
            match at {
                Some(at) => at,
                None if next < MOST => {
                    table.regions.push(BufferGuard::Nothing);
                    next as u32
                }
                None => return None,
            }
        };
        // SAFETY: the caller promises that the memory is readable until `withdraw` drops the guard.
        let registered = unsafe { buffers.expose(base, len) };
        let mut table = lock(&self.0);
        let Some((guard, RmaAddress { address, key })) = registered else {
            table.free.push(at);
            return None;
        };
        let exposed = Exposed { address, key };
        table.regions[at as usize] = guard;
        Some((Exposure(at), exposed))
    }

    /// Deregisters what was added, or leaves that to the cache which keeps it.
    pub(crate) fn withdraw(&self, Exposure(at): Exposure) {
        // Dropped after the table is unlocked: deregistering may take long.
        let _region = {
            let mut table = lock(&self.0);
            table.free.push(at);
            std::mem::take(&mut table.regions[at as usize])
        };
    }
}

impl From<Exposed> for RmaAddress {
    fn from(Exposed { address, key }: Exposed) -> Self {
        Self { address, key }
    }
}
