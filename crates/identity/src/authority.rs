//! The certificate authority of a cluster.
//!
//! A cluster is named by its authority's key: every certificate bears
//! `<first 16 bytes of the key's SHA-256>.quintet.internal`.

use crate::IdentityError;
use core::time::Duration;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PublicKeyData,
};
use ring::digest::{SHA256, digest};
use std::time::{SystemTime, UNIX_EPOCH};

/// A day.
pub const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long its certificate says that an authority lives. Members do not look: what ends is what it issued.
const AUTHORITY_DAYS: u32 = 3650;
/// How much the clock of another machine may be behind: by a wrong time zone too.
const SKEW: Duration = DAY;
/// What every part of a PEM text begins with, and a certificate.
const BEGIN: &str = "-----BEGIN ";
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----";

/// When a certificate is valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Validity {
    /// From this time on.
    pub from: SystemTime,
    /// Until this one.
    pub until: SystemTime,
}

impl Validity {
    /// From now on, as slow clocks have it too, for so many days.
    #[must_use]
    pub fn days(days: u32) -> Validity {
        let now = SystemTime::now();
        Validity { from: now - SKEW, until: now + DAY * days }
    }
}

/// Signs certificates.
pub struct Authority {
    key: KeyPair,
    certificate: String,
    cluster: String,
}

impl core::fmt::Debug for Authority {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Authority").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

impl Authority {
    /// A new one, of a new cluster.
    ///
    /// # Errors
    /// [`IdentityError::Refused`]: the system gives no randomness.
    pub fn new() -> Result<Authority, IdentityError> {
        let key = KeyPair::generate().map_err(refused)?;
        let cluster = cluster_name(cluster_number(&key));
        let certificate = parameters(&cluster, Validity::days(AUTHORITY_DAYS));
        let certificate = certificate.self_signed(&key).map_err(refused)?.pem();
        Ok(Authority { key, certificate, cluster })
    }

    /// The one whose certificate and key these are.
    ///
    /// # Errors
    /// [`IdentityError::NotAnAuthority`].
    pub fn from_pem(certificate: String, key: &str) -> Result<Authority, IdentityError> {
        let key = KeyPair::from_pem(key).map_err(|_| IdentityError::NotAnAuthority)?;
        // All of it goes into every identity that is issued: nothing else may stand there, least of all a key.
        let is_one = certificate.matches(BEGIN).count() == 1 && certificate.contains(CERTIFICATE);
        if !is_one {
            return Err(IdentityError::NotAnAuthority);
        }
        let cluster = cluster_name(cluster_number(&key));
        Ok(Authority { key, certificate, cluster })
    }

    /// The name of its cluster.
    #[must_use]
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// Its cluster's number, which is the front of that name.
    #[must_use]
    pub fn cluster_number(&self) -> u128 {
        cluster_number(&self.key)
    }

    /// Its certificate.
    #[must_use]
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Its key, which nobody else may see.
    #[must_use]
    pub fn key(&self) -> String {
        self.key.serialize_pem()
    }

    /// A key and a certificate for the machine of that name, as one text.
    ///
    /// # Errors
    /// [`IdentityError::Refused`]: the system gives no randomness. [`IdentityError::BadName`].
    pub fn issue(&self, machine: &str, valid: Validity) -> Result<String, IdentityError> {
        let key = KeyPair::generate().map_err(refused)?;
        let certificate = self.certify(&key, machine, valid)?;
        Ok(identity_text(machine, &self.cluster, &certificate, &self.certificate, &key.serialize_pem()))
    }

    /// A certificate for that key, in PEM.
    pub(crate) fn certify(
        &self,
        key: &impl PublicKeyData,
        machine: &str,
        valid: Validity,
    ) -> Result<String, IdentityError> {
        check_name(machine)?;
        let mut certificate = CertificateParams::new(vec![self.cluster.clone()]).map_err(refused)?;
        certificate.distinguished_name = named(machine);
        limit(&mut certificate, valid);
        certificate.use_authority_key_identifier_extension = true;
        certificate.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        certificate.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
        let issuer = Issuer::new(parameters(&self.cluster, valid), &self.key);
        Ok(certificate.signed_by(key, &issuer).map_err(refused)?.pem())
    }
}

/// The text of an identity.
pub(crate) fn identity_text(
    machine: &str,
    cluster: &str,
    certificate: &str,
    authority: &str,
    key: &str,
) -> String {
    format!(
        "The identity of {machine} in the Quintet cluster {cluster}. It holds a private key: show it to nobody.\n\
         {certificate}{authority}{key}"
    )
}

/// Whether a cluster or a machine may be called that.
///
/// # Errors
/// [`IdentityError::BadName`].
pub(crate) fn check_name(name: &str) -> Result<(), IdentityError> {
    let ordinary = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let good = (1..=64).contains(&name.len()) && name.chars().all(ordinary) && !name.starts_with('.');
    if good { Ok(()) } else { Err(IdentityError::BadName { name: name.chars().take(100).collect() }) }
}

/// The number of the cluster of a key.
fn cluster_number(key: &KeyPair) -> u128 {
    let hash = digest(&SHA256, &key.subject_public_key_info());
    let front = hash.as_ref().first_chunk().expect("SHA-256 has 32 bytes");
    u128::from_be_bytes(*front)
}

/// The name of the cluster of that number.
pub(crate) fn cluster_name(number: u128) -> String {
    format!("{number:032x}.quintet.internal")
}

/// What an authority's certificate says. What is signed names its issuer as this does, so that it follows from the key alone.
fn parameters(cluster: &str, valid: Validity) -> CertificateParams {
    let mut certificate = CertificateParams::default();
    certificate.distinguished_name = named(&format!("Quintet cluster {cluster}"));
    limit(&mut certificate, valid);
    // It signs members of the cluster, and no other authority.
    certificate.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    certificate.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    certificate
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

/// Has a certificate be valid then.
fn limit(certificate: &mut CertificateParams, valid: Validity) {
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    let since_epoch = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default();
    certificate.not_before = epoch + since_epoch(valid.from);
    certificate.not_after = epoch + since_epoch(valid.until);
}

pub(crate) fn refused(error: rcgen::Error) -> IdentityError {
    IdentityError::Refused { doing: "make a key or a certificate".to_owned(), why: error.to_string() }
}
