//! What Perfetto's published schema (`perfetto_trace.proto`, release 0.59) says of the fields that files of this crate
//! have, and a decoder that knows nothing else.

/// Type of a field: a message by its name.
#[derive(Debug, Clone, Copy)]
enum Type {
    Varint,
    Fixed64,
    Text,
    Message(&'static str),
}
use Type::{Fixed64, Message, Text, Varint};

/// Message, field, number, type.
const FIELDS: &[(&str, &str, u64, Type)] = &[
    ("Trace", "packet", 1, Message("TracePacket")),
    ("TracePacket", "timestamp", 8, Varint),
    ("TracePacket", "trusted_packet_sequence_id", 10, Varint),
    ("TracePacket", "track_event", 11, Message("TrackEvent")),
    ("TracePacket", "interned_data", 12, Message("InternedData")),
    ("TracePacket", "sequence_flags", 13, Varint),
    ("TracePacket", "track_descriptor", 60, Message("TrackDescriptor")),
    ("TrackEvent", "debug_annotations", 4, Message("DebugAnnotation")),
    ("TrackEvent", "type", 9, Varint),
    ("TrackEvent", "name_iid", 10, Varint),
    ("TrackEvent", "track_uuid", 11, Varint),
    ("TrackEvent", "flow_ids", 47, Fixed64),
    ("TrackEvent", "terminating_flow_ids", 48, Fixed64),
    ("DebugAnnotation", "name_iid", 1, Varint),
    ("DebugAnnotation", "uint_value", 3, Varint),
    ("DebugAnnotation", "string_value", 6, Text),
    ("InternedData", "event_names", 2, Message("EventName")),
    ("InternedData", "debug_annotation_names", 3, Message("DebugAnnotationName")),
    ("EventName", "iid", 1, Varint),
    ("EventName", "name", 2, Text),
    ("DebugAnnotationName", "iid", 1, Varint),
    ("DebugAnnotationName", "name", 2, Text),
    ("TrackDescriptor", "uuid", 1, Varint),
    ("TrackDescriptor", "name", 2, Text),
    ("TrackDescriptor", "process", 3, Message("ProcessDescriptor")),
    ("TrackDescriptor", "thread", 4, Message("ThreadDescriptor")),
    ("TrackDescriptor", "parent_uuid", 5, Varint),
    ("ProcessDescriptor", "pid", 1, Varint),
    ("ProcessDescriptor", "process_name", 6, Text),
    ("ThreadDescriptor", "pid", 1, Varint),
    ("ThreadDescriptor", "tid", 2, Varint),
    ("ThreadDescriptor", "thread_name", 5, Text),
];

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (first, rest) = bytes.split_first().expect("a whole number");
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            break;
        }
    }
    value
}

fn take<'a>(bytes: &mut &'a [u8], count: u64) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(usize::try_from(count).expect("a length"));
    *bytes = rest;
    taken
}

/// What a field has.
pub(crate) enum Value<'a> {
    Number(u64),
    Text(&'a str),
    /// A message, whose fields come before it.
    Message,
}

/// Decodes `message`, and calls `see` for each field, as `TracePacket.timestamp`. Panics over what the schema does not
/// have.
pub(crate) fn decode(message: &str, mut bytes: &[u8], see: &mut dyn FnMut(&str, Value<'_>)) {
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let (number, wire) = (key >> 3, key & 7);
        let field = FIELDS.iter().find(|(of, _, n, _)| *of == message && *n == number);
        let Some((_, name, _, kind)) = field else {
            panic!("{message} has no field {number}");
        };
        let value = match (kind, wire) {
            (Varint, 0) => Value::Number(varint(&mut bytes)),
            (Fixed64, 1) => Value::Number(u64::from_le_bytes(take(&mut bytes, 8).try_into().expect("8 bytes"))),
            (Text, 2) => {
                let length = varint(&mut bytes);
                Value::Text(std::str::from_utf8(take(&mut bytes, length)).expect("text"))
            }
            (Message(inner), 2) => {
                let length = varint(&mut bytes);
                decode(inner, take(&mut bytes, length), see);
                Value::Message
            }
            (kind, wire) => panic!("{message}.{name} is {kind:?}, and not of wire type {wire}"),
        };
        see(&format!("{message}.{name}"), value);
    }
}
