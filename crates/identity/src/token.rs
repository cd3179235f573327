//! Tokens: one text that lets one machine join a cluster.
//!
//! ```text
//! version u8 | cluster u128 | node u16 | seed, 16 random bytes | check, 2 bytes      big endian
//! ```
//!
//! In base32 (RFC 4648), lower case, no padding, in groups. From the seed both sides derive a key, with which the joiner proves over TLS
//! that it has the token; the cluster tells it whom to expect at the other side. The token itself crosses no wire.

use crate::IdentityError;
use crate::authority::refused;
use core::fmt;
use core::str::FromStr;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use ring::digest::{SHA256, digest};
use ring::hkdf::{HKDF_SHA256, Salt};
use ring::rand::{Random, SystemRandom, generate};
use ring::signature::{Ed25519KeyPair, KeyPair as _};

/// What the text is that this program makes and reads.
const VERSION: u8 = 1;
/// Says what the derived key is for (RFC 5869, section 3.2).
const PURPOSE: &[u8] = b"quintet token";
/// Bytes of a seed: as many as nobody can try.
const SEED_BYTES: usize = 16;
/// Bytes that find a mistyped letter.
const CHECK_BYTES: usize = 2;
/// Version, cluster, node, seed, check.
const BYTES: usize = 1 + 16 + 2 + SEED_BYTES + CHECK_BYTES;
/// Characters of the text, without what stands between its groups.
const CHARACTERS: usize = (BYTES * 8).div_ceil(5);
/// Characters of a group.
const GROUP: usize = 6;
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// An Ed25519 public key in a certificate, without its 32 bytes (RFC 8410, section 4).
const PUBLIC_KEY_FRONT: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/// An Ed25519 private key in PKCS#8, without its 32 bytes (RFC 8410, section 7).
const PRIVATE_KEY_FRONT: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

/// A token. Its comparison knows the seed; its `Debug` text does not.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    cluster: u128,
    node: u16,
    seed: [u8; SEED_BYTES],
}

/// Why a text is no token. Nothing of it shows the text.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TokenTextError {
    /// Something of it is missing.
    TooShort {
        /// Characters that it has.
        characters: usize,
    },
    /// More stands behind it.
    TooLong {
        /// Characters that it has.
        characters: usize,
    },
    /// A character is none of a token's.
    Stray {
        /// That one.
        character: char,
    },
    /// The check bytes are others.
    Mistyped,
    /// Another version of this program made it.
    OtherVersion {
        /// Its version.
        version: u8,
    },
}

impl fmt::Display for TokenTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenTextError::TooShort { characters } => write!(
                f,
                "the token is too short: it has {characters} letters and digits of {CHARACTERS}; copy all of it"
            ),
            TokenTextError::TooLong { characters } => write!(
                f,
                "the token is too long: it has {characters} letters and digits instead of {CHARACTERS}; copy it once, and nothing else"
            ),
            TokenTextError::Stray { character } => write!(
                f,
                "the token is mistyped: {character:?} stands in none; tokens have the letters a to z and the digits 2 to 7"
            ),
            TokenTextError::Mistyped => {
                f.write_str("the token is mistyped: its last letters do not fit the others; copy it anew")
            }
            TokenTextError::OtherVersion { version } => write!(
                f,
                "the token is of version {version}, and this program knows version {VERSION}; update the older of both machines"
            ),
        }
    }
}

impl core::error::Error for TokenTextError {}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Token { cluster, node, seed: _ } = self;
        f.debug_struct("Token").field("cluster", cluster).field("node", node).finish_non_exhaustive()
    }
}

impl Token {
    /// A new one, of the cluster of that number, issued by the machine of that node.
    ///
    /// # Errors
    /// [`IdentityError::Refused`]: the system gives no randomness.
    pub fn new(cluster: u128, node: u16) -> Result<Token, IdentityError> {
        let seed: Random<[u8; SEED_BYTES]> =
            generate(&SystemRandom::new()).map_err(|_| IdentityError::Refused {
                doing: "make a token".to_owned(),
                why: "the system gives no randomness".to_owned(),
            })?;
        Ok(Token { cluster, node, seed: seed.expose() })
    }

    /// The number of its cluster: the front of the SHA-256 of the authority's public key.
    #[must_use]
    pub fn cluster(&self) -> u128 {
        self.cluster
    }

    /// The node of the machine that issued it, and knows what it allows.
    #[must_use]
    pub fn node(&self) -> u16 {
        self.node
    }

    /// The text to type on another machine. Whoever reads it has the token.
    #[must_use]
    pub fn text(&self) -> String {
        let mut bytes = self.front();
        bytes.extend(check(&bytes));
        let characters = encode(&bytes);
        let groups: Vec<&str> = (0..characters.len())
            .step_by(GROUP)
            .map(|at| &characters[at..characters.len().min(at + GROUP)])
            .collect();
        groups.join("-")
    }

