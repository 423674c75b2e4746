//! A [`Bootstrap`] by PMIx.

use std::ffi::{CStr, CString};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use super::library::Library;
use super::order::{Mapping, Order};
use super::pending;
use super::types::{
    ALL_RANKS, COLLECT_DATA, Content, GLOBAL, HOST_OF, Info, JOB_SIZE, OPTIONAL, Process, SUCCESS, Status, Value,
};
use crate::environment::take_parents;
use crate::mpi::Session;
use crate::{Bootstrap, Error, Program};

/// Exchanges and barriers of this process so far, over all clients, since the server retains the keys.
static ROUND: AtomicU64 = AtomicU64::new(0);

/// How long the launcher may take to accept an abort, or the finalize of this process.
const LAST_CALL: Duration = Duration::from_secs(5);

#[derive(Debug)]
struct Client {
    library: &'static Library,
    launcher: String,
    me: Process,
    size: usize,
    deadline: Duration,
    /// Processes that this one has had started.
    started: AtomicUsize,
    /// What lets Open MPI 5 begin after this client.
    mpi: Option<Session>,
    /// Their jobs, where the launcher does not end them with this one.
    jobs: Mutex<Vec<Process>>,
}

/// Connects to the server; `launcher` is its name for messages.
pub(crate) fn connect(file: Option<&Path>, launcher: &str, deadline: Duration) -> Result<Box<dyn Bootstrap>, Error> {
    // Never freed, as the library is never closed: a call that hangs may still use it.
    let library: &'static Library = Box::leak(Box::new(Library::open(file)?));
    let mpi = Session::of_open_mpi();
    let (me, status) = within(deadline, move || {
        let mut me = Process::unknown();
        // SAFETY: pointer to a live process, no options.
        let status = unsafe { (library.init)(&raw mut me, std::ptr::null(), 0) };
        (me, status)
    })
    .ok_or_else(|| no_answer(launcher, deadline))?;
    if status != SUCCESS {
        return Err(Error::PmixRefused { launcher: launcher.to_owned(), status: library.name_of(status) });
    }
    let mut client = Client {
        library,
        launcher: format!("{launcher}, by PMIx"),
        me,
        size: 0,
        deadline,
        started: AtomicUsize::new(0),
        mpi,
        jobs: Mutex::default(),
    };
    client.size = match client.get(ALL_RANKS, JOB_SIZE, &[])? {
        Content::Number(n) if n > me.rank => n as usize,
        other => {
            return Err(client.wrong_value(&other, "the job's size"));
        }
    };
    Ok(Box::new(client))
}

fn no_answer(launcher: &str, deadline: Duration) -> Error {
    Error::Timeout { launcher: launcher.to_owned(), deadline }
}

/// Calls `f` in a thread of its own and waits for it until the deadline.
fn within<T: Send + 'static>(deadline: Duration, f: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let run = move || {
        // After the deadline there is no receiver any more.
        let _ = sender.send(f());
    };
    thread::Builder::new().name("pmix".into()).spawn(run).ok()?;
    receiver.recv_timeout(deadline).ok()
}

impl Client {
    fn wrong_value(&self, given: &dyn std::fmt::Debug, key: &str) -> Error {
        Error::PmixValue { launcher: self.launcher.clone(), given: format!("{given:?}"), key: key.to_owned() }
    }

    fn check(&self, call: &'static str, status: Status) -> Result<(), Error> {
        match status {
            SUCCESS => Ok(()),
            _ => Err(Error::PmixCall { launcher: self.launcher.clone(), call, status: self.library.name_of(status) }),
        }
    }

    fn put(&self, key: &CStr, value: &[u8]) -> Result<(), Error> {
        let value = Value::of_bytes(value);
        // SAFETY: key and value live until the call returns, and are copied by it.
        let status = unsafe { (self.library.put)(GLOBAL, key.as_ptr(), &raw const value) };
        self.check("PMIx_Put", status)?;
        // SAFETY: initialised.
        let status = unsafe { (self.library.commit)() };
        self.check("PMIx_Commit", status)
    }

    /// Collects data even where no process needs any: without, it is no barrier under Slurm.
    fn fence(&self) -> Result<(), Error> {
        let all = self.me.with_rank(ALL_RANKS);
        let kept = Box::new((all, Info::on(COLLECT_DATA)));
        let outcome = pending::done(self.deadline, |callback, data| {
            // SAFETY: one process and one option, which live until the callback.
            unsafe { (self.library.fence)(&raw const kept.0, 1, &raw const kept.1, 1, callback, data) }
        });
        let Some((status, _)) = outcome else {
            // PMIx may still read them.
            Box::leak(kept);
            return Err(no_answer(&self.launcher, self.deadline));
        };
        self.check("PMIx_Fence", status)
    }

