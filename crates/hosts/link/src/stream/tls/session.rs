//! One TLS connection, whichever side began it: takes records apart, and makes them.

use crate::credentials::{Credentials, PROTOCOL, Proof};
use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncryptError, InsufficientSizeError, UnbufferedConnectionCommon,
    UnbufferedStatus, WriteTraffic,
};
use rustls::{Error, PeerMisbehaved};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a record's header: its type, its version, its length.
pub(super) const RECORD_HEADER_BYTES: usize = 5;
/// What a record carries at most.
pub(super) const RECORD_BYTES: usize = 1 << 14;
/// And what it may be longer by, than what it carries.
pub(super) const RECORD_OVERHEAD: usize = RECORD_HEADER_BYTES + 256;

/// One TLS connection.
pub(crate) struct Session {
    side: Side,
    credentials: Credentials,
    /// Records of the library's own that are to be sent before the next one.
    said: Vec<u8>,
    /// Nothing can be done with it any more.
    failed: bool,
}

enum Side {
    Dialled(Box<UnbufferedClientConnection>),
    Listened(Box<UnbufferedServerConnection>),
}

/// What became of the bytes that came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Some of them carried data, which was taken. There may be more.
    Took,
    /// Something was done for the library. There may be more.
    Again,
    /// More bytes are needed for the handshake.
    Blocked,
    /// All records were taken; both sides are known, and may send.
    Open,
    /// The peer sends no more.
    PeerClosed,
}

/// A session for both halves of an end.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Mutex<Session>>);

impl Shared {
    /// A panic while the lock is held leaves a session that has failed or goes on: both are as good as any.
    pub(super) fn lock(&self) -> MutexGuard<'_, Session> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<Session> for Shared {
    fn from(session: Session) -> Self {
        Shared(Arc::new(Mutex::new(session)))
    }
}

impl Session {
    pub(super) fn dialled(credentials: Credentials) -> Result<Self, Error> {
        let connection =
            UnbufferedClientConnection::new(credentials.dialling(), credentials.cluster().clone())?;
        Ok(Session::new(Side::Dialled(Box::new(connection)), credentials))
    }

    pub(super) fn listened(credentials: Credentials) -> Result<Self, Error> {
        let listening = credentials.listening();
        let listening = listening.ok_or(Error::General("who has a token only dials".to_owned()))?;
        let connection = UnbufferedServerConnection::new(listening)?;
        Ok(Session::new(Side::Listened(Box::new(connection)), credentials))
    }

    fn new(side: Side, credentials: Credentials) -> Self {
        Session { side, credentials, said: Vec::new(), failed: false }
    }

    /// Takes the front of what came, and says how much of it is done with. `take` is given the data of a record.
    ///
    /// # Errors
    /// What came is no TLS, or nobody who is trusted said it. For good.
    pub(super) fn open(
        &mut self,
        incoming: &mut [u8],
        take: &mut dyn FnMut(&[u8]),
    ) -> (usize, Result<Step, Error>) {
        let records = whole_records(incoming);
        let (said, failed) = (&mut self.said, &mut self.failed);
        let (discard, step) = match &mut self.side {
            Side::Dialled(connection) => step(connection.process_tls_records(incoming), said, take),
            Side::Listened(connection) => step(connection.process_tls_records(incoming), said, take),
        };
        // The library keeps a part of a message in the bytes that it was given. Behind the handshake nobody sends parts, and the
        // other half of the end has not got these bytes.
        let is_part = step == Ok(Step::Open) && discard < records;
        let step = if is_part { Err(PeerMisbehaved::KeyEpochWithPendingFragment.into()) } else { step };
        *failed |= step.is_err();
        (discard, step)
    }

    /// Whether the peer has proved who it is, and nothing is wrong with that.
    ///
    /// # Errors
    /// It is nobody of this cluster, or wants another protocol.
    pub(super) fn peer(&self) -> Result<Proof, Error> {
        let (is_handshaking, certificates, protocol) = match &self.side {
            Side::Dialled(connection) => facts(connection),
            Side::Listened(connection) => facts(connection),
        };
        if is_handshaking {
            return Err(Error::HandshakeNotComplete);
        }
        if protocol != Some(PROTOCOL) {
            return Err(Error::NoApplicationProtocol);
        }
        let certificate = certificates.and_then(<[_]>::first).ok_or(Error::NoCertificatesPresented)?;
        self.credentials.known(certificate)
    }

