//! The agent of the cluster in a machine: its first process.

mod device;
mod pes;

use anyhow::{Context, Result, bail};
use std::fs::{self, File, OpenOptions};
use std::io::BufReader;
use std::net::{Ipv4Addr, TcpListener};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::thread;

use super::message::{Report, Request, receive, send};
use super::pmi;
use pes::Pes;

/// The argument with which a machine starts its agent.
pub const ARGUMENT: &str = "machine-agent";

/// Address of a machine in the network of the machines.
pub fn address(machine: usize) -> Ipv4Addr {
    let number = u8::try_from(machine + 1).expect("there are few machines");
    Ipv4Addr::new(10, 77, 0, number)
}

/// Name of a machine, as of a host.
pub fn name(machine: usize) -> String {
    format!("machine{machine}")
}

/// Where the agent's reports go: its threads take turns.
#[derive(Clone)]
struct Reports(Arc<Mutex<File>>);

impl Reports {
    fn send(&self, report: &Report) {
        let mut port = self.0.lock().unwrap_or_else(|e| e.into_inner());
        // A failed report means that the cluster is gone, and QEMU ends the machine.
        let _ = send(&mut *port, report);
    }
}

/// Executes requests until the cluster is gone; the machine ends with this process.
pub fn main() -> ExitCode {
    match obey() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The cluster shows the console in its error message.
            eprintln!("agent: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn obey() -> Result<()> {
    let port = OpenOptions::new()
        .read(true)
        .write(true)
        .open(serial_port()?)
        .context("cannot open the serial port to the cluster")?;
    let mut orders = BufReader::new(port.try_clone()?);
    let reports = Reports(Arc::new(Mutex::new(port)));
    let pes = Pes::new(reports.clone());
    while let Some(request) = receive(&mut orders)? {
        if let Err(error) = follow(request, &pes, &reports) {
            let what = format!("{error:#}");
            reports.send(&Report::Failed { what });
        }
    }
    Ok(())
}

fn follow(request: Request, pes: &Pes, reports: &Reports) -> Result<()> {
    match request {
        Request::Join { machine, machines } => {
            device::bring_up(machine, machines)?;
            reports.send(&Report::Joined);
        }
        Request::Serve { job, size } => {
            let port = serve(job, size, reports)?;
            reports.send(&Report::Serving { job, port });
        }
        Request::Start { job, pes: starts } => pes.start(job, starts),
        Request::Stop => pes.stop(),
    }
    Ok(())
}

/// Serves PMI-1 at a port that it returns.
fn serve(job: u64, size: usize, reports: &Reports) -> Result<u16> {
    let listener = TcpListener::bind((address(0), 0)).context("cannot listen for PMI")?;
    let port = listener.local_addr()?.port();
    let reports = reports.clone();
    let server = pmi::Server::new(size, move |rank, status| {
        reports.send(&Report::Aborted { job, rank, status });
    });
    thread::spawn(move || server.listen(&listener));
    Ok(port)
}

/// The device file of the serial port; sysfs has the port's name.
fn serial_port() -> Result<String> {
    let folder = "/sys/class/virtio-ports";
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {folder}"))? {
        let entry = entry?;
        let name = fs::read_to_string(entry.path().join("name")).unwrap_or_default();
        if name.trim() == "cluster" {
            return Ok(format!("/dev/{}", entry.file_name().display()));
        }
    }
    bail!("no serial port is named cluster");
}
