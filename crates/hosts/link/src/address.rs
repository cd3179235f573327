//! Where a link is listened at, and dialled: `shm:PATH`, `unix:PATH`, `tcp:HOST:PORT`, `tls:HOST:PORT`.

use crate::Credentials;
use core::fmt;
use core::str::FromStr;
use std::path::{Path, PathBuf};

/// Where a link is listened at, and dialled.
///
/// ```
/// use quintet_link::LinkAddress;
///
/// let address: LinkAddress = "tcp:127.0.0.1:7400".parse()?;
/// assert_eq!(address, LinkAddress::Tcp { host: "127.0.0.1".to_owned(), port: 7400 });
/// let path: LinkAddress = "/run/user/1000/q.sock".parse()?;
/// assert_eq!(path.to_string(), "shm:/run/user/1000/q.sock", "a path alone means shared memory");
/// # Ok::<(), quintet_link::AddressError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum LinkAddress {
    /// Shared memory, between processes of one user on one machine: the path of the socket where they find each other.
    SharedMemory(PathBuf),
    /// A Unix stream socket, between processes of one user on one machine: its path.
    Unix(PathBuf),
    /// TCP.
    Tcp {
        /// A name or a numeric address; an IPv6 address without its brackets. Names are resolved when the address is used.
        host: String,
        /// The port. To listen at port 0 is to be given a free one.
        port: u16,
    },
    /// TCP with TLS: both sides prove to belong to one cluster, and all is encrypted.
    Tls {
        /// As of TCP.
        host: String,
        /// As of TCP.
        port: u16,
        /// What this side proves itself with. A text names none: see [`LinkAddress::identified`].
        credentials: Option<Credentials>,
    },
}

impl From<&Path> for LinkAddress {
    /// A path alone means shared memory, whatever it begins with.
    fn from(path: &Path) -> Self {
        LinkAddress::SharedMemory(path.to_owned())
    }
}

impl From<&PathBuf> for LinkAddress {
    fn from(path: &PathBuf) -> Self {
        path.as_path().into()
    }
}

impl From<&LinkAddress> for LinkAddress {
    fn from(address: &LinkAddress) -> Self {
        address.clone()
    }
}

impl fmt::Display for LinkAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkAddress::SharedMemory(path) => write!(f, "shm:{}", path.display()),
            LinkAddress::Unix(path) => write!(f, "unix:{}", path.display()),
            LinkAddress::Tcp { host, port } => write_place(f, "tcp", host, *port),
            LinkAddress::Tls { host, port, .. } => write_place(f, "tls", host, *port),
        }
    }
}

fn write_place(f: &mut fmt::Formatter<'_>, kind: &str, host: &str, port: u16) -> fmt::Result {
    if host.contains(':') { write!(f, "{kind}:[{host}]:{port}") } else { write!(f, "{kind}:{host}:{port}") }
}

/// Why a text is no address of a link. Each variant carries the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AddressError {
    /// It is neither a path nor begins with a kind of link.
    Unknown(String),
    /// It begins with a word and a colon, and no kind of link has that name.
    UnknownKind(String),
    /// No path follows the kind.
    NoPath(String),
    /// The path contains a zero byte.
    ZeroInPath(String),
    /// There is no host.
    NoHost(String),
    /// The host contains what no name or numeric address does.
    BadHost(String),
    /// The address of version 6 is not in brackets, or no such address.
    BadIpv6(String),
    /// There is no port, or no number from 0 to 65,535.
    BadPort(String),
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AddressError::Unknown(text) => write!(
                f,
                "{text:?} is no address of a link: write shm:PATH, unix:PATH, tcp:HOST:PORT or tls:HOST:PORT, or a path with a slash for \
                 shared memory"
            ),
            AddressError::UnknownKind(text) => write!(
                f,
                "{text:?} begins with no kind of link: write shm:PATH, unix:PATH, tcp:HOST:PORT or tls:HOST:PORT; a path with a colon in it \
                 needs a kind or a slash before the colon, ./a:b or shm:a:b for example"
            ),
            AddressError::NoPath(text) => write!(f, "{text:?} names no path: write shm:PATH or unix:PATH"),
            AddressError::ZeroInPath(text) => {
                write!(f, "{text:?} has a zero byte in its path: write one without")
            }
            AddressError::NoHost(text) => {
                let kind = kind_of(text);
                write!(f, "{text:?} names no host: write {kind}:HOST:PORT, {kind}:127.0.0.1:7400 for example")
            }
            AddressError::BadHost(text) => {
                let kind = kind_of(text);
                write!(f, "{text:?} has a host that is neither a name nor an address: write {kind}:HOST:PORT")
            }
            AddressError::BadIpv6(text) => {
                let kind = kind_of(text);
                write!(f, "{text:?}: write an IPv6 address in brackets, {kind}:[::1]:7400 for example")
            }
            AddressError::BadPort(text) => write!(
                f,
                "{text:?} does not end with a port: write {}:HOST:PORT with a number from 0 to 65535",
                kind_of(text)
            ),
        }
    }
}

