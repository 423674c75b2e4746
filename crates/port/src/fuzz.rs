//! Entries of the fuzzers (docs/fuzzing.md): what others say at a port, given any bytes.

use crate::port_name::PortName;
use crate::remote_port::ConnectRequest;

/// The text of a port.
///
/// # Panics
/// For this and the functions below: if what is read does not come back as it was written.
pub fn port_name(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(port) = PortName::parse(text) {
        assert_eq!(PortName::parse(&port.to_string()).ok(), Some(port));
    }
}

/// What a job of another node says at a port.
pub fn connect_request(bytes: &[u8]) {
    if let Some(connect_request) = ConnectRequest::from_bytes(bytes) {
        assert_eq!(connect_request.to_bytes(), bytes);
    }
}

#[test]
fn parsers_take_any_bytes() {
    ferroshmem_fuzz::feed("port_name", port_name);
    ferroshmem_fuzz::feed("connect_request", connect_request);
}
