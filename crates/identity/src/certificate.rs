//! What is read of certificates (RFC 5280, section 4.1): what was signed, for which key, until when. No names, and no extensions:
//! who uses a certificate looks at these.

use crate::{IdentityError, Validity};
use core::time::Duration;
use pem::{EncodeConfig, LineEnding, Pem};
use ring::digest::{SHA256, digest};
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use std::time::{SystemTime, UNIX_EPOCH};

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// The certificate's version, which stands in front of its number.
const VERSION: u8 = 0xa0;
/// What stands in front of a point on P-256 in a certificate (RFC 5480).
pub(crate) const P256_FRONT: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// What a certificate may be long.
const LONGEST: usize = 8 * 1024;
const TAG: &str = "CERTIFICATE";

/// A certificate.
pub(crate) struct Certificate {
    /// What was signed.
    signed: Vec<u8>,
    signature: Vec<u8>,
    /// The public key with its algorithm.
    pub(crate) key: Vec<u8>,
    /// From when until when it is valid, in seconds.
    pub(crate) valid: Validity,
    /// All of it.
    whole: Vec<u8>,
}

impl Certificate {
    /// The only one of a text, in which nothing else may stand.
    ///
    /// # Errors
    /// [`IdentityError::BadCertificate`].
    pub(crate) fn alone(text: &str) -> Result<Certificate, IdentityError> {
        let bad =
            || IdentityError::BadCertificate { what: "one certificate was to be there, and nothing else" };
        if text.len() > 2 * LONGEST {
            return Err(bad());
        }
        match &pem::parse_many(text).map_err(|_| bad())?[..] {
            [block] => Certificate::of(block),
            _ => Err(bad()),
        }
    }

    /// Both of an identity: its own, and its authority's.
    ///
    /// # Errors
    /// [`IdentityError::BadCertificate`].
    pub(crate) fn both(identity: &[Pem]) -> Result<[Certificate; 2], IdentityError> {
        let certificates: Vec<&Pem> = identity.iter().filter(|block| block.tag() == TAG).collect();
        match certificates[..] {
            [own, authority] => Ok([Certificate::of(own)?, Certificate::of(authority)?]),
            _ => Err(IdentityError::BadCertificate {
                what: "an identity has two, its own and the authority's",
            }),
        }
    }

    fn of(block: &Pem) -> Result<Certificate, IdentityError> {
        let is_one = block.tag() == TAG && block.contents().len() <= LONGEST;
        let read = is_one.then(|| read(block.contents())).flatten();
        read.ok_or(IdentityError::BadCertificate { what: "it is damaged" })
    }

    /// As text, which holds nothing else.
    pub(crate) fn pem(&self) -> String {
        let plain = EncodeConfig::new().set_line_ending(LineEnding::LF);
        pem::encode_config(&Pem::new(TAG, &self.whole[..]), plain)
    }

    /// Who its holder proves to be.
    pub(crate) fn identity(&self) -> [u8; 32] {
        digest(&SHA256, &self.key).as_ref().try_into().expect("SHA-256 has 32 bytes")
    }

    /// Whether that one's key, on P-256, has signed this one.
    pub(crate) fn is_signed_by(&self, other: &Certificate) -> bool {
        let point = other.key.strip_prefix(&P256_FRONT);
        point.is_some_and(|point| {
            let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, point);
            key.verify(&self.signed, &self.signature).is_ok()
        })
    }
}

fn read(whole: &[u8]) -> Option<Certificate> {
    let mut rest = whole;
    let (_, mut outer) = take(&mut rest, SEQUENCE)?;
    let (signed, mut inner) = take(&mut outer, SEQUENCE)?;
    take(&mut outer, SEQUENCE)?;
    let (_, signature) = take(&mut outer, BIT_STRING)?;
    take(&mut inner, VERSION)?;
    take(&mut inner, INTEGER)?;
    take(&mut inner, SEQUENCE)?;
    take(&mut inner, SEQUENCE)?;
    let (_, mut validity) = take(&mut inner, SEQUENCE)?;
    let valid = Validity { from: time(&mut validity)?, until: time(&mut validity)? };
    take(&mut inner, SEQUENCE)?;
    let (key, _) = take(&mut inner, SEQUENCE)?;
    let is_whole = rest.is_empty() && outer.is_empty() && validity.is_empty();
    // No bit of the signature's last byte is unused.
    let signature = signature.strip_prefix(&[0]).filter(|_| is_whole)?.to_vec();
    Some(Certificate { signed: signed.to_vec(), signature, key: key.to_vec(), valid, whole: whole.to_vec() })
}

