//! A virtual machine: a process of QEMU.

use std::fmt::Write;
use std::fs;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use ferroshmem_platform::child;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};

use super::NumaNode;

/// Bytes of a frame on the cards: messages of RDMA have up to 4096, and headers.
const FRAME: usize = 4500;

/// After a panic the machine ends. Timers are not compared to each other, which fails where the
/// machine below is busy. Nothing attacks it. Its cryptography is not what is tested. Its memory is
/// not searched for pages that are written and executed. The lines of interrupts are those of the firmware's table:
/// ACPI has a program for them, whose interpretation takes a sixth of the boot.
const KERNEL_PARAMETERS: &str =
    "console=ttyS0 quiet panic=-1 no_timer_check mitigations=off cryptomgr.notests rodata=off pci=noacpi";

/// All that QEMU emulates, but page tables of five levels: a program gets addresses of four unless it asks for more,
/// and each level is read at each miss of the emulated TLB.
const PROCESSOR: &str = "max,la57=off";

/// What a machine is made of.
pub(super) struct Parts<'a> {
    /// The kernel.
    pub kernel: &'a Path,
    /// The archive with its first files.
    pub image: &'a Path,
    /// The folder of the jobs, which it may change.
    pub jobs: &'a Path,
    /// Where its console goes.
    pub console: PathBuf,
    /// MiB.
    pub memory: usize,
    /// Its NUMA nodes; none: one processor with all of the memory.
    pub numa: &'a [NumaNode],
    /// Which of the machines it is.
    pub number: usize,
    /// Its network.
    pub network: Network,
}

/// How a machine is joined to the others.
pub(super) enum Network {
    /// By a wire to the only other one.
    Wire(OwnedFd),
    /// All by frames to a group of UDP's at this port of this machine alone.
    Group(u16),
}

/// A machine that runs. It ends when this is dropped, and with the thread that started it.
pub(super) struct Machine {
    process: Child,
    console: PathBuf,
}

