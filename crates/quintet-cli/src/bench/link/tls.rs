//! Frames over TLS, beside the same link without it, and beside the cipher alone.

use super::child::Over;
use super::{ADAPTIVE, OWN_CORES, SPINNING, echo, one_way, stream};
use crate::bench::case::{Beside, Better, Case, Group, Prepare, Round, Unit};
use crate::pinning::{Pin, allowed};
use quintet::{Code, Error};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use std::time::Instant;

/// Beside the link without TLS.
const PLAIN: f64 = 1.3;
/// Beside the cipher alone, which this link has to call on both sides.
const CIPHER: f64 = 0.5;
/// What a record of TLS carries.
const RECORD_BYTES: usize = 16 * 1024;
/// Records of a round.
const RECORDS: u32 = 20_000;

pub(super) fn cases() -> Vec<Case> {
    vec![
        round_trip(
            "tls-rtt-64",
            "tcp-rtt-64",
            [|| echo::prepare(Over::Tls, false), || echo::prepare(Over::Tcp, false)],
        )
        .under(ADAPTIVE, OWN_CORES),
        round_trip(
            "tls-rtt-64-spin",
            "tcp-rtt-64-spin",
            [|| echo::prepare(Over::Tls, true), || echo::prepare(Over::Tcp, true)],
        )
        .under(SPINNING, OWN_CORES),
        one_way("tls-bulk-1m", Unit::BytesPerSecond, || stream::bulk_1m(Over::Tls))
            .beside(Beside::Itself { name: "AES-128-GCM alone", prepare: cipher })
            .goal(CIPHER),
        one_way("tls-bulk-1m", Unit::BytesPerSecond, || stream::bulk_1m(Over::Tls))
            .beside(Beside::Itself { name: "tcp-bulk-1m", prepare: || stream::bulk_1m(Over::Tcp) }),
    ]
}

fn round_trip(name: &'static str, plain: &'static str, [over_tls, without]: [Prepare; 2]) -> Case {
    Case::new(Group::Link, name, Unit::Nanoseconds, Better::Lower, over_tls)
        .beside(Beside::Itself { name: plain, prepare: without })
        .goal(PLAIN)
}

/// Bytes a second that one thread encrypts, in records that lie in the processor's cache.
fn cipher() -> Result<Round, Error> {
    let refused = |_| Error::new(Code::Resource, "the cipher refuses its key or a record");
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &[7; 16]).map_err(refused)?);
    let mut record = vec![7; RECORD_BYTES];
    let processor = allowed()?.first().copied();
    Ok(Box::new(move || {
        let _pin = processor.map(Pin::to).transpose()?;
        let started = Instant::now();
        for number in 0..RECORDS {
            let mut nonce = [0; 12];
            nonce[..4].copy_from_slice(&number.to_le_bytes());
            let nonce = Nonce::assume_unique_for_key(nonce);
            let _tag = key.seal_in_place_separate_tag(nonce, Aad::empty(), &mut record).map_err(refused)?;
        }
        Ok(f64::from(RECORDS) * RECORD_BYTES as f64 / started.elapsed().as_secs_f64())
    }))
}
