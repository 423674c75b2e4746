//! What the machine offers to reach other nodes with, as text: `oshmem_info --fabric`.

use std::fmt::Write;

use ferroshmem_fabric::offers::{self, Offer};

use super::internode::configured;

/// The offers, the best first, and which would be chosen and why. The error is one line for the
/// user.
pub fn describe() -> Result<String, String> {
    let request = configured();
    let offers = offers::offers(&request).map_err(|e| e.to_string())?;
    let mut text = String::from("Ways to PEs of other nodes, the best first\n");
    for offer in &offers {
        text += &line(offer);
    }
    if offers.is_empty() {
        text += "  none: libfabric has no provider for this machine's networks\n";
    }
    text += &verdict(&offers, request.provider.as_deref());
    Ok(text)
}

fn line(offer: &Offer) -> String {
    let Offer {
        provider,
        interface,
        address,
        ..
    } = offer;
    let mut text = format!("  {provider} on {interface}");
    if !address.is_empty() {
        text += &format!(" ({address})");
    }
    text += &match &offer.usable {
        Ok(()) => format!("\n      {}\n", offer.capabilities.join(", ")),
        Err(why) => format!("\n      not usable: {why}\n"),
    };
    text
}

fn verdict(offers: &[Offer], forced: Option<&str>) -> String {
    let mut text = String::new();
    let why = match forced {
        Some(provider) => format!("SHMEM_FABRIC asks for {provider}"),
        None => "the first that can be used; SHMEM_FABRIC and SHMEM_FABRIC_INTERFACE force another"
            .to_owned(),
    };
    match offers.iter().find(|offer| offer.usable.is_ok()) {
        Some(Offer {
            provider,
            interface,
            ..
        }) => {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "Chosen: {provider} on {interface}: {why}");
        }
        None => {
            let _ = writeln!(
                text,
                "Chosen: none: jobs of several nodes cannot run ({why})"
            );
        }
    }
    text += "A job whose PEs share a node uses none of them.\n";
    text
}
