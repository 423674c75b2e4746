//! Memory that is not part of a segment, and that peers may read for a while.

use std::sync::Mutex;

use super::region::{Location, Region};
use crate::endpoint::Endpoint;
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
    regions: Vec<Option<Region>>,
    free: Vec<u32>,
}

impl Exposures {
    /// Registers memory, unless too much is, or the provider refuses.
    ///
    /// # Safety
    /// The `len` bytes at `base` are readable until they are [withdrawn](Self::withdraw).
    pub(crate) unsafe fn add(
        &self,
        endpoint: &Endpoint,
        base: *const u8,
        len: usize,
    ) -> Option<(Exposure, Exposed)> {
        let at = {
            let mut table = lock(&self.0);
            let next = table.regions.len();
            let at = table.free.pop();
            match at {
                Some(at) => at,
                None if next < MOST => {
                    table.regions.push(None);
                    next as u32
                }
                None => return None,
            }
        };
        // SAFETY: the caller promises that the memory is readable until `withdraw` drops the region.
        let region = unsafe { Region::for_peers(endpoint, base, len, false, &|_| false) }.ok();
        let mut table = lock(&self.0);
        let Some(region) = region else {
            table.free.push(at);
            return None;
        };
        let exposed = Exposed {
            address: endpoint.address_of(base),
            key: region.key(),
        };
        table.regions[at as usize] = Some(region);
        Some((Exposure(at), exposed))
    }

    /// Deregisters what was added.
    pub(crate) fn withdraw(&self, Exposure(at): Exposure) {
        // Dropped after the table is unlocked: deregistering may take long.
        let _region = {
            let mut table = lock(&self.0);
            table.free.push(at);
            table.regions[at as usize].take()
        };
    }
}

impl From<Exposed> for Location {
    fn from(Exposed { address, key }: Exposed) -> Self {
        Self { address, key }
    }
}
