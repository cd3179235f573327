//! A connection that a listener has not accepted.

use crate::BootstrapError;
use core::fmt;
use core::net::SocketAddr;
use quintet_contract::Identity;

/// A connection that a listener has not accepted: why, and what is known of who wanted it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotAccepted {
    /// Why.
    pub why: Box<BootstrapError>,
    /// From where it came; none where that is no address of a network.
    pub from: Option<SocketAddr>,
    /// Who that has proved to be, where it has; only a rule turns somebody away who has.
    pub identity: Option<Identity>,
}

impl From<BootstrapError> for NotAccepted {
    /// Nothing is known of who wanted it.
    fn from(why: BootstrapError) -> Self {
        NotAccepted { why: Box::new(why), from: None, identity: None }
    }
}

impl From<NotAccepted> for BootstrapError {
    fn from(refused: NotAccepted) -> Self {
        *refused.why
    }
}

impl fmt::Display for NotAccepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.from {
            Some(from) => write!(f, "{} (from {from})", self.why),
            None => self.why.fmt(f),
        }
    }
}

impl core::error::Error for NotAccepted {}
