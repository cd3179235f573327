//! Where an agent listens, and where others reach it.

use crate::AgentError;
use quintet_contract::Identity;
use quintet_link::{AddressError, Credentials, LinkAddress, Proof};
use std::net::{IpAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;

/// The address of a TLS link at `HOST:PORT`.
///
/// # Errors
/// [`AgentError::BadValue`]: it is no such text.
pub(crate) fn tls(place: &str, credentials: &Credentials) -> Result<LinkAddress, AgentError> {
    let address: LinkAddress = format!("tls:{place}").parse().map_err(|error: AddressError| {
        AgentError::BadValue(format!("{place:?} is no place to listen at, or to be reached at: {error}"))
    })?;
    Ok(address.identified(Some(credentials)))
}

/// The address of the agent of one very member at `HOST:PORT`: neither another member that has the address now is heard there, nor one that was
/// removed.
///
/// # Errors
/// [`AgentError::BadValue`]: it is no such text. [`AgentError::Credentials`]: those of `folder` do not serve.
pub fn of_member(
    place: &str,
    identity: Identity,
    credentials: &Credentials,
    folder: &Path,
) -> Result<LinkAddress, AgentError> {
    let expecting = credentials
        .admitting(Arc::new(move |proof: &Proof| proof.is_of_cluster && proof.identity == identity))
        .map_err(|error| AgentError::Credentials(folder.to_owned(), error))?;
    tls(place, &expecting)
}

/// Where others reach who listens there: the place itself, or, where it is every address of the machine, the one that
/// packets leave from.
///
/// # Errors
/// [`AgentError::BadValue`]: the machine has none that could be known.
pub(crate) fn reached(listening: &LinkAddress) -> Result<String, AgentError> {
    let LinkAddress::Tls { host, port, .. } = listening else {
        return Err(AgentError::BadValue(format!("{listening} is no place that other machines reach")));
    };
    let host = if is_any(host) { own_host().ok_or_else(unknown)? } else { host.clone() };
    Ok(place(&host, *port))
}

/// Whether a place, `HOST:PORT`, is at every address of its machine.
pub(crate) fn is_every_address(place: &str) -> bool {
    let host = place.rsplit_once(':').map_or(place, |(host, _)| host);
    is_any(host.trim_start_matches('[').trim_end_matches(']'))
}

fn is_any(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified())
}

/// Where others reach who listens there now, and was reached at `old` while it listened at `before`: a port that was the same stays the
/// same, and a name that leads to every address of the machine still does.
pub(crate) fn moved(old: &str, before: &str, listening: &LinkAddress) -> Result<String, AgentError> {
    let LinkAddress::Tls { host, port, .. } = listening else { return reached(listening) };
    match (old.rsplit_once(':'), before.rsplit_once(':')) {
        (Some((name, old_port)), Some((_, port_before))) if is_any(host) => {
            Ok(if old_port == port_before { format!("{name}:{port}") } else { old.to_owned() })
        }
        _ => reached(listening),
    }
}

fn unknown() -> AgentError {
    AgentError::BadValue(
        "this machine has no way to the world, from which its address could be known: say where others reach it, quintet up --address \
         HOST:PORT, or where it listens, quintet up --listen HOST:PORT"
            .to_owned(),
    )
}

/// `HOST:PORT`, an IPv6 address in brackets.
pub(crate) fn place(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// The address from which packets to the world leave. Nothing is sent: the system only looks for the way. The address is of those that
/// are kept for documents (RFC 5737).
fn own_host() -> Option<String> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    let own = socket.local_addr().ok()?.ip();
    (!own.is_unspecified() && !own.is_loopback()).then(|| own.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_reached_where_it_is_unless_it_is_everywhere() {
        let listening = |text: &str| text.parse::<LinkAddress>().expect("an address");
        assert_eq!(reached(&listening("tls:10.1.2.3:7400")).expect("it has one"), "10.1.2.3:7400");
        assert_eq!(reached(&listening("tls:[::1]:1")).expect("it has one"), "[::1]:1");
        if let Ok(place) = reached(&listening("tls:0.0.0.0:7400")) {
            assert!(place.ends_with(":7400") && !place.starts_with("0.0.0.0"), "{place}");
        }
        assert!(reached(&listening("unix:/x")).is_err());
        assert!(is_every_address("0.0.0.0:1") && is_every_address("[::]:1"));
        assert!(!is_every_address("127.0.0.1:1") && !is_every_address("a.example:1"));
    }

    #[test]
    fn who_listens_elsewhere_is_reached_elsewhere_under_the_name_that_it_had() {
        let moved = |old, before, now: &str| {
            moved(old, before, &now.parse().expect("an address")).expect("it has one")
        };
        assert_eq!(moved("b.example:7400", "0.0.0.0:7400", "tls:0.0.0.0:7500"), "b.example:7500");
        assert_eq!(
            moved("b.example:99", "0.0.0.0:7400", "tls:0.0.0.0:7500"),
            "b.example:99",
            "a port is forwarded"
        );
        assert_eq!(moved("[fd00::1]:7400", "[::]:7400", "tls:[::]:7500"), "[fd00::1]:7500");
        assert_eq!(moved("b.example:7400", "0.0.0.0:7400", "tls:10.1.2.3:7500"), "10.1.2.3:7500");
        assert!(moved("", "0.0.0.0:7400", "tls:127.0.0.1:7500").ends_with(":7500"));
    }
}
