//! The entry of the fuzzers (docs/fuzzing.md): what PEs of other nodes send, given any bytes.

use ferroshmem_layout::inbox::Kind;

use crate::wire;

/// A record of a message, as a PE of another node sends it.
///
/// # Panics
/// If what is read does not come back as it was written.
pub fn message_record(bytes: &[u8]) {
    if let Some((envelope, control, data)) = wire::parse(bytes) {
        let control = (envelope.kind != Kind::Eager).then_some(&control);
        let (head, n) = wire::head(&envelope, control);
        assert_eq!([&head[..n], data].concat(), bytes);
    }
}

#[test]
fn parser_takes_any_bytes() {
    ferroshmem_fuzz::feed("message_record", message_record);
}
