//! Why there is no identity.

use core::fmt;
use quintet_errors::Code;
use std::path::PathBuf;

/// Why there is no identity: the cause, and what to do. Nothing of it shows a key.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum IdentityError {
    /// A cluster or a machine cannot be called that.
    BadName {
        /// The name.
        name: String,
    },
    /// Something is there, and stays as it is.
    Exists {
        /// Where.
        path: PathBuf,
    },
    /// Nothing is there.
    Missing {
        /// Where.
        path: PathBuf,
    },
    /// Other users of the machine may read or write it.
    OpenToOthers {
        /// Where.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// Another user owns it.
    OtherOwner {
        /// Where.
        path: PathBuf,
    },
    /// It is too long to be one.
    TooLong {
        /// Where.
        path: PathBuf,
    },
    /// The files are not an authority's.
    NotAnAuthority,
    /// A machine's request for a certificate is none, or of another's key.
    BadRequest {
        /// What is wrong with it.
        what: &'static str,
    },
    /// A certificate is damaged, or not the one that was asked for.
    BadCertificate {
        /// What is wrong with it.
        what: &'static str,
    },
    /// No cluster was named, and not just one was made here.
    NotOneCluster {
        /// Where they were looked for.
        home: PathBuf,
        /// How many there are.
        count: usize,
    },
    /// The file of an agent does not say which node it is, and where the others are.
    BadAgentFile {
        /// Where.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The setting names an identity, and the environment says nowhere to look for it.
    NoHome,
    /// The system refused.
    Refused {
        /// What was tried.
        doing: String,
        /// What it said.
        why: String,
    },
}

impl IdentityError {
    /// The code under which this error exits.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            IdentityError::BadName { .. }
            | IdentityError::Exists { .. }
            | IdentityError::NotOneCluster { .. }
            | IdentityError::NoHome => Code::BadValue,
            IdentityError::OpenToOthers { .. } | IdentityError::OtherOwner { .. } => Code::NotAllowed,
            IdentityError::Missing { .. }
            | IdentityError::TooLong { .. }
            | IdentityError::NotAnAuthority
            | IdentityError::BadAgentFile { .. }
            | IdentityError::BadCertificate { .. } => Code::BadFile,
            IdentityError::BadRequest { .. } => Code::Malformed,
            IdentityError::Refused { .. } => Code::Resource,
        }
    }
}

impl fmt::Display for IdentityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IdentityError::BadName { name } => write!(
                f,
                "{name:?} is no name: use up to 64 letters, digits, dashes, underscores and dots, no dot in front"
            ),
            IdentityError::Exists { path } => {
                write!(f, "{} is there already, and stays as it is; use another name", path.display())
            }
            IdentityError::Missing { path } => write!(
                f,
                "there is no identity at {}; make one with quintet init NAME, or carry one there from the machine where the \
                 cluster was made (quintet identity issue); a path is written with a slash in it, ./b.identity for example",
                path.display()
            ),
            IdentityError::OpenToOthers { path, mode } => write!(
                f,
                "{} is open to other users (mode {mode:03o}), and holds a private key; type: chmod 600 {}",
                path.display(),
                path.display()
            ),
            IdentityError::OtherOwner { path } => {
                write!(f, "{} is another user's; use an identity of your own", path.display())
            }
            IdentityError::TooLong { path } => {
                write!(f, "{} is too long to be an identity; check the path", path.display())
            }
            IdentityError::NotAnAuthority => {
                f.write_str("there is no key of an authority with its certificate in that folder; issue identities, and make tokens, where the cluster was made")
            }
            IdentityError::BadRequest { what } => {
                write!(f, "the request for a certificate is refused: {what}")
            }
            IdentityError::BadCertificate { what } => {
                write!(f, "the certificate cannot be used: {what}; ask for a new one")
            }
            IdentityError::NotOneCluster { home, count: 0 } => write!(
                f,
                "no cluster was made here (below {}): tokens are made on the machine where it was; or make one with quintet init NAME",
                home.display()
            ),
            IdentityError::NotOneCluster { home, count } => {
                write!(f, "{count} clusters were made below {}; say which with --cluster NAME", home.display())
            }
            IdentityError::BadAgentFile { path, problem } => write!(
                f,
                "{} does not say which node this machine's agent is (node = 3, say), and where the others are: {problem}; remove the file, \
                 and join the cluster anew",
                path.display()
            ),
            IdentityError::NoHome => f.write_str(
                "neither XDG_CONFIG_HOME nor HOME is set; write the identity's path, with a slash in it, instead of its name",
            ),
            IdentityError::Refused { doing, why } => write!(f, "cannot {doing}: {why}"),
        }
    }
}

impl core::error::Error for IdentityError {}
