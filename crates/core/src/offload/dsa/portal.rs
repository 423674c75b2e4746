//! How descriptors come to a device.

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Write};

use super::descriptor::Descriptor;

/// What has become of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Submitted {
    /// The device has it.
    Accepted,
    /// There is no room now.
    Busy,
    /// It is never taken.
    Refused,
}

/// Takes descriptors to a device.
pub(super) trait Portal: Send + Sync {
    /// Submits a descriptor. What this thread stored before is visible to the device.
    fn submit(&self, descriptor: &Descriptor) -> Submitted;
}

impl fmt::Debug for dyn Portal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Portal")
    }
}

/// By the driver's `write`: where a program may not reach the queue itself (Intel's advisory SA-01084), the driver looks at each descriptor.
pub(super) struct Written(pub File);

impl Portal for Written {
    fn submit(&self, descriptor: &Descriptor) -> Submitted {
        const SIZE: usize = size_of::<Descriptor>();
        // SAFETY: a descriptor is plain words without padding.
        let bytes = unsafe { &*std::ptr::from_ref(descriptor).cast::<[u8; SIZE]>() };
        match (&self.0).write(bytes) {
            Ok(SIZE) => Submitted::Accepted,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Submitted::Busy
            }
            _ => Submitted::Refused,
        }
    }
}