impl core::error::Error for AddressError {}

/// What the kind is called of a text with a place in it: nobody who asked for TLS is told to go without.
fn kind_of(text: &str) -> &str {
    text.split_once(':').map_or("tcp", |(kind, _)| kind)
}

impl LinkAddress {
    /// The address, at which this side proves itself with these credentials if the kind of link wants that.
    #[must_use]
    pub fn identified(self, with: Option<&Credentials>) -> Self {
        match self {
            LinkAddress::Tls { host, port, credentials } => {
                LinkAddress::Tls { host, port, credentials: with.cloned().or(credentials) }
            }
            other => other,
        }
    }

    /// Whether this side must prove itself there, and was given nothing to do that with.
    #[must_use]
    pub fn wants_identity(&self) -> bool {
        matches!(self, LinkAddress::Tls { credentials: None, .. })
    }

    /// What this side proves itself with there, if the kind of link wants that.
    ///
    /// # Errors
    /// It wants that, and there is nothing.
    #[cfg(not(loom))]
    pub(crate) fn credentials(&self) -> Result<Option<&Credentials>, crate::BootstrapError> {
        match self {
            LinkAddress::Tls { credentials: None, .. } => {
                let fault = crate::TlsFault::NoIdentity;
                Err(crate::BootstrapError::Tls { address: self.clone(), fault })
            }
            LinkAddress::Tls { credentials, .. } => Ok(credentials.as_ref()),
            _ => Ok(None),
        }
    }

    /// The same host, and another port.
    #[cfg(not(loom))]
    pub(crate) fn with_port(mut self, new: u16) -> Self {
        if let LinkAddress::Tcp { port, .. } | LinkAddress::Tls { port, .. } = &mut self {
            *port = new;
        }
        self
    }

    /// Where another manager of the same space listens: at the path with `.NUMBER` behind it, or that many ports above. The first, 0, listens here.
    /// None: there is no such port, or the system chooses it.
    #[must_use]
    pub fn of_manager(&self, number: u8) -> Option<LinkAddress> {
        if number == 0 {
            return Some(self.clone());
        }
        let beside = |path: &Path| {
            let mut beside = path.as_os_str().to_owned();
            beside.push(format!(".{number}"));
            PathBuf::from(beside)
        };
        Some(match self {
            LinkAddress::SharedMemory(path) => LinkAddress::SharedMemory(beside(path)),
            LinkAddress::Unix(path) => LinkAddress::Unix(beside(path)),
            LinkAddress::Tcp { port: 0, .. } | LinkAddress::Tls { port: 0, .. } => return None,
            LinkAddress::Tcp { port, .. } | LinkAddress::Tls { port, .. } => {
                self.clone().with_port(port.checked_add(number.into())?)
            }
        })
    }

    /// Whether a text begins with a word and a colon: then it names a kind of link, and is no path alone.
    #[must_use]
    pub fn names_kind(text: &str) -> bool {
        text.split_once(':').is_some_and(|(word, _)| !word.contains('/'))
    }
}

impl FromStr for LinkAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        match text.split_once(':') {
            Some(("shm", path)) => Ok(LinkAddress::SharedMemory(checked_path(path, text)?)),
            Some(("unix", path)) => Ok(LinkAddress::Unix(checked_path(path, text)?)),
            Some(("tcp", place)) => place_of(place, text).map(|(host, port)| LinkAddress::Tcp { host, port }),
            Some(("tls", place)) => {
                place_of(place, text).map(|(host, port)| LinkAddress::Tls { host, port, credentials: None })
            }
            _ if LinkAddress::names_kind(text) => Err(AddressError::UnknownKind(text.to_owned())),
            _ if text.starts_with('.') || text.contains('/') => {
                Ok(LinkAddress::SharedMemory(checked_path(text, text)?))
            }
            _ => Err(AddressError::Unknown(text.to_owned())),
        }
    }
}

fn checked_path(path: &str, text: &str) -> Result<PathBuf, AddressError> {
    if path.is_empty() {
        return Err(AddressError::NoPath(text.to_owned()));
    }
    if path.contains('\0') {
        return Err(AddressError::ZeroInPath(text.to_owned()));
    }
    Ok(PathBuf::from(path))
}

fn place_of(place: &str, text: &str) -> Result<(String, u16), AddressError> {
    let bad_port = || AddressError::BadPort(text.to_owned());
    let (host, port) = if let Some(bracketed) = place.strip_prefix('[') {
        let (host, rest) = bracketed.split_once(']').ok_or_else(|| AddressError::BadIpv6(text.to_owned()))?;
        if host.parse::<core::net::Ipv6Addr>().is_err() {
            return Err(AddressError::BadIpv6(text.to_owned()));
        }
        (host, rest.strip_prefix(':').ok_or_else(bad_port)?)
    } else {
        place.rsplit_once(':').ok_or_else(bad_port)?
    };
    check_host(host, place.starts_with('['), text)?;
    // `parse` alone would take a sign.
    if !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(bad_port());
    }
    let port = port.parse().map_err(|_| bad_port())?;
    Ok((host.to_owned(), port))
}

