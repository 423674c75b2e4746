//! Members of the other side that are local, where the sides have PEs on several nodes: their memory is mapped here, as that
//! of a job on one node is.
//!
//! The first member of a side on a node gives the memory of its job there to the local members of the other side, over a
//! socket as the one by which PEs of a job get the memory of their node. The name of the socket, and which node it is, are
//! among what members say at the hub. A member that cannot map the memory reaches the others by the fabric.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::thread::JoinHandle;
use std::time::Duration;

use ferroshmem_bootstrap::fdpass::{self, Server};
use ferroshmem_bootstrap::node::Identity;
use ferroshmem_bootstrap::secret::Secret;

use super::link::Invitation;
use super::other_job::{MapError, OtherJob, Programs};
use super::said::Said;
use super::sides::Sides;
use crate::failure::fatal::debug;
use crate::job::Attachment;
use crate::job::control::Control;
use crate::memory::Space;

/// Time for the members of one node to pass memory.
const DEADLINE: Duration = Duration::from_secs(20);
const STACK: usize = 256 << 10;

/// Why the memory of local members is not mapped.
#[derive(Debug, thiserror::Error)]
enum NotLocal {
    #[error("their first one gives none")]
    NotGiven,
    #[error(transparent)]
    NotPassed(#[from] ferroshmem_bootstrap::Error),
    #[error("it is not what it should be: {0}")]
    Memory(#[from] io::Error),
    #[error(transparent)]
    Map(#[from] MapError),
}

/// How members of one node pass the memory of their jobs to each other.
pub(super) struct Passing {
    secret: Secret,
    node: Vec<u8>,
    server: Option<Server>,
}

impl Passing {
    /// Of the members that are invited. `gives`: this one gives the memory of its job on its node.
    ///
    /// # Errors
    /// If the system gives no socket, or does not say which node this is.
    pub(super) fn new(
        invitation: &Invitation,
        gives: bool,
    ) -> Result<Self, ferroshmem_bootstrap::Error> {
        Ok(Self {
            secret: Secret::from_token(invitation.token),
            node: Identity::here()?.to_bytes(),
            server: gives.then(Server::open).transpose()?,
        })
    }

    /// This node.
    pub(super) fn node(&self) -> &[u8] {
        &self.node
    }

    /// The name of the socket at which this member gives memory; empty if it gives none.
    pub(super) fn socket(&self) -> &[u8] {
        self.server.as_ref().map_or(&[], Server::name)
    }

    /// The members of `side` that are on this node, by what all have said.
    fn local<'a>(
        &'a self,
        said: &'a [Said],
        sides: &Sides,
        side: usize,
    ) -> impl Iterator<Item = usize> + 'a {
        sides
            .of(side)
            .filter(|member| said[*member].node == self.node)
    }

    /// Gives this job's memory to the local members of the other side, in a thread of its own, if this member is to and there
    /// are such. The thread ends when all have it.
    ///
    /// # Errors
    /// If the system starts no more threads.
    pub(super) fn give(
        &mut self,
        job: &Attachment,
        said: &[Said],
        sides: &Sides,
    ) -> io::Result<Option<JoinHandle<()>>> {
        let others: Vec<usize> = self.local(said, sides, 1 - sides.own).collect();
        let Some(server) = self.server.take().filter(|_| !others.is_empty()) else {
            return Ok(None);
        };
        let (secret, memory) = (self.secret.clone(), job.file.try_clone()?);
        let body = move || {
            if let Err(why) = server.serve(&secret, &others, &[memory.as_fd()], DEADLINE) {
                debug(|| format!("local PEs of another job have not taken memory: {why}"));
            }
        };
        ferroshmem_platform::thread::spawn("shmem-memory", STACK, body).map(Some)
    }

    /// Maps the memory of the other side's local members, for member `me`; None if there are no such, or that cannot be.
    pub(super) fn take(
        &self,
        job: &Attachment,
        space: &Space,
        said: &[Said],
        (sides, me): (&Sides, usize),
        programs: &Programs,
    ) -> Option<OtherJob> {
        let first = self.local(said, sides, 1 - sides.own).next()?;
        let mapped = self.map(job, space, &said[first].socket, me, programs);
        let has_all = |other: &OtherJob| {
            let n_pes = other.control().n_pes();
            self.local(said, sides, 1 - sides.own)
                .all(|member| (said[member].index as usize) < n_pes)
        };
        match mapped {
            Ok(other) => Some(other).filter(has_all),
            Err(why) => {
                debug(|| {
                    format!(
                        "local PEs of another job are reached by the fabric, as their memory is not mapped: {why}"
                    )
                });
                None
            }
        }
    }

    fn map(
        &self,
        job: &Attachment,
        space: &Space,
        socket: &[u8],
        me: usize,
        programs: &Programs,
    ) -> Result<OtherJob, NotLocal> {
        if socket.is_empty() {
            return Err(NotLocal::NotGiven);
        }
        let mut files = fdpass::fetch(socket, &self.secret, me, 1, DEADLINE)?;
        let memory = File::from(files.remove(0));
        let control = Control::open(&memory)?;
        Ok(OtherJob::map(job, space, &memory, control, programs)?)
    }

    /// The numbers among the PEs of their jobs on this node of the members that are there; None of those that are not.
    pub(super) fn indices(
        &self,
        job: &Attachment,
        said: &[Said],
        sides: &Sides,
        is_mapped: bool,
    ) -> Box<[Option<u32>]> {
        let index = |(member, said): (usize, &Said)| match sides.own().contains(&member) {
            true => {
                let index = job.placement.local_index(said.job_pe as usize);
                index.map(|index| index as u32)
            }
            false => (is_mapped && said.node == self.node).then_some(said.index),
        };
        said.iter().enumerate().map(index).collect()
    }
}
