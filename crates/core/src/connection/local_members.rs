//! Members of the other group that are local, where the groups have PEs on several nodes: their memory is mapped here,
//! as that of a job on one node is.
//!
//! The first member of a group on a node gives the memory of its job there to the local members of the other group,
//! over a socket as the one by which PEs of a job get the memory of their node. The first of both groups gives all of
//! them the memory of the connection, too, by which they [synchronise](super::announcements). The name of the socket,
//! and which node it is, are among what members say at the coordinator. A member that cannot map the memory reaches the
//! others by the fabric; then all members synchronise by that.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::thread::JoinHandle;
use std::time::Duration;

use ferroshmem_bootstrap::fdpass::{self, Server};
use ferroshmem_bootstrap::node::Identity;
use ferroshmem_bootstrap::secret::Secret;

use super::announcements::LeaderMemory;
use super::groups::Groups;
use super::invitation::Invitation;
use super::member_info::MemberInfo;
use super::other_job::{MapError, OtherJob, Programs};
use crate::failure::fatal::debug;
use crate::job::Attachment;
use crate::job::control::Control;
use crate::memory::AddressSpace;

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

/// What local members share with this one.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// The memory of the other group's job, if it has members here.
    pub job: Option<OtherJob>,
    /// The memory of the connection, if another member is the first of this node.
    pub memory: Option<LeaderMemory>,
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
    pub(super) fn new(invitation: &Invitation, gives: bool) -> Result<Self, ferroshmem_bootstrap::Error> {
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

    /// The members of `group` that are on this node, by what all have said.
    fn local<'a>(&'a self, infos: &'a [MemberInfo], groups: &Groups, group: usize) -> impl Iterator<Item = usize> + 'a {
        groups.of(group).filter(|member| infos[*member].node == self.node)
    }

    /// The first local member of both groups.
    fn first(&self, infos: &[MemberInfo]) -> Option<usize> {
        infos.iter().position(|info| info.node == self.node)
    }

    /// Gives the memory of this job and that of the connection, as this member has made it, to the local members that
    /// take them from this one, in a thread of its own, if there are such. The thread ends when all have them.
    ///
    /// # Errors
    /// If the system starts no more threads.
    pub(super) fn send_memory(
        &mut self,
        (job, connection): (&File, &File),
        infos: &[MemberInfo],
        (groups, me): (&Groups, usize),
    ) -> io::Result<Option<JoinHandle<()>>> {
        let mut others: Vec<usize> = self.local(infos, groups, 1 - groups.own).collect();
        if self.first(infos) == Some(me) {
            others.extend(self.local(infos, groups, groups.own).filter(|m| *m != me));
        }
        let Some(server) = self.server.take().filter(|_| !others.is_empty()) else {
            return Ok(None);
        };
        let secret = self.secret.clone();
        let files = [job.try_clone()?, connection.try_clone()?];
        let body = move || {
            let files = files.each_ref().map(File::as_fd);
            if let Err(why) = server.serve(&secret, &others, &files, DEADLINE) {
                debug(|| format!("local PEs of a group have not taken memory: {why}"));
            }
        };
        ferroshmem_platform::thread::spawn("shmem-memory", STACK, body).map(Some)
    }

    /// Maps what local members share, for member `me`; None if that cannot be.
    pub(super) fn take(
        &self,
        job: &Attachment,
        space: &AddressSpace,
        infos: &[MemberInfo],
        (groups, me): (&Groups, usize),
        programs: &Programs,
    ) -> Option<Shared> {
        let first = self.first(infos).filter(|first| *first != me);
        let of_others = self.local(infos, groups, 1 - groups.own).next();
        let from = [of_others, first.filter(|_| first != of_others)];
        let mut shared = Shared::default();
        for member in from.into_iter().flatten() {
            let has_taken = self.fetch(&infos[member].socket, me).and_then(|[memory, connection]| {
                if Some(member) == of_others {
                    let control = Control::open(&memory)?;
                    let other = OtherJob::map(job, space, &memory, control, programs)?;
                    shared.job = Some(other);
                }
                if Some(member) == first {
                    shared.memory = Some(LeaderMemory::map(&connection, infos.len())?);
                }
                Ok(())
            });
            if let Err(why) = has_taken {
                debug(|| {
                    format!("local PEs of a group are reached by the fabric, as their memory is not mapped: {why}")
                });
                return None;
            }
        }
        let has_all = |other: &OtherJob| {
            let n_pes = other.control().n_pes();
            self.local(infos, groups, 1 - groups.own).all(|member| (infos[member].index as usize) < n_pes)
        };
        shared.job.as_ref().is_none_or(has_all).then_some(shared)
    }

    /// The memory of a job, and that of the connection, which a member gives at its socket.
    fn fetch(&self, socket: &[u8], me: usize) -> Result<[File; 2], NotLocal> {
        if socket.is_empty() {
            return Err(NotLocal::NotGiven);
        }
        let files = fdpass::fetch(socket, &self.secret, me, 2, DEADLINE)?;
        let files: Vec<File> = files.into_iter().map(File::from).collect();
        files.try_into().map_err(|_| NotLocal::NotGiven)
    }

    /// The numbers among the PEs of their jobs on this node of the members that are there; None of those that are not.
    pub(super) fn indices(
        &self,
        job: &Attachment,
        infos: &[MemberInfo],
        groups: &Groups,
        is_mapped: bool,
    ) -> Box<[Option<u32>]> {
        let index = |(member, info): (usize, &MemberInfo)| match groups.own().contains(&member) {
            true => {
                let index = job.placement.local_index(info.job_pe as usize);
                index.map(|index| index as u32)
            }
            false => (is_mapped && info.node == self.node).then_some(info.index),
        };
        infos.iter().enumerate().map(index).collect()
    }
}