    /// Encrypts to the front of `out`, behind what the library has to say. How many bytes lie there.
    ///
    /// # Errors
    /// There is too little room, or the session has failed.
    pub(super) fn seal(&mut self, bytes: &[u8], out: &mut [u8]) -> Result<usize, EncryptError> {
        self.write(out, |traffic, out| traffic.encrypt(bytes, out))
    }

    /// As [`Session::seal`], that nothing more is sent.
    ///
    /// # Errors
    /// As [`Session::seal`].
    pub(super) fn seal_close(&mut self, out: &mut [u8]) -> Result<usize, EncryptError> {
        self.write(out, |traffic, out| traffic.queue_close_notify(out))
    }

    /// Whether the handshake is over.
    pub(super) fn is_open(&self) -> bool {
        !self.failed
            && match &self.side {
                Side::Dialled(connection) => !connection.is_handshaking(),
                Side::Listened(connection) => !connection.is_handshaking(),
            }
    }

    /// Has these records sent before the next one.
    pub(super) fn say(&mut self, records: &[u8]) {
        self.said.extend_from_slice(records);
    }

    /// What the library has to say, once.
    pub(super) fn take_said(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.said)
    }

    fn write(
        &mut self,
        out: &mut [u8],
        write: impl FnOnce(&mut dyn Traffic, &mut [u8]) -> Result<usize, EncryptError>,
    ) -> Result<usize, EncryptError> {
        if self.failed {
            return Err(EncryptError::EncryptExhausted);
        }
        let ahead = self.said.len();
        let Some((front, rest)) = out.split_at_mut_checked(ahead) else {
            return Err(InsufficientSizeError { required_size: ahead }.into());
        };
        front.copy_from_slice(&self.said);
        let written = match &mut self.side {
            Side::Dialled(connection) => sealing(connection.process_tls_records(&mut []), rest, write),
            Side::Listened(connection) => sealing(connection.process_tls_records(&mut []), rest, write),
        }?;
        self.said.clear();
        Ok(ahead + written)
    }
}

/// The bytes of the whole records at the front.
pub(super) fn whole_records(bytes: &[u8]) -> usize {
    let mut whole = 0;
    while let Some(len) = record_bytes(&bytes[whole..]).filter(|len| *len <= bytes.len() - whole) {
        whole += len;
    }
    whole
}

/// The bytes of the record at the front, if its header is there.
pub(super) fn record_bytes(bytes: &[u8]) -> Option<usize> {
    let header = bytes.first_chunk::<RECORD_HEADER_BYTES>()?;
    Some(RECORD_HEADER_BYTES + usize::from(u16::from_be_bytes([header[3], header[4]])))
}

type Facts<'a> = (bool, Option<&'a [rustls::pki_types::CertificateDer<'static>]>, Option<&'a [u8]>);

fn facts<Data>(connection: &UnbufferedConnectionCommon<Data>) -> Facts<'_> {
    (connection.is_handshaking(), connection.peer_certificates(), connection.alpn_protocol())
}

/// Does what the library asks for.
fn step<Data>(
    status: UnbufferedStatus<'_, '_, Data>,
    said: &mut Vec<u8>,
    take: &mut dyn FnMut(&[u8]),
) -> (usize, Result<Step, Error>) {
    let UnbufferedStatus { discard, state } = status;
    let step = state.and_then(|state| match state {
        ConnectionState::ReadTraffic(mut traffic) => {
            while let Some(record) = traffic.next_record() {
                take(record?.payload);
            }
            Ok(Step::Took)
        }
        ConnectionState::EncodeTlsData(mut data) => {
            let start = said.len();
            if let Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) =
                data.encode(&mut [])
            {
                said.resize(start + required_size, 0);
                data.encode(&mut said[start..]).map_err(|error| Error::General(error.to_string()))?;
            }
            Ok(Step::Again)
        }
        ConnectionState::TransmitTlsData(data) => {
            data.done();
            Ok(Step::Again)
        }
        ConnectionState::BlockedHandshake => Ok(Step::Blocked),
        ConnectionState::WriteTraffic(_) => Ok(Step::Open),
        ConnectionState::PeerClosed | ConnectionState::Closed => Ok(Step::PeerClosed),
        other => Err(Error::General(format!("nothing is done about {other:?}"))),
    });
    (discard, step)
}

