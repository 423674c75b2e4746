//! Which work queues this process may use. The driver's files are described in Linux's
//! `Documentation/ABI/stable/sysfs-driver-dma-idxd`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::mapped::Mapped;
use super::portal::{Portal, Written};
use super::queue::{Limits, Queue};

/// Why no queue is used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("this node has no such device, or Linux's driver idxd is not loaded")]
    NoDevice,
    #[error("no queue is given to programs: accel-config configures them, of type user")]
    NoQueue,
    #[error(
        "PASID is off, so the devices do not know the addresses of programs: boot with intel_iommu=on,sm_on"
    )]
    NoAddresses,
    #[error("{path}: no permission")]
    NoPermission { path: PathBuf },
    #[error("{path}: dedicated to another process")]
    InUse { path: PathBuf },
    #[error("{path}: the processor has no {instruction}")]
    NoInstruction {
        path: PathBuf,
        instruction: &'static str,
    },
    #[error("{path}: {error}")]
    Io { path: PathBuf, error: io::Error },
    #[error("{path}: no work queue")]
    NotAQueue { path: PathBuf },
    #[error("{path}: {what}")]
    Wrong { path: PathBuf, what: String },
}

/// Where the driver's files are.
#[derive(Debug)]
pub(crate) struct Files<'a> {
    /// The queues.
    pub queues: &'a Path,
    /// What queues and devices are like.
    pub facts: &'a Path,
}

impl Files<'_> {
    /// Of this node.
    pub(crate) fn here() -> Files<'static> {
        Files {
            queues: Path::new("/dev/dsa"),
            facts: Path::new("/sys/bus/dsa/devices"),
        }
    }

    /// Opens a queue.
    pub(crate) fn open(&self, path: &Path) -> Result<Queue, Refusal> {
        let queue = path
            .file_name()
            .and_then(|name| self.facts_of(name.to_str()?));
        let queue = queue.unwrap_or(Facts::UNKNOWN);
        if !queue.knows_addresses {
            return Err(Refusal::NoAddresses);
        }
        let path = path.to_owned();
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(&path);
        let file = match file {
            Ok(file) => file,
            Err(error) => {
                return Err(match error.kind() {
                    ErrorKind::PermissionDenied => Refusal::NoPermission { path },
                    ErrorKind::ResourceBusy => Refusal::InUse { path },
                    _ => Refusal::Io { path, error },
                });
            }
        };
        // A pipe is one whose other end is not the driver.
        let kind = file.metadata().map(|m| m.file_type());
        if !kind.is_ok_and(|kind| kind.is_char_device() || kind.is_fifo()) {
            return Err(Refusal::NotAQueue { path });
        }
        let mapped = match queue.is_known {
            true => Mapped::new(&file, queue.is_shared),
            false => Err(ErrorKind::InvalidInput.into()),
        };
        let is_lacking = mapped
            .as_ref()
            .is_err_and(|e| e.kind() == ErrorKind::Unsupported);
        let opened = queue.opened(file, mapped.ok(), path.display().to_string());
        match opened.test() {
            Ok(()) => Ok(opened),
            Err(_) if is_lacking => Err(Refusal::NoInstruction {
                path,
                instruction: if queue.is_shared {
                    "ENQCMD"
                } else {
                    "MOVDIR64B"
                },
            }),
            Err(what) => Err(Refusal::Wrong { path, what }),
        }
    }

    /// Opens the first queue that may be used. Processes of different numbers begin with different ones.
    pub(crate) fn open_any(&self, number: u32) -> Result<Queue, Refusal> {
        let mut names = names(self.queues, "wq");
        if names.is_empty() {
            return Err(self.why_none());
        }
        let begin = number as usize % names.len();
        names.rotate_left(begin);
        let mut first = None;
        // Those that PEs share are for all of them.
        for shared in [true, false] {
            for name in &names {
                if self.facts_of(name).is_some_and(|facts| facts.is_shared) != shared {
                    continue;
                }
                match self.open(&self.queues.join(name)) {
                    Ok(queue) => return Ok(queue),
                    Err(refusal) => first = first.or(Some(refusal)),
                }
            }
        }
        Err(first.unwrap_or(Refusal::NoQueue))
    }

    fn why_none(&self) -> Refusal {
        let devices = names(self.facts, "dsa");
        match devices.iter().any(|device| self.knows_addresses(device)) {
            true => Refusal::NoQueue,
            false if devices.is_empty() => Refusal::NoDevice,
            false => Refusal::NoAddresses,
        }
    }

    fn text(&self, of: &str, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.facts.join(of).join(name)).ok()?;
        Some(text.trim().to_owned())
    }

    fn number(&self, of: &str, name: &str) -> Option<u32> {
        self.text(of, name)?.parse().ok()
    }

    fn knows_addresses(&self, device: &str) -> bool {
        self.number(device, "pasid_enabled") != Some(0)
    }

    /// What a queue is like, by its name, as `wq0.1`; None: it is not said.
    fn facts_of(&self, queue: &str) -> Option<Facts> {
        let (device, _) = queue.strip_prefix("wq")?.split_once('.')?;
        let device = format!("dsa{device}");
        let mode = self.text(queue, "mode")?;
        let abilities = self.text(&device, "gen_cap").unwrap_or_default();
        let abilities = u64::from_str_radix(abilities.trim_start_matches("0x"), 16).unwrap_or(0);
        Some(Facts {
            is_known: true,
            is_shared: mode == "shared",
            knows_addresses: self.knows_addresses(&device),
            entries: self.number(queue, "size"),
            transfer: self.number(queue, "max_transfer_size"),
            batch: self.number(queue, "max_batch_size"),
            to_cache: abilities & Facts::TO_CACHE != 0,
        })
    }
}

/// What the driver says about a queue.
#[derive(Debug, Clone, Copy)]
struct Facts {
    is_known: bool,
    is_shared: bool,
    knows_addresses: bool,
    entries: Option<u32>,
    transfer: Option<u32>,
    batch: Option<u32>,
    to_cache: bool,
}

impl Facts {
    /// Of a device's abilities: "cache control support (memory)" of the register GENCAP.
    const TO_CACHE: u64 = 1 << 2;
    const UNKNOWN: Facts = Facts {
        is_known: false,
        is_shared: true,
        knows_addresses: true,
        entries: None,
        transfer: None,
        batch: None,
        to_cache: false,
    };

    /// The queue, by its portal, or else by the driver, which takes what it can look at: no batches.
    fn opened(&self, file: File, mapped: Option<Mapped>, name: String) -> Queue {
        /// What each device takes.
        const TRANSFER: u32 = 2 << 20;

        let is_mapped = mapped.is_some();
        let portal: Box<dyn Portal> = match mapped {
            Some(mapped) => Box::new(mapped),
            None => Box::new(Written(file)),
        };
        let limits = Limits {
            transfer: self.transfer.unwrap_or(TRANSFER).max(4096),
            batch: self.batch.filter(|_| is_mapped).unwrap_or(0),
            entries: match self.is_shared {
                true => None,
                false => self.entries.or(Some(1)),
            },
            to_cache: self.to_cache,
        };
        Queue::new(name, portal, limits)
    }
}

/// Names in a folder that begin so.
fn names(folder: &Path, prefix: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(prefix)).collect()
}
