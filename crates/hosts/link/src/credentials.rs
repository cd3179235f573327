//! What a process proves itself with over TLS, and by what it knows its peers.
//!
//! Who belongs to a cluster has a certificate of the cluster's own certificate authority, and no other authority counts. The
//! certificate names the cluster (`<id>.quintet.internal`) instead of a host: machines may move. Beside them, who listens may have a rule
//! ([`Credentials::admitting`]) that decides about each peer, and may let in the holders of tokens: they have a key that no authority
//! knows, and know a cluster by its number.
//!
//! | file | holds |
//! | --- | --- |
//! | `admission.rs` | [`Proof`], and who asks the rule about it |
//! | `pinned.rs` | by what the holder of a token knows the cluster |
//! | `shown.rs` | the certificate that is shown, until it is renewed |
//! | `error.rs` | [`CredentialsError`] |
#![cfg_attr(loom, allow(dead_code, reason = "loom knows no sockets"))]

mod admission;
mod error;
mod pinned;
mod shown;

pub use admission::{Admission, Proof};
pub(crate) use admission::{heard_from, last_ruled_out};
pub use error::CredentialsError;

use admission::Doorkeeper;
use core::fmt;
use pinned::Pinned;
use quintet_contract::Identity;
use ring::digest::{SHA256, digest};
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring as provider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, ParsedCertificate, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{ClientConfig, Error, RootCertStore, ServerConfig};
use shown::Shown;
use std::sync::Arc;

/// What both sides must want to speak: a browser is turned away.
pub(crate) const PROTOCOL: &[u8] = b"quintet/1";
/// What a file may be long that holds two certificates and a key.
const LONGEST_TEXT: usize = 64 * 1024;

/// A certificate with its key, and the authority of its cluster. Its text and its comparison know the key's fingerprint only.
#[derive(Clone)]
pub struct Credentials {
    inner: Arc<Inner>,
}

