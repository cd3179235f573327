//! How two sides find each other over TLS.

use crate::cluster::{PATIENCE, accept, at, authority, connecting, credentials, identity, listener};
use quintet_contract::{Identity, LinkClass};
use quintet_link::{
    BootstrapError, Credentials, CredentialsError, LinkAddress, ListenLimits, Listener, TlsFault, connect,
    dial, listen,
};
use std::net::TcpListener;

#[test]
fn each_side_knows_who_the_other_is() {
    let authority = authority();
    let [near, far] = [(); 2].map(|()| credentials(&identity(&authority)));
    let mut listener = listen(&at(0, Some(far.clone()))).expect("a free port");
    let dialled = connecting(listener.address().identified(Some(&near)));
    let accepted = accept(&mut *listener).expect("it is let in");
    let dialled = dialled.join().expect("it does not panic").expect("it is let in");
    let known = |info: quintet_contract::LinkInfo| (info.identity, info.may_be_cut, info.class);
    let shown = |who: &Credentials| (Some(who.identity()), true, LinkClass::Machine);
    assert_eq!(known(accepted.sender.info()), shown(&near));
    assert_eq!(known(dialled.sender.info()), shown(&far));
    assert_ne!(near.identity(), far.identity());
}

#[test]
fn an_identity_is_the_fingerprint_of_its_key() {
    let text = identity(&authority());
    let key = rcgen_free_fingerprint(&text);
    assert_eq!(credentials(&text).identity(), Identity(key));
}

