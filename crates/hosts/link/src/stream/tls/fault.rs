//! Why a connection over TLS was not made.

use core::fmt;
use quintet_errors::Code;
use rustls::{AlertDescription, CertificateError, Error};

/// Why a connection over TLS was not made. Nothing of it shows a key.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TlsFault {
    /// This side was given no identity to prove.
    NoIdentity,
    /// The other side's certificate has expired.
    PeerExpired,
    /// The other side's certificate is not valid yet.
    PeerNotYetValid,
    /// The other side's certificate is of another cluster's authority.
    PeerOfAnotherCluster,
    /// The other side has shown no certificate.
    PeerWithoutCertificate,
    /// The other side's certificate cannot be used.
    PeerBadCertificate(String),
    /// To the other side, this side's certificate has expired.
    Expired,
    /// To the other side, this side's certificate is of another cluster.
    OfAnotherCluster,
    /// This side's rule does not let in who the other side has proved to be.
    PeerNotAdmitted,
    /// The other side's rule does not let in who this side has proved to be.
    NotAdmitted,
    /// A token was to be listened with.
    TokenListens,
    /// The other side wants a certificate.
    CertificateWanted,
    /// Both speak TLS, and not the same protocol above it: a browser, for example.
    OtherProtocol,
    /// The other side sent more than a handshake takes.
    TooMuch {
        /// Bytes that are heard of who has not proved who it is.
        limit: usize,
    },
    /// What came is no TLS, or not this version of it.
    Broken(String),
}

impl TlsFault {
    /// The code under which this error travels.
    pub(crate) fn code(&self) -> Code {
        match self {
            TlsFault::PeerOfAnotherCluster | TlsFault::OfAnotherCluster => Code::WrongCluster,
            TlsFault::OtherProtocol | TlsFault::TooMuch { .. } | TlsFault::Broken(_) => Code::Malformed,
            _ => Code::NotAllowed,
        }
    }
}

impl From<Error> for TlsFault {
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidCertificate(error) => of_certificate(error),
            Error::AlertReceived(alert) => of_alert(alert),
            Error::NoCertificatesPresented => TlsFault::PeerWithoutCertificate,
            Error::NoApplicationProtocol => TlsFault::OtherProtocol,
            other => TlsFault::Broken(other.to_string()),
        }
    }
}

fn of_certificate(error: CertificateError) -> TlsFault {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => TlsFault::PeerExpired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            TlsFault::PeerNotYetValid
        }
        CertificateError::UnknownIssuer
        | CertificateError::BadSignature
        | CertificateError::NotValidForName
        | CertificateError::NotValidForNameContext { .. } => TlsFault::PeerOfAnotherCluster,
        CertificateError::ApplicationVerificationFailure => TlsFault::PeerNotAdmitted,
        other => TlsFault::PeerBadCertificate(other.to_string()),
    }
}

fn of_alert(alert: AlertDescription) -> TlsFault {
    match alert {
        AlertDescription::CertificateExpired => TlsFault::Expired,
        AlertDescription::UnknownCA | AlertDescription::DecryptError => TlsFault::OfAnotherCluster,
        AlertDescription::AccessDenied => TlsFault::NotAdmitted,
        AlertDescription::CertificateRequired => TlsFault::CertificateWanted,
        AlertDescription::NoApplicationProtocol => TlsFault::OtherProtocol,
        other => TlsFault::Broken(format!("it says {other:?}")),
    }
}

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TlsFault::NoIdentity => f.write_str(
                "a tls: link needs an identity; make one with quintet init NAME, and name it with the setting \
                 cluster.identity (QUINTET_IDENTITY)",
            ),
            TlsFault::PeerExpired => f.write_str(
                "the other side's certificate has expired; issue it a new one with quintet identity issue, and check both clocks",
            ),
            TlsFault::PeerNotYetValid => {
                f.write_str("the other side's certificate is not valid yet; check the clocks of both machines")
            }
            TlsFault::PeerOfAnotherCluster => f.write_str(
                "the other side belongs to another cluster: another authority signed its certificate; use identities of one \
                 cluster on both sides, or a token of the cluster that is dialled",
            ),
            TlsFault::PeerWithoutCertificate => {
                f.write_str("the other side shows no certificate; give it an identity of this cluster")
            }
            TlsFault::PeerBadCertificate(what) => {
                write!(f, "the other side's certificate cannot be used: {what}; issue it a new one")
            }
            TlsFault::Expired => f.write_str(
                "the other side finds this side's certificate expired; issue a new one with quintet identity issue, and check \
                 both clocks",
            ),
            TlsFault::OfAnotherCluster => f.write_str(
                "the other side does not know the authority of this side's certificate; use an identity of its cluster (a token \
                 serves to join at an agent, and for nothing else)",
            ),
            TlsFault::PeerNotAdmitted => f.write_str(
                "the other side is not admitted: it is no member of the cluster, or its token was used, was revoked or has expired",
            ),
            TlsFault::NotAdmitted => f.write_str(
                "the other side does not admit this one: it is no member of the cluster, or its token was used, was revoked or \
                 has expired; make a new token with quintet token create, and join with it",
            ),
            TlsFault::TokenListens => {
                f.write_str("who has only a token cannot be listened to; join the cluster first, with quintet join")
            }
            TlsFault::CertificateWanted => {
                f.write_str("the other side wants a certificate; use an identity of its cluster")
            }
            TlsFault::OtherProtocol => f.write_str(
                "the other side speaks TLS, but not Quintet; check the address, and that both sides run one version",
            ),
            TlsFault::TooMuch { limit } => write!(
                f,
                "the other side sent more than {limit} bytes before it proved who it is; check what is at the other side"
            ),
            TlsFault::Broken(what) => {
                write!(f, "the TLS handshake failed: {what}; check what is at the other side")
            }
        }
    }
}