    /// Who its holder proves to be over TLS: the SHA-256 of the derived public key, as it stands in certificates.
    #[must_use]
    pub fn identity(&self) -> [u8; 32] {
        let key = Ed25519KeyPair::from_seed_unchecked(&self.derive()).expect("32 bytes are a seed");
        let in_certificates = [&PUBLIC_KEY_FRONT[..], key.public_key().as_ref()].concat();
        digest(&SHA256, &in_certificates).as_ref().try_into().expect("SHA-256 has 32 bytes")
    }

    /// The derived key and a certificate that it signed itself, in PEM: what `quintet_link::Credentials` are made of.
    ///
    /// # Errors
    /// [`IdentityError::Refused`]: the library makes no certificate of it.
    pub fn key(&self) -> Result<String, IdentityError> {
        let key = [&PRIVATE_KEY_FRONT[..], &self.derive()].concat();
        let key = KeyPair::try_from(key).map_err(refused)?;
        // Nobody looks at its times: a token's are known where it was issued.
        let mut certificate = CertificateParams::default();
        certificate.distinguished_name = DistinguishedName::new();
        certificate.distinguished_name.push(DnType::CommonName, "Quintet token");
        let certificate = certificate.self_signed(&key).map_err(refused)?.pem();
        Ok(certificate + &key.serialize_pem())
    }

    /// All but the check bytes.
    fn front(&self) -> Vec<u8> {
        [&[VERSION][..], &self.cluster.to_be_bytes(), &self.node.to_be_bytes(), &self.seed].concat()
    }

    /// The seed of the key. The cluster is its salt, so that one seed would be two keys in two clusters.
    fn derive(&self) -> [u8; 32] {
        let mut derived = [0; 32];
        Salt::new(HKDF_SHA256, &self.cluster.to_be_bytes())
            .extract(&self.seed)
            .expand(&[PURPOSE], HKDF_SHA256)
            .and_then(|derivation| derivation.fill(&mut derived))
            .expect("32 bytes are one block of SHA-256");
        derived
    }
}

impl FromStr for Token {
    type Err = TokenTextError;

    /// Capitals, blanks, and other groups are as good.
    fn from_str(text: &str) -> Result<Token, TokenTextError> {
        let bytes = decode(text)?;
        let (front, said) = bytes.split_at(BYTES - CHECK_BYTES);
        if said != check(front) {
            return Err(TokenTextError::Mistyped);
        }
        let (version, front) = (front[0], &front[1..]);
        if version != VERSION {
            return Err(TokenTextError::OtherVersion { version });
        }
        let (cluster, front) = front.split_at(16);
        let (node, seed) = front.split_at(2);
        Ok(Token {
            cluster: u128::from_be_bytes(cluster.try_into().expect("16 bytes")),
            node: u16::from_be_bytes(node.try_into().expect("2 bytes")),
            seed: seed.try_into().expect("16 bytes"),
        })
    }
}

/// What finds mistyped letters.
fn check(front: &[u8]) -> [u8; CHECK_BYTES] {
    let hash = digest(&SHA256, front);
    [hash.as_ref()[0], hash.as_ref()[1]]
}

fn encode(bytes: &[u8]) -> String {
    let bit = |n: usize| bytes.get(n / 8).is_some_and(|byte| byte >> (7 - n % 8) & 1 == 1);
    let character = |n: usize| {
        let value = (0..5).fold(0, |value, offset| value << 1 | usize::from(bit(n * 5 + offset)));
        char::from(ALPHABET[value])
    };
    (0..(bytes.len() * 8).div_ceil(5)).map(character).collect()
}

/// The bytes of a text of the right length.
fn decode(text: &str) -> Result<[u8; BYTES], TokenTextError> {
    let written = || text.chars().filter(|c| *c != '-' && !c.is_whitespace());
    let value = |c: char| {
        let place =
            ALPHABET.iter().position(|own| c.is_ascii() && char::from(*own) == c.to_ascii_lowercase());
        place.ok_or(TokenTextError::Stray { character: c })
    };
    let characters = written().count();
    let mut bytes = [0; BYTES];
    // The last character has more bits than are left.
    let mut beyond = 0;
    for (n, c) in written().take(CHARACTERS).enumerate() {
        let value = value(c)?;
        for bit in (0..5).filter(|bit| value >> (4 - bit) & 1 == 1) {
            let at = n * 5 + bit;
            match bytes.get_mut(at / 8) {
                Some(byte) => *byte |= 1 << (7 - at % 8),
                None => beyond |= 1,
            }
        }
    }
    match characters {
        _ if characters < CHARACTERS => Err(TokenTextError::TooShort { characters }),
        _ if characters > CHARACTERS && bytes[0] != VERSION => {
            Err(TokenTextError::OtherVersion { version: bytes[0] })
        }
        _ if characters > CHARACTERS => Err(TokenTextError::TooLong { characters }),
        _ if beyond != 0 => Err(TokenTextError::Mistyped),
        _ => Ok(bytes),
    }
}

#[cfg(test)]
mod tests;
