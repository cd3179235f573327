//! What a process proves itself with over TLS, and by what it knows its peers.
//!
//! Who belongs to a cluster has a certificate of the cluster's own certificate authority, and no other authority counts. The
//! certificate names the cluster (`<id>.quintet.internal`) instead of a host: machines may move.
#![cfg_attr(loom, allow(dead_code, reason = "loom knows no sockets"))]

use core::fmt;
use quintet_contract::Identity;
use ring::digest::{SHA256, digest};
use rustls::client::{Resumption, WebPkiServerVerifier, danger::ServerCertVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring as provider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{NoServerSessionStorage, ParsedCertificate, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{CertificateError, ClientConfig, Error, RootCertStore, ServerConfig};
use std::fmt::Write;
use std::sync::Arc;

/// What both sides must want to speak: a browser is turned away.
pub(crate) const PROTOCOL: &[u8] = b"quintet/1";
/// What a file may be long that holds two certificates and a key.
const LONGEST_TEXT: usize = 64 * 1024;
/// Bytes of the authority's fingerprint that name a cluster.
const CLUSTER_BYTES: usize = 16;

/// A certificate with its key, and the authority of its cluster. Its text and its comparison know the certificate only.
#[derive(Clone)]
pub struct Credentials {
    inner: Arc<Inner>,
}

struct Inner {
    dialling: Arc<ClientConfig>,
    listening: Arc<ServerConfig>,
    /// The name that every certificate of the cluster bears.
    cluster: ServerName<'static>,
    own: Identity,
}

/// Why credentials cannot be used. No variant shows anything of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CredentialsError {
    /// It is no text of a certificate, its authority's and a key.
    NotCredentials(&'static str),
    /// The key belongs to another certificate.
    OtherKey,
    /// The certificate was valid until some time ago.
    Expired,
    /// The certificate becomes valid later.
    NotYetValid,
    /// The authority that stands beside it did not sign it for its cluster.
    OtherAuthority,
    /// Something else is wrong with the certificate.
    BadCertificate(String),
}

impl fmt::Display for CredentialsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CredentialsError::NotCredentials(what) => {
                write!(f, "this is no identity: {what}; make one with quintet init or quintet identity issue")
            }
            CredentialsError::OtherKey => {
                f.write_str("key and certificate do not belong together; issue the identity anew")
            }
            CredentialsError::Expired => {
                f.write_str("its certificate has expired; issue a new one with quintet identity issue")
            }
            CredentialsError::NotYetValid => {
                f.write_str("its certificate is not valid yet; check this machine's clock")
            }
            CredentialsError::OtherAuthority => {
                f.write_str("another authority signed its certificate; issue the identity anew")
            }
            CredentialsError::BadCertificate(what) => {
                write!(f, "its certificate cannot be used: {what}; issue the identity anew")
            }
        }
    }
}

impl core::error::Error for CredentialsError {}

impl From<Error> for CredentialsError {
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidCertificate(
                CertificateError::Expired | CertificateError::ExpiredContext { .. },
            ) => CredentialsError::Expired,
            Error::InvalidCertificate(
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
            ) => CredentialsError::NotYetValid,
            Error::InvalidCertificate(
                CertificateError::UnknownIssuer
                | CertificateError::BadSignature
                | CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. },
            ) => CredentialsError::OtherAuthority,
            Error::InconsistentKeys(_) => CredentialsError::OtherKey,
            other => CredentialsError::BadCertificate(other.to_string()),
        }
    }
}

