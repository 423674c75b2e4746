//! The providers that can reach other nodes, and which of them is chosen.

use std::net::IpAddr;
use std::sync::Arc;

use crate::info::{Info, Wish, ask};
use crate::interface::{Interface, interfaces};
use crate::sys::{self, Library};
use crate::{Config, Error};

/// A provider on an interface.
#[derive(Clone, Debug)]
pub struct Provider {
    /// As libfabric names it: "tcp;ofi_rxm".
    pub name: String,
    /// libfabric's name of the network: "192.0.2.0/24".
    pub fabric: String,
    /// Name of the network interface or device: "eth0", "mlx5_0".
    pub interface: String,
    /// Address that peers would connect to, as text; empty where it is none of the Internet.
    pub address: String,
    /// What it does and wants, for people to read.
    pub capabilities: Vec<String>,
    /// Or why it is not chosen.
    pub usable: Result<(), String>,
    /// Lower is better; the first of the usable ones is chosen.
    pub rank: u32,
}

#[doc(hidden)]
pub struct Candidate {
    pub provider: Provider,
    pub info: Info,
}

/// All providers, the best first: if the first is usable, it is what is chosen.
///
/// # Errors
/// The library cannot be opened.
pub fn providers(config: &Config) -> Result<Vec<Provider>, Error> {
    let library = open_library(config)?;
    Ok(enumerate(&library, config, true)
        .into_iter()
        .map(|candidate| candidate.provider)
        .collect())
}

#[doc(hidden)]
pub fn open_library(config: &Config) -> Result<Arc<Library>, Error> {
    // rxm makes queues for this many peers, and devices refuse those for the usual 1,024.
    if std::env::var_os("FI_UNIVERSE_SIZE").is_none() {
        let peers = config.n_pes.clamp(16, 1024);
        // SAFETY: as for every change of the environment: the owner opens the fabric before its
        // program has other threads that read it.
        unsafe { std::env::set_var("FI_UNIVERSE_SIZE", peers.to_string()) };
    }
    Ok(Arc::new(Library::open(config.library.as_deref())?))
}

/// Offers with what libfabric needs to take them, the best first; with `all`, also those that
/// lack something.
#[doc(hidden)]
pub fn enumerate(library: &Arc<Library>, config: &Config, all: bool) -> Vec<Candidate> {
    let interfaces = interfaces();
    let fit = ask(library, &Wish::All);
    let rest = if all {
        ask(library, &Wish::Any)
    } else {
        Vec::new()
    };
    let mut candidates: Vec<Candidate> = Vec::new();
    let found = fit
        .into_iter()
        .map(|info| (info, true))
        .chain(rest.into_iter().map(|info| (info, false)));
    for (info, fits) in found {
        let provider = describe(&info, fits, &interfaces, config);
        let known = candidates.iter().any(|known| {
            known.provider.name == provider.name
                && known.provider.interface == provider.interface
                && known.provider.address == provider.address
        });
        if !known {
            candidates.push(Candidate { provider, info });
        }
    }
    // Stable: otherwise libfabric's order, which has the fastest first.
    candidates.sort_by_key(|c| (c.provider.usable.is_err(), c.provider.rank));
    candidates
}

fn describe(info: &Info, fits: bool, interfaces: &[Interface], config: &Config) -> Provider {
    let provider = info.provider();
    let address = info.address();
    let device = info.domain();
    let interface = interfaces.iter().find(|i| Some(i.address) == address);
    let device_name = interface.map_or(device.as_str(), |i| i.name.as_str());
    let usable = if fits {
        filter(&provider, &device, address, interface, config)
    } else {
        Err(lacking(info))
    };
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

fn filter(
    provider: &str,
    device: &str,
    address: Option<IpAddr>,
    interface: Option<&Interface>,
    config: &Config,
) -> Result<(), String> {
    let asked = config.provider.as_deref() == Some(provider);
    if provider.split(';').any(|part| part == "shm") && !asked {
        return Err("reaches only PEs of its own node".into());
    }
    if provider.split(';').any(|part| part == "net") && !asked {
        return Err("an experiment in libfabric 1.17, which tcp came out of".into());
    }
    if let Some(wanted) = &config.provider
        && !asked
        && provider.split(';').next() != Some(wanted)
    {
        return Err(format!("SHMEM_FABRIC asks for {wanted}"));
    }
    if let Some(wanted) = &config.interface {
        let named = device == wanted
            || interface.is_some_and(|i| &i.name == wanted)
            || address.is_some_and(|a| Ok(a) == wanted.parse());
        if !named {
            return Err(format!("SHMEM_FABRIC_INTERFACE asks for {wanted}"));
        }
    }
    if let Some(IpAddr::V6(v6)) = address
        && v6.is_unicast_link_local()
    {
        return Err("its address means nothing beyond the link".into());
    }
    match (address, interface) {
        (Some(_), None) => Err("no interface has its address".into()),
        (_, Some(i)) if !i.up => Err(format!("{} is down", i.name)),
        (_, Some(i)) if i.loopback && config.interface.is_none() => {
            Err("loopback: only if SHMEM_FABRIC_INTERFACE asks for it".into())
        }
        _ => Ok(()),
    }
}

/// Software over sockets comes after devices, and IPv4 with a route to elsewhere first.
fn rank(provider: &str, address: Option<IpAddr>, interface: Option<&Interface>) -> u32 {
    let has = |name| provider.split(';').any(|part| part == name);
    let class = if has("ofi_rxd") || has("udp") || has("sockets") || has("ofi_mrail") {
        300
    } else if has("net") || has("tcp") {
        100
    } else {
        0
    };
    let sockets = class > 0;
    let unrouted = sockets && !interface.is_some_and(|i| i.routes);
    class + 2 * u32::from(unrouted) + u32::from(address.is_some_and(|a| a.is_ipv6()))
}

fn lacking(info: &Info) -> String {
    let missing: Vec<&str> = [
        (sys::FI_RMA, "one-sided reads and writes"),
        (sys::FI_ATOMIC, "atomics"),
    ]
    .into_iter()
    .filter(|(bit, _)| info.caps() & u64::from(*bit) == 0)
    .map(|(_, name)| name)
    .collect();
    if missing.is_empty() {
        "does not do all that is needed at once: reads, writes, atomics, delivery complete, any number of threads".into()
    } else {
        format!("has no {}", missing.join(", no "))
    }
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
    let (progress, order) = unsafe {
        (
            (*info.domain_attr()).data_progress,
            (*info.tx_attr()).msg_order,
        )
    };
    add(caps(sys::FI_RMA), "one-sided");
    add(caps(sys::FI_ATOMIC), "atomics");
    add(order & sys::FI_ORDER_RMA_WAW != 0, "writes in order");
    add(mode(sys::FI_MR_ALLOCATED), "registers memory that is there");
    add(mode(sys::FI_MR_LOCAL), "registers local buffers");
    add(
        progress == sys::FI_PROGRESS_MANUAL,
        "progresses by the helper thread",
    );
    list
}
