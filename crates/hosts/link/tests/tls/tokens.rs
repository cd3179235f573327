//! Joining with a token: who is let in without a certificate of the cluster, and by what it knows the cluster.

use crate::admission::Asked;
use crate::bare::serve_showing;
use crate::cluster::{
    PATIENCE, accept, at, authority, both_refusals, connecting, credentials, expired, fault, identity,
    listener, listening, serves,
};
use quintet_contract::Identity;
use quintet_errors::Code;
use quintet_identity::{Authority, DAY, Enrolling, Grants, NewToken, Token, Validity};
use quintet_link::{
    BootstrapError, Credentials, CredentialsError, ListenLimits, Listener as _, Proof, StreamListener,
    TlsFault, connect, listen,
};
use quintet_testbed::TempDir;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::SystemTime;

fn token(authority: &Authority) -> Token {
    Token::new(authority.cluster_number(), 0).expect("randomness")
}

fn holder(token: &Token) -> Credentials {
    let key = token.key().expect("a key");
    Credentials::of_token(key.as_bytes(), token.cluster()).expect("it is a token's")
}

/// A listener where members are let in, and who holds one of these tokens.
fn lets_in(authority: &Authority, tokens: &[&Token]) -> (StreamListener, u16) {
    let outstanding: Vec<Identity> = tokens.iter().map(|token| Identity(token.identity())).collect();
    let rule = move |proof: &Proof| proof.is_of_cluster || outstanding.contains(&proof.identity);
    listening(Asked::default().admitting(&credentials(&identity(authority)), rule), ListenLimits::default())
}

#[test]
fn who_holds_an_outstanding_token_is_let_in_and_known() {
    let authority = authority();
    let token = token(&authority);
    let who = holder(&token);
    assert_eq!(who.identity(), Identity(token.identity()));
    let (mut listener, port) = lets_in(&authority, &[&token]);
    let dialled = connecting(at(port, Some(who)));
    let accepted = accept(&mut listener).expect("its token is outstanding");
    let dialled = dialled.join().expect("it does not panic").expect("it is let in");
    assert_eq!(accepted.sender.info().identity, Some(Identity(token.identity())));
    let listens = dialled.sender.info().identity.expect("it has proved who it is");
    assert_ne!(listens, Identity(token.identity()));
    serves(&mut listener);
}

/// From the token to a link as a member, with the files that the machine keeps which made the token.
#[test]
fn a_machine_joins_once_with_a_token_and_is_a_member_then() {
    let folder = TempDir::new().expect("a folder");
    let lab = folder.join("lab");
    quintet_identity::create(&lab, "a").expect("nothing is there");
    let authority = Authority::of_folder(&lab).expect("it was made");
    let own = String::from_utf8(quintet_identity::read(&lab).expect("it was made")).expect("a text");
    let now = SystemTime::now();
    let new = NewToken { node: 0, allows: Grants::JOIN, now, valid_for: DAY, note: "" };
    let (made, _) = quintet_identity::issue_token(&lab, &new).expect("there is room");
    let at_home = lab.clone();
    let rule = Arc::new(move |proof: &Proof| {
        proof.is_of_cluster || quintet_identity::outstanding(&at_home, &proof.identity.0, now).is_ok()
    });
    let shown = credentials(&own).admitting(rule).expect("it is configured");
    let (mut listener, port) = listening(shown, ListenLimits::default());

    // On the other machine there is nothing but the text.
    let token: Token = made.text().parse().expect("it was copied whole");
    let enrolling = Enrolling::new(&token, "b").expect("randomness");
    let dialled = connecting(at(port, Some(holder(&token))));
    let asker =
        accept(&mut listener).expect("it is outstanding").sender.info().identity.expect("it is known").0;
    dialled.join().expect("it does not panic").expect("it is let in");
    let grants = quintet_identity::consume(&lab, &asker, now).expect("it is outstanding");
    assert!(grants.join);
    let request = enrolling.request().expect("randomness");
    let certificate = authority.sign(&request, &asker, "b", Validity::days(1)).expect("it is its own key");
    let identity = enrolling.finish(&certificate, authority.certificate()).expect("it is for it");
    let member = credentials(&identity);

    let dialled = connecting(at(port, Some(member.clone())));
    let accepted = accept(&mut listener).expect("it is a member");
    dialled.join().expect("it does not panic").expect("it is let in");
    assert_eq!(accepted.sender.info().identity, Some(member.identity()));
    let (seen, told) = both_refusals(&mut listener, at(port, Some(holder(&token))));
    assert_eq!((seen, told), (TlsFault::PeerNotAdmitted, TlsFault::NotAdmitted), "it was used");
}

