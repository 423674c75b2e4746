//! Blobs of any length, in chunks that fit values of limited length and alphabet.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::store::Store;
use crate::Error;

/// Bytes of a value before the text: the number of chunks and a colon.
const HEADER: usize = 8;

/// Gives `mine` to all processes and returns the blobs of all, by rank. `round` numbers the exchanges of the
/// job: each key is put only once.
pub(super) fn exchange(
    store: &mut impl Store,
    round: u64,
    rank: usize,
    size: usize,
    mine: &[u8],
) -> Result<Vec<Vec<u8>>, Error> {
    // Four characters for three bytes.
    let chunk = (store.longest_value() - HEADER) / 4 * 3;
    let chunks = mine.len().div_ceil(chunk).max(1);
    for number in 0..chunks {
        let start = number * chunk;
        let part = &mine[start..mine.len().min(start + chunk)];
        let value = format!("{chunks}:{}", URL_SAFE_NO_PAD.encode(part));
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
        let chunks = append(&value, &mut blob).ok_or(Error::DamagedValue { key, value })?;
        number += 1;
        if number >= chunks {
            return Ok(blob);
        }
    }
}

/// The number of chunks, after appending the one in `value`.
fn append(value: &str, blob: &mut Vec<u8>) -> Option<usize> {
    let (chunks, text) = value.split_once(':')?;
    blob.extend(URL_SAFE_NO_PAD.decode(text).ok()?);
    chunks.parse().ok()
}

fn key(round: u64, rank: usize, chunk: usize) -> String {
    format!("ferroshmem-{round}-{rank}-{chunk}")
}
