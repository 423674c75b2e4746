//! Ports: where jobs that were started separately become connected.

use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use ferroshmem_api::port;

use super::Group;
use crate::error::ConnectError;
use crate::step::Step;
use crate::team::Team;
use crate::world::World;

fn failed(why: impl Display) -> ConnectError {
    ConnectError::new(why.to_string())
}

/// A port of this PE, at which other jobs of this user on the node become connected with this one: [`Team::accept`]. It
/// closes when it is dropped. (Extension: `shmemx_port_open`)
///
/// Other jobs connect by its [text](Self::text), which has a secret, or by the text of a [name](Self::publish).
///
/// It cannot outlive its world:
///
/// ```compile_fail,E0505
/// # let world = ferroshmem::World::init().unwrap();
/// let port = world.open_port().unwrap();
/// drop(world);
/// port.text();
/// ```
pub struct Port<'w> {
    text: String,
    world: PhantomData<&'w World>,
}

impl Port<'_> {
    /// What other jobs connect by. It has a secret: who knows it and is of the same user can connect.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let port = world.open_port()?;
    /// println!("Connect to {}", port.text()); // by `World::connect`
    /// assert!(!port.text().is_empty());
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Gives the port a name of 1 to 64 bytes, by which other jobs of this user on the node, or on all nodes that share
    /// the folder `SHMEM_NAME_DIRECTORY`, [look it up](World::look_up_port), until the port closes. (Extension:
    /// `shmemx_port_publish`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let port = world.open_port()?;
    /// # let name = &std::process::id().to_string();
    /// port.publish(name)?; // until the port is dropped
    /// assert_eq!(world.look_up_port(name, None)?.as_deref(), Some(port.text()));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it is no name, another process has published it, or the folder cannot be used.
    pub fn publish(&self, name: &str) -> Result<(), ConnectError> {
        port::publish_port("Port::publish", name.as_bytes(), &self.text).map_err(failed)
    }
}

impl Drop for Port<'_> {
    fn drop(&mut self) {
        // The world lives, and no other part of the program closes the port.
        let closed = port::close_port("Port", &self.text);
        debug_assert!(closed.is_ok());
    }
}

impl fmt::Debug for Port<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not its secret.
        f.debug_struct("Port").finish_non_exhaustive()
    }
}

impl World {
    /// Opens a port of this PE. Not collective.
    ///
    /// As in the example of [`Port::text`].
    ///
    /// # Errors
    /// If the system has no socket for it.
    pub fn open_port(&self) -> Result<Port<'_>, ConnectError> {
        let text = port::open_port("World::open_port").map_err(failed)?;
        Ok(Port { text, world: PhantomData })
    }

    /// The text of the port that a process of this user has published by a name. Waits for that up to `limit`, or
    /// as long as it takes. None, if no process has published it then. Not collective.
    /// (Extension: `shmemx_port_lookup`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let port = world.look_up_port("a name that none has published", Some(std::time::Duration::ZERO))?;
    /// assert_eq!(port, None); // it has not waited
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it is no name, a process of another user has taken it, the folder `SHMEM_NAME_DIRECTORY` cannot be used, or
    /// the host that has published the name does not answer.
    pub fn look_up_port(&self, name: &str, limit: Option<Duration>) -> Result<Option<String>, ConnectError> {
        port::look_up_port("World::look_up_port", name.as_bytes(), limit).map_err(failed)
    }
}

