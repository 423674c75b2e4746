//! What the PEs of a node count, shown again and again where no `oshrun` watches them because another launcher has
//! started them.

use std::os::fd::AsRawFd;
use std::sync::Once;
use std::thread;
use std::time::Duration;

use ferroshmem_core::job::{Attachment, adoption};

/// Has an `oshrun` show it, if this PE leads its node and no `oshrun` has started it.
pub fn show(job: &'static Attachment, period: Duration) {
    static SHOWN: Once = Once::new();
    if job.launched || job.index != 0 {
        return;
    }
    SHOWN.call_once(|| {
        // The thread waits: the oshrun ends with it, as late as the process.
        let work = move || {
            let memory = job.file.as_raw_fd();
            let argument = format!("{}{memory}:{}", adoption::STATUS, period.as_secs());
            match adoption::start_beside(&argument, &job.file) {
                Ok(mut child) => {
                    let _ = child.wait();
                }
                Err(e) => ferroshmem_core::failure::fatal::print_line(&format!(
                    "ferroshmem: {}: SHMEM_STATUS shows nothing of this node: {e}",
                    job.name_of_pe()
                )),
            }
        };
        // Without a thread nothing is shown.
        let _ = thread::Builder::new().name("shmem-status".into()).spawn(work);
    });
}
