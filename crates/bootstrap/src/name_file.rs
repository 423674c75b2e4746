//! Names of ports in a folder that hosts share (`SHMEM_NAME_DIRECTORY`), by which the jobs of a user on different hosts
//! find them.
//!
//! A name is a file of this user alone: the port's text, and the address at which the PE that has published it says a
//! word that no other one says. The file is written under another name and linked, so that it is complete from the
//! start and replaces no other one.
//!
//! A PE that is killed leaves its file. A process that reads a file asks at the address; where none answers, or one
//! says something else, the file counts as none, and the next process that publishes the name replaces it. The file is
//! moved away first, and back if it has become another one meanwhile. There are no locks: some network file systems
//! have none, or such as other hosts do not see.

use std::ffi::{CStr, CString};
use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, flock, fstat, linkat, open, rename, unlink};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::geteuid;

use crate::responder::Responder;

/// A PE that has published a name answers within this time, unless it is stopped.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// Most bytes of a file.
const MOST_BYTES: usize = 1024;
/// Most bytes of what a publisher says.
const MOST_WORD: usize = 64;

/// Why the file of a name is of no use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NameFileError {
    /// The file, or the folder that it is in, is not what it should be.
    #[error("{0} cannot be used: {1}; let SHMEM_NAME_DIRECTORY be a folder that this user alone can write to")]
    Unusable(String, io::Error),
    /// A PE has published the name: where it answers, and the file.
    #[error("the name is taken: a PE at {0} has published it ({1}); unpublish it there, or take another name")]
    Taken(SocketAddr, String),
    /// It does not answer.
    #[error("the PE at {0}, which has published the name, does not answer ({2}): if it is gone, remove {1}")]
    NoAnswer(SocketAddr, String, io::Error),
}

/// What the file of a name says.
struct Entry {
    /// All of it.
    content: String,
    publisher: SocketAddr,
}

impl Entry {
    fn new(text: &str, word: &str, publisher: SocketAddr) -> Self {
        Self { content: format!("{text}\n{word}\n{publisher}\n"), publisher }
    }

    fn parse(content: String) -> Option<Self> {
        let publisher = content.strip_suffix('\n')?.split('\n').nth(2)?;
        let publisher = publisher.parse().ok()?;
        Some(Self { content, publisher })
    }

    fn line(&self, number: usize) -> &str {
        self.content.split('\n').nth(number).unwrap_or_default()
    }

    /// Whether the publisher is there; an error if its host or process does not answer.
    fn is_published(&self, within: Duration) -> io::Result<bool> {
        match self.query(within) {
            Err(e)
                if matches!(
                    e.kind(),
                    ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof
                ) =>
            {
                Ok(false)
            }
            result => result,
        }
    }

    fn query(&self, within: Duration) -> io::Result<bool> {
        /// None at all would be no limit.
        const LEAST: Duration = Duration::from_millis(1);

        let end = Instant::now() + within;
        let mut socket = TcpStream::connect_timeout(&self.publisher, within)?;
        let left = end.saturating_duration_since(Instant::now()).max(LEAST);
        socket.set_read_timeout(Some(left))?;
        let word = self.line(1).as_bytes();
        let mut room = [0; MOST_WORD];
        let answer = &mut room[..word.len().min(MOST_WORD)];
        socket.read_exact(answer)?;
        Ok(answer == word)
    }
}

/// The file of a name.
#[derive(Debug)]
pub struct NameFile {
    folder: CString,
    path: CString,
}