impl Machine {
    /// Starts a machine; the other result is its serial port.
    ///
    /// # Errors
    /// If QEMU cannot be started.
    pub(super) fn start(parts: Parts) -> Result<(Self, UnixStream)> {
        let (port, other_end) = UnixStream::pair()?;
        let Parts { kernel, image, jobs, console, memory, numa, number, .. } = &parts;
        let mut command = Command::new("qemu-system-x86_64");
        let mut inherited = vec![other_end.as_raw_fd()];
        let network = match &parts.network {
            Network::Wire(end) => {
                inherited.push(end.as_raw_fd());
                format!("stream,id=n,server=off,addr.type=fd,addr.str={}", end.as_raw_fd())
            }
            Network::Group(port) => {
                format!("socket,id=n,mcast=230.0.0.1:{port},localaddr=127.0.0.1")
            }
        };
        command
            .args(["-nodefaults", "-no-user-config", "-no-reboot"])
            .args(["-display", "none", "-accel", accelerator(), "-cpu", PROCESSOR])
            .args(processors_and_memory(numa, *memory))
            .arg("-kernel")
            .arg(kernel)
            .arg("-initrd")
            .arg(image)
            .args(["-append", KERNEL_PARAMETERS])
            .args(["-serial", &format!("file:{}", console.display())])
            .args(["-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap"])
            .args(["-device", "virtio-9p-pci,fsdev=root,mount_tag=root"])
            .arg("-fsdev")
            .arg(format!("local,id=jobs,path={},security_model=none", jobs.display()))
            .args(["-device", "virtio-9p-pci,fsdev=jobs,mount_tag=jobs"])
            .args(["-netdev", &network, "-device"])
            .arg(format!("virtio-net-pci,netdev=n,mac=52:54:00:00:00:{:02x},host_mtu={FRAME}", number + 1))
            .args(["-device", "virtio-serial-pci", "-chardev"])
            .arg(format!("socket,id=cluster,fd={}", other_end.as_raw_fd()))
            .args(["-device", "virtserialport,chardev=cluster,name=cluster"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(console.with_extension("qemu"))?);
        child::end_with_parent(&mut command);
        // SAFETY: between fork and exec, the closure calls fcntl and allocates nothing.
        unsafe { command.pre_exec(move || inherit(&inherited)) };
        let process = command.spawn().context("cannot run qemu-system-x86_64 (package qemu-system-x86)")?;
        let machine = Self { process, console: console.clone() };
        Ok((machine, port))
    }

    /// The last lines of its console and of QEMU's own messages.
    pub(super) fn last_words(&self) -> String {
        let read = |path: &Path| {
            let bytes = fs::read(path).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let text = read(&self.console.with_extension("qemu")) + &read(&self.console);
        // What follows in a panic says nothing about a program that went wrong.
        let told = text.lines().take_while(|line| !line.contains("Call Trace"));
        let lines: Vec<_> = told.map(str::trim_end).collect();
        let last = &lines[lines.len().saturating_sub(20)..];
        match last {
            [] => "(its console is empty)".to_owned(),
            _ => last.join("\n"),
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The options for processors and memory. Each NUMA node with processors is a socket.
fn processors_and_memory(numa: &[NumaNode], memory: usize) -> Vec<String> {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    if numa.is_empty() {
        return words(&format!("-machine pc -smp 1 -m {memory}"));
    }
    let sockets = numa.iter().filter(|node| node.processors > 0).count();
    let processors: usize = numa.iter().map(|node| node.processors).sum();
    let memory: usize = numa.iter().map(|node| node.memory).sum();
    let has_table = numa.iter().any(|node| node.speed.is_some());
    let table = if has_table { ",hmat=on" } else { "" };
    let mut text = format!("-machine pc{table} -smp {processors},sockets={sockets} -m {memory}");
    let mut first = 0;
    for (number, node) in numa.iter().enumerate() {
        let mebibytes = node.memory;
        // Writing to a String does not fail.
        let _ = write!(
            text,
            " -object memory-backend-ram,id=m{number},size={mebibytes}M -numa node,nodeid={number},memdev=m{number}"
        );
        if node.processors > 0 {
            let _ = write!(text, ",cpus={first}-{}", first + node.processors - 1);
            first += node.processors;
        }
        if has_table {
            // Memory without processors is that of the sockets in turn.
            let initiator = if node.processors > 0 { number } else { number % sockets };
            let _ = write!(text, ",initiator={initiator}");
        }
    }
    for (target, node) in numa.iter().enumerate() {
        let Some((bandwidth, latency)) = node.speed else {
            continue;
        };
        for (initiator, _) in numa.iter().enumerate().filter(|(_, node)| node.processors > 0) {
            let lb = format!("-numa hmat-lb,initiator={initiator},target={target},hierarchy=memory");
            let _ = write!(
                text,
                " {lb},data-type=access-latency,latency={latency} \
                    {lb},data-type=access-bandwidth,bandwidth={bandwidth}G"
            );
        }
    }
    words(&text)
}

/// KVM where the processor offers it (a device file alone says little: inside of some virtual
/// machines it is there, and a machine on it never comes up), else emulation.
fn accelerator() -> &'static str {
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let virtual_machines = flags
        .lines()
        .find(|line| line.starts_with("flags"))
        .is_some_and(|line| line.split(' ').any(|flag| flag == "vmx" || flag == "svm"));
    let device = fs::OpenOptions::new().read(true).write(true).open("/dev/kvm");
    match virtual_machines && device.is_ok() {
        true => "kvm",
        false => "tcg",
    }
}

/// Lets the executed program inherit these descriptors.
fn inherit(descriptors: &[RawFd]) -> std::io::Result<()> {
    for fd in descriptors {
        // SAFETY: the descriptor is open: `Machine::start` drops its owner after the process has started.
        let descriptor = unsafe { BorrowedFd::borrow_raw(*fd) };
        fcntl(descriptor, FcntlArg::F_SETFD(FdFlag::empty()))?;
    }
    Ok(())
}
