//! The providers that can reach other nodes, and which of them is chosen.

mod hints;
mod interfaces;

use std::net::IpAddr;
use std::sync::Arc;

pub use hints::Info;
pub(crate) use interfaces::address_in;

use hints::{Hints, get_info};
use interfaces::{Interface, interfaces};

use crate::libfabric::{self, Library};
use crate::{Config, Error, TaggedMessage};

/// A provider on an interface.
#[derive(Clone, Debug)]
pub struct Provider {
    /// As libfabric names it: "verbs;ofi_rxm".
    pub name: String,
    /// libfabric's name of the network: "192.0.2.0/24".
    pub fabric: String,
    /// Name of the network interface or device: "eth0", "mlx5_0".
    pub interface: String,
    /// Address that peers would connect to, as text; empty where it is none of the Internet.
    pub address: String,
    /// What it does and wants, for people to read.
    pub capabilities: Vec<String>,
    /// Or why it cannot be chosen.
    pub usable: Result<(), Unusable>,
    /// Lower is better; the first of the usable ones is chosen.
    pub rank: u32,
}

/// Why a provider cannot be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unusable {
    /// It reaches PEs of its own node only.
    #[error("reaches only PEs of its own node")]
    NodeOnly,
    /// rxm over a provider that needs no rxm.
    #[error("net does the same by itself")]
    NeedlessLayer,
    /// `SHMEM_FABRIC` names another one.
    #[error("SHMEM_FABRIC asks for {0}")]
    OtherProvider(String),
    /// `SHMEM_FABRIC_INTERFACE` names another one.
    #[error("SHMEM_FABRIC_INTERFACE asks for {0}")]
    OtherInterface(String),
    /// An address that is valid on one link only.
    #[error("its address means nothing beyond the link")]
    LinkLocal,
    /// An address of no interface.
    #[error("no interface has its address")]
    NoInterface,
    /// The interface is down.
    #[error("{0} is down")]
    Down(String),
    /// The loopback interface.
    #[error("loopback: only if SHMEM_FABRIC_INTERFACE asks for it")]
    Loopback,
    /// It lacks some of what is needed.
    #[error("has no {}", .0.join(", no "))]
    Lacks(Vec<&'static str>),
    /// It has what is needed, but not all at once.
    #[error("does not do all that is needed at once: reads, writes, atomics, delivery complete, any number of threads")]
    NotAtOnce,
}

/// A provider, and what libfabric needs to open it.
#[doc(hidden)]
pub struct Candidate {
    /// The provider.
    pub provider: Provider,
    /// What libfabric needs.
    pub info: Info,
}

/// All providers, the best first: if the first is usable, it is what is chosen.
///
/// # Errors
/// The library cannot be opened.
pub fn providers(config: &Config) -> Result<Vec<Provider>, Error> {
    let library = open_library(config)?;
    Ok(enumerate(&library, config, true).into_iter().map(|candidate| candidate.provider).collect())
}

/// Whether a fabric can be opened.
///
/// # Errors
/// There is no library, or none of its providers does what is needed.
pub fn check(config: &Config) -> Result<(), Error> {
    choose(&open_library(config)?, config).map(drop)
}

/// The address at which other hosts reach this one: of the interface that is asked for, else of the first that is
/// up, rather of one with the default route. Found without libfabric.
pub fn address(interface: Option<&str>) -> Option<IpAddr> {
    let best = reachable(interface).into_iter().next()?;
    (interface.is_some() || !best.loopback).then_some(best.address)
}

/// All such addresses, the best first, and last those of the loopback interface, by which this host reaches itself.
pub fn addresses(interface: Option<&str>) -> Vec<IpAddr> {
    reachable(interface).into_iter().map(|found| found.address).collect()
}

fn reachable(interface: Option<&str>) -> Vec<Interface> {
    let is_meant = |found: &Interface| match interface {
        Some(asked) => found.name == asked || found.address.to_string() == asked,
        None => found.up && !is_link_local(found.address),
    };
    let rank = |found: &Interface| (found.loopback, !found.routes, found.address.is_ipv6());
    let mut all: Vec<Interface> = Vec::new();
    for found in interfaces().into_iter().filter(is_meant) {
        // A sort that keeps the order of equals would be 8 KB of code for some interfaces.
        let at = all.partition_point(|before| rank(before) <= rank(&found));
        all.insert(at, found);
    }
    all
}

/// Whether an address means something together with an interface alone.
fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

