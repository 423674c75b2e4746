//! Jobs that connect by a name.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail, ensure};
use ferroshmem_conformance::job::Running;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::tool::{self, Missing};
use ferroshmem_conformance::{Job, Suite};
use ferroshmem_core::job::message::receive;
use nix::sys::socket::UnixAddr;
use nix::unistd::Uid;

use crate::{Meeting, as_another_user, connected, end, listener, well, with_line};

/// How a job publishes a name and another one looks it up, and their PEs (0: without a launcher).
const NAMED: [(&str, usize, &str, usize); 6] = [
    ("publish", 1, "look-up", 1),
    ("publish", 3, "look-up", 2),
    ("publish-late", 2, "look-up", 1),
    ("publish", 1, "look-up-late", 3),
    ("publish", 0, "look-up", 0),
    ("publish", 16, "look-up", 2),
];

/// What is done with a name wrongly, the status, and words of the one line.
const MISNAMED: [(&str, i32, &str); 4] = [
    ("wrong-text", 0, "is not the text of a port"),
    ("wrong-name", 0, "a name has 1 to 64 bytes"),
    ("not-published", 0, "this PE has not published the name"),
    ("null", 1, "name is a null pointer"),
];

/// What is wrong with the folder of names or a file in it, and words of the one line.
const MISPLACED: [(&str, &str); 5] = [
    ("missing-folder", "No such file or directory"),
    ("no-folder", "Not a directory"),
    ("another-user-s-file", "it belongs to another user"),
    ("loose-file", "other users may read or write it"),
    ("garbage", "no FerroSHMEM has written it"),
];

/// Adds the trials.
pub(crate) fn add(suite: &mut Suite) {
    for (first, n, second, m) in NAMED {
        suite.add(format!("name::{first}-{n}+{second}-{m}"), move |s| {
            let named = Named::new(s)?;
            let looking = named.start(second, m, &[])?;
            well(named.start(first, n, &[])?)?;
            well(looking)
        });
    }
    for (way, status, words) in MISNAMED {
        suite.add(format!("name::refused::{way}"), move |s| {
            with_line(Named::new(s)?.start(way, 1, &[])?, status, words)
        });
    }
    for way in ["ends", "absent"] {
        suite.add(format!("name::{way}"), move |s| well(Named::new(s)?.start(way, 1, &[])?));
    }
    suite.add("name::8-look-up-at-once".into(), |s| {
        let named = Named::new(s)?;
        let publishing = named.start("publish", 1, &["8"])?;
        let looking: Vec<_> = (0..8).map(|_| named.start("look-up", 1, &[])).collect::<Result<_>>()?;
        looking.into_iter().try_for_each(well)?;
        well(publishing)
    });
    suite.add("name::of-a-killed-job".into(), of_a_killed_job);
    suite.add("name::another-user".into(), of_another_user);
    suite.add("name::without-folders".into(), without_folders);
    suite.add("name::folder".into(), in_a_folder);
    for (way, words) in MISPLACED {
        suite.add(format!("name::refused::{way}"), move |s| refused(s, way, words));
    }
}

/// A name that no other test has, and the program.
struct Named<'s>(Meeting<'s>, String);

impl<'s> Named<'s> {
    fn new(setting: &'s Setting) -> Result<Self> {
        let meeting = Meeting::of(setting, "names")?;
        let name = format!("{}", meeting.file.display());
        // The end of a path is that of the test.
        let end = name.len().saturating_sub(40);
        let name = format!("{}{}", std::process::id(), &name[end..]);
        Ok(Self(meeting, name))
    }

    fn start(&self, way: &str, pes: usize, more: &[&str]) -> Result<Running> {
        let Self(meeting, name) = self;
        let job = Job::new(pes, &meeting.program).args(&[way, name]).args(more);
        Running::start(&job, &meeting.setting.prefix, &meeting.setting.scratch)
    }

    fn address(&self) -> Result<UnixAddr> {
        let address = format!("ferroshmem-name-{}-{}", Uid::effective(), self.1);
        Ok(UnixAddr::new_abstract(address.as_bytes())?)
    }
}

/// One job has a name at a time; once it is killed, the next one has it.
fn of_a_killed_job(s: &Setting) -> Result<()> {
    let named = Named::new(s)?;
    for _ in 0..3 {
        let holding = named.start("hold", 1, &[])?;
        holding.wait_for_output("published");
        with_line(named.start("taken", 1, &[])?, 0, "the name is taken: process")?;
        holding.kill_supervisor()?;
        end(holding)?;
        well(named.start("absent", 1, &[])?)?;
    }
    let publishing = named.start("publish", 1, &[])?;
    well(named.start("look-up", 1, &[])?)?;
    well(publishing)
}

