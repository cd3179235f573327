//! Why a stack cannot be made again from a recording.

use crate::codec::CONFIG_VERSION;
use quintet_contract::Port;
use quintet_wire::DecodeError;
use std::fmt;

/// Why a stack cannot be made from what a recording says of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StackError {
    /// There is no stack of this name.
    UnknownStack(String),
    /// The configuration is written in another version of its layout.
    Version(u16),
    /// It is for a service that this program does not have.
    UnknownService(Port),
    /// It is damaged.
    Damaged(DecodeError),
}

impl From<DecodeError> for StackError {
    fn from(error: DecodeError) -> StackError {
        StackError::Damaged(error)
    }
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StackError::UnknownStack(name) => write!(f, "this program has no stack called {name:?}"),
            StackError::Version(version) => write!(
                f,
                "its configuration is of version {version}, and this program reads version {CONFIG_VERSION}: replay it with the program that recorded it"
            ),
            StackError::UnknownService(port) => {
                write!(
                    f,
                    "its configuration is for a service at port {}, which this program does not have",
                    port.0
                )
            }
            StackError::Damaged(error) => write!(f, "its configuration is damaged: {error}"),
        }
    }
}

impl std::error::Error for StackError {}