/// Opens libfabric.
///
/// # Errors
/// There is no library, or it is too old.
#[doc(hidden)]
pub fn open_library(config: &Config) -> Result<Arc<Library>, Error> {
    // rxm makes queues for this many peers, and devices refuse those for the usual 1,024.
    if config.sets_environment && std::env::var_os("FI_UNIVERSE_SIZE").is_none() {
        let peers = config.n_pes.clamp(16, 1024);
        // SAFETY: as for every change of the environment: the owner opens the fabric before its
        // program has other threads that read it.
        unsafe { std::env::set_var("FI_UNIVERSE_SIZE", peers.to_string()) };
    }
    Ok(Arc::new(Library::open(config.library.as_deref())?))
}

/// The providers, the best first; with `all`, also those that lack something.
#[doc(hidden)]
pub fn enumerate(library: &Arc<Library>, config: &Config, all: bool) -> Vec<Candidate> {
    let interfaces = interfaces();
    let mut fit = get_info(library, Hints::All);
    fit.retain(|info| !is_tcp_alone(&info.provider()));
    let mut without_atomics = get_info(library, Hints::Messages);
    without_atomics.retain(|info| is_tcp_alone(&info.provider()) && injects_requests(info));
    fit.extend(without_atomics);
    let rest = if all { get_info(library, Hints::Any) } else { Vec::new() };
    let mut candidates: Vec<Candidate> = Vec::new();
    let found = fit.into_iter().map(|info| (info, true)).chain(rest.into_iter().map(|info| (info, false)));
    for (info, fits) in found {
        let provider = describe(&info, fits, &interfaces, config);
        let known = candidates.iter().any(|known| {
            known.provider.name == provider.name
                && known.provider.interface == provider.interface
                && known.provider.address == provider.address
        });
        if !known {
            // Behind its equals: libfabric names the fastest first.
            let key = |provider: &Provider| (provider.usable.is_err(), provider.rank);
            let new = key(&provider);
            let at = candidates.partition_point(|known| key(&known.provider) <= new);
            candidates.insert(at, Candidate { provider, info });
        }
    }
    candidates
}

/// The provider to be opened.
pub(crate) fn choose(library: &Arc<Library>, config: &Config) -> Result<Info, Error> {
    let is_usable = |candidate: &Candidate| candidate.provider.usable.is_ok();
    let mut candidates = enumerate(library, config, false);
    if !candidates.first().is_some_and(is_usable) {
        candidates = enumerate(library, config, true); // to say what is there
    }
    let Candidate { provider, info } = candidates.into_iter().next().ok_or(Error::NoProvider)?;
    match provider.usable {
        Ok(()) => Ok(info),
        Err(reason) => Err(Error::NoUsableProvider {
            provider: provider.name,
            interface: provider.interface,
            reason: reason.to_string(),
        }),
    }
}

/// Whether writes to a PE arrive in the order in which they were issued, of any length; and whether messages arrive
/// behind writes that were issued before.
pub(crate) fn orders(library: &Arc<Library>, provider: &str) -> (bool, bool) {
    get_info(library, Hints::Transfers).iter().find(|info| info.provider() == provider).map_or((false, false), |info| {
        // SAFETY: infos have all their parts.
        let (order, size) = unsafe {
            let size = (*info.ep_attr()).max_order_waw_size;
            ((*info.tx_attr()).msg_order, size)
        };
        let writes = libfabric::FI_ORDER_RMA_WAW | u64::from(libfabric::FI_ORDER_WAW);
        let in_order = order & writes != 0 && size == usize::MAX;
        // A provider may only promise the order in which it begins. A stream's bytes also arrive in their order.
        (in_order, in_order && is_tcp_alone(provider) && order & u64::from(libfabric::FI_ORDER_SAW) != 0)
    })
}

/// A provider's row of the list.
fn describe(info: &Info, fits: bool, interfaces: &[Interface], config: &Config) -> Provider {
    let provider = info.provider();
    let address = info.address();
    let device = info.domain();
    let interface = interfaces.iter().find(|i| Some(i.address) == address);
    let device_name = interface.map_or(device.as_str(), |i| i.name.as_str());
    let usable =
        if fits { filter(&provider, &device, address, interface, config) } else { Err(missing_capability(info)) };
    Provider {
        rank: rank(&provider, address, interface),
        fabric: info.fabric(),
        interface: device_name.to_owned(),
        address: address.map_or_else(String::new, |a| a.to_string()),
        capabilities: capabilities(info),
        usable,
        name: provider,
    }
}

