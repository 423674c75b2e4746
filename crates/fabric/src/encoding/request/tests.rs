//! Requests and other items, as they are in messages.

use super::*;

fn all_requests() -> impl Iterator<Item = Request> {
    let widths = [Width::W32, Width::W64];
    let atomics = OPS.iter().flat_map(move |&op| {
        widths.map(|width| AtomicOp {
            op,
            width,
            operand: u64::from(operands(op) > 0) * u64::MAX,
            compare: u64::from(operands(op) > 1) << 63,
        })
    });
    let atomics = atomics.flat_map(|atomic| [Request::Fetch(atomic), Request::Post(atomic)]);
    atomics.chain((1..=Request::LONGEST).map(Request::Read))
}

#[test]
fn a_frame_is_the_request() {
    for request in all_requests() {
        let frame = request.to_frame((3, 1 << 43), 9);
        assert_eq!(Request::from_frame(frame), Some((request, (3, 1 << 43))));
        assert_eq!(Request::sequence(frame), 9);
    }
    assert!(!is_within_reach((0, 1 << 44), 8));
}

#[test]
fn items_are_what_was_appended() {
    let mut message = Vec::new();
    let mut expected = Vec::new();
    let data: Vec<u8> = (0..=255).collect();
    for (i, request) in all_requests().enumerate() {
        request.append(&mut message, (1, 64));
        expected.push((Item::Request(request), (1, 64)));
        let put = &data[i..2 * i + 1];
        append_put(&mut message, &mut { LastPut::NONE }, (2, i), put);
        expected.push((Item::Put(put), (2, i)));
    }
    let mut rest = &message[..];
    for item in expected {
        assert_eq!(Item::take(&mut rest), Some(item));
    }
    assert!(rest.is_empty());
}

#[test]
fn small_numbers_are_added_by_one_word() {
    for (width, operand, words) in [
        (Width::W64, 0, 1),
        (Width::W64, 1, 1),
        (Width::W64, 2047, 1),
        (Width::W64, 2048, 2),
        (Width::W64, -2048i64 as u64, 1),
        (Width::W64, -2049i64 as u64, 2),
        (Width::W64, u64::from(-1i32 as u32), 2),
        (Width::W32, u64::from(-1i32 as u32), 1),
        (Width::W32, u64::from(-2048i32 as u32), 1),
        (Width::W32, u64::from(-2049i32 as u32), 2),
        (Width::W32, 2047, 1),
        (Width::W32, 2048, 2),
        (Width::W32, 1 << 32, 2),
    ] {
        let add = AtomicOp::new(Op::Add, width, operand);
        let (posted, place) = (Request::Post(add), (2, 1 << 43));
        let (mut message, mut short) = (Vec::new(), Vec::with_capacity(2 * WORD));
        posted.append(&mut message, place);
        assert_eq!(message.len(), words * WORD, "{add:?}");
        let item = Short::request(posted, place).unwrap();
        assert!(item.append(&mut short, &mut { LastPut::NONE }, 2 * WORD));
        assert_eq!(short, message);
        let mut rest = &message[..];
        assert_eq!(Item::take(&mut rest), Some((Item::Request(posted), place)));
        assert!(rest.is_empty());
        message.clear();
        Request::Fetch(add).append(&mut message, place);
        assert_eq!(message.len(), 2 * WORD, "a result is asked for");
    }
}