#[test]
fn a_token_that_the_rule_does_not_know_is_refused_in_words() {
    let authority = authority();
    let (known, unknown) = (token(&authority), token(&authority));
    let (mut listener, port) = lets_in(&authority, &[&known]);
    let (seen, told) = both_refusals(&mut listener, at(port, Some(holder(&unknown))));
    assert_eq!((seen, &told), (TlsFault::PeerNotAdmitted, &TlsFault::NotAdmitted));
    assert!(told.to_string().contains("its token was used, was revoked or has expired"), "{told}");
    serves(&mut listener);
}

#[test]
fn who_is_turned_away_is_told_of_with_where_it_came_from_and_who_it_has_proved_to_be() {
    let ours = authority();
    let unknown = token(&ours);
    let (mut listener, port) = lets_in(&ours, &[]);
    let who_was_it = |listener: &mut StreamListener, shown: Credentials| {
        let dialled = connecting(at(port, Some(shown)));
        let refused = loop {
            match listener.accept() {
                Ok(taken) => assert!(taken.is_none(), "it was let in"),
                Err(refused) => break refused,
            }
            std::thread::yield_now();
        };
        assert!(dialled.join().expect("it does not panic").is_err());
        assert!(refused.from.is_some_and(|from| from.ip().is_loopback() && from.port() != port), "{refused}");
        (refused.why.code(), refused.identity)
    };
    let turned_away = who_was_it(&mut listener, holder(&unknown));
    assert_eq!(turned_away, (Code::NotAllowed, Some(Identity(unknown.identity()))));
    // A certificate that nobody here vouches for proves nothing, and who was turned away before is not taken for its holder.
    let stranger = who_was_it(&mut listener, credentials(&identity(&authority())));
    assert_eq!(stranger, (Code::WrongCluster, None));
}

#[test]
fn without_a_rule_no_token_is_let_in() {
    let authority = authority();
    let (mut listener, port) = listener(&authority, ListenLimits::default());
    let (seen, told) = both_refusals(&mut listener, at(port, Some(holder(&token(&authority)))));
    assert_eq!((seen, told), (TlsFault::PeerOfAnotherCluster, TlsFault::OfAnotherCluster));
    serves(&mut listener);
}

#[test]
fn a_token_of_another_cluster_is_not_shown_to_this_one() {
    let (ours, theirs) = (authority(), authority());
    let foreign = token(&theirs);
    // Even where the rule would let it in.
    let asked = Asked::default();
    let lenient = asked.admitting(&credentials(&identity(&ours)), |_| true);
    let (mut listener, port) = listening(lenient, ListenLimits::default());
    let (seen, told) = both_refusals(&mut listener, at(port, Some(holder(&foreign))));
    assert_eq!((seen, told), (TlsFault::OfAnotherCluster, TlsFault::PeerOfAnotherCluster));
    assert_eq!(asked.take(), []);
}

/// A chain, and the key of its front.
type Chain = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// The parts of an identity.
fn parts(identity: &str) -> Chain {
    let certificates = CertificateDer::pem_slice_iter(identity.as_bytes()).collect::<Result<_, _>>();
    let key = PrivateKeyDer::from_pem_slice(identity.as_bytes());
    (certificates.expect("it has two"), key.expect("it has one"))
}

