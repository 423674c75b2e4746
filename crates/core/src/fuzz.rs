//! Entries of the fuzzers (docs/fuzzing.md): each parser of others' bytes, given any bytes.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use ferroshmem_config::{self as config, Environment};
use ferroshmem_tuning::Collective;

use crate::connection::Groups;
use crate::connection::calls::remote::RemoteCalls;
use crate::connection::invitation::{Invitation, JoinRequest, parts};
use crate::connection::member_info::MemberInfo;
use crate::job::BusinessCard;
use crate::job::service::JobRequest;

/// What another PE says of itself: what is read comes back as it was written.
///
/// # Panics
/// If it does not.
pub fn business_card(bytes: &[u8]) {
    if let Some(business_card) = BusinessCard::from_bytes(bytes) {
        let again = BusinessCard::from_bytes(&business_card.to_bytes());
        assert_eq!(again, Some(business_card));
    }
}

/// Values of environment variables, as `NAME=VALUE` in lines that end in zero bytes.
pub fn settings(bytes: &[u8]) {
    let value = |name: &str| -> Option<OsString> {
        let mut lines = bytes.split(|b| *b == 0);
        let found = lines.find_map(|l| l.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        Some(OsStr::from_bytes(found).to_owned())
    };
    let environment = Environment::only(&value);
    // Errors are what a wrong value causes, and no more.
    let _ = config::VERSION.read(&environment);
    let _ = config::CHECK.read(&environment);
    let _ = config::SYMMETRIC_SIZE.read(&environment);
    let _ = config::SPIN.read(&environment);
    let _ = config::TUNING_FILE.read(&environment);
    let _ = config::FABRIC.read(&environment);
    let _ = config::FABRIC_TIMEOUT.read(&environment);
    let _ = config::CC.read(&environment);
    for collective in Collective::ALL {
        let _ = config::algorithm(collective).read(&environment);
    }
}

/// What a job of another node is answered at a port.
///
/// # Panics
/// For this and the functions below: if what is read does not come back as it was written.
pub fn invitation(bytes: &[u8]) {
    if let Some(invitation) = Invitation::from_bytes(bytes) {
        let again = Invitation::from_bytes(&invitation.to_bytes());
        assert_eq!(again, Some(invitation));
    }
}

/// What a member says at the coordinator of a connection between nodes.
pub fn join_request(bytes: &[u8]) {
    if let Some(join_request) = JoinRequest::from_bytes(bytes) {
        assert_eq!(join_request.to_bytes(), bytes);
    }
}

/// What the coordinator says of all members, of which the first byte says how many there are.
pub fn members(bytes: &[u8]) {
    let Some((n, all)) = bytes.split_first() else {
        return;
    };
    for part in parts(all, (*n).into()).into_iter().flatten() {
        if let Some(info) = MemberInfo::from_bytes(&part) {
            assert_eq!(MemberInfo::from_bytes(&info.to_bytes()), Some(info));
        }
    }
}

/// What a PE asks `oshrun` for to spawn.
pub fn job_request(bytes: &[u8]) {
    if let Some(request) = JobRequest::decode(bytes) {
        let again = JobRequest::decode(&request.encode());
        assert_eq!(again, Some(request));
    }
}

/// A record of calls of kernels, as the PE that calls sends it, and as PEs that are called answer: the first byte is
/// the number of the one that does, and whether this one is called.
pub fn call_record(bytes: &[u8]) {
    let Some((first, record)) = bytes.split_first() else {
        return;
    };
    let groups = Groups::new([2, 2], usize::from(first & 1));
    let calls = RemoteCalls::new(&groups);
    // Twice, as a message may be of several.
    for _ in 0..2 {
        calls.take(usize::from(first >> 1 & 3), record, || {});
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferroshmem_fuzz::feed;

    #[test]
    fn parsers_take_any_bytes() {
        feed("business_card", business_card);
        feed("settings", settings);
        feed("invitation", invitation);
        feed("join_request", join_request);
        feed("members", members);
        feed("job_request", job_request);
        feed("call_record", call_record);
    }

    /// The corpus cannot have one that this build accepts: it has a digest of the sources.
    #[test]
    fn own_business_cards_are_taken() {
        let bytes = BusinessCard::of_this_process().unwrap().to_bytes();
        assert!(BusinessCard::from_bytes(&bytes).is_some());
        for cut in 0..bytes.len() {
            business_card(&bytes[..cut]);
            let mut damaged = bytes.clone();
            damaged[cut] = !damaged[cut];
            business_card(&damaged);
        }
    }
}