#[test]
fn puts_one_after_the_other_are_one_item() {
    for piece in 1..=9 {
        let (mut message, mut last) = (Vec::new(), LastPut::NONE);
        let data: Vec<u8> = (0..200).collect();
        for (i, bytes) in data.chunks(piece).enumerate() {
            append_put(&mut message, &mut last, (0, 100 + i * piece), bytes);
        }
        let mut short = (Vec::with_capacity(512), LastPut::NONE);
        for (i, bytes) in data.chunks(piece).enumerate() {
            let place = (0, 100 + i * piece);
            let is_appended = piece <= Short::LONGEST && {
                // SAFETY: as long as the piece.
                let item = unsafe { Short::put(place, bytes.as_ptr(), bytes.len()) };
                item.append(&mut short.0, &mut short.1, 512)
            };
            if !is_appended {
                append_put(&mut short.0, &mut short.1, place, bytes);
            }
        }
        assert_eq!(short.0, message, "pieces of {piece}");
        let mut rest = &message[..];
        assert_eq!(Item::take(&mut rest), Some((Item::Put(&data), (0, 100))));
        assert!(rest.is_empty());
        append_put(&mut message, &mut last, (1, 300), &data[..1]);
        append_put(&mut message, &mut last, (1, 302), &data[..1]);
        assert_eq!(message.len(), put_bytes(200) + 2 * put_bytes(1));
    }
    let (mut message, mut last) = (Vec::new(), LastPut::NONE);
    for i in 0..1000 {
        append_put(&mut message, &mut last, (0, 8 * i), &[7; 8]);
    }
    let mut rest = &message[..];
    let mut bytes = 0;
    while let Some((Item::Put(data), (0, offset))) = Item::take(&mut rest) {
        assert_eq!(offset, bytes);
        bytes += data.len();
    }
    assert_eq!(bytes, 8000);
}

#[test]
fn stores_fill_any_memory() {
    let data: Vec<u8> = (1..=64).collect();
    for (start, len) in (0..16).flat_map(|start| (1..=40).map(move |len| (start, len))) {
        let mut memory = [0u64; 8];
        let bytes = bytemuck::bytes_of_mut(&mut memory);
        // SAFETY: 56 bytes at most.
        unsafe { store(bytes.as_mut_ptr().add(start), &data[..len]) };
        assert_eq!(&bytes[start..start + len], &data[..len]);
        assert!(bytes[..start].iter().chain(&bytes[start + len..]).all(|b| *b == 0));
    }
}

#[test]
fn malformed_items_are_refused() {
    let too_long = Request::Read(Request::LONGEST + 1).to_frame((0, 0), 0);
    assert_eq!(Request::from_frame(too_long), None);
    let add = AtomicOp::new(Op::Add, Width::W64, 1);
    let across_words = Request::Fetch(add).to_frame((0, 4), 0);
    assert_eq!(Request::from_frame(across_words), None);
    let take = |op: u64, len: usize, words: usize| {
        let mut message = Head::new(op, (0, 0), len).0.to_ne_bytes().to_vec();
        message.resize((1 + words) * WORD, 0);
        Item::take(&mut &message[..]).is_some()
    };
    assert!(take(4, 8, 1));
    assert!(!take(4, 3, 1), "3 bytes added");
    assert!(!take(4, 8, 0), "no operand");
    assert!(!take(3, 8, 1), "nothing to compare with");
    assert!(!take(COUNT + 1, 8, 2), "no operation");
    assert!(take(COUNT, 8, 0));
    let across = |op: u64, offset: usize| {
        let message = Head::new(op, (0, offset), 1).0.to_ne_bytes();
        Item::take(&mut &message[..]).is_none()
    };
    assert!(!across(COUNT, 4) && across(COUNT, 2));
    assert!(!across(POSTED | COUNT, 8) && across(POSTED | COUNT, 4));
    assert!(!take(POSTED | READ, 8, 0), "a posted read");
    assert!(take(PUT, 9, 2));
    assert!(!take(PUT, 9, 1), "a put of which a part is missing");
    assert!(!take(PUT, 0, 1), "a put of nothing");
    let record = |head: Head, words: usize| {
        let mut message = head.0.to_ne_bytes().to_vec();
        message.resize((1 + words) * WORD, 0);
        Item::take(&mut &message[..]).is_some()
    };
    assert!(record(Head::new(RECORD, (0, 9), 0), 2));
    assert!(!record(Head::new(RECORD, (0, 9), 0), 1), "a part is missing");
    assert!(!record(Head::new(RECORD, (0, 0), 0), 1), "of nothing");
    assert!(!record(Head::new(RECORD, (0, 8), 8), 1), "of memory");
    assert!(!record(Head::new(RECORD, (1, 8), 0), 1), "of a segment");
    let most = (1 << (u64::BITS - OFFSET)) - 1;
    assert!(!record(Head::new(RECORD, (0, most), 0), 1));
}