impl Team<'_> {
    /// Waits for the next team that connects to a port, and connects this one with it. Collective over the team; `port`
    /// counts on the first member, which has opened it. In the team of both groups, this one's members are the first.
    /// (Extension: `shmemx_port_accept`)
    ///
    /// ```no_run
    /// # use ferroshmem::{Atomics, World};
    /// let world = World::init()?;
    /// let orders = world.export("orders", world.atomics::<u64>(1)?)?;
    /// let port = if world.my_pe().number() == 0 { Some(world.open_port()?) } else { None };
    /// if let Some(port) = &port {
    ///     port.publish("shop")?;
    /// }
    /// let customers = world.accept(port.as_ref())?;
    /// let n = customers.n_pes();
    /// customers.disconnect(); // waits for them
    /// println!("{n} customers have ordered {}", orders.fetch(world.pe(0)?, 0)?);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// The group ends before the team:
    ///
    /// ```compile_fail,E0505
    /// # let world = ferroshmem::World::init().unwrap();
    /// let team = world.split_strided(0, 1, 1).unwrap().unwrap();
    /// let group = team.accept(None).unwrap();
    /// drop(team);
    /// group.disconnect();
    /// ```
    ///
    /// # Errors
    /// If the first member gives no port, or this is the team of a group. On all members.
    #[track_caller]
    pub fn accept(&self, port: Option<&Port<'_>>) -> Result<Group<'_>, ConnectError> {
        self.accept_as(port, false)
    }

    /// As [`accept`](Self::accept), for a team that calls [`connect_independent`](Self::connect_independent): the end
    /// of one job is not the other's, see [`Group::state`](crate::Group::state). (Extension:
    /// `shmemx_port_accept_independent`)
    ///
    /// As in the example of [`accept`](Self::accept).
    ///
    /// # Errors
    /// As of [`accept`](Self::accept).
    #[track_caller]
    pub fn accept_independent(&self, port: Option<&Port<'_>>) -> Result<Group<'_>, ConnectError> {
        self.accept_as(port, true)
    }

    #[track_caller]
    fn accept_as(&self, port: Option<&Port<'_>>, independent: bool) -> Result<Group<'_>, ConnectError> {
        self.connected(Step::Accept, |name| {
            let text = || port.map_or_else(String::new, |port| port.text.clone());
            port::accept_at(name, self.handle(), 0, independent, text)
        })
    }

    /// Connects this team with one that accepts at the port of this text, which counts on the first member; waits until
    /// it does. Collective over the team. (Extension: `shmemx_port_connect`)
    ///
    /// ```no_run
    /// # use ferroshmem::{Atomics, World};
    /// let world = World::init()?;
    /// let port = world.look_up_port("shop", None)?.expect("waits as long as it takes");
    /// let shop = world.connect(&port)?;
    /// shop.import::<Atomics<u64>>("orders", 1)?.add(shop.pe(0)?, 0, 2)?;
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the text is none of a port, the port is closed or of another user, or this is the team of a group. On all
    /// members.
    #[track_caller]
    pub fn connect(&self, port: &str) -> Result<Group<'_>, ConnectError> {
        self.connect_as(port, false)
    }

    /// As [`connect`](Self::connect), to a team that calls [`accept_independent`](Self::accept_independent): the end of
    /// one job is not the other's, see [`Group::state`](crate::Group::state). (Extension:
    /// `shmemx_port_connect_independent`)
    ///
    /// As in the example of [`connect`](Self::connect).
    ///
    /// # Errors
    /// As of [`connect`](Self::connect).
    #[track_caller]
    pub fn connect_independent(&self, port: &str) -> Result<Group<'_>, ConnectError> {
        self.connect_as(port, true)
    }

    #[track_caller]
    fn connect_as(&self, port: &str, independent: bool) -> Result<Group<'_>, ConnectError> {
        self.connected(Step::Connect, |name| {
            let text = || port.to_owned();
            port::connect_to(name, self.handle(), 0, independent, text)
        })
    }

    /// Connects this team with that of the PE at the other end of a connected socket, which counts on the first member
    /// and stays open. Collective over the team. (Extension: `shmemx_join`)
    ///
    /// ```no_run
    /// # use ferroshmem::World;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::{net::TcpStream, os::fd::AsFd};
    ///
    /// let world = World::init()?;
    /// let first = world.my_pe().number() == 0;
    /// let socket = if first { Some(TcpStream::connect("localhost:7777")?) } else { None };
    /// let group = world.join(socket.as_ref().map(|socket| socket.as_fd()))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the first member gives no socket, the other end is closed or joins nothing, or this is the team of a group.
    /// On all members.
    #[track_caller]
    pub fn join(&self, socket: Option<BorrowedFd<'_>>) -> Result<Group<'_>, ConnectError> {
        self.connected(Step::Join, |name| {
            let fd = socket.map_or(-1, |socket| socket.as_raw_fd());
            port::join_over(name, self.handle(), 0, fd)
        })
    }

    /// The group that a step makes.
    #[track_caller]
    fn connected<E: Display>(
        &self,
        step: Step,
        connect: impl FnOnce(&'static str) -> Result<usize, E>,
    ) -> Result<Group<'_>, ConnectError> {
        let of_two_jobs = "the team is that of a group, with PEs of two jobs: give one of this job";
        self.of_one_job().map_err(|_| failed(of_two_jobs))?;
        self.step(step, &[]);
        let handle = connect(step.name()).map_err(failed)?;
        Ok(Group::of_handle(handle, self))
    }
}
