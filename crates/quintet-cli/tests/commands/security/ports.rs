//! What is listened at, as the system says it: so that no port is forgotten.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// Of a TCP socket that listens (`include/net/tcp_states.h` of Linux).
const LISTENS: &str = "0A";
/// Of a Unix socket that listens (`__SO_ACCEPTCON` of Linux).
const ACCEPTS: &str = "00010000";

/// The TCP ports that are listened at, at this address alone.
pub(crate) fn tcp(host: Ipv4Addr) -> Vec<u16> {
    let table = fs::read_to_string("/proc/net/tcp").expect("the system tells");
    let at = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (address, port) = fields.get(1)?.split_once(':')?;
        let address = Ipv4Addr::from(u32::from_str_radix(address, 16).ok()?.to_ne_bytes());
        let port = u16::from_str_radix(port, 16).ok()?;
        (address == host && fields.get(3) == Some(&LISTENS)).then_some(port)
    };
    let mut ports: Vec<u16> = table.lines().filter_map(at).collect();
    ports.sort_unstable();
    ports
}

/// The Unix sockets below this folder that are listened at.
pub(crate) fn unix(folder: &Path) -> Vec<PathBuf> {
    let table = fs::read_to_string("/proc/net/unix").expect("the system tells");
    let at = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let path = PathBuf::from(fields.get(7)?);
        (fields.get(3) == Some(&ACCEPTS) && path.starts_with(folder)).then_some(path)
    };
    let mut sockets: Vec<PathBuf> = table.lines().filter_map(at).collect();
    sockets.sort();
    sockets.dedup();
    sockets
}

/// Bytes that a process had in memory at most.
pub(crate) fn most_bytes(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it lives");
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB"));
    most.expect("the system counts it").trim().parse::<u64>().expect("a number") << 10
}

/// How many descriptors a process had room for at most, to a power of two.
pub(crate) fn descriptors(process: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it lives");
    let room = status.lines().find_map(|line| line.strip_prefix("FDSize:"));
    room.expect("the system counts it").trim().parse().expect("a number")
}
