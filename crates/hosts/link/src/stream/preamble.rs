//! What two sides tell each other before the first frame of a stream.
//!
//! ```text
//!  0       4         6         8      9        10         12         16
//!  +-------+---------+---------+------+--------+----------+----------+
//!  | "QNST"| version | refusal | role | checks | zero     | max bulk |
//!  |       | u16     | u16     | u8   | u8     | u16      | u32      |
//!  +-------+---------+---------+------+--------+----------+----------+
//! ```
//!
//! The side that dialled speaks first, and chooses the checksums: 0 none, 1 CRC-32C. A preamble whose `refusal` is not zero ([`Code`]) ends the conversation. What comes is
//! judged byte by byte, so that who speaks another language is told at once.

use super::connection::Checksums;
use super::layout::FRAME_BULK_BYTES;
use crate::{BootstrapError, LinkAddress};
use quintet_errors::Code;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::os::fd::BorrowedFd;

/// The first bytes.
const MAGIC: [u8; 4] = *b"QNST";
/// The first byte of who speaks TLS: of an alert, and of a handshake.
const TLS: [u8; 2] = [0x15, 0x16];
/// The version of this conversation and of what follows it. All versions begin with the same eight bytes.
pub(super) const VERSION: u16 = 1;
/// Bytes of a preamble.
pub(super) const PREAMBLE_BYTES: usize = 16;

/// Who speaks. A socket that was connected to itself hears its own role.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Dialled = 1,
    Listened = 2,
}

/// What one side says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Preamble {
    pub(super) role: Role,
    pub(super) checksums: Checksums,
}

impl Preamble {
    pub(super) fn to_bytes(self, refusal: Option<Code>) -> [u8; PREAMBLE_BYTES] {
        let mut bytes = [0; PREAMBLE_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..6].copy_from_slice(&VERSION.to_le_bytes());
        bytes[6..8].copy_from_slice(&refusal.map_or(0, |code| code as u16).to_le_bytes());
        bytes[8] = self.role as u8;
        bytes[9] = self.checksums as u8;
        bytes[12..16].copy_from_slice(&(FRAME_BULK_BYTES as u32).to_le_bytes());
        bytes
    }

    /// What the other side says if it agrees.
    fn answer(self) -> [u8; PREAMBLE_BYTES] {
        let role = if self.role == Role::Dialled { Role::Listened } else { Role::Dialled };
        Preamble { role, ..self }.to_bytes(None)
    }

    /// Says it. There is room: nothing was sent before.
    ///
    /// # Errors
    /// [`BootstrapError::Left`], [`BootstrapError::System`].
    pub(super) fn say(self, socket: BorrowedFd<'_>, address: &LinkAddress) -> Result<(), BootstrapError> {
        match send(socket, &self.to_bytes(None), SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(PREAMBLE_BYTES) => Ok(()),
            Ok(_) => Err(BootstrapError::system(address, "send a preamble whole", Errno::NOBUFS)),
            Err(Errno::PIPE | Errno::CONNRESET) => Err(BootstrapError::Left { address: address.clone() }),
            Err(errno) => Err(BootstrapError::system(address, "send a preamble", errno)),
        }
    }

    /// Tells the other side that it is not taken. Whether that arrives matters to nobody.
    pub(super) fn refuse(self, socket: BorrowedFd<'_>, code: Code) {
        let _ = send(socket, &self.to_bytes(Some(code)), SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }
}

/// What came of the other side's preamble.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Heard {
    bytes: [u8; PREAMBLE_BYTES],
    len: usize,
}

impl Heard {
    /// Whether anything came.
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The checksums that who dialled has chosen.
    pub(super) fn checksums(&self) -> Checksums {
        Checksums::from_byte(self.bytes[9]).unwrap_or(Checksums::Without)
    }

    /// Receives what is there of it and not a byte beyond. Whether it is whole, and answers `ours`.
    ///
    /// # Errors
    /// [`BootstrapError`].
    pub(super) fn hear(
        &mut self,
        socket: BorrowedFd<'_>,
        ours: Preamble,
        address: &LinkAddress,
    ) -> Result<bool, BootstrapError> {
        while self.len < PREAMBLE_BYTES {
            match recv(socket, &mut self.bytes[self.len..], RecvFlags::DONTWAIT) {
                Ok((_, 0)) | Err(Errno::CONNRESET | Errno::PIPE) => {
                    return Err(BootstrapError::Left { address: address.clone() });
                }
                Ok((_, count)) => self.len += count,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Ok(false),
                Err(errno) => return Err(BootstrapError::system(address, "receive a preamble", errno)),
            }
            judge(&self.bytes[..self.len], ours, address)?;
        }
        Ok(true)
    }
}