fn check_host(host: &str, bracketed: bool, text: &str) -> Result<(), AddressError> {
    if host.is_empty() {
        return Err(AddressError::NoHost(text.to_owned()));
    }
    if host.contains(':') && !bracketed {
        return Err(AddressError::BadIpv6(text.to_owned()));
    }
    let ordinary = |c: char| c.is_alphanumeric() || "-._:".contains(c);
    if host.chars().all(ordinary) { Ok(()) } else { Err(AddressError::BadHost(text.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<LinkAddress, AddressError> {
        text.parse()
    }

    #[test]
    fn each_kind_of_link_has_its_prefix() {
        let tcp = |host: &str, port| Ok(LinkAddress::Tcp { host: host.to_owned(), port });
        assert_eq!(parse("shm:q"), Ok(LinkAddress::SharedMemory("q".into())));
        assert_eq!(parse("unix:/run/a:b"), Ok(LinkAddress::Unix("/run/a:b".into())));
        assert_eq!(parse("tcp:127.0.0.1:7400"), tcp("127.0.0.1", 7400));
        let tls = LinkAddress::Tls { host: "::1".to_owned(), port: 7400, credentials: None };
        assert_eq!(parse("tls:[::1]:7400"), Ok(tls));
        assert_eq!(parse("tcp:[::1]:0"), tcp("::1", 0));
        assert_eq!(parse("tcp:lab-1.example:65535"), tcp("lab-1.example", 65_535));
    }

    #[test]
    fn a_path_alone_is_shared_memory() {
        for path in ["/run/q.sock", "./q", "../q", ".q", "folder/q", "/odd:name", "./odd:name", "a/b:c"] {
            assert_eq!(parse(path), Ok(LinkAddress::SharedMemory(path.into())), "{path}");
        }
    }

    #[test]
    fn a_refusal_says_what_to_write() {
        type Variant = fn(String) -> AddressError;
        let cases: [(&str, Variant, &str); 26] = [
            ("", AddressError::Unknown, "write shm:PATH"),
            ("q.sock", AddressError::Unknown, "tcp:HOST:PORT"),
            ("udp:1.2.3.4:5", AddressError::UnknownKind, "tcp:HOST:PORT"),
            ("tpc:127.0.0.1:7400", AddressError::UnknownKind, "./a:b"),
            ("odd:name/q", AddressError::UnknownKind, "shm:a:b"),
            ("quintet:///run/q", AddressError::UnknownKind, "shm:PATH"),
            (":q", AddressError::UnknownKind, "shm:PATH"),
            ("shm:", AddressError::NoPath, "shm:PATH"),
            ("unix:", AddressError::NoPath, "unix:PATH"),
            ("unix:/a\0b", AddressError::ZeroInPath, "zero byte"),
            ("tcp:", AddressError::BadPort, "a number from 0"),
            ("tcp:host", AddressError::BadPort, "a number from 0"),
            ("tcp:host:", AddressError::BadPort, "a number from 0"),
            ("tcp:host:+1", AddressError::BadPort, "a number from 0"),
            ("tcp:host:65536", AddressError::BadPort, "65535"),
            ("tcp:[::1]", AddressError::BadPort, "a number from 0"),
            ("tcp::7400", AddressError::NoHost, "tcp:127.0.0.1:7400"),
            ("tcp:::1:7400", AddressError::BadIpv6, "tcp:[::1]:7400"),
            ("tcp:[::1:7400", AddressError::BadIpv6, "tcp:[::1]:7400"),
            ("tcp:[host]:7400", AddressError::BadIpv6, "tcp:[::1]:7400"),
            ("tcp:a b:7400", AddressError::BadHost, "tcp:HOST:PORT"),
            ("tcp:user@host:7400", AddressError::BadHost, "tcp:HOST:PORT"),
            ("tls:host", AddressError::BadPort, "write tls:HOST:PORT"),
            ("tls::7400", AddressError::NoHost, "write tls:HOST:PORT, tls:127.0.0.1:7400"),
            ("tls:::1:7400", AddressError::BadIpv6, "tls:[::1]:7400"),
            ("tls:a b:7400", AddressError::BadHost, "write tls:HOST:PORT"),
        ];
        for (text, variant, advice) in cases {
            let error = parse(text).expect_err(text);
            assert_eq!(error, variant(text.to_owned()));
            assert!(error.to_string().contains(advice), "{error}");
        }
    }

    proptest! {
        #[test]
        fn an_address_comes_back_as_it_was(text in "(shm:|unix:|tcp:|tls:)?[a-z./:\\[\\]0-9]{0,20}") {
            if let Ok(address) = parse(&text) {
                prop_assert_eq!(parse(&address.to_string()), Ok(address));
            }
        }
    }
}
