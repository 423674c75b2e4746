//! On which sockets the PEs of a node run.

use std::ffi::OsString;

use super::{ConfigError, Problem, Result, ValueType, text};
use crate::environment::Environment;

/// On which sockets the PEs of a node run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketMap {
    /// As they are bound.
    Auto,
    /// It is not looked at.
    Off,
    /// The sockets of the PEs, in turn: there is at least one.
    Given(Vec<usize>),
}

/// The numbers of a list such as `0,0,1` or `0*2,1`.
fn socket_list(text: &str) -> Option<Vec<usize>> {
    /// As many PEs as a node may have.
    const MOST: usize = 4096;

    let mut all = Vec::new();
    for part in text.split(',') {
        let (socket, times) = part.split_once('*').unwrap_or((part, "1"));
        let socket: u16 = socket.trim().parse().ok().filter(|n| *n < u16::MAX)?;
        let times: usize = times.trim().parse().ok().filter(|n| *n > 0)?;
        if times > MOST - all.len() {
            return None;
        }
        all.resize(all.len() + times, usize::from(socket));
    }
    Some(all)
}

/// A list of sockets, or a word.
#[derive(Debug, Clone, Copy)]
pub struct SocketList;

impl ValueType for SocketList {
    type Value = SocketMap;

    fn accepts(&self) -> String {
        "auto, off, or a list of numbers that the PEs take in turn (0,0,1,1 or 0*2,1*2), of 64 bytes at most".to_owned()
    }

    fn default(&self) -> String {
        "auto".to_owned()
    }

    fn read(&self, variable: &'static str, given: Option<OsString>, _: &Environment<'_>) -> Result<SocketMap> {
        let Some(value) = text(given) else {
            return Ok(SocketMap::Auto);
        };
        match value.trim() {
            "auto" => return Ok(SocketMap::Auto),
            "off" => return Ok(SocketMap::Off),
            _ => {}
        }
        match socket_list(&value) {
            Some(sockets) => Ok(SocketMap::Given(sockets)),
            None => Err(ConfigError { variable, value, problem: Problem::Sockets }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_read() {
        let read = |text: &str| {
            let environment = Environment::process();
            SocketList.read("SHMEM_SOCKETS", Some(text.into()), &environment)
        };
        let list = |numbers: &[usize]| Ok(SocketMap::Given(numbers.to_vec()));
        assert_eq!(read("auto"), Ok(SocketMap::Auto));
        assert_eq!(read("off"), Ok(SocketMap::Off));
        assert_eq!(read("0,0, 1"), list(&[0, 0, 1]));
        assert_eq!(read("3*2,0*1"), list(&[3, 3, 0]));
        assert_eq!(read("0*2048,1*2048").map(|map| map != SocketMap::Auto), Ok(true));
        let none_left = format!("0,1*{}", usize::MAX);
        for wrong in ["0,", "a", "0*0", "65535", "-1", "0*4097", "0*2048,1*2049", &none_left, "1*", "on"] {
            let line = read(wrong).unwrap_err().to_string();
            assert!(line.contains(&format!("{wrong:?}")) && line.contains("as in 0*2"), "{line}");
        }
    }
}
