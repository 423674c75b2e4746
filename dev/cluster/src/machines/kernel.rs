//! Debian's kernel, fetched but not installed.

use anyhow::{Context, Result, bail};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use super::modules;

/// Modules of the machines: files and network of QEMU's, the channel to the cluster, and the RDMA
/// device, with the access to it from programs and the checksum that it asks for by name.
const MODULES: &[&str] = &[
    "virtio_pci", "virtio_console", "virtio_net", "9pnet_virtio", "9p", "overlay", "crc32_generic", "rdma_rxe",
    "rdma_ucm",
];

/// A kernel and the modules to load, in this request.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// The file that QEMU boots.
    pub image: PathBuf,
    /// The files of the modules.
    pub modules: Vec<PathBuf>,
}

impl Kernel {
    /// The kernel in the folder `cache`, fetched there (70 MB, of which 15 are kept) if there is none.
    ///
    /// # Errors
    /// If it cannot be fetched.
    pub fn cached(cache: &Path) -> Result<Self> {
        let folder = cache.join("kernel");
        if !folder.join(IMAGE).exists() {
            fetch(cache, &folder).context("cannot get Debian's kernel")?;
        }
        let mut modules: Vec<_> =
            fs::read_dir(folder.join(MODULE_FOLDER))?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        modules.sort();
        Ok(Self { image: folder.join(IMAGE), modules })
    }
}

const IMAGE: &str = "kernel";
const MODULE_FOLDER: &str = "modules";

/// Fills `folder`, last of all by giving it its name: it is complete once it is there.
fn fetch(cache: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(cache).with_context(|| format!("cannot make {}", cache.display()))?;
    let work = tempfile::tempdir_in(cache)?;
    let package = package()?;
    eprintln!("cluster: fetching the package {package}");
    // Root's apt would download as another user, who may not write here.
    let mut download = Command::new("apt-get");
    download.args(["-q", "-o", "APT::Sandbox::User=root", "download", &package]);
    output(download.current_dir(work.path()))?;
    let archive = find(work.path(), |name| name.ends_with(".deb"))?;
    let unpacked = work.path().join("unpacked");
    output(Command::new("dpkg-deb").arg("-x").args([&archive, &unpacked]))?;

    let complete = work.path().join("complete");
    let kept = complete.join(MODULE_FOLDER);
    fs::create_dir_all(&kept)?;
    for (number, file) in modules::in_order(&unpacked.join("lib/modules"), MODULES)?.iter().enumerate() {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        fs::write(kept.join(format!("{number:02}-{name}")), unsigned(&fs::read(file)?))?;
    }
    let image = find(&unpacked.join("boot"), |name| name.starts_with("vmlinuz"))?;
    let packed = fs::read(&image)?;
    let bootable = unpack(&packed).unwrap_or(packed);
    fs::write(complete.join(IMAGE), bootable)?;
    match fs::rename(&complete, folder) {
        // Another process made the folder first.
        Err(_) if folder.join(IMAGE).exists() => Ok(()),
        renamed => Ok(renamed?),
    }
}

/// A module without the signature at its end: the emulated processor takes half of the boot to check those of all
/// modules. Source: the kernel's `include/linux/module_signature.h`.
fn unsigned(module: &[u8]) -> &[u8] {
    // Before the mark, from its end on: the length of the signature, eight other bytes, the signature.
    let signed = module.strip_suffix(b"~Module signature appended~\n");
    let parts = signed.and_then(|signed| signed.split_last_chunk::<4>());
    let rest = parts.and_then(|(rest, length)| {
        let signature = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        rest.get(..rest.len().checked_sub(signature + 8)?)
    });
    rest.unwrap_or(module)
}

/// The kernel inside of a bzImage, an ELF file that QEMU boots by its PVH note. The emulated processor takes 5 s to
/// unpack it. `None` if it is packed by other means than xz, or `xz` is not installed: QEMU boots a bzImage, too.
/// Source: The Linux/x86 Boot Protocol, "The Real-Mode Kernel Header".
fn unpack(image: &[u8]) -> Option<Vec<u8>> {
    let number = |offset: usize| {
        let bytes = image.get(offset..offset + 4)?;
        usize::try_from(u32::from_le_bytes(bytes.try_into().ok()?)).ok()
    };
    let setup_sectors = usize::from(*image.get(0x1f1)?);
    let begin = (setup_sectors + 1) * 512 + number(0x248)?;
    // The last four bytes of the payload are the length of what is packed.
    let payload = image.get(begin..begin + number(0x24c)?.checked_sub(4)?)?;
    let mut xz = Command::new("xz")
        .args(["--decompress", "--stdout"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut input = xz.stdin.take()?;
    let payload = payload.to_owned();
    let writer = thread::spawn(move || input.write_all(&payload));
    let output = xz.wait_with_output().ok()?;
    writer.join().ok()?.ok()?;
    let is_whole = output.status.success() && output.stdout.starts_with(b"\x7fELF");
    is_whole.then_some(output.stdout)
}

/// Name of the package on which the one with the kernel of the day depends.
fn package() -> Result<String> {
    let text = output(Command::new("apt-cache").args(["depends", "linux-image-amd64"]))?;
    let name = text.lines().find_map(|line| line.trim().strip_prefix("Depends: "));
    match name {
        Some(name) => Ok(name.to_owned()),
        None => {
            bail!("apt knows no package linux-image-amd64: is this Debian, after apt-get update?")
        }
    }
}

fn find(folder: &Path, is_it: impl Fn(&str) -> bool) -> Result<PathBuf> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if is_it(&entry.file_name().to_string_lossy()) {
            return Ok(entry.path());
        }
    }
    bail!("the package is not as expected: look at {}", folder.display());
}

/// What a command prints.
fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {program}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        bail!("{program}: {}", text.lines().last().unwrap_or("failed"));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::unsigned;

    #[test]
    fn signatures_are_left_out() {
        let end = b"~Module signature appended~\n";
        let signed = [b"module" as &[u8], &[1; 5], &[0; 8], &5u32.to_be_bytes(), end].concat();
        assert_eq!(unsigned(&signed), b"module");
        assert_eq!(unsigned(b"module"), b"module");
        assert_eq!(unsigned(end), end);
    }
}
