//! A client of PMIx, by its library opened at run time: the protocol between library and server
//! is private to them, and differs between versions.
//!
//! Facts from the PMIx standard and the headers of versions 3 to 5; tried with the library of
//! version 4.2 and the servers of Open MPI 4.1, PRRTE 3 and Slurm 22.05.

mod client;
mod library;
mod order;
mod pending;
mod types;

pub(crate) use client::connect;
