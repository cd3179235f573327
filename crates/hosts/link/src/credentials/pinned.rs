//! By what the holder of a token knows the cluster: its number is the front of the fingerprint of the authority's key.
//!
//! Who listens sends the authority's certificate behind its own. That one counts if its key has that fingerprint; all else is verified as
//! between members. 16 bytes are enough: to be taken for the cluster somebody would have to find a second key with the same ones.

use super::cluster_of;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, DigitallySignedStruct, Error, PeerIncompatible, RootCertStore, SignatureScheme,
};
use std::sync::Arc;

/// Verifies who listens by the number of the cluster alone.
#[derive(Debug)]
pub(super) struct Pinned {
    /// Has that number in it.
    cluster: ServerName<'static>,
    provider: Arc<CryptoProvider>,
}

impl Pinned {
    pub(super) fn new(cluster: ServerName<'static>, provider: Arc<CryptoProvider>) -> Pinned {
        Pinned { cluster, provider }
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let stranger = Error::InvalidCertificate(CertificateError::UnknownIssuer);
        // One is sent by who knows what this is for.
        let [authority] = others else { return Err(stranger) };
        if cluster_of(authority)? != self.cluster {
            return Err(stranger);
        }
        let mut roots = RootCertStore::empty();
        roots.add(authority.clone())?;
        let provider = Arc::clone(&self.provider);
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| Error::General(error.to_string()))?
            .verify_server_cert(certificate, &[], name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::PeerIncompatible(PeerIncompatible::Tls12NotOffered))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
