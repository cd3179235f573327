//! Why credentials cannot be used.

use core::fmt;
use rustls::{CertificateError, Error};

/// Why credentials cannot be used. No variant shows anything of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CredentialsError {
    /// It is no text of a certificate, its authority's and a key.
    NotCredentials(&'static str),
    /// The key belongs to another certificate.
    OtherKey,
    /// The certificate was valid until some time ago.
    Expired,
    /// The certificate becomes valid later.
    NotYetValid,
    /// The authority that stands beside it did not sign it for its cluster.
    OtherAuthority,
    /// Something else is wrong with the certificate.
    BadCertificate(String),
}

impl fmt::Display for CredentialsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CredentialsError::NotCredentials(what) => {
                write!(f, "this is no identity: {what}; make one with quintet init or quintet identity issue")
            }
            CredentialsError::OtherKey => {
                f.write_str("key and certificate do not belong together; issue the identity anew")
            }
            CredentialsError::Expired => {
                f.write_str("its certificate has expired; issue a new one with quintet identity issue")
            }
            CredentialsError::NotYetValid => {
                f.write_str("its certificate is not valid yet; check this machine's clock")
            }
            CredentialsError::OtherAuthority => {
                f.write_str("another authority signed its certificate; issue the identity anew")
            }
            CredentialsError::BadCertificate(what) => {
                write!(f, "its certificate cannot be used: {what}; issue the identity anew")
            }
        }
    }
}

impl core::error::Error for CredentialsError {}

impl From<Error> for CredentialsError {
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidCertificate(
                CertificateError::Expired | CertificateError::ExpiredContext { .. },
            ) => CredentialsError::Expired,
            Error::InvalidCertificate(
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. },
            ) => CredentialsError::NotYetValid,
            Error::InvalidCertificate(
                CertificateError::UnknownIssuer
                | CertificateError::BadSignature
                | CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. },
            ) => CredentialsError::OtherAuthority,
            Error::InconsistentKeys(_) => CredentialsError::OtherKey,
            other => CredentialsError::BadCertificate(other.to_string()),
        }
    }
}
