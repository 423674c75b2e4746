//! Entries of the fuzzers (docs/fuzzing.md): each parser of peers' bytes, given any bytes.

use std::sync::atomic::AtomicU64;

use crate::TaggedMessage;
use crate::address::AddressBlob;
use crate::encoding::request::{Item, Request};

/// A peer's address blob: what is read comes back as it was written.
///
/// # Panics
/// If it does not.
pub fn address_blob(bytes: &[u8]) {
    if let Ok(blob) = AddressBlob::from_bytes(bytes) {
        let again = AddressBlob::from_bytes(&blob.to_bytes());
        assert_eq!(again.expect("it has just been written"), blob);
    }
}

/// A request of a peer, as it lies in a slot.
///
/// # Panics
/// If it is about more memory than a reply holds, or is not what it was read from.
pub fn request(bytes: &[u8]) {
    let mut frame = [0; TaggedMessage::BYTES];
    let n = bytes.len().min(frame.len());
    frame[..n].copy_from_slice(&bytes[..n]);
    if let Some((request, place)) = Request::from_frame(frame) {
        assert!(request.len() <= Request::LONGEST);
        let again = Request::from_frame(request.to_frame(place, Request::sequence(frame)));
        assert_eq!(again, Some((request, place)));
    }
}

/// The items of a peer's message: each is of its length, and written again it is the same item, and no longer.
///
/// # Panics
/// If one is not.
pub fn items(bytes: &[u8]) {
    let mut rest = bytes;
    let mut read = Vec::new();
    while let Some((item, place)) = Item::take(&mut rest) {
        assert!(item.len() > 0 || item == Item::Request(Request::Read(0)));
        item.append(&mut read, place);
        // A small number takes no word of its own.
        assert!(read.len() <= bytes.len() - rest.len());
    }
    let (mut again, mut first) = (&read[..], bytes);
    while !again.is_empty() {
        assert_eq!(Item::take(&mut again), Item::take(&mut first));
    }
}

/// The words of a mailbox, which peers write.
pub fn tagged_message(bytes: &[u8]) {
    let slot: [AtomicU64; TaggedMessage::WORDS] = Default::default();
    for (word, chunk) in slot.iter().zip(bytes.chunks_exact(8)) {
        let value = u64::from_le_bytes(chunk.try_into().expect("8 bytes"));
        word.store(value, std::sync::atomic::Ordering::Relaxed);
    }
    let sequence = slot[0].load(std::sync::atomic::Ordering::Relaxed) as u32;
    for length in 0..=TaggedMessage::BYTES {
        if TaggedMessage::has_arrived(&slot, sequence, length) {
            let value = TaggedMessage::value(&slot);
            let mut copy = [0; TaggedMessage::BYTES];
            // SAFETY: `copy` has room for the longest value.
            unsafe { TaggedMessage::read(&slot, copy.as_mut_ptr(), length) };
            assert_eq!(value[..length], copy[..length]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferroshmem_fuzz::feed;

    #[test]
    fn parsers_take_any_bytes() {
        feed("address_blob", address_blob);
        feed("request", request);
        feed("items", items);
        feed("tagged_message", tagged_message);
    }
}
