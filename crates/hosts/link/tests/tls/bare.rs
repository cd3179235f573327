//! The other side, made of the library alone: it shows and checks what it likes.

use crate::cluster::PATIENCE;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::crypto::{CryptoProvider, ring::default_provider, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::TLS13;
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore, ServerConfig,
    ServerConnection, SignatureScheme, StreamOwned,
};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

/// A client that trusts everybody.
pub(crate) type Client = StreamOwned<ClientConnection, TcpStream>;

#[derive(Debug)]
struct Anybody(CryptoProvider);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        unreachable!("TLS 1.3 only")
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// The own certificate of an identity, and its key.
fn parts(identity: &str) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let certificate = CertificateDer::from_pem_slice(identity.as_bytes()).expect("it has one");
    let key = PrivateKeyDer::from_pem_slice(identity.as_bytes()).expect("it has one");
    (vec![certificate], key)
}

/// With one cipher suite, as tests take it apart.
fn fastest() -> CryptoProvider {
    CryptoProvider { cipher_suites: vec![TLS13_AES_128_GCM_SHA256], ..default_provider() }
}

/// Connects, and shows that identity if there is one.
pub(crate) fn client(port: u16, identity: Option<&str>, protocols: &[&str]) -> Client {
    let shown = identity.map(|identity| {
        let (chain, key) = parts(identity);
        CertifiedKey::new(chain, default_provider().key_provider.load_private_key(key).expect("it is one"))
    });
    client_showing(port, shown, protocols)
}

/// Connects, and shows that certificate if there is one, with that key, which may be another's.
pub(crate) fn client_showing(port: u16, shown: Option<CertifiedKey>, protocols: &[&str]) -> Client {
    let config = ClientConfig::builder_with_provider(Arc::new(fastest()))
        .with_protocol_versions(&[&TLS13])
        .expect("it has them")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody(default_provider())));
    let mut config = match shown {
        Some(shown) => config.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(shown))),
        None => config.with_no_client_auth(),
    };
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    config.enable_secret_extraction = true;
    let name = ServerName::try_from("localhost").expect("a name");
    let connection = ClientConnection::new(Arc::new(config), name).expect("it is configured");
    let socket = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    socket.set_read_timeout(Some(PATIENCE)).expect("a time");
    StreamOwned::new(connection, socket)
}

/// Serves whoever has connected, and shows that identity, until the connection ends.
pub(crate) fn serve(socket: TcpStream, identity: &str) {
    let (chain, key) = parts(identity);
    serve_showing(socket, chain, key);
}

/// The same with that chain.
pub(crate) fn serve_showing(
    socket: TcpStream,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) {
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&TLS13])
        .expect("it has them")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("they fit");
    told(StreamOwned::new(server(config), socket));
}

/// Serves whoever has connected, and finds out what certificates it shows, of that authority.
pub(crate) fn certificates_of(socket: TcpStream, identity: &str) -> Vec<CertificateDer<'static>> {
    let (chain, key) = parts(identity);
    let authority = CertificateDer::pem_slice_iter(identity.as_bytes()).nth(1).expect("it has two");
    let mut roots = RootCertStore::empty();
    roots.add(authority.expect("it is one")).expect("it is an authority");
    let provider = Arc::new(default_provider());
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .expect("it has them")
        .with_client_cert_verifier(clients.expect("it has a root"))
        .with_single_cert(chain, key)
        .expect("they fit");
    let mut peer = StreamOwned::new(server(config), socket);
    peer.read_exact(&mut [0; 16]).expect("its preamble");
    peer.conn.peer_certificates().expect("it has shown one").to_vec()
}

fn server(mut config: ServerConfig) -> ServerConnection {
    config.alpn_protocols = vec![b"quintet/1".to_vec()];
    ServerConnection::new(Arc::new(config)).expect("it is configured")
}

/// What it is told until the connection ends, and how that was put.
pub(crate) fn told(mut peer: impl Read + Write) -> (Vec<u8>, String) {
    let mut bytes = Vec::new();
    let ended = peer.flush().and_then(|()| peer.read_to_end(&mut bytes));
    (bytes, ended.err().map_or_else(String::new, |error| error.to_string()))
}