/// All that names a cluster, made by an authority with a key of its own.
fn of_the_same_name(cluster: &str) -> Chain {
    let key = KeyPair::generate().expect("randomness");
    let mut authority = CertificateParams::default();
    authority.distinguished_name = DistinguishedName::new();
    authority.distinguished_name.push(DnType::CommonName, format!("Quintet cluster {cluster}"));
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let shown = authority.self_signed(&key).expect("it is a key").der().clone();
    let mut own = CertificateParams::new(vec![cluster.to_owned()]).expect("it is a name");
    own.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let own_key = KeyPair::generate().expect("randomness");
    let own = own.signed_by(&own_key, &Issuer::new(authority, &key)).expect("it is a key").der().clone();
    (vec![own, shown], PrivateKeyDer::from(PrivatePkcs8KeyDer::from(own_key.serialize_der())))
}

#[test]
fn nobody_else_can_be_the_cluster_of_a_token() {
    let (ours, theirs) = (authority(), authority());
    let token = token(&ours);
    let genuine = parts(&identity(&ours));
    let own_authority = of_the_same_name(ours.cluster());
    let with =
        |(chain, key): &Chain, second: &Chain| (vec![chain[0].clone(), second.0[1].clone()], key.clone_key());
    let another = TlsFault::PeerOfAnotherCluster;
    let cases = [
        ("of another cluster", parts(&identity(&theirs)), &another),
        ("with an authority of the same name", of_the_same_name(ours.cluster()), &another),
        ("beside the genuine authority", with(&own_authority, &genuine), &another),
        ("genuine beside another authority", with(&genuine, &own_authority), &another),
        ("without its authority", (vec![genuine.0[0].clone()], genuine.1.clone_key()), &another),
        ("with too many", ([&genuine.0[..], &genuine.0[1..]].concat(), genuine.1.clone_key()), &another),
        ("of last year", parts(&expired(&ours)), &TlsFault::PeerExpired),
    ];
    let fake = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = fake.local_addr().expect("bound").port();
    for (what, (chain, key), expected) in cases {
        let refused = connecting(at(port, Some(holder(&token))));
        serve_showing(fake.accept().expect("it dials").0, chain, key);
        let error = refused.join().expect("it does not panic").map(|_| ()).expect_err(what);
        assert_eq!(fault(error), *expected, "{what}");
    }
}

#[test]
fn with_a_token_nobody_listens() {
    let address = at(0, Some(holder(&token(&authority()))));
    let error = listen(&address).map(|_| ()).expect_err("it has no certificate of the cluster");
    assert_eq!(error, BootstrapError::Tls { address, fault: TlsFault::TokenListens });
    assert_eq!(error.code(), Code::NotAllowed);
}

#[test]
fn what_is_no_key_of_a_token_is_not_used() {
    let own = token(&authority());
    let good = own.key().expect("a key");
    let (certificate, key) = good.split_at(good.find("-----BEGIN PRIVATE").expect("it has a key"));
    let other = token(&authority()).key().expect("a key");
    let (other, _) = other.split_at(other.find("-----BEGIN PRIVATE").expect("it has a key"));
    let refused = |text: &str| Credentials::of_token(text.as_bytes(), 1).expect_err("it is none");
    for text in ["", "nonsense", certificate, key, &[&*good, key].concat(), &"x".repeat(70_000)] {
        let error = refused(text);
        assert!(matches!(error, CredentialsError::NotCredentials(_)), "{error}");
    }
    assert_eq!(refused(&[other, key].concat()), CredentialsError::OtherKey);
    let shown = format!("{:?}", holder(&own));
    assert!(shown.contains("identity") && !shown.contains("key"), "{shown}");
    let nobody = connect(&at(1, Some(holder(&own))), PATIENCE).map(|_| ()).expect_err("nobody listens");
    assert!(matches!(nobody, BootstrapError::NobodyListens { .. }), "{nobody}");
}