/// What writes records, of either side.
trait Traffic {
    fn encrypt(&mut self, bytes: &[u8], out: &mut [u8]) -> Result<usize, EncryptError>;
    fn queue_close_notify(&mut self, out: &mut [u8]) -> Result<usize, EncryptError>;
}

impl<Data> Traffic for WriteTraffic<'_, Data> {
    fn encrypt(&mut self, bytes: &[u8], out: &mut [u8]) -> Result<usize, EncryptError> {
        WriteTraffic::encrypt(self, bytes, out)
    }

    fn queue_close_notify(&mut self, out: &mut [u8]) -> Result<usize, EncryptError> {
        WriteTraffic::queue_close_notify(self, out)
    }
}

fn sealing<Data>(
    status: UnbufferedStatus<'_, '_, Data>,
    out: &mut [u8],
    write: impl FnOnce(&mut dyn Traffic, &mut [u8]) -> Result<usize, EncryptError>,
) -> Result<usize, EncryptError> {
    match status.state {
        Ok(ConnectionState::WriteTraffic(mut traffic)) => write(&mut traffic, out),
        _ => Err(EncryptError::EncryptExhausted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_identity::{Authority, Validity};

    /// Gives one what the other has to say, until it is taken. What it came to.
    fn hand_over(from: &mut Session, to: &mut Session) -> Result<Step, Error> {
        let mut records = from.take_said();
        loop {
            let (discard, step) = to.open(&mut records, &mut |_| panic!("nobody has sent data"));
            records.drain(..discard);
            if step != Ok(Step::Again) {
                return step;
            }
        }
    }

    /// Both sides of a session whose handshake is over.
    fn pair() -> [Session; 2] {
        let identity = Authority::new().and_then(|authority| authority.issue("a", Validity::days(1)));
        let credentials = Credentials::from_pem(identity.expect("randomness").as_bytes()).expect("valid now");
        let mut near = Session::dialled(credentials.clone()).expect("it is configured");
        let mut far = Session::listened(credentials).expect("it is configured");
        let mut nobody = [];
        while near.open(&mut nobody, &mut |_| {}).1 == Ok(Step::Again) {}
        assert_eq!(near.peer(), Err(Error::HandshakeNotComplete));
        assert_eq!(hand_over(&mut near, &mut far), Ok(Step::Blocked));
        assert_eq!(hand_over(&mut far, &mut near), Ok(Step::Open));
        assert_eq!(far.peer(), Err(Error::HandshakeNotComplete), "it waits for the proof");
        assert_eq!(hand_over(&mut near, &mut far), Ok(Step::Open));
        assert_eq!(near.peer(), far.peer(), "both have the same identity");
        [near, far]
    }

    #[test]
    fn a_session_that_has_failed_encrypts_no_more() {
        let [mut near, mut far] = pair();
        let mut out = [0; 1_000];
        assert_eq!(near.seal(b"data", &mut out).expect("there is room"), 4 + RECORD_HEADER_BYTES + 17);
        out[10] ^= 1;
        let (_, step) = far.open(&mut out[..26], &mut |_| panic!("it was changed"));
        assert_eq!(step, Err(Error::DecryptError));
        assert!(far.seal(b"data", &mut out).is_err());
        assert!(far.seal_close(&mut out).is_err());
        assert!(!far.is_open() && near.is_open());
    }

    #[test]
    fn what_does_not_fit_is_said_later() {
        let [mut near, mut far] = pair();
        near.say(b"said before");
        assert!(near.seal(b"data", &mut [0; 5]).is_err());
        let mut out = [0; 1_000];
        let count = near.seal(b"data", &mut out).expect("there is room");
        assert_eq!((&out[..11], count), (&b"said before"[..], 11 + 26));
        let (discard, step) = far.open(&mut out[11..count], &mut |data| assert_eq!(data, b"data"));
        assert_eq!((discard, step), (26, Ok(Step::Took)));
    }

    #[test]
    fn whole_records_are_counted_from_their_headers() {
        let record = |len: u16| [&[0x17, 3, 3][..], &len.to_be_bytes(), &vec![0; len.into()]].concat();
        let two = [record(0), record(300)].concat();
        assert_eq!(whole_records(&two), 310);
        assert_eq!(whole_records(&two[..309]), 5);
        assert_eq!(whole_records(&two[..4]), 0);
        assert_eq!(record_bytes(&two[5..10]), Some(305));
    }
}
