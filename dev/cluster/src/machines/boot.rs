//! Starting several machines.

use anyhow::{Context, Result, bail};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use super::qemu::{Machine, Network, Parts};
use super::{Kernel, image, needs};

/// Machines to boot.
#[derive(Debug, Clone)]
pub struct Setup {
    /// How many.
    pub machines: usize,
    /// MiB of each.
    pub memory: usize,
    /// NUMA nodes of each, which then have its memory and its processors; none: one processor.
    pub numa: Vec<NumaNode>,
    /// Folder in which the kernel is kept from one time to the next.
    pub cache: PathBuf,
    /// The program that calls [`guest::main`](super::guest::main).
    pub agent: PathBuf,
    /// How long booting may take.
    pub timeout: Duration,
}

/// A NUMA node of a machine.
#[derive(Debug, Clone, Copy)]
pub struct NumaNode {
    /// Processors; without any, the node has memory alone.
    pub processors: usize,
    /// MiB.
    pub memory: usize,
    /// GB/s and ns that the firmware's table (HMAT) gives for reads from the nearest processors. Either all nodes
    /// have figures or none.
    pub speed: Option<(usize, usize)>,
}

impl Setup {
    /// Two machines of 512 MiB, whose agent is this program, to be up within two minutes: they
    /// take 5 to 10 s, on a machine that has much else to do longer.
    ///
    /// # Errors
    /// If this program has no path.
    pub fn new(cache: PathBuf) -> Result<Self> {
        Ok(Self {
            machines: 2,
            memory: 512,
            numa: Vec::new(),
            cache,
            agent: env::current_exe()?,
            timeout: Duration::from_secs(300),
        })
    }

    /// The same with the kernel kept in cargo's target folder, in which this program is.
    ///
    /// # Errors
    /// If it is elsewhere.
    pub fn in_target() -> Result<Self> {
        let program = env::current_exe()?;
        let target = program
            .ancestors()
            // Cargo writes the tag only where it makes the folder itself.
            .find(|folder| [".rustc_info.json", "CACHEDIR.TAG"].iter().any(|file| folder.join(file).exists()))
            .context("this program is not in cargo's target folder: where is the kernel to be kept?")?;
        Self::new(target.join("machines"))
    }

    /// Whether machines can be booted: what must be installed is, and the kernel is there, after
    /// this at the latest.
    ///
    /// # Errors
    /// Says what is missing.
    pub fn prepare(&self) -> Result<()> {
        needs::check()?;
        Kernel::cached(&self.cache).map(drop)
    }
}

/// Starts the machines of `setup`, with their files in `folder`; each with its serial port.
pub(super) fn start(setup: &Setup, folder: &Path) -> Result<Vec<(Machine, UnixStream)>> {
    if !(1..=MOST).contains(&setup.machines) {
        bail!("there can be 1 to {MOST} machines, not {}", setup.machines);
    }
    let kernel = Kernel::cached(&setup.cache)?;
    let archive = folder.join("initramfs");
    fs::write(&archive, image::build(&kernel, &setup.agent)?)?;
    networks(setup.machines)?
        .into_iter()
        .enumerate()
        .map(|(number, network)| {
            Machine::start(Parts {
                kernel: &kernel.image,
                image: &archive,
                jobs: &folder.join(super::job::FOLDER),
                console: folder.join(format!("console.{number}")),
                memory: setup.memory,
                numa: &setup.numa,
                number,
                network,
            })
        })
        .collect()
}

/// Limit of the address range and of the machine's memory.
const MOST: usize = 8;

fn networks(machines: usize) -> Result<Vec<Network>> {
    if machines == 2 {
        let (one, other) = UnixStream::pair()?;
        return Ok(vec![Network::Wire(one.into()), Network::Wire(other.into())]);
    }
    // Rigs at the same time get different ports.
    let port = 20_000 + u16::try_from(std::process::id() % 20_000)?;
    Ok((0..machines).map(|_| Network::Group(port)).collect())
}