    fn get(&self, rank: u32, key: &CStr, options: &[Info]) -> Result<Content, Error> {
        let process = self.me.with_rank(rank);
        let outcome = pending::value(self.deadline, |callback, data| {
            // SAFETY: process, key and options are copied before the call returns.
            unsafe {
                (self.library.get)(&raw const process, key.as_ptr(), options.as_ptr(), options.len(), callback, data)
            }
        });
        let (status, content) = outcome.ok_or_else(|| no_answer(&self.launcher, self.deadline))?;
        self.check("PMIx_Get", status)?;
        content.ok_or_else(|| Error::PmixValue {
            launcher: self.launcher.clone(),
            given: "no value".to_owned(),
            key: format!("{key:?}"),
        })
    }

    /// The hosts of all processes, by rank and the launcher's names; none if it does not say them.
    fn hosts(&self) -> Option<Vec<String>> {
        let host = |rank| match self.get(rank as u32, HOST_OF, &[Info::on(OPTIONAL)]) {
            Ok(Content::Text(host)) => Some(host),
            _ => None,
        };
        (0..self.size).map(host).collect()
    }

    /// Whether the server is that of Open MPI before version 5, by its names of jobs.
    fn is_orte(&self) -> bool {
        let name = self.me.namespace.iter().take_while(|c| **c != 0);
        name.clone().count() > 0 && name.into_iter().all(|c| (*c as u8).is_ascii_digit())
    }
}

impl Bootstrap for Client {
    fn launcher(&self) -> &str {
        &self.launcher
    }

    fn rank(&self) -> usize {
        self.me.rank as usize
    }

    fn size(&self) -> usize {
        self.size
    }

    fn exchange(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let round = ROUND.fetch_add(1, Ordering::Relaxed);
        let key = CString::new(format!("ferroshmem-{round}")).expect("no zero in it");
        // Some versions lose objects of no bytes: one byte more than there are.
        let framed = [&[0], mine].concat();
        self.put(&key, &framed)?;
        self.fence()?;
        let blob = |rank: usize| match self.get(rank as u32, &key, &[])? {
            Content::Bytes(bytes) if !bytes.is_empty() => Ok(bytes[1..].to_vec()),
            other => Err(self.wrong_value(&other, &format!("rank {rank}"))),
        };
        (0..self.size)
            .map(|rank| match rank == self.rank() {
                true => Ok(mine.to_vec()),
                false => blob(rank),
            })
            .collect()
    }

    fn barrier(&self) -> Result<(), Error> {
        self.fence()
    }

    fn abort(&self, status: i32, message: &str) {
        let library = self.library;
        let message = CString::new(message.replace('\0', " ")).expect("no zero in it");
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let jobs = jobs.clone();
        within(LAST_CALL, move || {
            if !jobs.is_empty() {
                // SAFETY: a C string, and as many processes.
                unsafe { (library.abort)(status, message.as_ptr(), jobs.as_ptr(), jobs.len()) };
            }
            // SAFETY: a C string; no processes means all of the job.
            unsafe { (library.abort)(status, message.as_ptr(), std::ptr::null(), 0) }
        });
    }

    fn start(&self, programs: &[Program<'_>], parents: &str) -> Result<Option<OwnedFd>, Error> {
        let n: usize = programs.iter().map(|program| program.processes).sum();
        let mapping = match self.is_orte().then(|| self.hosts()) {
            Some(Some(hosts)) => Mapping::Each { hosts, first: self.started.fetch_add(n, Ordering::Relaxed) },
            _ => Mapping::Slots,
        };
        let kept = Box::new(Order::new(programs, parents, &mapping)?);
        let outcome = pending::spawned(self.deadline, |callback, data| {
            let (job, apps) = kept.parts();
            // SAFETY: options and programs live until the callback, and refer to what the order has.
            unsafe { (self.library.spawn)(job.as_ptr(), job.len(), apps.as_ptr(), apps.len(), callback, data) }
        });
        let Some((status, name)) = outcome else {
            // PMIx may still read it.
            Box::leak(kept);
            return Err(no_answer(&self.launcher, self.deadline));
        };
        self.check("PMIx_Spawn", status)?;
        // PRRTE, which is Open MPI's launcher since version 5, ends each job by itself.
        if !self.is_orte()
            && let Some(Content::Text(name)) = name
        {
            let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
            jobs.extend(Process::all_of(&name));
        }
        Ok(None)
    }

    /// Open MPI 4.1.4's `mpirun`, with libpmix 4.2.2, does: as far as can be seen from outside, it forgets the
    /// connection of a new process whose descriptor has the number of one that was closed just before.
    fn loses_starts(&self) -> bool {
        self.is_orte()
    }

    fn parents(&self) -> Option<String> {
        take_parents()
    }

    fn finalize(&self) {
        let library = self.library;
        within(LAST_CALL, move || {
            // SAFETY: initialised, and this is the last call.
            unsafe { (library.finalize)(std::ptr::null(), 0) }
        });
        if let Some(session) = &self.mpi {
            session.close();
        }
    }
}