/// Whether a provider that satisfies the hints may be chosen.
fn filter(
    provider: &str,
    device: &str,
    address: Option<IpAddr>,
    interface: Option<&Interface>,
    config: &Config,
) -> Result<(), Unusable> {
    let asked = config.provider.as_deref() == Some(provider);
    if provider.split(';').any(|part| part == "shm") && !asked {
        return Err(Unusable::NodeOnly);
    }
    if provider.split(';').any(|part| part == "net") && !is_tcp_alone(provider) && !asked {
        return Err(Unusable::NeedlessLayer);
    }
    if let Some(wanted) = &config.provider
        && !asked
        && provider.split(';').next() != Some(wanted)
        && !(wanted == "tcp" && is_tcp_alone(provider))
    {
        return Err(Unusable::OtherProvider(wanted.clone()));
    }
    if let Some(wanted) = &config.interface {
        let named = device == wanted
            || interface.is_some_and(|i| &i.name == wanted)
            || address.is_some_and(|a| Ok(a) == wanted.parse());
        if !named {
            return Err(Unusable::OtherInterface(wanted.clone()));
        }
    }
    if let Some(IpAddr::V6(v6)) = address
        && v6.is_unicast_link_local()
    {
        return Err(Unusable::LinkLocal);
    }
    match (address, interface) {
        (Some(_), None) => Err(Unusable::NoInterface),
        (_, Some(i)) if !i.up => Err(Unusable::Down(i.name.clone())),
        (_, Some(i)) if i.loopback && config.interface.is_none() => Err(Unusable::Loopback),
        _ => Ok(()),
    }
}

/// Whether this is the provider of TCP for reliable datagrams: "tcp", which is "net" in libfabric 1.17. It has no
/// atomics, which this library sends as messages.
pub(crate) fn is_tcp_alone(provider: &str) -> bool {
    provider == "tcp" || provider == "net"
}

/// Whether messages with a request by itself need no buffer that stays.
pub(crate) fn injects_requests(info: &Info) -> bool {
    // SAFETY: infos have all their parts.
    let inject = unsafe { (*info.tx_attr()).inject_size };
    inject >= 2 * TaggedMessage::BYTES
}

/// Software over sockets comes after devices, and IPv4 with a route to elsewhere first.
fn rank(provider: &str, address: Option<IpAddr>, interface: Option<&Interface>) -> u32 {
    let has = |name| provider.split(';').any(|part| part == name);
    let class = if has("ofi_rxd") || has("udp") || has("sockets") || has("ofi_mrail") {
        300
    } else if is_tcp_alone(provider) {
        100
    } else if has("net") || has("tcp") {
        110
    } else {
        0
    };
    let sockets = class > 0;
    let unrouted = sockets && !interface.is_some_and(|i| i.routes);
    class + 2 * u32::from(unrouted) + u32::from(address.is_some_and(|a| a.is_ipv6()))
}

fn missing_capability(info: &Info) -> Unusable {
    let missing: Vec<&'static str> =
        [(libfabric::FI_RMA, "one-sided reads and writes"), (libfabric::FI_ATOMIC, "atomics")]
            .into_iter()
            .filter(|(bit, _)| info.caps() & u64::from(*bit) == 0)
            .map(|(_, name)| name)
            .collect();
    if missing.is_empty() { Unusable::NotAtOnce } else { Unusable::Lacks(missing) }
}

fn capabilities(info: &Info) -> Vec<String> {
    let mut list = Vec::new();
    let mut add = |is: bool, what: &str| {
        if is {
            list.push(what.to_owned());
        }
    };
    let caps = |bit: u32| info.caps() & u64::from(bit) != 0;
    let mode = |bit: u32| info.mr_mode() & bit != 0;
    // SAFETY: infos have all their parts.
    let (progress, order) = unsafe { ((*info.domain_attr()).data_progress, (*info.tx_attr()).msg_order) };
    add(caps(libfabric::FI_RMA), "one-sided");
    add(caps(libfabric::FI_ATOMIC), "atomics");
    add(order & libfabric::FI_ORDER_RMA_WAW != 0, "writes in order");
    add(mode(libfabric::FI_MR_ALLOCATED), "registers memory that is there");
    add(mode(libfabric::FI_MR_LOCAL), "registers local buffers");
    add(progress == libfabric::FI_PROGRESS_MANUAL, "progresses by the progress thread");
    list
}
