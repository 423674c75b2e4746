//! The trace in Perfetto's protobuf: the messages and fields of its published schema that are needed here
//! (`protos/perfetto/trace/trace_packet.proto` and those that it names).

#[cfg(test)]
use std::collections::HashMap;
use std::io::{self, Write};

use prost::encoding::{self, WireType};

use super::flow::{ByPe, Ends};
#[cfg(test)]
use super::schema::{self, Value};
use super::{Call, Label, Trace, place};
use crate::profile::Kind;

/// The encoded fields of a message, each by its number in the schema.
#[derive(Default, Clone)]
struct Message(Vec<u8>);

impl Message {
    fn number(mut self, field: u32, value: u64) -> Self {
        encoding::uint64::encode(field, &value, &mut self.0);
        self
    }

    fn fixed(mut self, field: u32, values: &[u64]) -> Self {
        encoding::fixed64::encode_repeated(field, values, &mut self.0);
        self
    }

    fn text(mut self, field: u32, text: &str) -> Self {
        encoding::encode_key(field, WireType::LengthDelimited, &mut self.0);
        encoding::encode_varint(text.len() as u64, &mut self.0);
        self.0.extend(text.as_bytes());
        self
    }

    fn message(mut self, field: u32, message: &Self) -> Self {
        encoding::bytes::encode(field, &message.0, &mut self.0);
        self
    }
}

/// Names of arguments, whose numbers are their places plus 1.
const ARGUMENTS: [&str; 4] = ["at", "PE", "bytes", "address"];
/// Types of events: a slice begins, or it ends.
const BEGINS: u64 = 1;
const ENDS: u64 = 2;
/// `SEQ_INCREMENTAL_STATE_CLEARED`, `SEQ_NEEDS_INCREMENTAL_STATE`.
const FIRST: u64 = 1;
const LATER: u64 = 2;

/// Writes a `TracePacket` as the next of the file.
fn put(packet: &Message, to: &mut dyn Write) -> io::Result<()> {
    to.write_all(&Message::default().message(1, packet).0)
}

/// The number of a PE's process, and of its packets' sequence.
fn process_id(pe: usize) -> u64 {
    pe as u64 + 1
}

fn process_track(pe: usize) -> u64 {
    process_id(pe) << 32
}

/// `InternedData`.
fn names(trace: &Trace<'_>) -> Message {
    let labels = trace.labels.iter().map(|label| &*label.name).enumerate().map(|name| (2, name)); // event_names
    let arguments = ARGUMENTS.into_iter().enumerate().map(|name| (3, name)); // debug_annotation_names
    labels.chain(arguments).fold(Message::default(), |data, (field, (at, name))| {
        data.message(field, &Message::default().number(1, at as u64 + 1).text(2, name)) // iid, name
    })
}

/// A `TracePacket` with a `TrackDescriptor`.
fn track(pe: usize, descriptor: &Message) -> Message {
    let sequence = Message::default().number(10, process_id(pe)); // trusted_packet_sequence_id
    sequence.message(60, descriptor) // track_descriptor
}

pub(super) fn write(trace: &Trace<'_>, to: &mut dyn Write) -> io::Result<()> {
    let arrows = ByPe::new(&trace.flows);
    let interned = names(trace);
    for (index, record, kept) in trace.shown() {
        let pe = record.pe;
        let process = Message::default()
            .number(1, process_id(pe)) // pid
            .text(6, &format!("PE {pe} on {}", record.host())); // process_name
        let descriptor = Message::default()
            .number(1, process_track(pe)) // uuid
            .message(3, &process);
        let first = track(pe, &descriptor)
            .message(12, &interned) // interned_data
            .number(13, FIRST); // sequence_flags
        put(&first, to)?;
        for number in kept.threads.iter().copied() {
            let thread = Message::default()
                .number(1, process_id(pe)) // pid
                .number(2, (process_id(pe) << 8) + u64::from(number)) // tid
                .text(5, &format!("thread {number}")); // thread_name
            let descriptor = Message::default()
                .number(1, process_track(pe) + u64::from(number)) // uuid
                .message(4, &thread)
                .number(5, process_track(pe)); // parent_uuid
            put(&track(pe, &descriptor), to)?;
        }
        let (starts, ends) = arrows.of(pe);
        // A viewer opens what begins at the same time in the order of the file: first the regions, that calls be in
        // them.
        for are_regions in [true, false] {
            let is_so = |label: &Label| (label.kind == Kind::Region) == are_regions;
            if !trace.labels.iter().any(is_so) {
                continue;
            }
            for call in trace.calls(index) {
                let call = call?;
                let label = &trace.labels[call.site];
                if is_so(label) {
                    put_call(&call, label, pe, (&starts, &ends), to)?;
                }
            }
        }
    }
    Ok(())
}

/// A slice, as two packets.
fn put_call(
    call: &Call,
    label: &Label,
    pe: usize,
    (starts, ends): (&Ends, &Ends),
    to: &mut dyn Write,
) -> io::Result<()> {
    // name_iid, and then string_value or uint_value.
    let annotation = |name: u64| Message::default().number(1, name);
    let mut annotations = vec![annotation(1).text(6, &label.position.line)];
    annotations.extend(call.pe.map(|pe| annotation(2).number(3, pe as u64)));
    annotations.extend((call.bytes > 0).then(|| annotation(3).number(3, call.bytes)));
    annotations.extend(place(call.address).map(|place| annotation(4).text(6, &place)));
    let packet = |time, event| {
        Message::default()
            .number(8, time) // timestamp
            .number(10, process_id(pe)) // trusted_packet_sequence_id
            .number(13, LATER) // sequence_flags
            .message(11, event) // track_event
    };
    let event = |kind| {
        Message::default()
            .number(9, kind) // type
            .number(11, process_track(pe) + u64::from(call.thread)) // track_uuid
    };
    // debug_annotations
    let begin = annotations.iter().fold(event(BEGINS), |event, annotation| event.message(4, annotation));
    let begin = begin
        .number(10, call.site as u64 + 1) // name_iid
        .fixed(47, &starts.at(call.thread, call.begin)) // flow_ids
        .fixed(48, &ends.at(call.thread, call.end)); // terminating_flow_ids
    put(&packet(call.begin, &begin), to)?;
    put(&packet(call.end, &event(ENDS)), to)
}

/// The slices of a file, as a viewer reads it: PE, name, begin and end.
#[cfg(test)]
pub(crate) fn slices(bytes: &[u8]) -> Vec<(u64, String, u64, u64)> {
    let (mut numbers, mut names, mut slices) = (HashMap::new(), HashMap::new(), Vec::new());
    schema::decode("Trace", bytes, &mut |field, value| match value {
        Value::Number(number) => drop(numbers.insert(field.to_owned(), number)),
        Value::Text(name) if field == "EventName.name" => {
            names.insert(numbers["EventName.iid"], name.to_owned());
        }
        Value::Message if field == "TracePacket.track_event" => {
            let time = numbers["TracePacket.timestamp"];
            if numbers["TrackEvent.type"] == BEGINS {
                let name = names[&numbers["TrackEvent.name_iid"]].clone();
                slices.push(((numbers["TrackEvent.track_uuid"] >> 32) - 1, name, time, 0));
            } else {
                slices.last_mut().expect("a slice that ends has begun").3 = time;
            }
        }
        _ => {}
    });
    slices
}
