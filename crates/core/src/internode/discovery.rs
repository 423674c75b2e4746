//! What the machine offers to reach other nodes with, as text: `oshmem_info --fabric`.

use std::fmt::Write;

use ferroshmem_config::FabricSettings;
use ferroshmem_fabric::discovery::{self, Provider};

use super::{InternodeError, fabric_config};

/// The providers, the best first, and which would be chosen and why.
pub(crate) fn describe() -> Result<String, InternodeError> {
    let settings = FabricSettings::read()?;
    let config = fabric_config(&settings);
    let providers = discovery::providers(&config)?;
    let mut text = String::from("Ways to PEs of other nodes, the best first\n");
    for provider in &providers {
        text += &line(provider);
    }
    if providers.is_empty() {
        text += "  none: libfabric has no provider for this machine's networks\n";
    }
    text += &chosen(&providers, config.provider.as_deref());
    Ok(text)
}

fn line(provider: &Provider) -> String {
    let Provider { name, interface, address, .. } = provider;
    let mut text = format!("  {name} on {interface}");
    if !address.is_empty() {
        text += &format!(" ({address})");
    }
    text += &match &provider.usable {
        Ok(()) => format!("\n      {}\n", provider.capabilities.join(", ")),
        Err(why) => format!("\n      not usable: {why}\n"),
    };
    text
}

fn chosen(providers: &[Provider], forced: Option<&str>) -> String {
    let mut text = String::new();
    let why = match forced {
        Some(provider) => format!("SHMEM_FABRIC asks for {provider}"),
        None => "the first that can be used; SHMEM_FABRIC and SHMEM_FABRIC_INTERFACE force another".to_owned(),
    };
    match providers.iter().find(|provider| provider.usable.is_ok()) {
        Some(Provider { name, interface, .. }) => {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "Chosen: {name} on {interface}: {why}");
        }
        None => {
            let _ = writeln!(text, "Chosen: none: jobs of several nodes cannot run ({why})");
        }
    }
    text += "A job whose PEs share a node uses none of them.\n";
    text
}