/// The next value, of that type: with its header, and without. In DER each length has one form.
fn take<'a>(bytes: &mut &'a [u8], tag: u8) -> Option<(&'a [u8], &'a [u8])> {
    let header = match **bytes {
        [first, len, ..] if first == tag && len < 0x80 => (2, usize::from(len)),
        [first, 0x81, len, ..] if first == tag && len >= 0x80 => (3, usize::from(len)),
        [first, 0x82, high, low, ..] if first == tag && high > 0 => {
            (4, usize::from(high) << 8 | usize::from(low))
        }
        _ => return None,
    };
    let (front, len) = header;
    let (value, rest) = bytes.split_at_checked(front + len)?;
    *bytes = rest;
    Some((value, &value[front..]))
}

/// A time, of one of the two forms that certificates have (RFC 5280, section 4.1.2.5).
fn time(bytes: &mut &[u8]) -> Option<SystemTime> {
    let (year, rest) = match bytes.first()? {
        &UTC_TIME => {
            let (year, rest) = number(take(bytes, UTC_TIME)?.1, 2)?;
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        _ => number(take(bytes, GENERALIZED_TIME)?.1, 4)?,
    };
    let (month, rest) = number(rest, 2)?;
    let (day, rest) = number(rest, 2)?;
    let (hour, rest) = number(rest, 2)?;
    let (minute, rest) = number(rest, 2)?;
    let (second, rest) = number(rest, 2)?;
    let is_time =
        (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 60;
    let days = days_to(year, month, day).filter(|_| is_time && rest == b"Z")?;
    UNIX_EPOCH.checked_add(Duration::from_secs(days * 86_400 + hour * 3_600 + minute * 60 + second))
}

/// A number of so many digits, and what stands behind it.
fn number(digits: &[u8], count: usize) -> Option<(u64, &[u8])> {
    let (digits, rest) = digits.split_at_checked(count)?;
    let digit = |digit: &u8| digit.is_ascii_digit().then(|| u64::from(digit - b'0'));
    let number = digits.iter().map(digit).try_fold(0, |number, digit| Some(number * 10 + digit?));
    Some((number?, rest))
}

/// Days from the beginning of 1970 to that one; none if it lies before.
fn days_to(year: u64, month: u64, day: u64) -> Option<u64> {
    // Years begin in March here, so that a day more in February is the last of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    /// Days from March of the year 0 to the beginning of 1970.
    const EPOCH: u64 = 719_468;
    days.checked_sub(EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Authority, Validity};
    use proptest::prelude::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let known = [
            ((1970, 1, 1), 0),
            ((2000, 2, 29), 11_016),
            ((2000, 3, 1), 11_017),
            ((2100, 3, 1), 47_541),
            ((2026, 12, 31), 20_818),
        ];
        for ((year, month, day), days) in known {
            assert_eq!(days_to(year, month, day), Some(days), "{year}-{month}-{day}");
        }
        assert_eq!(days_to(1969, 12, 31), None);
    }

    #[test]
    fn both_forms_of_time_are_read_and_nothing_else() {
        let of = |tag, text: &str| time(&mut &[&[tag, text.len() as u8], text.as_bytes()].concat()[..]);
        let at = |seconds| Some(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(of(UTC_TIME, "261122111500Z"), at(1_795_346_100));
        assert_eq!(of(GENERALIZED_TIME, "20261122111500Z"), at(1_795_346_100));
        assert_eq!(of(GENERALIZED_TIME, "99991231235959Z"), at(253_402_300_799));
        for bad in [
            "261322111500Z",
            "260022111500Z",
            "261122241500Z",
            "261122111500",
            "2611221115Z",
            "261122111500+",
            "",
        ] {
            assert_eq!(of(UTC_TIME, bad), None, "{bad}");
        }
    }

    fn authority() -> String {
        Authority::new().expect("randomness").certificate().to_owned()
    }

    #[test]
    fn a_certificate_is_written_as_it_was_read() {
        let text = authority();
        let read = Certificate::alone(&text).expect("it is one");
        assert_eq!(read.pem().lines().collect::<Vec<_>>(), text.lines().collect::<Vec<_>>());
        assert!(read.is_signed_by(&read), "it is its own authority");
        assert!(!read.is_signed_by(&Certificate::alone(&authority()).expect("it is one")));
        for bad in [String::new(), [&*text, &text].concat(), text.replace(TAG, "PRIVATE KEY")] {
            assert!(Certificate::alone(&bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn nothing_is_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = read(&bytes);
        }

        #[test]
        fn nor_is_a_certificate_that_was_changed(at in 0..400usize, to: u8, cut in 0..500usize) {
            let authority = Authority::new().expect("randomness");
            let identity = authority.issue("a", Validity::days(1)).expect("a good name");
            let mut bytes = pem::parse(identity).expect("it is one").into_contents();
            bytes[at] = to;
            bytes.truncate(bytes.len().saturating_sub(cut.saturating_sub(400)));
            let _ = read(&bytes);
        }
    }
}
