//! The certificate that a process shows, until it is renewed.

use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::pki_types::CertificateDer;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::sync::{Arc, PoisonError, RwLock};

/// The certificate that a process shows. Looked at once a handshake.
#[derive(Debug)]
pub(super) struct Shown(RwLock<Faces>);

#[derive(Clone, Debug)]
struct Faces {
    to_servers: Arc<CertifiedKey>,
    /// With the authority's own certificate behind it: who has a token knows of the authority only the front of its fingerprint.
    to_clients: Arc<CertifiedKey>,
}

impl Shown {
    pub(super) fn new(own: CertifiedKey, authority: Option<CertificateDer<'static>>) -> Shown {
        let mut with_authority = own.clone();
        with_authority.cert.extend(authority);
        Shown(RwLock::new(Faces { to_servers: Arc::new(own), to_clients: Arc::new(with_authority) }))
    }

    /// From now on it is what the other one is.
    pub(super) fn take_over(&self, other: &Shown) {
        let faces = other.faces();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = faces;
    }

    fn faces(&self) -> Faces {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.faces().to_clients)
    }
}

impl ResolvesClientCert for Shown {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(self.faces().to_servers)
    }

    fn has_certs(&self) -> bool {
        true
    }
}