/// As `openssl x509 -pubkey` and `sha256sum` would make it: the last 91 bytes of a key on P-256 in a certificate are found by
/// the prefix that all of them share.
fn rcgen_free_fingerprint(identity: &str) -> [u8; 32] {
    use rustls::pki_types::{CertificateDer, pem::PemObject};
    let certificate = CertificateDer::from_pem_slice(identity.as_bytes()).expect("it has one");
    let front = [0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
    let start = certificate.windows(front.len()).position(|bytes| bytes == front).expect("a key on P-256");
    let hash = ring::digest::digest(&ring::digest::SHA256, &certificate[start..start + 91]);
    hash.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

#[test]
fn without_an_identity_nothing_is_listened_at_or_dialled() {
    for address in ["tls:127.0.0.1:0", "tls:0.0.0.0:0", "tls:127.0.0.1:1"] {
        let address: LinkAddress = address.parse().expect("an address");
        assert!(address.wants_identity());
        let expected = BootstrapError::Tls { address: address.clone(), fault: TlsFault::NoIdentity };
        let refused = [listen(&address).map(|_| ()), connect(&address, PATIENCE).map(|_| ())];
        for error in refused.map(|refused| refused.expect_err("it has none")) {
            assert!(error == expected || matches!(error, BootstrapError::PortZero { .. }), "{error}");
            assert!(error == expected || address.to_string().ends_with(":0"), "{error}");
        }
        assert!(expected.to_string().contains("quintet init NAME"), "{expected}");
        assert!(expected.to_string().contains("the setting cluster.identity"), "{expected}");
    }
}

#[test]
fn with_one_other_machines_may_connect() {
    let who = credentials(&identity(&authority()));
    let wide = LinkAddress::Tls { host: "0.0.0.0".to_owned(), port: 0, credentials: Some(who.clone()) };
    let listener = listen(&wide).expect("a free port");
    assert!(listener.address().to_string().starts_with("tls:0.0.0.0:"));
    let plain = LinkAddress::Tcp { host: "0.0.0.0".to_owned(), port: 0 };
    let refused = listen(&plain).map(|_| ()).expect_err("nothing is encrypted");
    assert!(refused.to_string().contains("use tls: with an identity"), "{refused}");
}

#[test]
fn a_plain_client_and_a_plain_server_are_told_what_to_write() {
    let authority = authority();
    let (mut secure, port) = listener(&authority, ListenLimits::default());
    let plain = LinkAddress::Tcp { host: "127.0.0.1".to_owned(), port };
    let refused = connecting(plain.clone());
    let seen = accept(&mut secure).map(|_| ()).expect_err("it is no TLS");
    assert_eq!(seen, BootstrapError::OtherKind { address: secure.address() });
    assert!(seen.to_string().contains("the other side does not speak TLS"), "{seen}");
    let told = refused.join().expect("it does not panic").map(|_| ()).expect_err("it is no TLS");
    assert_eq!(told, BootstrapError::OtherKind { address: plain });
    assert!(told.to_string().contains("write tls: instead of tcp:"), "{told}");

    let any = LinkAddress::Tcp { host: "127.0.0.1".to_owned(), port: 0 };
    let mut open = listen(&any).expect("a free port");
    let LinkAddress::Tcp { port, .. } = open.address() else { panic!("it listens over TCP") };
    let address = at(port, Some(credentials(&identity(&authority))));
    let refused = connecting(address.clone());
    let seen = accept(&mut *open).map(|_| ()).expect_err("it is TLS");
    assert!(seen.to_string().contains("the other side speaks TLS"), "{seen}");
    let told = refused.join().expect("it does not panic").map(|_| ()).expect_err("it is no TLS");
    assert_eq!(told, BootstrapError::OtherKind { address });
    assert!(told.to_string().contains("does not speak TLS"), "{told}");
}

#[test]
fn nobody_and_one_who_is_silent_are_told_apart() {
    let who = credentials(&identity(&authority()));
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = silent.local_addr().expect("bound").port();
    let address = at(port, Some(who));
    let waited = std::time::Duration::from_millis(5);
    let error = connect(&address, waited).map(|_| ()).expect_err("it says nothing");
    assert_eq!(error, BootstrapError::Silent { address: address.clone(), waited });
    drop(silent);
    let error = connect(&address, PATIENCE).map(|_| ()).expect_err("nobody listens");
    assert_eq!(error, BootstrapError::NobodyListens { address: address.clone() });
    assert!(dial(&at(0, None)).is_err());
}

#[test]
fn credentials_are_looked_at_before_they_are_used() {
    let authority = authority();
    let (good, other) = (identity(&authority), identity(&crate::cluster::authority()));
    let refused = |text: &str| Credentials::from_pem(text.as_bytes()).expect_err("it cannot be used");
    let sections = |text: &str| {
        let starts: Vec<usize> = text.match_indices("-----BEGIN").map(|(at, _)| at).collect();
        let section = |n: usize| text[starts[n]..starts.get(n + 1).copied().unwrap_or(text.len())].to_owned();
        [section(0), section(1), section(2)]
    };
    let ([own, authoritys, key], [_, other_authority, other_key]) = (sections(&good), sections(&other));
    let now = std::time::SystemTime::now();
    let later = quintet_identity::Validity {
        from: now + quintet_identity::DAY,
        until: now + quintet_identity::DAY * 2,
    };
    let early = authority.issue("a", later).expect("a good name");
    assert_eq!(refused(&crate::cluster::expired(&authority)), CredentialsError::Expired);
    assert_eq!(refused(&early), CredentialsError::NotYetValid);
    assert_eq!(refused(&[&*own, &authoritys, &other_key].concat()), CredentialsError::OtherKey);
    assert_eq!(refused(&[&*own, &other_authority, &key].concat()), CredentialsError::OtherAuthority);
    let none = [String::new(), "nonsense".to_owned(), [&*own, &key].concat(), [&*own, &authoritys].concat()];
    for text in none.into_iter().chain([[&*good, &key].concat(), "x".repeat(70_000)]) {
        let error = refused(&text);
        assert!(matches!(error, CredentialsError::NotCredentials(_)), "{error}");
    }
    for text in [&good, &other] {
        let shown = format!("{:?}", credentials(text));
        assert!(shown.contains("identity") && !shown.contains("key"), "{shown}");
    }
}