struct Inner {
    dialling: Arc<ClientConfig>,
    /// None of a token: its holder only dials.
    listening: Option<Arc<ServerConfig>>,
    /// By what this process knows who listens, and who dials.
    servers: Arc<dyn ServerCertVerifier>,
    clients: Option<Arc<dyn ClientCertVerifier>>,
    /// The name that every certificate of the cluster bears.
    cluster: ServerName<'static>,
    own: Identity,
    shown: Arc<Shown>,
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
        Credentials::of_member(own, authority, only_key(text)?)
    }

    /// From what `quintet_identity::Token::key` gives, a key and the certificate that it signed itself in PEM, and the number of the cluster.
    /// With it a process can dial, where the token is outstanding, and not listen.
    ///
    /// # Errors
    /// [`CredentialsError`].
    pub fn of_token(text: &[u8], cluster: u128) -> Result<Credentials, CredentialsError> {
        use CredentialsError::NotCredentials;
        if text.len() > LONGEST_TEXT {
            return Err(NotCredentials("it is too long"));
        }
        let own =
            CertificateDer::from_pem_slice(text).map_err(|_| NotCredentials("it has no certificate"))?;
        let provider = Arc::new(suites());
        let own_identity = fingerprint(&own)?;
        let shown = Arc::new(Shown::new(certified(&provider, own, only_key(text)?)?, None));
        let cluster = name_of(cluster);
        let servers: Arc<dyn ServerCertVerifier> =
            Arc::new(Pinned::new(cluster.clone(), Arc::clone(&provider)));
        let dialling = Arc::new(dialling(provider, Arc::clone(&servers), &shown)?);
        let (listening, clients) = (None, None);
        let inner = Inner { dialling, listening, servers, clients, cluster, own: own_identity, shown };
        Ok(Credentials { inner: Arc::new(inner) })
    }

    fn of_member(
        own: CertificateDer<'static>,
        authority: CertificateDer<'static>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Credentials, CredentialsError> {
        let provider = Arc::new(suites());
        let cluster = cluster_of(&authority)?;
        let mut roots = RootCertStore::empty();
        roots.add(authority.clone())?;
        let roots = Arc::new(roots);
        let unusable = |what: String| CredentialsError::BadCertificate(what);
        let servers = WebPkiServerVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
            .build()
            .map_err(|error| unusable(error.to_string()))?;
        // Peers will look at it in the same way.
        servers.verify_server_cert(&own, &[], &cluster, &[], UnixTime::now())?;
        let identity = fingerprint(&own)?;
        let clients = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider))
            .clear_root_hint_subjects()
            .build()
            .map_err(|error| unusable(error.to_string()))?;
        let shown = Arc::new(Shown::new(certified(&provider, own, key)?, Some(authority)));
        let dialling = dialling(Arc::clone(&provider), Arc::clone(&servers) as _, &shown)?;
        let listening = Some(Arc::new(listening(provider, Arc::clone(&clients), &shown)?));
        let (dialling, clients) = (Arc::new(dialling), Some(clients));
        let inner = Inner { dialling, listening, servers, clients, cluster, own: identity, shown };
        Ok(Credentials { inner: Arc::new(inner) })
    }

    /// The same, where this rule decides about each peer besides: about who dials, once it has proved who it is, and about who is dialled.
    /// It alone can let in who has no certificate of the cluster, which must be the holder of a token then. It is asked while a link is
    /// made, by the thread that makes it, and must not wait.
    ///
    /// # Errors
    /// [`CredentialsError::BadCertificate`]: the library refuses its own configuration.
    pub fn admitting(&self, rule: Admission) -> Result<Credentials, CredentialsError> {
        let Inner { servers, clients, cluster, own, shown, .. } = &*self.inner;
        let provider = Arc::new(suites());
        let servers: Arc<dyn ServerCertVerifier> =
            Arc::new(Doorkeeper::new(Arc::clone(servers), Arc::clone(&rule)));
        let clients = clients.as_ref().map(|clients| {
            let doorkeeper = Doorkeeper::new(Arc::clone(clients), rule);
            Arc::new(doorkeeper) as Arc<dyn ClientCertVerifier>
        });
        let dialling = Arc::new(dialling(Arc::clone(&provider), Arc::clone(&servers), shown)?);
        let listening = clients.clone().map(|clients| listening(provider, clients, shown)).transpose()?;
        let listening = listening.map(Arc::new);
        let (cluster, own, shown) = (cluster.clone(), *own, Arc::clone(shown));
        let inner = Inner { dialling, listening, servers, clients, cluster, own, shown };
        Ok(Credentials { inner: Arc::new(inner) })
    }

    /// Shows another certificate for the same key from now on, given as the text of an identity: in links that are made later, of listeners
    /// that are there too, and wherever these credentials were copied to. Links that are there stay.
    ///
    /// # Errors
    /// [`CredentialsError`]: it is none, or not valid now, or for another key ([`CredentialsError::OtherKey`]). Then all is as before.
    pub fn renew(&self, text: &[u8]) -> Result<(), CredentialsError> {
        let new = Credentials::from_pem(text)?;
        if new.inner.own != self.inner.own {
            return Err(CredentialsError::OtherKey);
        }
        if new.inner.cluster != self.inner.cluster {
            return Err(CredentialsError::OtherAuthority);
        }
        self.inner.shown.take_over(&new.inner.shown);
        Ok(())
    }

    /// The cluster's number: the front of the fingerprint of its authority.
    #[must_use]
    pub fn cluster_number(&self) -> u128 {
        let name = self.inner.cluster.to_str();
        let digits = name.split_once('.').map_or(&*name, |(digits, _)| digits);
        u128::from_str_radix(digits, 16).expect("the name begins with the number's digits")
    }

    /// The fingerprint of the key: who this process proves to be.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.inner.own
    }

    pub(crate) fn dialling(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.inner.dialling)
    }

    /// None of a token.
    pub(crate) fn listening(&self) -> Option<Arc<ServerConfig>> {
        self.inner.listening.clone()
    }

    /// The name that every certificate of the cluster bears.
    pub(crate) fn cluster(&self) -> &ServerName<'static> {
        &self.inner.cluster
    }

    /// Who the holder of a certificate is, which the handshake has found good.
    ///
    /// # Errors
    /// The certificate is another cluster's, or none.
    pub(crate) fn known(&self, certificate: &CertificateDer<'_>) -> Result<Proof, Error> {
        let proof = Proof::of(certificate)?;
        if proof.is_of_cluster {
            verify_server_name(&ParsedCertificate::try_from(certificate)?, &self.inner.cluster)?;
        }
        Ok(proof)
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

/// How a process dials, that knows who listens by that.
fn dialling(
    provider: Arc<CryptoProvider>,
    servers: Arc<dyn ServerCertVerifier>,
    shown: &Arc<Shown>,
) -> Result<ClientConfig, Error> {
    let mut dialling = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(servers)
        .with_client_cert_resolver(Arc::clone(shown) as _);
    dialling.alpn_protocols = vec![PROTOCOL.to_vec()];
    dialling.resumption = Resumption::disabled();
    dialling.enable_sni = false;
    Ok(dialling)
}

/// How it listens, and knows who dials by that.
fn listening(
    provider: Arc<CryptoProvider>,
    clients: Arc<dyn ClientCertVerifier>,
    shown: &Arc<Shown>,
) -> Result<ServerConfig, Error> {
    let mut listening = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(clients)
        .with_cert_resolver(Arc::clone(shown) as _);
    listening.alpn_protocols = vec![PROTOCOL.to_vec()];
    listening.session_storage = Arc::new(NoServerSessionStorage {});
    listening.send_tls13_tickets = 0;
    Ok(listening)
}

/// The only key of a text.
fn only_key(text: &[u8]) -> Result<PrivateKeyDer<'static>, CredentialsError> {
    let mut keys = PrivateKeyDer::pem_slice_iter(text);
    match (keys.next(), keys.next()) {
        (Some(Ok(key)), None) => Ok(key),
        _ => Err(CredentialsError::NotCredentials("it does not hold one key")),
    }
}

/// A certificate with its key, that belong together.
fn certified(
    provider: &CryptoProvider,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
) -> Result<CertifiedKey, Error> {
    let certified = CertifiedKey::new(vec![certificate], provider.key_provider.load_private_key(key)?);
    certified.keys_match()?;
    Ok(certified)
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
    let front = hash.first_chunk().expect("SHA-256 has 32 bytes");
    Ok(name_of(u128::from_be_bytes(*front)))
}

/// The name of the cluster of that number.
fn name_of(cluster: u128) -> ServerName<'static> {
    let name = format!("{cluster:032x}.quintet.internal");
    ServerName::try_from(name).expect("hexadecimal digits are a name")
}
