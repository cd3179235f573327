//! Which requests are answered: `GET /metrics`, in a name by which this machine may be called.
//!
//! The name counts because of browsers: a page of the net may have its own name lead to 127.0.0.1 after it was loaded (DNS rebinding), and then
//! read what this machine's user could read. Such a request names the page's host, and is refused.

use std::net::IpAddr;

/// Bytes of a request before its body, line ends included.
pub(super) const MAX_REQUEST_BYTES: usize = 8 * 1024;

/// In which names requests may come.
pub(super) struct Names {
    /// Other machines may ask, too.
    is_open: bool,
    /// Besides addresses.
    names: Vec<String>,
}

/// Why a request is not answered with what it asks for: a status of HTTP, in words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Refused {
    pub(super) status: &'static str,
    pub(super) why: &'static str,
}

const fn refused(status: &'static str, why: &'static str) -> Refused {
    Refused { status, why }
}

const MALFORMED: Refused = refused("400 Bad Request", "this is no request of HTTP/1.1");
const NO_HOST: Refused = refused("400 Bad Request", "the request has no header Host, or several");
const OTHER_HOST: Refused =
    refused("421 Misdirected Request", "this machine is not called that here: ask by its address");
const OTHER_PATH: Refused = refused("404 Not Found", "the metrics are at /metrics");
const OTHER_METHOD: Refused = refused("405 Method Not Allowed", "metrics are for GET");
pub(super) const TOO_LONG: Refused =
    refused("431 Request Header Fields Too Large", "the request has more than 8 KiB of headers");

impl Names {
    /// Of an endpoint that was asked for by this text, `HOST:PORT`, and listens at that address.
    pub(super) fn of(text: &str, at: IpAddr) -> Names {
        let is_open = !at.is_loopback();
        let given = without_port(text);
        let mut names = vec!["localhost".to_owned(), given.to_ascii_lowercase()];
        if is_open {
            let system = rustix::system::uname();
            names.extend(system.nodename().to_str().ok().map(str::to_ascii_lowercase));
        }
        Names { is_open, names }
    }

    fn has(&self, host: &str) -> bool {
        let name = without_port(host);
        match name.parse::<IpAddr>() {
            Ok(address) => self.is_open || address.is_loopback(),
            Err(_) => self.names.iter().any(|known| name.eq_ignore_ascii_case(known)),
        }
    }
}

/// A host without its port, and an address of IPv6 without its brackets.
fn without_port(host: &str) -> &str {
    if let Some((address, _)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address;
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

/// The end of a request's headers, if they are there.
pub(super) fn end_of_headers(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

/// Whether a request, up to the end of its headers, is answered.
///
/// # Errors
/// Why not.
pub(super) fn check(request: &[u8], names: &Names) -> Result<(), Refused> {
    let text = std::str::from_utf8(request).map_err(|_| MALFORMED)?;
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(MALFORMED);
    };
    if !version.starts_with("HTTP/1.") {
        return Err(MALFORMED);
    }
    let headers = lines.take_while(|line| !line.is_empty());
    let mut hosts = headers
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| name.eq_ignore_ascii_case("host"))
        .map(|(_, value)| value.trim());
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return Err(NO_HOST) };
    if !names.has(host) {
        return Err(OTHER_HOST);
    }
    let path = target.split_once('?').map_or(target, |(path, _)| path);
    match (method, path) {
        ("GET", "/metrics") => Ok(()),
        (_, "/metrics") => Err(OTHER_METHOD),
        _ => Err(OTHER_PATH),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(head: &str, names: &Names) -> Result<(), Refused> {
        let request = format!("{head}\r\n\r\n");
        assert_eq!(end_of_headers(request.as_bytes()), Some(request.len()));
        check(request.as_bytes(), names)
    }

    fn named(host: &str, names: &Names) -> Result<(), Refused> {
        asked(&format!("GET /metrics HTTP/1.1\r\nHost: {host}"), names)
    }

    #[test]
    fn on_loopback_a_request_comes_in_the_name_of_loopback() {
        let names = Names::of("127.0.0.1:9464", IpAddr::from([127, 0, 0, 1]));
        for host in
            ["127.0.0.1:9464", "127.0.0.1", "localhost:9464", "LOCALHOST", "127.8.0.1:1", "[::1]:9464"]
        {
            assert_eq!(named(host, &names), Ok(()), "{host}");
        }
        for host in ["evil.example:9464", "", "10.0.0.1", "localhost.evil.example", "[2001:db8::1]", "[::1"] {
            assert_eq!(named(host, &names), Err(OTHER_HOST), "{host}");
        }
    }

    #[test]
    fn an_open_endpoint_is_called_by_any_address_and_by_its_own_names() {
        let names = Names::of("Metrics.example:9464", IpAddr::from([0, 0, 0, 0]));
        let system = rustix::system::uname();
        let own = system.nodename().to_str().expect("its name is text");
        for host in ["10.0.0.1:9464", "metrics.example:9464", "localhost", "[2001:db8::1]:9464", own] {
            assert_eq!(named(host, &names), Ok(()), "{host}");
        }
        assert_eq!(named("evil.example", &names), Err(OTHER_HOST));
    }

    #[test]
    fn one_question_is_answered_and_no_other() {
        let names = Names::of("127.0.0.1:0", IpAddr::from([127, 0, 0, 1]));
        let with_host = |line: &str| asked(&format!("{line}\r\nhost:  localhost "), &names);
        assert_eq!(with_host("GET /metrics HTTP/1.1"), Ok(()));
        assert_eq!(with_host("GET /metrics?name[]=x HTTP/1.0"), Ok(()));
        for line in [
            "GET / HTTP/1.1",
            "GET /metrics/ HTTP/1.1",
            "POST /run HTTP/1.1",
            "GET http://x/metrics HTTP/1.1",
        ] {
            assert_eq!(with_host(line), Err(OTHER_PATH), "{line}");
        }
        for line in ["POST /metrics HTTP/1.1", "HEAD /metrics HTTP/1.1", "get /metrics HTTP/1.1"] {
            assert_eq!(with_host(line), Err(OTHER_METHOD), "{line}");
        }
        for line in ["GET /metrics", "GET  /metrics HTTP/1.1", "GET /metrics HTTP/2", "", "\u{16}\u{3}\u{1}"]
        {
            assert_eq!(with_host(line), Err(MALFORMED), "{line}");
        }
        assert_eq!(asked("GET /metrics HTTP/1.1", &names), Err(NO_HOST));
        assert_eq!(
            asked("GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: localhost", &names),
            Err(NO_HOST)
        );
        assert_eq!(check(b"GET /metrics HTTP/1.1\r\nHost: \xff\r\n\r\n", &names), Err(MALFORMED));
    }
}
