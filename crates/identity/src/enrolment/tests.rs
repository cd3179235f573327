use super::*;
use crate::DAY;
use core::time::Duration;
use proptest::prelude::*;
use std::time::SystemTime;

fn authority() -> Authority {
    Authority::new().expect("randomness")
}

fn token(authority: &Authority) -> Token {
    Token::new(authority.cluster_number(), 0).expect("randomness")
}

/// What an authority makes of what a machine asks.
fn enrol(authority: &Authority, enrolling: &Enrolling, asker: &[u8; 32]) -> Result<String, IdentityError> {
    authority.sign(&enrolling.request().expect("randomness"), asker, "b", Validity::days(1))
}

fn refused_by(error: IdentityError) -> &'static str {
    match error {
        IdentityError::BadRequest { what } | IdentityError::BadCertificate { what } => what,
        other => panic!("{other}"),
    }
}

#[test]
fn a_machine_gets_a_certificate_of_its_own_key() {
    let authority = authority();
    let token = token(&authority);
    let enrolling = Enrolling::new(&token, "b").expect("randomness");
    let certificate = enrol(&authority, &enrolling, &token.identity()).expect("it is its own key");
    let identity = enrolling.finish(&certificate, authority.certificate()).expect("it is for it");
    assert!(identity.starts_with("The identity of b in the Quintet cluster "), "as any other");
    assert_eq!(
        (identity.matches("BEGIN CERTIFICATE").count(), identity.matches("PRIVATE KEY").count()),
        (2, 2)
    );
    assert!(!certificate.contains("PRIVATE"), "no key has left it");
}

#[test]
fn a_certificate_is_made_anew_for_the_key_that_it_was_for() {
    let authority = authority();
    let now = SystemTime::now();
    let old = authority.issue("b", Validity { from: now, until: now + DAY }).expect("a good name");
    let renewing = Enrolling::renewing(old.as_bytes(), "b").expect("it is one");
    let identity = Certificate::both(&pem::parse_many(&old).expect("it is one")).expect("both")[0].identity();
    let request = renewing.request().expect("randomness");
    let certificate = authority
        .sign(&request, &identity, "b", Validity { from: now, until: now + DAY * 90 })
        .expect("it is its own key");
    let new = renewing.finish(&certificate, authority.certificate()).expect("it is for it");
    let own = |text: &str| {
        Certificate::both(&pem::parse_many(text).expect("it is one")).expect("both")[0].identity()
    };
    assert_eq!(own(&new), own(&old), "it stays who it is");
    let gained =
        |text: &str| validity(text.as_bytes()).expect("it is one").until.duration_since(now).expect("later");
    assert!(gained(&old) <= DAY && gained(&old) > DAY - Duration::from_secs(2));
    assert!(gained(&new) <= DAY * 90 && gained(&new) > DAY * 90 - Duration::from_secs(2));
}

#[test]
fn what_one_has_asked_is_of_no_use_to_another() {
    let authority = authority();
    let (one, other) = (token(&authority), token(&authority));
    let enrolling = Enrolling::new(&one, "b").expect("randomness");
    let refused = enrol(&authority, &enrolling, &other.identity()).expect_err("another has asked");
    assert_eq!(refused_by(refused), "its signature does not prove that the key is the asker's");
}

/// One request for ever, of the identity of 32 sevens.
const REQUEST: &str = "quintet-request-1 04fe9d8f0fb45273fb30b7b844a7764de42d8184baebdd6898501e4729fd0a0c3684f500a80d2f\
     0502e6a36ac2a0d45b802f79ba50790e6a6624b066602fb4b287 304602210096a0d54035e965336388aa95b96763789\
     f363e761198449d262e6e55a3cbb004022100d473a7458c4e7c6b99cb27913976b8519ea1137602237bb98233f3b1413\
     6a135";

#[test]
fn a_request_is_read_as_earlier_versions_wrote_it() {
    Point::proved(REQUEST, &[7; 32]).map(|_| ()).expect("it was made so");
    assert!(Point::proved(REQUEST, &[8; 32]).is_err(), "another asks");
}

