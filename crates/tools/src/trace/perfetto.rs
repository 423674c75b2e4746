//! The trace in Perfetto's protobuf: the messages and fields of its published schema that are needed here
//! (`protos/perfetto/trace/trace_packet.proto` and those that it names).

#[cfg(test)]
use std::collections::HashMap;
use std::io::{self, Write};

use prost::{Message, Oneof};

use super::flow::{ByPe, Ends};
use super::{Call, Label, Trace, place};
use crate::profile::Kind;

/// `perfetto.protos.Trace`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TraceFile {
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    #[prost(oneof = "Data", tags = "11, 60")]
    pub data: Option<Data>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Data {
    #[prost(message, tag = "11")]
    TrackEvent(TrackEvent),
    #[prost(message, tag = "60")]
    TrackDescriptor(TrackDescriptor),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// 1: a slice begins; 2: it ends.
    #[prost(int32, optional, tag = "9")]
    pub r#type: Option<i32>,
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DebugAnnotation {
    #[prost(uint64, optional, tag = "1")]
    pub name_iid: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub uint_value: Option<u64>,
    #[prost(string, optional, tag = "6")]
    pub string_value: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct InternedData {
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<InternedString>,
    #[prost(message, repeated, tag = "3")]
    pub debug_annotation_names: Vec<InternedString>,
}

/// `EventName` and `DebugAnnotationName`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct InternedString {
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    #[prost(message, optional, tag = "4")]
    pub thread: Option<ThreadDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ProcessDescriptor {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    #[prost(string, optional, tag = "6")]
    pub process_name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ThreadDescriptor {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    #[prost(int64, optional, tag = "2")]
    pub tid: Option<i64>,
    #[prost(string, optional, tag = "5")]
    pub thread_name: Option<String>,
}

/// Names of arguments, whose numbers are their places plus 1.
const ARGUMENTS: [&str; 4] = ["at", "PE", "bytes", "address"];
const BEGINS: i32 = 1;
const ENDS: i32 = 2;
/// `SEQ_INCREMENTAL_STATE_CLEARED`, `SEQ_NEEDS_INCREMENTAL_STATE`.
const FIRST: u32 = 1;
const LATER: u32 = 2;

fn put(packet: TracePacket, to: &mut dyn Write) -> io::Result<()> {
    let file = TraceFile { packet: vec![packet] };
    to.write_all(&file.encode_to_vec())
}

fn process_track(pe: usize) -> u64 {
    (pe as u64 + 1) << 32
}

fn names(trace: &Trace<'_>) -> InternedData {
    let interned = |iid: usize, name: &str| InternedString { iid: Some(iid as u64 + 1), name: Some(name.to_owned()) };
    let labels = trace.labels.iter().enumerate();
    let arguments = ARGUMENTS.iter().enumerate();
    InternedData {
        event_names: labels.map(|(i, l)| interned(i, &l.name)).collect(),
        debug_annotation_names: arguments.map(|(i, n)| interned(i, n)).collect(),
    }
}

pub(super) fn write(trace: &Trace<'_>, to: &mut dyn Write) -> io::Result<()> {
    let arrows = ByPe::new(&trace.flows);
    let interned = names(trace);
    for (index, record, kept) in trace.shown() {
        let pe = record.pe;
        let process = process_track(pe);
        let track = |descriptor| TracePacket {
            data: Some(Data::TrackDescriptor(descriptor)),
            trusted_packet_sequence_id: Some(pe as u32 + 1),
            ..TracePacket::default()
        };
        let descriptor = TrackDescriptor {
            uuid: Some(process),
            process: Some(ProcessDescriptor {
                pid: Some(pe as i32 + 1),
                process_name: Some(format!("PE {pe} on {}", record.host())),
            }),
            ..TrackDescriptor::default()
        };
        let first =
            TracePacket { interned_data: Some(interned.clone()), sequence_flags: Some(FIRST), ..track(descriptor) };
        put(first, to)?;
        for thread in kept.threads.iter().copied() {
            let descriptor = TrackDescriptor {
                uuid: Some(process + u64::from(thread)),
                parent_uuid: Some(process),
                thread: Some(ThreadDescriptor {
                    pid: Some(pe as i32 + 1),
                    tid: Some(((pe as i64 + 1) << 8) + i64::from(thread)),
                    thread_name: Some(format!("thread {thread}")),
                }),
                ..TrackDescriptor::default()
            };
            put(track(descriptor), to)?;
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
    let annotation = |name: usize, uint_value, string_value| DebugAnnotation {
        name_iid: Some(name as u64 + 1),
        uint_value,
        string_value,
    };
    let mut annotations = vec![annotation(0, None, Some(label.position.line.clone()))];
    annotations.extend(call.pe.map(|pe| annotation(1, Some(pe as u64), None)));
    annotations.extend((call.bytes > 0).then(|| annotation(2, Some(call.bytes), None)));
    annotations.extend(place(call.address).map(|p| annotation(3, None, Some(p))));
    let packet = |time, event| TracePacket {
        timestamp: Some(time),
        data: Some(Data::TrackEvent(event)),
        trusted_packet_sequence_id: Some(pe as u32 + 1),
        sequence_flags: Some(LATER),
        ..TracePacket::default()
    };
    let track = process_track(pe) + u64::from(call.thread);
    let begin = TrackEvent {
        r#type: Some(BEGINS),
        name_iid: Some(call.site as u64 + 1),
        track_uuid: Some(track),
        debug_annotations: annotations,
        flow_ids: starts.at(call.thread, call.begin),
        terminating_flow_ids: ends.at(call.thread, call.end),
    };
    put(packet(call.begin, begin), to)?;
    let end = TrackEvent { r#type: Some(ENDS), track_uuid: Some(track), ..TrackEvent::default() };
    put(packet(call.end, end), to)
}

/// The slices of a file, as a viewer reads it: PE, name, begin and end.
#[cfg(test)]
pub(crate) fn slices(bytes: &[u8]) -> Vec<(u64, String, u64, u64)> {
    let file = TraceFile::decode(bytes).expect("a file of the schema");
    let (mut names, mut slices) = (HashMap::new(), Vec::new());
    for packet in file.packet {
        for name in packet.interned_data.iter().flat_map(|i| &i.event_names) {
            names.insert(name.iid, name.name.clone().unwrap_or_default());
        }
        let Some(Data::TrackEvent(event)) = packet.data else {
            continue;
        };
        let time = packet.timestamp.expect("events have a time");
        let track = event.track_uuid.expect("events have a track");
        if event.r#type == Some(BEGINS) {
            slices.push(((track >> 32) - 1, names[&event.name_iid].clone(), time, 0));
        } else {
            slices.last_mut().expect("a slice that ends has begun").3 = time;
        }
    }
    slices
}
