//! A rule beside what certificates say.

use crate::bare::{client_showing, told};
use crate::cluster::{
    accept, at, authority, both_refusals, connecting, credentials, fault, identity, listening, refusal,
    serves,
};
use quintet_contract::Identity;
use quintet_link::{Credentials, LinkAddress, ListenLimits, Listener, Proof, TlsFault};
use rcgen::{CertificateParams, KeyPair, PKCS_ED25519, PKCS_RSA_SHA256, PublicKeyData, SignatureAlgorithm};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

const OURS: &[&str] = &["quintet/1"];

/// What a rule was asked.
#[derive(Clone, Default)]
pub(crate) struct Asked(Arc<Mutex<Vec<Proof>>>);

impl Asked {
    /// Credentials with a rule that lets in who it is given, and keeps what it was asked.
    pub(crate) fn admitting(
        &self,
        credentials: &Credentials,
        admits: impl Fn(&Proof) -> bool + Send + Sync + 'static,
    ) -> Credentials {
        let Asked(asked) = self.clone();
        let rule = Arc::new(move |proof: &Proof| {
            // From where it came is another matter.
            asked.lock().expect("no test panics with it").push(Proof { from: None, ..*proof });
            admits(proof)
        });
        credentials.admitting(rule).expect("it is configured")
    }

    pub(crate) fn take(&self) -> Vec<Proof> {
        std::mem::take(&mut self.0.lock().expect("no test panics with it"))
    }
}

fn of_cluster(who: &Credentials) -> Proof {
    Proof { identity: who.identity(), is_of_cluster: true, from: None }
}

#[test]
fn a_rule_is_asked_about_each_peer_on_both_sides() {
    let authority = authority();
    let [near, far] = [(); 2].map(|()| credentials(&identity(&authority)));
    let (asked_near, asked_far) = (Asked::default(), Asked::default());
    let (mut listener, port) = listening(asked_far.admitting(&far, |_| true), ListenLimits::default());
    let dialled = connecting(at(port, Some(asked_near.admitting(&near, |_| true))));
    accept(&mut listener).expect("it is let in");
    dialled.join().expect("it does not panic").expect("it is let in");
    assert_eq!((asked_near.take(), asked_far.take()), (vec![of_cluster(&far)], vec![of_cluster(&near)]));
}

#[test]
fn a_member_that_the_rule_does_not_know_is_refused_in_words() {
    let authority = authority();
    let [near, far] = [(); 2].map(|()| credentials(&identity(&authority)));
    let removed = near.identity();
    let knows = move |proof: &Proof| proof.identity != removed;
    let (mut listener, port) = listening(Asked::default().admitting(&far, knows), ListenLimits::default());
    let (seen, told) = both_refusals(&mut listener, at(port, Some(near)));
    assert_eq!((&seen, &told), (&TlsFault::PeerNotAdmitted, &TlsFault::NotAdmitted));
    assert!(seen.to_string().contains("no member of the cluster"), "{seen}");
    assert!(told.to_string().contains("quintet token create"), "{told}");
    serves(&mut listener);
}

#[test]
fn who_dials_may_refuse_who_listens() {
    let authority = authority();
    let [near, far] = [(); 2].map(|()| credentials(&identity(&authority)));
    let (mut listener, port) = listening(far, ListenLimits::default());
    let choosy = Asked::default().admitting(&near, |_| false);
    let (seen, told) = both_refusals(&mut listener, at(port, Some(choosy)));
    assert_eq!((seen, told), (TlsFault::NotAdmitted, TlsFault::PeerNotAdmitted));
    serves(&mut listener);
}

/// A certificate that its own key has signed.
fn self_signed(key: &KeyPair, names: usize) -> CertificateDer<'static> {
    let names: Vec<String> = (0..names).map(|n| format!("host-{n}.quintet.internal")).collect();
    let certificate = CertificateParams::new(names).expect("they are names").self_signed(key);
    certificate.expect("it is a key").der().clone()
}

fn shown(certificates: Vec<CertificateDer<'static>>, key: &KeyPair) -> CertifiedKey {
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    CertifiedKey::new(certificates, default_provider().key_provider.load_private_key(key).expect("it is one"))
}

/// A public key whose private key nobody has.
struct Rsa(Vec<u8>);

impl PublicKeyData for Rsa {
    fn der_bytes(&self) -> &[u8] {
        &self.0
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &PKCS_RSA_SHA256
    }
}

impl Rsa {
    /// A certificate of it, by that key.
    fn certificate(key: &KeyPair) -> CertificateDer<'static> {
        let mut public_key = vec![0x30, 0x82, 1, 10, 0x02, 0x82, 1, 1, 0];
        public_key.extend([0xc5; 256]);
        public_key.extend([0x02, 3, 1, 0, 1]);
        let issuer = rcgen::Issuer::new(CertificateParams::default(), key);
        let certificate = CertificateParams::default().signed_by(&Rsa(public_key), &issuer);
        certificate.expect("it is a key").der().clone()
    }
}

