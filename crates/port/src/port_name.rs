//! The text of a port: where it is, and the secret that callers give.

use std::fmt;
use std::net::SocketAddr;

use ferroshmem_bootstrap::secret::Secret;
use rustix::io::Errno;
use rustix::net::SocketAddrUnix;
use rustix::system::uname;

use super::port_error::PortError;
use ferroshmem_core::constants::MAX_PORT_NAME;

/// What texts of ports begin with.
pub(super) const PREFIX: &str = "ferroshmem-port";

/// What the text of a port says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortName {
    pub(super) host: String,
    pub(super) address: String,
    pub(super) secret: String,
    /// Where jobs on other nodes connect.
    pub(super) remote: Option<SocketAddr>,
}

impl fmt::Display for PortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, address, secret, remote } = self;
        write!(f, "{PREFIX}:{host}:{address}:{secret}")?;
        remote.map_or(Ok(()), |remote| write!(f, ":{remote}"))
    }
}

impl PortName {
    pub(super) fn new() -> Result<Self, PortError> {
        let random = Secret::random()?;
        let digits = |number: u64| {
            let bytes = random.long_token("port", number);
            bytes.iter().map(|byte| format!("{byte:02x}")).collect()
        };
        Ok(Self { host: host(), address: digits(0), secret: digits(1), remote: None })
    }

    /// Where jobs on other nodes connect, and the secret that they give.
    pub fn remote(&self) -> Option<(SocketAddr, &str)> {
        Some((self.remote?, &self.secret))
    }

    /// A random number of 30 bits.
    pub fn random_number() -> Result<u32, PortError> {
        Ok(Secret::random()?.token("connection", 0) as u32 >> 2)
    }

    /// From the text of a port.
    pub fn parse(text: &str) -> Result<Self, PortError> {
        /// As of 16 bytes.
        const DIGITS: usize = 32;

        let wrong = || PortError::Text(text.to_owned());
        // The last one has colons of its own.
        let fields: Vec<&str> = text.splitn(5, ':').collect();
        let remote = fields.get(4).map(|remote| remote.parse());
        let remote = remote.transpose().map_err(|_| wrong())?;
        let is_token = |t: &str| t.len() == DIGITS && t.bytes().all(|byte| byte.is_ascii_hexdigit());
        match fields[..] {
            [PREFIX, host, address, secret] | [PREFIX, host, address, secret, _]
                if is_token(address) && is_token(secret) && text.len() < MAX_PORT_NAME =>
            {
                Ok(Self { host: host.to_owned(), address: address.to_owned(), secret: secret.to_owned(), remote })
            }
            _ => Err(wrong()),
        }
    }

    pub(super) fn socket_address(&self) -> Result<SocketAddrUnix, Errno> {
        let name = format!("{PREFIX}-{}", self.address);
        SocketAddrUnix::new_abstract_name(name.as_bytes())
    }
}

/// The name of this host, without what separates the fields of a text.
pub(super) fn host() -> String {
    let name = uname().nodename().to_string_lossy().into_owned();
    name.chars().filter(|c| *c != ':').take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back() {
        let name = PortName::new().unwrap();
        let text = name.to_string();
        assert_eq!(PortName::parse(&text).unwrap(), name);
        assert_ne!(PortName::new().unwrap(), name);
        for end in 0..text.len() {
            let cut = PortName::parse(&text[..end]).unwrap_err();
            assert!(matches!(cut, PortError::Text(_)), "{cut}");
        }
        let long = text.replacen(&host(), &"x".repeat(MAX_PORT_NAME), 1);
        assert!(PortName::parse(&long).is_err());
        assert!(PortName::parse(&text.replace("ferro", "")).is_err());
    }
}
