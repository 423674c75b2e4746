//! A PE's connection with `oshrun`.

use std::io;
use std::net::TcpStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::words::Writer;
use super::{Address, kind, receive, send};
use crate::finding::Finding;

/// How long a host may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The connection.
#[derive(Debug)]
pub(crate) struct Connection {
    /// None once `oshrun` has ended.
    stream: Mutex<Option<TcpStream>>,
    /// What is checked.
    pub mode: u64,
}

impl Connection {
    /// Connects PE `me` of `n_pes`. None if this is a job that `oshrun` does not check.
    pub(crate) fn open(address: &Address, me: usize, n_pes: usize) -> io::Result<Option<Self>> {
        let mut failure = io::Error::other("it has no address");
        for place in &address.places {
            match TcpStream::connect_timeout(place, PATIENCE) {
                Ok(stream) => return Self::greet(stream, address.token, me, n_pes),
                Err(e) => failure = io::Error::new(e.kind(), format!("{place}: {e}")),
            }
        }
        Err(failure)
    }

    fn greet(mut stream: TcpStream, token: [u64; 4], me: usize, n_pes: usize) -> io::Result<Option<Self>> {
        stream.set_nodelay(true)?;
        let [a, b, c, d] = token;
        send(&mut stream, &[kind::HELLO, a, b, c, d, me as u64, n_pes as u64])?;
        let answer = receive(&mut stream)?;
        Ok(answer.first().map(|mode| Self { stream: Mutex::new(Some(stream)), mode: *mode }))
    }

    fn stream(&self) -> MutexGuard<'_, Option<TcpStream>> {
        self.stream.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message; its answer. None once `oshrun` has ended, as the job will.
    fn ask(&self, words: &[u64]) -> Option<Vec<u64>> {
        let mut guard = self.stream();
        let stream = guard.as_mut()?;
        let answer = send(stream, words).and_then(|()| receive(stream));
        if answer.is_err() {
            *guard = None;
        }
        answer.ok()
    }

    fn number(&self, mut writer: Writer) -> Option<u32> {
        self.ask(&writer.finish())?.first().map(|number| *number as u32)
    }

    /// As [`crate::shared::Shared::site_in`].
    pub(crate) fn site(&self, routine: &str, object: Option<&str>, place: u64) -> Option<u32> {
        let mut writer = Writer::default();
        writer.word(kind::SITE);
        writer.word(object.is_some().into());
        writer.text(object.unwrap_or_default());
        writer.word(place);
        writer.text(routine);
        self.number(writer)
    }

    /// As [`crate::shared::Shared::object`].
    pub(crate) fn object(&self, path: &str) -> Option<u32> {
        let mut writer = Writer::default();
        writer.word(kind::OBJECT);
        writer.text(path);
        self.number(writer)?.checked_sub(1)
    }

    /// As [`crate::shared::Shared::report`].
    pub(crate) fn report(&self, found: &Finding) {
        let words = found.words().map(|(_, value)| value);
        let all: Vec<u64> = std::iter::once(kind::REPORT).chain(words).collect();
        self.ask(&all);
    }

    /// Sets a word of the header.
    pub(crate) fn raise(&self, header: usize) {
        self.ask(&[kind::RAISE, header as u64]);
    }

    /// A message of steps; its answer.
    pub(crate) fn steps(&self, steps: &[u64]) -> Option<Vec<u64>> {
        let all: Vec<u64> = std::iter::once(kind::STEPS).chain(steps.iter().copied()).collect();
        self.ask(&all)
    }
}