impl NameFile {
    /// Of this user's name, in a folder.
    pub fn new(folder: &str, name: &[u8]) -> Self {
        let mut path = format!("{folder}/ferroshmem-name-{}-", geteuid().as_raw());
        for byte in name {
            match byte {
                b'-' | b'.' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                    path.push(char::from(*byte));
                }
                byte => path += &format!("%{byte:02x}"),
            }
        }
        // A value of the environment has no NUL.
        let string = |s: String| CString::new(s).unwrap_or_default();
        Self { folder: string(folder.to_owned()), path: string(path) }
    }

    /// The text of the port that a PE publishes by the name, which is to answer within a time; None if none does.
    ///
    /// # Errors
    /// If the folder or the file cannot be used, or the publisher does not answer.
    #[inline(never)]
    pub fn look_up(&self, within: Duration) -> Result<Option<String>, NameFileError> {
        let Some(found) = self.read()? else {
            return Ok(None);
        };
        match found.is_published(within) {
            Ok(is_published) => Ok(is_published.then(|| found.line(0).to_owned())),
            Err(e) => Err(self.no_answer(&found, e)),
        }
    }

    #[cold]
    #[inline(never)]
    fn no_answer(&self, found: &Entry, why: io::Error) -> NameFileError {
        NameFileError::NoAnswer(found.publisher, shown(&self.path), why)
    }

    /// What the file says, if there is one.
    fn read(&self) -> Result<Option<Entry>, NameFileError> {
        // Has NFS look at the folder anew: it remembers for up to a minute that a file was not there.
        self.open_folder()?;
        self.read_as(&self.path)
    }

    fn open_folder(&self) -> Result<OwnedFd, NameFileError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        open(&*self.folder, flags, Mode::empty()).map_err(|e| unusable(&self.folder, e.into()))
    }

    fn read_as(&self, path: &CStr) -> Result<Option<Entry>, NameFileError> {
        match content(path) {
            Ok(content) => match Entry::parse(content) {
                Some(entry) => Ok(Some(entry)),
                None => Err(unusable(path, wrong("no FerroSHMEM has written it"))),
            },
            Err(e) if is_missing(&e) => Ok(None),
            Err(e) => Err(unusable(path, e)),
        }
    }

    /// Publishes an entry. `other` is a name that no other PE uses.
    #[inline(never)]
    fn publish(&self, entry: &Entry, other: &CStr) -> Result<(), NameFileError> {
        loop {
            match self.read()? {
                // The server has linked it, and has lost its answer.
                Some(found) if found.content == entry.content => return Ok(()),
                Some(found) => self.take_over(&found, other)?,
                None => {}
            }
            let written = self.write_as(other, entry);
            let linked = written.map(|()| linkat(CWD, other, CWD, &*self.path, AtFlags::empty()));
            let _ = unlink(other);
            match linked? {
                // By another PE meanwhile.
                Err(Errno::EXIST) => {}
                Err(e) => return Err(unusable(&self.path, e.into())),
                Ok(()) => return Ok(()),
            }
        }
    }

    /// Writes a new file that this user alone may read.
    fn write_as(&self, path: &CStr, entry: &Entry) -> Result<(), NameFileError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let written = open(path, flags, Mode::RUSR | Mode::WUSR).and_then(|file| {
            rustix::io::write(&file, entry.content.as_bytes())?;
            // A file of a server may not be written before.
            rustix::fs::fdatasync(&file)
        });
        written.map_err(|e| unusable(path, e.into()))?;
        // A server may give it another user, or other rights; all of it is there.
        self.read_as(path).map(drop)
    }

    /// Removes the file if it has the entry of a PE that is gone.
    #[inline(never)]
    fn take_over(&self, found: &Entry, other: &CStr) -> Result<(), NameFileError> {
        match found.is_published(ANSWERS_WITHIN) {
            Ok(false) => {}
            Ok(true) => return Err(NameFileError::Taken(found.publisher, shown(&self.path))),
            Err(e) => return Err(self.no_answer(found, e)),
        }
        // Another PE may have replaced the file already. Where the system locks folders, which NFS does not, none does
        // so from here on: what is moved would be missing for a moment, and a third PE could publish the name, too.
        let folder = self.open_folder()?;
        let _ = flock(&folder, FlockOperation::LockExclusive);
        if self.read_as(&self.path)?.is_none_or(|now| now.content != found.content) {
            return Ok(());
        }
        match rename(&*self.path, other) {
            Err(Errno::NOENT | Errno::STALE) => return Ok(()),
            result => result.map_err(|e| unusable(&self.path, e.into()))?,
        }
        let moved = self.read_as(other)?;
        if moved.is_none_or(|moved| moved.content != found.content) {
            let _ = linkat(CWD, other, CWD, &*self.path, AtFlags::empty());
        }
        let _ = unlink(other);
        Ok(())
    }
}

/// A name that this PE has published in a folder; unpublished when it is dropped.
#[derive(Debug)]
pub struct Publication {
    file: NameFile,
    content: String,
    _responder: Responder,
}

impl Publication {
    /// Publishes the text of a port, for whose name this PE answers at an address by a word that no other PE has.
    ///
    /// # Errors
    /// If the folder cannot be used, or another PE has published the name.
    // This crate is compiled for size, callers for speed.
    #[inline(never)]
    pub fn new(file: NameFile, text: &str, word: &str, address: IpAddr) -> Result<Self, NameFileError> {
        let broken = |e| unusable(&file.folder, e);
        let listener = TcpListener::bind((address, 0)).map_err(broken)?;
        let entry = Entry::new(text, word, listener.local_addr().map_err(broken)?);
        let expected = word.to_owned();
        let answer = move |socket: OwnedFd| {
            let _ = rustix::net::send(&socket, expected.as_bytes(), SendFlags::NOSIGNAL);
        };
        // Before there is a file, which others would find stale.
        let responder = Responder::start(listener.into(), Box::new(answer)).map_err(broken)?;
        let path = file.path.to_bytes();
        let start = path.iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1);
        let (folder, name) = path.split_at(start);
        let other = [folder, b".", name, b"-", word.as_bytes()].concat();
        file.publish(&entry, &CString::new(other).unwrap_or_default())?;
        Ok(Self { file, content: entry.content, _responder: responder })
    }
}

