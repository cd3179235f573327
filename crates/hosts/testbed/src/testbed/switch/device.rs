//! A machine's network card, seen from behind.

use super::super::TestbedError;
use super::super::namespaces::DEVICE;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::io;
use std::thread;
use tappers::{Interface, Tap};

/// A TAP device in the namespace of a machine. Dropped, it is gone there.
pub(super) struct Device(Tap);

impl Device {
    /// Makes the device of a machine in its namespace.
    ///
    /// # Errors
    /// The system refused.
    pub(super) fn make(namespace: BorrowedFd<'_>) -> Result<Device, TestbedError> {
        // A thread of its own enters the namespace: the way back is to end.
        let made = thread::scope(|scope| scope.spawn(|| make_inside(namespace)).join());
        let made = made.unwrap_or_else(|_| Err(io::Error::other("the thread that made it failed")));
        made.map(Device).map_err(TestbedError::system("make a network device (/dev/net/tun)"))
    }

    /// Reads a packet, if there is one: its length.
    ///
    /// # Errors
    /// The device is gone.
    pub(super) fn read(&self, packet: &mut [u8]) -> io::Result<Option<usize>> {
        match rustix::io::read(&self.0, packet) {
            Ok(length) => Ok(Some(length)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Writes a packet.
    ///
    /// # Errors
    /// The device is gone, or its machine has not switched it on.
    pub(super) fn write(&self, packet: &[u8]) -> io::Result<()> {
        rustix::io::write(&self.0, packet)?;
        Ok(())
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn make_inside(namespace: BorrowedFd<'_>) -> io::Result<Tap> {
    move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network))?;
    let mut tap = Tap::new_named(Interface::new(DEVICE)?)?;
    tap.set_nonblocking(true)?;
    Ok(tap)
}
