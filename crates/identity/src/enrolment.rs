//! Enrolment: a machine makes its own key, and the authority a certificate for it. The key goes nowhere.
//!
//! What the machine asks with is a line of text: its public key, and a signature by that key, so that nobody has a certificate made for
//! another's key. The signature covers who asks, as the link between both has proved it: what one has asked is of no use to another.
//! (A PKCS#10 request would say the same, and more that nobody may say; it would take a parser of X.509, and 25 crates more, beside the one
//! that the links have.)

use crate::authority::{check_name, cluster_name, identity_text, refused};
use crate::certificate::{Certificate, P256_FRONT};
use crate::{Authority, IdentityError, Token, Validity};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PublicKeyData, SignatureAlgorithm, SigningKey};
use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};

/// What the text begins with.
const VERSION: &str = "quintet-request-1";
/// What is signed begins with this, and with nothing else that such a key signs.
const PURPOSE: &[u8] = b"quintet request for a certificate, version 1\0";
/// A point on P-256, uncompressed.
const POINT_BYTES: usize = 65;
/// What a signature is long at most.
const LONGEST_SIGNATURE: usize = 72;
/// And what asks, in hexadecimal digits.
const LONGEST_REQUEST: usize = 2 * (POINT_BYTES + LONGEST_SIGNATURE) + 100;

/// A machine that asks for a certificate.
pub struct Enrolling {
    machine: String,
    key: KeyPair,
    /// The front of the fingerprint of the authority that it asks.
    cluster: u128,
    asker: [u8; 32],
}

impl core::fmt::Debug for Enrolling {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Enrolling").field("machine", &self.machine).finish_non_exhaustive()
    }
}

impl Enrolling {
    /// With a new key, by that token.
    ///
    /// # Errors
    /// [`IdentityError::Refused`]: the system gives no randomness. [`IdentityError::BadName`].
    pub fn new(token: &Token, machine: &str) -> Result<Enrolling, IdentityError> {
        check_name(machine)?;
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(refused)?;
        let (cluster, asker) = (token.cluster(), token.identity());
        Ok(Enrolling { machine: machine.to_owned(), key, cluster, asker })
    }

    /// With the key of that identity, so that it stays who it is, and only its certificate is new.
    ///
    /// # Errors
    /// [`IdentityError::BadCertificate`]: it is no identity. [`IdentityError::BadName`].
    pub fn renewing(identity: &[u8], machine: &str) -> Result<Enrolling, IdentityError> {
        check_name(machine)?;
        let bad = |what| IdentityError::BadCertificate { what };
        let blocks = pem::parse_many(identity).map_err(|_| bad("it is damaged"))?;
        let [own, authority] = Certificate::both(&blocks)?;
        let key =
            blocks.iter().find(|block| block.tag() == "PRIVATE KEY").ok_or(bad("its key is missing"))?;
        let key = KeyPair::try_from(key.contents()).map_err(|_| bad("its key is damaged"))?;
        if key.subject_public_key_info() != own.key {
            return Err(bad("it is for another key"));
        }
        let (cluster, asker) = (cluster_of(&authority.identity()), own.identity());
        Ok(Enrolling { machine: machine.to_owned(), key, cluster, asker })
    }

    /// Who it is that asks.
    #[must_use]
    pub fn asker(&self) -> [u8; 32] {
        self.asker
    }

    /// The text for the authority.
    ///
    /// # Errors
    /// [`IdentityError::Refused`]: the system gives no randomness.
    pub fn request(&self) -> Result<String, IdentityError> {
        let point = self.key.der_bytes();
        let signature = self.key.sign(&message(&self.asker, point)).map_err(refused)?;
        Ok(format!("{VERSION} {} {}", hex(point), hex(&signature)))
    }