impl Drop for Publication {
    #[inline(never)]
    fn drop(&mut self) {
        // A user may have removed it, and another job may have the name.
        if content(&self.file.path).is_ok_and(|content| content == self.content) {
            let _ = unlink(&*self.file.path);
        }
    }
}

#[cold]
#[inline(never)]
fn unusable(path: &CStr, why: io::Error) -> NameFileError {
    NameFileError::Unusable(shown(path), why)
}

fn shown(path: &CStr) -> String {
    path.to_string_lossy().into_owned()
}

fn wrong(what: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

/// Whether there is no file, or none any more.
fn is_missing(e: &io::Error) -> bool {
    let number = e.raw_os_error().map(Errno::from_raw_os_error);
    matches!(number, Some(Errno::NOENT | Errno::STALE))
}

/// What is in a file that is this user's alone.
fn content(path: &CStr) -> io::Result<String> {
    // Neither follows a link nor waits for the other end of a pipe.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = open(path, flags, Mode::empty())?;
    let info = fstat(&file)?;
    if info.st_uid != geteuid().as_raw() {
        return Err(wrong("it belongs to another user"));
    }
    if info.st_mode & 0o077 != 0 {
        return Err(wrong("other users may read or write it"));
    }
    let mut room = [0; MOST_BYTES];
    let mut len = 0;
    while len < MOST_BYTES {
        match rustix::io::read(&file, &mut room[len..])? {
            0 => break,
            n => len += n,
        }
    }
    Ok(String::from_utf8_lossy(&room[..len]).into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::Ipv4Addr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::path::Path;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::*;

    /// A publication that answers, and its text.
    fn publish(folder: &tempfile::TempDir, name: &[u8]) -> Result<(Publication, String), NameFileError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);

        let word = format!("word {}", NEXT.fetch_add(1, Ordering::Relaxed));
        let text = format!("the text of {word}");
        let file = of(folder, name);
        let publication = Publication::new(file, &text, &word, Ipv4Addr::LOCALHOST.into())?;
        Ok((publication, text))
    }

    fn path(file: &NameFile) -> &Path {
        Path::new(std::ffi::OsStr::from_bytes(file.path.to_bytes()))
    }

    /// Leaves a file as a PE does that is killed.
    fn leave(publication: Publication) {
        let path = path(&publication.file).to_owned();
        let kept = path.with_extension("kept");
        fs::rename(&path, &kept).unwrap();
        drop(publication);
        fs::rename(&kept, &path).unwrap();
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    fn files(folder: &tempfile::TempDir) -> usize {
        fs::read_dir(folder.path()).unwrap().count()
    }

    fn of(folder: &tempfile::TempDir, name: &[u8]) -> NameFile {
        NameFile::new(folder.path().to_str().unwrap(), name)
    }

    fn found(folder: &tempfile::TempDir, name: &[u8]) -> Option<String> {
        of(folder, name).look_up(ANSWERS_WITHIN).unwrap()
    }

    #[test]
    fn files_have_names_of_any_bytes() {
        let (folder, long, odd) = (folder(), [0xff; 64], b"../a/b%ff\n");
        let (first, text) = publish(&folder, &long).unwrap();
        let (second, other) = publish(&folder, odd).unwrap();
        assert_eq!(found(&folder, &long), Some(text));
        assert_eq!(found(&folder, odd), Some(other));
        assert_eq!(files(&folder), 2);
        let mode = fs::metadata(path(&first.file)).unwrap().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(first);
        assert_eq!((files(&folder), found(&folder, &long)), (1, None));
        // A user has removed it, and another job has the name.
        fs::remove_file(path(&second.file)).unwrap();
        let (_third, text) = publish(&folder, odd).unwrap();
        drop(second);
        assert_eq!(found(&folder, odd), Some(text));
    }

    #[test]
    fn a_name_is_one_port_s_until_its_pe_is_gone() {
        let folder = folder();
        let (first, text) = publish(&folder, b"name").unwrap();
        let taken = publish(&folder, b"name").unwrap_err().to_string();
        assert!(taken.contains("the name is taken: a PE at 127.0.0.1:"), "{taken}");
        assert_eq!(found(&folder, b"name"), Some(text));
        leave(first);
        assert_eq!((files(&folder), found(&folder, b"name")), (1, None));
        let (second, text) = publish(&folder, b"name").unwrap();
        assert_eq!(found(&folder, b"name"), Some(text));
        // The address of one that was killed is another one's by now.
        let file = path(&second.file).to_owned();
        let stale = second.content.replace("word", "WORD");
        fs::write(&file, stale).unwrap();
        assert_eq!(found(&folder, b"name"), None);
        let (_third, text) = publish(&folder, b"name").unwrap();
        drop(second);
        assert_eq!((files(&folder), found(&folder, b"name")), (1, Some(text)));
    }

    #[test]
    fn one_of_many_replaces_a_stale_file() {
        const N: usize = 8;

        for _ in 0..20 {
            let folder = folder();
            leave(publish(&folder, b"name").unwrap().0);
            let start = Barrier::new(N);
            let run = || {
                start.wait();
                publish(&folder, b"name").ok()
            };
            let published: Vec<_> = thread::scope(|scope| {
                let threads: Vec<_> = (0..N).map(|_| scope.spawn(run)).collect();
                let all = threads.into_iter().map(|thread| thread.join().unwrap());
                all.flatten().collect()
            });
            assert_eq!(published.len(), 1);
            assert_eq!(found(&folder, b"name").as_ref(), Some(&published[0].1));
            assert_eq!(files(&folder), 1);
        }
    }

    /// Neither a lookup nor a publication uses what is there.
    fn refused(folder: &str, words: &str) {
        let file = || NameFile::new(folder, b"name");
        let address = Ipv4Addr::LOCALHOST.into();
        let published = Publication::new(file(), "text", "word", address).unwrap_err();
        for why in [file().look_up(ANSWERS_WITHIN).unwrap_err(), published] {
            let why = why.to_string();
            assert!(why.contains(words) && why.contains(folder), "{why}");
        }
    }

    #[test]
    fn files_that_others_can_write_are_refused() {
        let folder = folder();
        let refused = |words| refused(folder.path().to_str().unwrap(), words);
        let (publication, _) = publish(&folder, b"name").unwrap();
        let file = path(&publication.file).to_owned();
        let set_mode = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        for mode in [0o620, 0o602, 0o604] {
            set_mode(mode);
            refused("other users may read or write it");
        }
        set_mode(0o600);
        if geteuid().is_root() {
            std::os::unix::fs::chown(&file, Some(65_534), None).unwrap();
            refused("it belongs to another user");
            std::os::unix::fs::chown(&file, Some(0), None).unwrap();
        }
        let other = file.with_extension("other");
        fs::rename(&file, &other).unwrap();
        std::os::unix::fs::symlink(&other, &file).unwrap();
        refused("symbolic link");
        fs::remove_file(&file).unwrap();
        for content in ["", "what\n", "a\nb\nc\n"] {
            fs::write(&file, content).unwrap();
            set_mode(0o600);
            refused("no FerroSHMEM has written it");
        }
    }

    #[test]
    fn folders_that_cannot_be_used_are_refused() {
        let folder = folder();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        refused(file.to_str().unwrap(), "Not a directory");
        let missing = folder.path().join("missing");
        refused(missing.to_str().unwrap(), "No such file");
        // No user writes there.
        let file = || NameFile::new("/proc/self", b"name");
        let address = Ipv4Addr::LOCALHOST.into();
        let published = Publication::new(file(), "text", "word", address);
        assert!(matches!(published, Err(NameFileError::Unusable(..))));
        assert_eq!(file().look_up(ANSWERS_WITHIN).unwrap(), None);
    }

    #[test]
    fn a_process_that_is_stopped_is_waited_for_as_long_as_one_may() {
        let folder = folder();
        let (publication, _) = publish(&folder, b"name").unwrap();
        // The kernel accepts for it.
        let stopped = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let entry = Entry::new("text", "word", stopped.local_addr().unwrap());
        fs::write(path(&publication.file), entry.content).unwrap();
        for milliseconds in [1, 20] {
            let within = Duration::from_millis(milliseconds);
            let why = of(&folder, b"name").look_up(within).unwrap_err();
            assert!(matches!(why, NameFileError::NoAnswer(..)), "{why}");
        }
    }

    #[test]
    fn a_host_that_does_not_answer_is_no_stale_one() {
        let folder = folder();
        let (publication, _) = publish(&folder, b"name").unwrap();
        let address = SocketAddr::from((Ipv4Addr::BROADCAST, 9));
        let entry = Entry::new("text", "word", address);
        fs::write(path(&publication.file), entry.content).unwrap();
        refused(folder.path().to_str().unwrap(), "which has published the name, does not answer");
    }
}