/// Judges the front of a preamble.
pub(super) fn judge(bytes: &[u8], ours: Preamble, address: &LinkAddress) -> Result<(), BootstrapError> {
    let malformed =
        |what: &str| BootstrapError::Malformed { address: address.clone(), what: what.to_owned() };
    if TLS.contains(&bytes[0]) {
        return Err(BootstrapError::OtherKind { address: address.clone() });
    }
    if !MAGIC.starts_with(&bytes[..bytes.len().min(MAGIC.len())]) {
        return Err(malformed("what it says does not begin with \"QNST\""));
    }
    let u16_at = |at: usize| Some(u16::from_le_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    if let Some(refusal @ 1..) = u16_at(6) {
        return Err(BootstrapError::Refused { address: address.clone(), code: Code::from_number(refusal) });
    }
    match (u16_at(4), u16_at(6)) {
        (Some(theirs), Some(_)) if theirs != VERSION => {
            return Err(BootstrapError::OtherVersion { address: address.clone(), theirs, ours: VERSION });
        }
        (Some(_), Some(_)) => {}
        _ => return Ok(()),
    }
    let expected = ours.answer();
    let chosen = |at| at == 9 && ours.role == Role::Listened && Checksums::from_byte(bytes[at]).is_some();
    match (8..bytes.len()).find(|&at| bytes[at] != expected[at] && !chosen(at)) {
        None => Ok(()),
        Some(8) => Err(malformed("it plays the same part as this side; it may be this socket itself")),
        Some(9) => Err(malformed("it does not use the checksums that it should")),
        Some(10 | 11) => Err(malformed("bytes that must be zero are not")),
        Some(_) => Err(malformed("its limit of bulk data is another one")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OURS: Preamble = Preamble { role: Role::Listened, checksums: Checksums::Crc32c };

    fn place() -> LinkAddress {
        LinkAddress::Tcp { host: "localhost".to_owned(), port: 1 }
    }

    fn judged(bytes: &[u8]) -> Result<(), BootstrapError> {
        judge(bytes, OURS, &place())
    }

    #[test]
    fn each_front_of_the_answer_is_accepted() {
        let answer = Preamble { role: Role::Dialled, ..OURS }.to_bytes(None);
        for len in 1..=PREAMBLE_BYTES {
            assert_eq!(judged(&answer[..len]), Ok(()));
        }
    }

    #[test]
    fn who_dials_chooses_the_checksums() {
        let ask = |checksums| Preamble { role: Role::Dialled, checksums };
        for checksums in [Checksums::Without, Checksums::Crc32c] {
            let (said, answer) =
                (ask(checksums).to_bytes(None), Preamble { checksums, ..OURS }.to_bytes(None));
            assert_eq!(judged(&said), Ok(()));
            assert_eq!(judge(&answer, ask(checksums), &place()), Ok(()));
            assert_eq!(Heard { bytes: said, len: PREAMBLE_BYTES }.checksums(), checksums);
        }
        let other = Preamble { checksums: Checksums::Without, ..OURS }.to_bytes(None);
        assert!(judge(&other, ask(Checksums::Crc32c), &place()).is_err(), "nobody chooses for who dialled");
    }

    #[test]
    fn each_fault_is_named_as_soon_as_it_is_there() {
        let answer = Preamble { role: Role::Dialled, ..OURS }.to_bytes(None);
        let with = |at: usize, value: u8| {
            let mut bytes = answer;
            bytes[at] = value;
            judged(&bytes[..(at + 1).max(8)]).expect_err("the byte is wrong")
        };
        assert!(judged(b"G").expect_err("a browser").to_string().contains("QNST"));
        assert!(matches!(with(3, b'X'), BootstrapError::Malformed { .. }));
        assert!(matches!(with(4, 9), BootstrapError::OtherVersion { theirs: 9, ours: VERSION, .. }));
        assert!(matches!(with(7, 0xff), BootstrapError::Refused { code: None, .. }));
        assert!(with(8, Role::Listened as u8).to_string().contains("same part"));
        assert!(with(9, 2).to_string().contains("checksums"));
        assert!(with(11, 1).to_string().contains("zero"));
        assert!(with(15, 1).to_string().contains("limit"));
        let refusing = OURS.to_bytes(Some(Code::Resource));
        let refused = judged(&refusing).expect_err("it refuses");
        assert!(matches!(refused, BootstrapError::Refused { code: Some(Code::Resource), .. }));
    }

    proptest! {
        #[test]
        fn any_bytes_are_accepted_or_refused(bytes in proptest::collection::vec(any::<u8>(), 1..=16)) {
            let answer = Preamble { role: Role::Dialled, ..OURS }.to_bytes(None);
            let unchecked = Preamble { role: Role::Dialled, checksums: Checksums::Without }.to_bytes(None);
            prop_assert_eq!(judged(&bytes).is_ok(), answer.starts_with(&bytes) || unchecked.starts_with(&bytes));
        }
    }
}