#[test]
fn of_keys_that_nobody_vouches_for_the_rule_hears_of_small_ed25519_ones_only() {
    let authority = authority();
    let asked = Asked::default();
    let lenient = asked.admitting(&credentials(&identity(&authority)), |_| true);
    let (mut listener, port) = listening(lenient, ListenLimits::default());
    let p256 = KeyPair::generate().expect("randomness");
    let ed25519 = KeyPair::generate_for(&PKCS_ED25519).expect("randomness");
    let small = self_signed(&ed25519, 1);
    let cases = [
        shown(vec![self_signed(&p256, 1)], &p256),
        shown(vec![Rsa::certificate(&p256)], &p256),
        shown(vec![self_signed(&ed25519, 40)], &ed25519),
        shown(vec![small.clone(), small.clone()], &ed25519),
    ];
    for shown in cases {
        let peer = client_showing(port, Some(shown), OURS);
        let peer = thread::spawn(move || told(peer));
        assert_eq!(fault(refusal(&mut listener)), TlsFault::PeerOfAnotherCluster);
        let (_, ended) = peer.join().expect("it does not panic");
        assert!(ended.contains("UnknownCA"), "{ended}");
        assert_eq!(asked.take(), []);
    }
    // As many bytes as nobody listens to.
    let huge = client_showing(port, Some(shown(vec![self_signed(&ed25519, 1_500)], &ed25519)), OURS);
    let huge = thread::spawn(move || told(huge));
    let error = fault(refusal(&mut listener));
    assert!(matches!(error, TlsFault::TooMuch { .. }), "{error}");
    huge.join().expect("it does not panic");
    assert_eq!(asked.take(), []);
    serves(&mut listener);
}

#[test]
fn who_has_seen_a_certificate_and_not_its_key_is_not_asked_about() {
    let authority = authority();
    let asked = Asked::default();
    let lenient = asked.admitting(&credentials(&identity(&authority)), |_| true);
    let (mut listener, port) = listening(lenient, ListenLimits::default());
    let [theirs, own] = [(); 2].map(|()| KeyPair::generate_for(&PKCS_ED25519).expect("randomness"));
    let peer = client_showing(port, Some(shown(vec![self_signed(&theirs, 1)], &own)), OURS);
    let peer = thread::spawn(move || told(peer));
    let error = fault(refusal(&mut listener));
    assert_eq!(error, TlsFault::PeerOfAnotherCluster, "its signature is wrong");
    peer.join().expect("it does not panic");
    assert_eq!(asked.take(), []);
}

#[test]
fn what_nobody_vouches_for_is_told_apart_whatever_its_certificate_says() {
    let authority = authority();
    let asked = Asked::default();
    let ours = credentials(&identity(&authority));
    let members_only = asked.admitting(&ours, |proof| proof.is_of_cluster);
    let (mut listener, port) = listening(members_only, ListenLimits::default());
    let key = KeyPair::generate_for(&PKCS_ED25519).expect("randomness");
    let names = CertificateParams::new(vec![authority.cluster().to_owned()]).expect("it is a name");
    let certificate = names.self_signed(&key).expect("it is a key").der().clone();
    let peer = client_showing(port, Some(shown(vec![certificate], &key)), OURS);
    let peer = thread::spawn(move || told(peer));
    assert_eq!(fault(refusal(&mut listener)), TlsFault::PeerNotAdmitted);
    let (_, ended) = peer.join().expect("it does not panic");
    assert!(ended.contains("AccessDenied"), "{ended}");
    let hash = ring::digest::digest(&ring::digest::SHA256, &key.subject_public_key_info());
    let identity = Identity(hash.as_ref().try_into().expect("SHA-256 has 32 bytes"));
    assert_eq!(asked.take(), [Proof { identity, is_of_cluster: false, from: None }]);
}

#[test]
fn a_rule_is_told_from_where_it_comes_who_has_connected_and_nothing_of_who_was_dialled() {
    let authority = authority();
    let (tell, told) = channel();
    let ruled = |accepts: bool| {
        let tell = tell.clone();
        let rule = Arc::new(move |proof: &Proof| tell.send((accepts, proof.from)).is_ok());
        credentials(&identity(&authority)).admitting(rule).expect("it is configured")
    };
    let (mut listener, port) = listening(ruled(true), ListenLimits::default());
    let near = connecting(at(port, Some(ruled(false))));
    let _far = accept(&mut listener).expect("it is let in");
    let _near = near.join().expect("it does not panic").expect("it is let in");
    let mut told: Vec<_> = told.try_iter().collect();
    told.sort_unstable();
    let [(false, None), (true, Some(from))] = told[..] else { panic!("{told:?}") };
    assert!(from.ip().is_loopback() && from.port() != port, "{from}");
}

#[test]
fn rules_change_nothing_of_who_credentials_are() {
    let ours = credentials(&identity(&authority()));
    let ruled = Asked::default().admitting(&ours, |_| true);
    assert_eq!((&ruled, ruled.identity()), (&ours, ours.identity()));
    let (listener, _) = listening(ruled, ListenLimits::default());
    assert!(matches!(listener.address(), LinkAddress::Tls { .. }));
}