/// Another user learns no text, and one that has taken an address gives none.
fn of_another_user(s: &Setting) -> Result<()> {
    tool::root()?;
    let named = Named::new(s)?;
    let publishing = named.start("publish", 1, &[])?;
    publishing.wait_for_output("published");
    let address = named.address()?;
    let theirs = as_another_user(|| connected(&address))?;
    let answer = receive(theirs.as_fd())?;
    ensure!(answer.is_none(), "another user is answered: {answer:?}");
    well(named.start("look-up", 1, &[])?)?;
    well(publishing)?;
    let theirs = as_another_user(|| listener(&address))?;
    let words = "taken by a process of another user";
    with_line(named.start("taken", 1, &[])?, 0, words)?;
    with_line(named.start("look-up-taken", 1, &[])?, 0, words)?;
    drop(theirs);
    Ok(())
}

/// Names need no file: there is no room in any folder that all users may write to.
fn without_folders(s: &Setting) -> Result<()> {
    let may_mount = Command::new("unshare").args(["-m", "true"]).output();
    if !may_mount.is_ok_and(|o| o.status.success()) {
        bail!(Missing("no file system may be mounted here".to_owned()));
    }
    let Named(meeting, name) = Named::new(s)?;
    let full = "mount -t tmpfs -o size=4k,nr_inodes=1 none /dev/shm && ! touch /dev/shm/file 2>&- && exec \"$@\"";
    let start = |way: &str| {
        let program = meeting.program.to_string_lossy();
        let args = ["-m", "sh", "-c", full, "sh", &program, way, &name];
        let job = Job::new(1, Path::new("unshare")).args(&args);
        let job = job.env("XDG_RUNTIME_DIR", "/no/such/folder");
        Running::start(&job, &s.prefix, &s.scratch)
    };
    let publishing = start("publish")?;
    well(start("look-up")?)?;
    well(publishing)
}

/// Starts a job that has a folder of names.
fn with_folder(named: &Named<'_>, way: &str, folder: &Path) -> Result<Running> {
    let Named(meeting, name) = named;
    let job = Job::new(1, &meeting.program).args(&[way, name]);
    let job = job.env("SHMEM_NAME_DIRECTORY", &folder.to_string_lossy());
    // Whether or not this machine has a network.
    let job = job.env("SHMEM_FABRIC_INTERFACE", "lo");
    Running::start(&job, &meeting.setting.prefix, &meeting.setting.scratch)
}

/// Jobs on one node that have a folder of names meet as others do, and those without one find the names of the node.
fn in_a_folder(s: &Setting) -> Result<()> {
    let named = Named::new(s)?;
    let folder = named.0.file.with_extension("folder");
    fs::create_dir_all(&folder)?;
    well(with_folder(&named, "ends", &folder)?)?;
    let publishing = with_folder(&named, "publish", &folder)?;
    well(with_folder(&named, "look-up-near", &folder)?)?;
    well(publishing)?;
    let publishing = with_folder(&named, "publish", &folder)?;
    well(named.start("look-up-near", 1, &[])?)?;
    well(publishing)?;
    ensure!(fs::read_dir(&folder)?.next().is_none(), "files are left");
    Ok(())
}

/// A job neither looks a name up nor publishes it.
fn refused(s: &Setting, way: &str, words: &str) -> Result<()> {
    let named = Named::new(s)?;
    let folder = named.0.file.with_extension("folder");
    let encoded = |byte: u8| match byte {
        b'-' | b'.' | b'_' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02x}"),
    };
    let name: String = named.1.bytes().map(encoded).collect();
    let file = folder.join(format!("ferroshmem-name-{}-{name}", Uid::effective()));
    let own = |mode| fs::Permissions::from_mode(mode);
    match way {
        "missing-folder" => {}
        "no-folder" => fs::write(&folder, "")?,
        _ => {
            fs::create_dir_all(&folder)?;
            fs::write(&file, "what")?;
            fs::set_permissions(&file, own(if way == "loose-file" { 0o602 } else { 0o600 }))?;
        }
    }
    if way == "another-user-s-file" {
        tool::root()?;
        chown(&file, Some(65_534), None)?;
    }
    with_line(with_folder(&named, "look-up-taken", &folder)?, 0, words)?;
    with_line(with_folder(&named, "taken", &folder)?, 0, words)
}