impl Credentials {
    /// From the text of an identity: the certificate, the authority's, and the key, each in PEM.
    ///
    /// # Errors
    /// [`CredentialsError`]: also of a certificate that is not valid now.
    pub fn from_pem(text: &[u8]) -> Result<Credentials, CredentialsError> {
        use CredentialsError::NotCredentials;
        if text.len() > LONGEST_TEXT {
            return Err(NotCredentials("it is too long"));
        }
        let certificates = CertificateDer::pem_slice_iter(text).collect::<Result<Vec<_>, _>>();
        let certificates = certificates.map_err(|_| NotCredentials("a certificate in it is damaged"))?;
        let [own, authority] = <[CertificateDer<'static>; 2]>::try_from(certificates)
            .map_err(|_| NotCredentials("it does not hold two certificates, its own and the authority's"))?;
        let mut keys = PrivateKeyDer::pem_slice_iter(text);
        let (Some(Ok(key)), None) = (keys.next(), keys.next()) else {
            return Err(NotCredentials("it does not hold one key"));
        };
        Credentials::new(own, authority, key)
    }

    fn new(
        own: CertificateDer<'static>,
        authority: CertificateDer<'static>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Credentials, CredentialsError> {
        let provider = Arc::new(suites());
        let cluster = cluster_of(&authority)?;
        let mut roots = RootCertStore::empty();
        roots.add(authority)?;
        let roots = Arc::new(roots);
        let servers = WebPkiServerVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
            .build()
            .map_err(|error| CredentialsError::BadCertificate(error.to_string()))?;
        // Peers will look at it in the same way.
        servers.verify_server_cert(&own, &[], &cluster, &[], UnixTime::now())?;
        let identity = fingerprint(&own)?;
        let key = provider.key_provider.load_private_key(key)?;
        let certified = CertifiedKey::new(vec![own], key);
        certified.keys_match()?;
        let certified = Arc::new(rustls::sign::SingleCertAndKey::from(certified));
        let clients = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider))
            .clear_root_hint_subjects()
            .build()
            .map_err(|error| CredentialsError::BadCertificate(error.to_string()))?;

        let mut dialling = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])?
            .with_webpki_verifier(servers)
            .with_client_cert_resolver(Arc::clone(&certified) as _);
        dialling.alpn_protocols = vec![PROTOCOL.to_vec()];
        dialling.resumption = Resumption::disabled();
        dialling.enable_sni = false;
        let mut listening = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])?
            .with_client_cert_verifier(clients)
            .with_cert_resolver(certified);
        listening.alpn_protocols = vec![PROTOCOL.to_vec()];
        listening.session_storage = Arc::new(NoServerSessionStorage {});
        listening.send_tls13_tickets = 0;
        let (dialling, listening) = (Arc::new(dialling), Arc::new(listening));
        Ok(Credentials { inner: Arc::new(Inner { dialling, listening, cluster, own: identity }) })
    }

    /// The fingerprint of the key: who this process proves to be.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.inner.own
    }

    pub(crate) fn dialling(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.inner.dialling)
    }

    pub(crate) fn listening(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.inner.listening)
    }

    /// The name that every certificate of the cluster bears.
    pub(crate) fn cluster(&self) -> &ServerName<'static> {
        &self.inner.cluster
    }

    /// Who the holder of a certificate is, whose chain was verified.
    ///
    /// # Errors
    /// The certificate is another cluster's, or none.
    pub(crate) fn known(&self, certificate: &CertificateDer<'_>) -> Result<Identity, Error> {
        verify_server_name(&ParsedCertificate::try_from(certificate)?, &self.inner.cluster)?;
        fingerprint(certificate)
    }
}

impl PartialEq for Credentials {
    fn eq(&self, other: &Self) -> bool {
        self.inner.own == other.inner.own
    }
}

impl Eq for Credentials {}

impl core::hash::Hash for Credentials {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.inner.own.hash(state);
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("identity", &self.inner.own).finish_non_exhaustive()
    }
}

/// The cipher suites of TLS 1.3, that of the shortest key first: it is the fastest, and no weaker than the keys of certificates.
fn suites() -> CryptoProvider {
    let cipher_suites = vec![
        provider::cipher_suite::TLS13_AES_128_GCM_SHA256,
        provider::cipher_suite::TLS13_AES_256_GCM_SHA384,
        provider::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
    ];
    CryptoProvider { cipher_suites, ..provider::default_provider() }
}

/// SHA-256 of the public key of a certificate.
fn fingerprint(certificate: &CertificateDer<'_>) -> Result<Identity, Error> {
    let key = ParsedCertificate::try_from(certificate)?.subject_public_key_info();
    let hash = digest(&SHA256, key.as_ref());
    Ok(Identity(hash.as_ref().try_into().expect("SHA-256 has 32 bytes")))
}

/// The name of the cluster of an authority: the front of its fingerprint.
fn cluster_of(authority: &CertificateDer<'_>) -> Result<ServerName<'static>, Error> {
    let Identity(hash) = fingerprint(authority)?;
    let mut name = String::new();
    for byte in &hash[..CLUSTER_BYTES] {
        let _ = write!(name, "{byte:02x}");
    }
    name.push_str(".quintet.internal");
    Ok(ServerName::try_from(name).expect("hexadecimal digits are a name"))
}
