//! A certificate that is renewed while its holder runs.

use crate::bare::{certificates_of, client};
use crate::cluster::{
    PATIENCE, accept, at, authority, connecting, credentials, expired, identity, listening, serves,
};
use quintet_identity::{Authority, Enrolling, Validity};
use quintet_link::{CredentialsError, ListenLimits, StreamListener};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::io::Write;
use std::net::TcpListener;
use std::thread;

/// The same identity with a new certificate.
fn renewed(authority: &Authority, identity: &str) -> String {
    let asker = credentials(identity).identity();
    let renewing = Enrolling::renewing(identity.as_bytes(), "a").expect("it is one");
    let request = renewing.request().expect("randomness");
    let certificate = authority.sign(&request, &asker.0, "a", Validity::days(30)).expect("it is its own key");
    renewing.finish(&certificate, authority.certificate()).expect("it is for it")
}

fn own(identity: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(identity.as_bytes()).expect("it has one")
}

#[test]
fn a_listener_shows_the_new_certificate_without_a_pause() {
    let authority = authority();
    let old = identity(&authority);
    let new = renewed(&authority, &old);
    assert_ne!(own(&old), own(&new));
    let who = credentials(&old);
    let (mut listener, port) = listening(who.clone(), ListenLimits::default());
    let seen = |listener: &mut StreamListener| {
        let mut peer = client(port, Some(&old), &["quintet/1"]);
        let peer = thread::spawn(move || {
            peer.write_all(b"QNST\x01\0\0\0\x01\0\0\0\0\0\x10\0").expect("it listens");
            peer.conn.peer_certificates().expect("it has shown them").to_vec()
        });
        accept(listener).expect("it is let in");
        peer.join().expect("it does not panic")
    };
    assert_eq!(seen(&mut listener), [own(&old), own(authority.certificate())]);
    who.renew(new.as_bytes()).expect("it is for the same key");
    assert_eq!(seen(&mut listener), [own(&new), own(authority.certificate())]);
    serves(&mut listener);
}

#[test]
fn who_dials_shows_the_new_certificate_too_wherever_its_credentials_are() {
    let authority = authority();
    let old = identity(&authority);
    let new = renewed(&authority, &old);
    let who = credentials(&old);
    let copy = who.admitting(std::sync::Arc::new(|_| true)).expect("it is configured");
    let server = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = server.local_addr().expect("bound").port();
    let far = identity(&authority);
    let seen = || {
        let refused = connecting(at(port, Some(copy.clone())));
        let socket = server.accept().expect("it dials").0;
        socket.set_read_timeout(Some(PATIENCE)).expect("a time");
        let seen = certificates_of(socket, &far);
        // It was not answered.
        assert!(refused.join().expect("it does not panic").is_err());
        seen
    };
    assert_eq!(seen(), [own(&old)]);
    who.renew(new.as_bytes()).expect("it is for the same key");
    assert_eq!(seen(), [own(&new)]);
}

#[test]
fn only_the_same_key_of_the_same_cluster_takes_its_place() {
    let authority = authority();
    let old = identity(&authority);
    let who = credentials(&old);
    let refused = |text: &str| who.renew(text.as_bytes()).expect_err("it is another's");
    assert_eq!(refused(&identity(&authority)), CredentialsError::OtherKey);
    assert_eq!(refused(&expired(&authority)), CredentialsError::Expired);
    assert!(matches!(refused("nonsense"), CredentialsError::NotCredentials(_)));
    let other = crate::cluster::authority();
    let asker = who.identity();
    let request = Enrolling::renewing(old.as_bytes(), "a").and_then(|renewing| renewing.request());
    let request = request.expect("it is one");
    let certificate = other.sign(&request, &asker.0, "a", Validity::days(1)).expect("it is its own key");
    let (_, key) = old.split_once("-----BEGIN PRIVATE").expect("its key is last");
    let elsewhere = format!("{certificate}{}-----BEGIN PRIVATE{key}", other.certificate());
    assert_eq!(refused(&elsewhere), CredentialsError::OtherAuthority);
    assert_eq!(who.identity(), asker);
}
