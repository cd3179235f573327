//! Both ends of a link over TLS.

use crate::pairs::{impaired_pair, in_two_packets, pair_at};
use quintet_identity::{Authority, Validity};
use quintet_link::{Credentials, End, LinkAddress};

/// Both ends are one member of a cluster.
pub(crate) fn tls_pair() -> (End, End) {
    let authority = Authority::new().expect("randomness");
    let identity = authority.issue("a", Validity::days(1)).expect("a good name");
    let credentials = Some(Credentials::from_pem(identity.as_bytes()).expect("valid now"));
    pair_at(&LinkAddress::Tls { host: "127.0.0.1".to_owned(), port: 0, credentials })
}

pub(crate) fn impaired_tls_pair() -> (End, End) {
    impaired_pair(tls_pair())
}

pub(crate) fn two_packets_tls_pair() -> (End, End) {
    in_two_packets(tls_pair())
}