    /// The text of the identity, from what the authority gave: the certificate, and the authority's own.
    ///
    /// # Errors
    /// [`IdentityError::BadCertificate`]: they are not for this key, or of another cluster.
    pub fn finish(&self, certificate: &str, authority: &str) -> Result<String, IdentityError> {
        let bad = |what| Err(IdentityError::BadCertificate { what });
        let (own, authority) = (Certificate::alone(certificate)?, Certificate::alone(authority)?);
        if cluster_of(&authority.identity()) != self.cluster {
            return bad("its authority is another cluster's");
        }
        if own.key != self.key.subject_public_key_info() {
            return bad("it is for another key");
        }
        if !own.is_signed_by(&authority) {
            return bad("its authority did not sign it");
        }
        let cluster = cluster_name(self.cluster);
        Ok(identity_text(&self.machine, &cluster, &own.pem(), &authority.pem(), &self.key.serialize_pem()))
    }
}

impl Authority {
    /// A certificate for the key of that request, made by the peer that has proved to be `asker`.
    ///
    /// # Errors
    /// [`IdentityError::BadRequest`], [`IdentityError::BadName`].
    pub fn sign(
        &self,
        request: &str,
        asker: &[u8; 32],
        machine: &str,
        valid: Validity,
    ) -> Result<String, IdentityError> {
        let point = Point::proved(request, asker)?;
        self.certify(&point, machine, valid)
    }
}

/// Who the holder of a certificate proves to be: the SHA-256 of its public key.
///
/// # Errors
/// [`IdentityError::BadCertificate`].
pub fn identity_of(certificate: &str) -> Result<[u8; 32], IdentityError> {
    Certificate::alone(certificate).map(|certificate| certificate.identity())
}

/// When the certificate of an identity is valid.
///
/// # Errors
/// [`IdentityError::BadCertificate`].
pub fn validity(identity: &[u8]) -> Result<Validity, IdentityError> {
    let damaged = |_| IdentityError::BadCertificate { what: "it is damaged" };
    let blocks = pem::parse_many(identity).map_err(damaged)?;
    Certificate::both(&blocks).map(|[own, _]| own.valid)
}

/// A public key on P-256.
struct Point([u8; POINT_BYTES]);

impl Point {
    /// The one of a request whose maker has its private key.
    fn proved(request: &str, asker: &[u8; 32]) -> Result<Point, IdentityError> {
        let bad = |what| IdentityError::BadRequest { what };
        if request.len() > LONGEST_REQUEST {
            return Err(bad("it is too long"));
        }
        let mut words = request.split(' ');
        let (version, point, signature) = (words.next(), words.next(), words.next());
        if version != Some(VERSION) {
            return Err(bad("it is of another version; update the older of both machines"));
        }
        let (Some(point), Some(signature), None) = (point, signature, words.next()) else {
            return Err(bad("it has other parts than a key and a signature"));
        };
        let point = unhex(point).and_then(|point| <[u8; POINT_BYTES]>::try_from(point).ok());
        // The library looks whether it lies on the curve.
        let point = point.filter(|point| point[0] == 4).ok_or(bad("its key is none on P-256"))?;
        let signature = unhex(signature).ok_or(bad("its signature is damaged"))?;
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &point)
            .verify(&message(asker, &point), &signature)
            .map_err(|_| bad("its signature does not prove that the key is the asker's"))?;
        Ok(Point(point))
    }
}

impl PublicKeyData for Point {
    fn der_bytes(&self) -> &[u8] {
        &self.0
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &PKCS_ECDSA_P256_SHA256
    }
}

/// What is signed.
fn message(asker: &[u8; 32], point: &[u8]) -> Vec<u8> {
    [PURPOSE, asker, &P256_FRONT, point].concat()
}

/// The number of the cluster whose authority has this fingerprint.
pub(crate) fn cluster_of(fingerprint: &[u8; 32]) -> u128 {
    let (front, _) = fingerprint.split_at(16);
    u128::from_be_bytes(front.try_into().expect("16 bytes"))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn unhex(digits: &str) -> Option<Vec<u8>> {
    let nibble = |digit: &u8| char::from(*digit).to_digit(16);
    let byte = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(nibble(high)? << 4 | nibble(low)?).ok(),
        _ => None,
    };
    digits.as_bytes().chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests;
