//! The trace as Chrome's JSON: one event a line.

use std::io::{self, Write};

use serde_json::json;

use super::{Trace, place};

/// Nanoseconds as the format's microseconds.
fn micros(ns: u64) -> f64 {
    ns as f64 / 1e3
}

pub(super) fn write(trace: &Trace<'_>, to: &mut dyn Write) -> io::Result<()> {
    write!(
        to,
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{},\"traceEvents\":[",
        json!({
            "command": trace.records[0].command(),
            "calls": trace.number(),
            "lost": trace.lost(),
            "clock error in ns": trace.clock.error,
        })
    )?;
    let mut separator = "\n";
    for (index, record, _) in trace.shown() {
        let pe = record.pe;
        for (what, args) in [
            ("process_name", json!({"name": format!("PE {pe} on {}", record.host())})),
            ("process_sort_index", json!({"sort_index": pe})),
        ] {
            write!(to, "{separator}{}", json!({"ph": "M", "pid": pe, "name": what, "args": args}))?;
            separator = ",\n";
        }
        for call in trace.calls(index) {
            let call = call?;
            let label = &trace.labels[call.site];
            let mut args = json!({"at": label.position.line});
            if let Some(pe) = call.pe {
                args["PE"] = pe.into();
            }
            if call.bytes > 0 {
                args["bytes"] = call.bytes.into();
            }
            if let Some(place) = place(call.address) {
                args["address"] = place.into();
            }
            let event = json!({
                "ph": "X", "pid": pe, "tid": call.thread, "name": label.name,
                "cat": format!("{:?}", label.kind), "ts": micros(call.begin),
                "dur": micros(call.end - call.begin), "args": args,
            });
            write!(to, "{separator}{event}")?;
        }
    }
    for (id, flow) in trace.flows.iter().enumerate() {
        let (from, end) = (flow.from, flow.to);
        let start = json!({
            "ph": "s", "id": id, "pid": from.0, "tid": from.1, "ts": micros(from.2),
            "name": "wait", "cat": "wait",
        });
        let finish = json!({
            "ph": "f", "bp": "e", "id": id, "pid": end.0, "tid": end.1, "ts": micros(end.2),
            "name": "wait", "cat": "wait",
        });
        write!(to, "{separator}{start},\n{finish}")?;
    }
    writeln!(to, "\n]}}")
}
