//! Who is let in besides what certificates say: a rule of the program's own is asked about each peer.

use super::fingerprint;
use core::cell::Cell;
use core::fmt;
use core::net::SocketAddr;
use quintet_contract::Identity;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use std::sync::Arc;

/// What a peer has proved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Proof {
    /// The fingerprint of its key.
    pub identity: Identity,
    /// The cluster's authority has signed a certificate of that key, which is valid now. If not, the peer has shown an Ed25519 key that nobody
    /// vouches for, as a token's is.
    pub is_of_cluster: bool,
    /// From where it comes; none of who was dialled.
    pub from: Option<SocketAddr>,
}

impl Proof {
    /// What its holder proves who has the key of this certificate, and whose certificate was found good.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn of(certificate: &CertificateDer<'_>) -> Result<Proof, Error> {
        let (identity, from) = (fingerprint(certificate)?, HEARD_FROM.get());
        Ok(Proof { identity, is_of_cluster: !is_outsider(certificate)?, from })
    }
}

/// Whether a peer that has proved that is let in.
pub type Admission = Arc<dyn Fn(&Proof) -> bool + Send + Sync>;

/// What the certificate of a token's holder may be long.
const LONGEST_OUTSIDER: usize = 1024;
/// An Ed25519 public key in a certificate, without its 32 bytes (RFC 8410, section 4).
const ED25519: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

thread_local! {
    /// Whom the rule has turned away last, on this thread: the library asks while it takes what came, and hands nothing of that through.
    static RULED_OUT: Cell<Option<Identity>> = const { Cell::new(None) };
    /// From where it comes who is heard now, on this thread.
    static HEARD_FROM: Cell<Option<SocketAddr>> = const { Cell::new(None) };
}

/// Does this while the rule is told that who is heard comes from there.
pub(crate) fn heard_from<T>(from: Option<SocketAddr>, hear: impl FnOnce() -> T) -> T {
    HEARD_FROM.set(from);
    let heard = hear();
    HEARD_FROM.set(None);
    heard
}

/// Who was turned away by the rule a moment ago, on this thread. It has proved who it is.
pub(crate) fn last_ruled_out() -> Option<Identity> {
    RULED_OUT.take()
}

/// Whether a certificate is of a key as tokens have them. Members' keys are on P-256.
fn is_outsider(certificate: &CertificateDer<'_>) -> Result<bool, Error> {
    let key = ParsedCertificate::try_from(certificate)?.subject_public_key_info();
    Ok(key.starts_with(&ED25519))
}

/// Verifies as another does, and then asks the rule. That happens when the peer has proved that the key is its own, so that the rule learns of
/// nobody who has only seen somebody's certificate.
pub(super) struct Doorkeeper<V: ?Sized> {
    members: Arc<V>,
    rule: Admission,
}

impl<V: ?Sized> Doorkeeper<V> {
    pub(super) fn new(members: Arc<V>, rule: Admission) -> Self {
        Doorkeeper { members, rule }
    }

    fn ask(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        let proof = Proof::of(certificate)?;
        let refused = Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure);
        if (self.rule)(&proof) {
            return Ok(());
        }
        RULED_OUT.set(Some(proof.identity));
        Err(refused)
    }
}

impl<V: ?Sized> fmt::Debug for Doorkeeper<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Doorkeeper").finish_non_exhaustive()
    }
}

impl ClientCertVerifier for Doorkeeper<dyn ClientCertVerifier> {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.members.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        // Nobody vouches for such a key: what counts is that the peer has it, and that the rule knows it.
        if others.is_empty() && certificate.len() <= LONGEST_OUTSIDER && is_outsider(certificate)? {
            return Ok(ClientCertVerified::assertion());
        }
        self.members.verify_client_cert(certificate, others, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.members.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let valid = self.members.verify_tls13_signature(message, certificate, signed)?;
        self.ask(certificate).map(|()| valid)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.members.supported_verify_schemes()
    }
}

impl ServerCertVerifier for Doorkeeper<dyn ServerCertVerifier> {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.members.verify_server_cert(certificate, others, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.members.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let valid = self.members.verify_tls13_signature(message, certificate, signed)?;
        self.ask(certificate).map(|()| valid)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.members.supported_verify_schemes()
    }
}
