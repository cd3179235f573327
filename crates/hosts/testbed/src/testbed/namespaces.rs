//! Network namespaces, by the command `ip` of the package iproute2: it makes them, names them and sets addresses.
//!
//! Netlink would do the same without a process for each step, and take a thousand lines or a large dependency for it; three machines take a few
//! hundredths of a second this way.

use super::TestbedError;
use super::network::HardwareAddress;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// What a machine's network card is called in it.
pub(super) const DEVICE: &str = "eth0";
/// Packets that wait in a machine until the switch reads them: a large window of TCP.
const QUEUE_PACKETS: u32 = 10_000;

/// How many namespaces this process made to see whether it may.
static PROBES: AtomicU32 = AtomicU32::new(0);

/// What is missing for namespaces. `None` if nothing is.
#[must_use]
pub fn namespaces_refused() -> Option<String> {
    let device = || match File::options().read(true).write(true).open("/dev/net/tun") {
        Ok(_) => None,
        Err(error) => Some(format!(
            "/dev/net/tun cannot be opened ({error}): it takes root, and the kernel's module tun"
        )),
    };
    device().or_else(|| {
        let number = PROBES.fetch_add(1, Ordering::Relaxed);
        let probe = format!("quintet.probe.{}-{number}", std::process::id());
        let refused = add(std::slice::from_ref(&probe)).and_then(|()| remove(&[probe])).err()?;
        match refused {
            TestbedError::System { why, .. } => Some(why),
            other => Some(other.to_string()),
        }
    })
}

/// Makes namespaces of these names.
///
/// # Errors
/// The system refused; some may be there.
pub(super) fn add(names: &[String]) -> Result<(), TestbedError> {
    batch(
        &[],
        &names.iter().map(|name| format!("netns add {name}\n")).collect::<String>(),
        "make network namespaces",
    )
}

/// Removes those of these namespaces that there are.
///
/// # Errors
/// The system refused.
pub(super) fn remove(names: &[String]) -> Result<(), TestbedError> {
    let there = names.iter().filter(|name| std::fs::symlink_metadata(format!("/run/netns/{name}")).is_ok());
    let lines: String = there.map(|name| format!("netns delete {name}\n")).collect();
    if lines.is_empty() { Ok(()) } else { batch(&["-force"], &lines, "remove network namespaces") }
}

/// Gives the device in a namespace its addresses, and switches it on. `bits` of the second are the network's.
///
/// # Errors
/// The system refused: there is no device, say.
pub(super) fn configure(
    namespace: &str,
    hardware: HardwareAddress,
    (address, bits): (Ipv4Addr, u8),
    packet_bytes: u32,
) -> Result<(), TestbedError> {
    let hardware = hardware.map(|byte| format!("{byte:02x}")).join(":");
    // No address of version 6: its neighbour discovery would be among the packets that are counted and lost.
    let lines = format!(
        "link set dev lo up\n\
         link set dev {DEVICE} address {hardware} mtu {packet_bytes} txqueuelen {QUEUE_PACKETS} addrgenmode none\n\
         address add {address}/{bits} dev {DEVICE}\n\
         link set dev {DEVICE} up\n"
    );
    batch(&["-netns", namespace], &lines, "configure a machine's network")
}

/// Gives a machine another address. Connections to the old one end as they would on a real machine.
///
/// # Errors
/// The system refused.
pub(super) fn readdress(namespace: &str, address: Ipv4Addr, bits: u8) -> Result<(), TestbedError> {
    let lines = format!("address flush dev {DEVICE}\naddress add {address}/{bits} dev {DEVICE}\n");
    batch(&["-netns", namespace], &lines, "change a machine's address")
}

/// Runs `ip` once for all these lines.
fn batch(options: &[&str], lines: &str, doing: &str) -> Result<(), TestbedError> {
    let mut command = Command::new("ip");
    command.args(options).args(["-batch", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| TestbedError::System {
        doing: doing.to_owned(),
        why: match error.kind() {
            ErrorKind::NotFound => "there is no command ip: install the package iproute2".to_owned(),
            _ => format!("ip: {error}"),
        },
    })?;
    let written = child.stdin.take().map_or(Ok(()), |mut input| input.write_all(lines.as_bytes()));
    let done = child.wait_with_output().map_err(TestbedError::system(doing))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        let why = said.lines().next().unwrap_or("ip failed without a word").to_owned();
        return Err(TestbedError::System { doing: doing.to_owned(), why });
    }
    written.map_err(TestbedError::system(doing))
}
