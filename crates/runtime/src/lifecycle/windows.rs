//! Mapping the symmetric memory of all PEs at start-up.

use std::sync::atomic::Ordering;

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::hooks;
use ferroshmem_core::job::Attachment;
use ferroshmem_core::memory::globals::Globals;
use ferroshmem_core::memory::{AddressSpace, LAYOUTS, WindowError};

use super::rendezvous::rendezvous;

/// Shares the globals, and maps all heaps and globals at the first layout that all PEs can
/// place.
pub(super) fn map_space(name: &str, job: &'static Attachment) -> AddressSpace {
    let header = job.control.header();
    // Only C knows symmetric globals. Where there is no C, the program's other threads may go on
    // with their statics.
    let globals = hooks::get().and_then(|_| Globals::find());
    if let Some(globals) = &globals {
        publish_image(job, globals.image);
        globals.share(job).unwrap_or_else(|e| fatal(name, e));
    }
    if job.is_replacing() {
        // The other PEs have chosen one long ago.
        let chosen = header.layout_failed.load(Ordering::Acquire).trailing_ones();
        let space = AddressSpace::map(job, chosen, globals).unwrap_or_else(|e| fatal(name, e));
        return without_other_programs(job, space);
    }
    for k in 0..LAYOUTS {
        let mapped = AddressSpace::map(job, k, globals.clone());
        match &mapped {
            Err(WindowError::Taken) => {
                header.layout_failed.fetch_or(1 << k, Ordering::AcqRel);
            }
            Err(e) => fatal(name, e),
            Ok(_) => {}
        }
        rendezvous(name, job);
        // Heaps have the same addresses on all nodes.
        let failed = header.layout_failed.load(Ordering::Acquire);
        let failed = job.any_failed(failed).unwrap_or_else(|e| fatal(name, e));
        let all_could = failed & 1 << k == 0;
        match mapped {
            Ok(space) if all_could => return without_other_programs(job, space),
            // SAFETY: initialisation is not over: no program uses these windows yet.
            Ok(space) => unsafe { space.unmap() },
            Err(_) => {}
        }
    }
    fatal(name, WindowError::Taken)
}

/// Removes the windows of the globals of PEs that run another executable.
fn without_other_programs(job: &Attachment, mut space: AddressSpace) -> AddressSpace {
    if job.control.header().images_differ.load(Ordering::Relaxed) != 0 {
        let image = |pe: usize| job.control.pe_block(pe).image.load(Ordering::Relaxed);
        space.drop_other_programs(|pe| image(pe) != image(job.index));
    }
    space
}

/// Publishes which executable this PE runs.
fn publish_image(job: &Attachment, image: u64) {
    let header = job.control.header();
    job.block().image.store(image, Ordering::Relaxed);
    let first = header.image.compare_exchange(0, image, Ordering::AcqRel, Ordering::Acquire);
    if first.is_err_and(|first| first != image) {
        header.images_differ.store(1, Ordering::Relaxed);
    }
}
