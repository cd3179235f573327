//! The kernel's table of TCP sockets, as text. One look reads it up to the row: it has one for each socket of the network namespace.

use super::Row;
use core::net::{IpAddr, SocketAddr};
use std::fs::File;
use std::io::{self, BufRead, BufReader};

/// Where the table's columns stand: the own address, the other end's, the state, the user.
const OWN: usize = 1;
const OTHER: usize = 2;
const STATE: usize = 3;
const USER: usize = 7;

/// The row of the socket at `own` that is connected with `other`, if there is one.
///
/// # Errors
/// The table cannot be read.
pub(super) fn row_of(own: SocketAddr, other: SocketAddr) -> io::Result<Option<Row>> {
    if own.is_ipv4()
        && let Some(row) = look("/proc/net/tcp", &written(own, false), &written(other, false))?
    {
        return Ok(Some(row));
    }
    // A socket of version 6 may be connected with one of version 4.
    look("/proc/net/tcp6", &written(own, true), &written(other, true))
}

fn look(path: &str, own: &str, other: &str) -> io::Result<Option<Row>> {
    let table = match File::open(path) {
        Ok(table) => BufReader::new(table),
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.ends_with('6') => return Ok(None),
        Err(error) => return Err(error),
    };
    for line in table.lines() {
        let line = line?;
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        if columns.get(OWN) == Some(&own) && columns.get(OTHER) == Some(&other) {
            return Ok(row(&columns));
        }
    }
    Ok(None)
}

fn row(columns: &[&str]) -> Option<Row> {
    let state = u8::from_str_radix(columns.get(STATE)?, 16).ok()?;
    let user = columns.get(USER)?.parse().ok()?;
    Some(Row { state, user })
}

/// An address as the table writes it: words of the network's bytes as this machine reads them, in hexadecimal.
fn written(address: SocketAddr, as_version_6: bool) -> String {
    let octets = match address.ip() {
        IpAddr::V4(ip) if as_version_6 => ip.to_ipv6_mapped().octets().to_vec(),
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let words = octets.as_chunks::<4>().0.iter().map(|word| format!("{:08X}", u32::from_ne_bytes(*word)));
    format!("{}:{:04X}", words.collect::<String>(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_in_the_table() {
        let at = |text: &str| text.parse::<SocketAddr>().expect("an address");
        if cfg!(target_endian = "little") {
            assert_eq!(written(at("127.0.0.1:7400"), false), "0100007F:1CE8");
            assert_eq!(written(at("127.0.0.1:7400"), true), "0000000000000000FFFF00000100007F:1CE8");
            assert_eq!(written(at("[::1]:80"), true), "00000000000000000000000001000000:0050");
        }
    }
}
