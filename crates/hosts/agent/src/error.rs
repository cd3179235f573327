//! Why an agent, or a command that asks one, cannot go on.

use core::fmt;
use quintet_errors::Code;
use quintet_identity::{IdentityError, TokenError};
use quintet_link::{BootstrapError, CredentialsError, LinkAddress};
use quintet_membership::Refusal;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Why an agent, or a command that asks one, cannot go on.
#[derive(Debug)]
#[non_exhaustive]
pub enum AgentError {
    /// The machine's identity, or a token.
    Identity(IdentityError),
    /// The files of the tokens that were made here.
    Token(TokenError),
    /// The identity at a place cannot be used.
    Credentials(PathBuf, CredentialsError),
    /// Nobody can be reached there, or nothing be listened at.
    Link(BootstrapError),
    /// This machine's agent could not listen where it is to, so the token was not used.
    NotListening {
        /// Where: `HOST:PORT`.
        place: String,
        /// Why not.
        error: std::io::Error,
    },
    /// The folder is that of no cluster to which this machine belongs.
    NoMember(PathBuf),
    /// The others have removed this machine, which is called that, from the cluster.
    WasRemoved(String),
    /// The agent of this machine does not run.
    NotRunning(PathBuf),
    /// Who was asked does not answer any more.
    Lost {
        /// Who.
        whom: LinkAddress,
        /// How it was lost.
        code: Code,
    },
    /// The membership refused.
    Refused(Refusal),
    /// The launcher refused.
    NotLaunched(quintet_launch::Refusal),
    /// The agent refused.
    NotEnrolled {
        /// The code that programs see.
        code: Code,
        /// In words.
        text: String,
    },
    /// No member has made this machine's certificate anew.
    NotRenewed {
        /// Why not, of each that was asked.
        whys: Vec<String>,
    },
    /// The cluster has let this machine in, which could not keep what it was given.
    NotKept {
        /// What it is called.
        name: String,
        /// Why not.
        error: Box<AgentError>,
    },
    /// What was said cannot be read: another version, or no agent.
    Malformed(&'static str),
    /// What a user has given cannot be used.
    BadValue(String),
    /// The system refused.
    System {
        /// What was tried.
        doing: String,
        /// What it said.
        error: std::io::Error,
    },
}

impl AgentError {
    /// The code under which it exits.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            AgentError::Identity(error) => error.code(),
            AgentError::Token(error) => error.code(),
            AgentError::NotKept { error, .. } => error.code(),
            AgentError::Credentials(..) => Code::BadFile,
            AgentError::Link(error) => error.code(),
            AgentError::NotListening { error, .. } => match error.kind() {
                ErrorKind::AddrInUse => Code::AddressInUse,
                ErrorKind::InvalidInput => Code::BadValue,
                _ => Code::Resource,
            },
            AgentError::NoMember(_) | AgentError::BadValue(_) => Code::BadValue,
            AgentError::WasRemoved(_) => Code::NotAllowed,
            AgentError::NotRunning(_) | AgentError::NotRenewed { .. } => Code::Unreachable,
            AgentError::Lost { code, .. } | AgentError::NotEnrolled { code, .. } => *code,
            AgentError::Refused(refusal) => refusal.reason.code(),
            AgentError::NotLaunched(refusal) => refusal.reason.code(),
            AgentError::Malformed(_) => Code::Malformed,
            AgentError::System { .. } => Code::Resource,
        }
    }

    pub(crate) fn system(doing: &str, path: &Path, error: std::io::Error) -> AgentError {
        AgentError::System { doing: format!("{doing} {}", path.display()), error }
    }
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AgentError::Identity(error) => error.fmt(f),
            AgentError::Token(error) => error.fmt(f),
            AgentError::Credentials(path, CredentialsError::Expired) => write!(
                f,
                "{}: this machine's certificate has ended, and no other machine lets it in any more; have it removed \
                 on another one with quintet leave NAME, type quintet leave --forget here, and join anew",
                path.display()
            ),
            AgentError::Credentials(path, error) => write!(f, "{}: {error}", path.display()),
            AgentError::Link(error) => error.fmt(f),
            AgentError::NotListening { place, error } => {
                let why = match error.kind() {
                    ErrorKind::AddrInUse => {
                        "another process listens there; stop it or use another address".to_owned()
                    }
                    _ => error.to_string(),
                };
                write!(
                    f,
                    "{place}: {why}. The token was not used: say where this machine's agent is to listen, with --listen HOST:PORT, and join with it"
                )
            }
            AgentError::NoMember(folder) => write!(
                f,
                "{}: this machine belongs to no such cluster; make one with quintet init, or join one with quintet join",
                folder.display()
            ),
            AgentError::WasRemoved(name) => write!(
                f,
                "this machine, {name}, was removed from the cluster, and no other lets it in any more: type quintet leave --forget, and join \
                 anew with another token"
            ),
            AgentError::NotRunning(socket) => write!(
                f,
                "this machine's agent does not run (nobody listens at {}); start it with quintet up",
                socket.display()
            ),
            AgentError::Lost { whom, code } => {
                write!(f, "the agent at {whom} does not answer any more: {}", code.text())
            }
            AgentError::Refused(refusal) => f.write_str(&refusal.text),
            AgentError::NotLaunched(refusal) => f.write_str(&refusal.text),
            AgentError::NotEnrolled { text, .. } => f.write_str(text),
            AgentError::NotRenewed { whys } if whys.is_empty() => f.write_str(
                "this machine's certificate could not be made anew: it knows no other machine to ask",
            ),
            AgentError::NotRenewed { whys } => {
                write!(f, "this machine's certificate could not be made anew: {}", whys.join("; "))
            }
            AgentError::NotKept { name, error } => write!(
                f,
                "the cluster has let this machine in, which could not keep what it was given: {error}; remove it on another \
                 machine with quintet leave {name}, and join anew with another token"
            ),
            AgentError::Malformed(what) => {
                write!(f, "{what} cannot be read: use the same version of quintet on all machines")
            }
            AgentError::BadValue(text) => f.write_str(text),
            AgentError::System { doing, error } => write!(f, "{doing}: {error}"),
        }
    }
}

impl core::error::Error for AgentError {}

impl From<IdentityError> for AgentError {
    fn from(error: IdentityError) -> Self {
        AgentError::Identity(error)
    }
}

impl From<BootstrapError> for AgentError {
    fn from(error: BootstrapError) -> Self {
        AgentError::Link(error)
    }
}