#[test]
fn a_request_is_looked_at_before_anything_is_signed() {
    let authority = authority();
    let token = token(&authority);
    let request = Enrolling::new(&token, "b").and_then(|enrolling| enrolling.request()).expect("randomness");
    let parts: Vec<&str> = request.split(' ').collect();
    let [version, key, signature] = parts[..] else { panic!("{request}") };
    let off_the_curve = format!("04{}", "01".repeat(64));
    let cases = [
        (String::new(), "it is of another version; update the older of both machines"),
        (request.replace("-1 ", "-2 "), "it is of another version; update the older of both machines"),
        (format!("{version} {key}"), "it has other parts than a key and a signature"),
        (format!("{request} more"), "it has other parts than a key and a signature"),
        ("x".repeat(1_000), "it is too long"),
        (format!("{version} {} {signature}", &key[2..]), "its key is none on P-256"),
        (format!("{version} 02{} {signature}", &key[2..]), "its key is none on P-256"),
        (format!("{version} {key} zz"), "its signature is damaged"),
        (
            format!("{version} {off_the_curve} {signature}"),
            "its signature does not prove that the key is the asker's",
        ),
        (
            format!("{version} {key} {}", "00".repeat(70)),
            "its signature does not prove that the key is the asker's",
        ),
    ];
    for (request, expected) in cases {
        let refused = authority.sign(&request, &token.identity(), "b", Validity::days(1));
        assert_eq!(refused_by(refused.expect_err("it is none")), expected, "{request}");
    }
    let refused = authority.sign(&request, &token.identity(), "b b", Validity::days(1));
    assert_eq!(refused, Err(IdentityError::BadName { name: "b b".to_owned() }));
}

#[test]
fn what_an_authority_gives_is_looked_at_before_it_is_kept() {
    let (ours, theirs) = (authority(), authority());
    let token = token(&ours);
    let enrolling = Enrolling::new(&token, "b").expect("randomness");
    let other = Enrolling::new(&token, "c").expect("randomness");
    let good = enrol(&ours, &enrolling, &token.identity()).expect("it is its own key");
    let for_another = enrol(&ours, &other, &token.identity()).expect("it is its own key");
    let by_another = enrol(&theirs, &enrolling, &token.identity()).expect("it is its own key");
    let key = ours.key();
    let cases = [
        (&*good, theirs.certificate(), "its authority is another cluster's"),
        (&for_another, ours.certificate(), "it is for another key"),
        (&by_another, ours.certificate(), "its authority did not sign it"),
        (&by_another, theirs.certificate(), "its authority is another cluster's"),
        (&key, ours.certificate(), "it is damaged"),
        (&[&*good, &key].concat(), ours.certificate(), "one certificate was to be there, and nothing else"),
        (&"x".repeat(100_000), ours.certificate(), "one certificate was to be there, and nothing else"),
    ];
    for (certificate, authority, expected) in cases {
        let refused = enrolling.finish(certificate, authority).expect_err("it is not what was asked for");
        assert_eq!(refused_by(refused), expected);
    }
}

#[test]
fn what_is_no_identity_is_not_renewed() {
    let authority = authority();
    let (one, other) = (authority.issue("b", Validity::days(1)), authority.issue("b", Validity::days(1)));
    let (one, other) = (one.expect("a good name"), other.expect("a good name"));
    let (front, _) = one.split_once("-----BEGIN PRIVATE").expect("its key is last");
    let (_, key) = other.split_once("-----BEGIN PRIVATE").expect("its key is last");
    let mixed = format!("{front}-----BEGIN PRIVATE{key}");
    let cases = [
        (&*mixed, "it is for another key"),
        (front, "its key is missing"),
        ("", "an identity has two, its own and the authority's"),
        (authority.certificate(), "an identity has two, its own and the authority's"),
    ];
    for (text, expected) in cases {
        let refused = Enrolling::renewing(text.as_bytes(), "b").expect_err("it is no identity");
        assert_eq!(refused_by(refused), expected);
    }
}

proptest! {
    #[test]
    fn no_request_is_a_panic_or_signed(request in "quintet-request-1 04[0-9a-f]{128} 30[0-9a-f]{0,142}") {
        prop_assert!(Point::proved(&request, &[0; 32]).is_err());
    }

    #[test]
    fn hexadecimal_digits_are_read_as_they_are_written(bytes in proptest::collection::vec(any::<u8>(), 0..100), text in ".{0,20}") {
        prop_assert_eq!(unhex(&hex(&bytes)), Some(bytes));
        let _ = unhex(&text);
    }
}
