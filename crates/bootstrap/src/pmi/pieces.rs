//! Blobs of any length as values of limited length and alphabet.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::Store;
use crate::Error;

/// Bytes of a value before the text: the number of pieces and a colon.
const HEADER: usize = 8;

/// Gives `mine` to all and returns everybody's, by rank. `round` numbers the exchanges of the
/// job: a key is put once only.
pub(super) fn exchange(
    store: &mut impl Store,
    round: u64,
    rank: usize,
    size: usize,
    mine: &[u8],
) -> Result<Vec<Vec<u8>>, Error> {
    // Four characters for three bytes.
    let piece = (store.longest_value() - HEADER) / 4 * 3;
    let pieces = mine.len().div_ceil(piece).max(1);
    for number in 0..pieces {
        let start = number * piece;
        let part = &mine[start..mine.len().min(start + piece)];
        let value = format!("{pieces}:{}", URL_SAFE_NO_PAD.encode(part));
        store.put(&key(round, rank, number), &value)?;
    }
    store.fence()?;
    (0..size)
        .map(|other| match other == rank {
            true => Ok(mine.to_vec()),
            false => collect(store, round, other),
        })
        .collect()
}

fn collect(store: &mut impl Store, round: u64, rank: usize) -> Result<Vec<u8>, Error> {
    let mut blob = Vec::new();
    let mut number = 0;
    loop {
        let key = key(round, rank, number);
        let value = store.get(&key)?;
        let pieces = append(&value, &mut blob).ok_or_else(|| {
            Error::new(format!(
                "the launcher returned a damaged value of {key}: {value:?}"
            ))
        })?;
        number += 1;
        if number >= pieces {
            return Ok(blob);
        }
    }
}

/// The number of pieces, after appending the one in `value`.
fn append(value: &str, blob: &mut Vec<u8>) -> Option<usize> {
    let (pieces, text) = value.split_once(':')?;
    blob.extend(URL_SAFE_NO_PAD.decode(text).ok()?);
    pieces.parse().ok()
}

fn key(round: u64, rank: usize, piece: usize) -> String {
    format!("ferroshmem-{round}-{rank}-{piece}")
}
