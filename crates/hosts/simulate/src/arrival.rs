//! What a node is given: an input that is under way, or waits.

use crate::parcel::Parcel;
use crate::picos::Picos;
use quintet_contract::{Address, PeerChange, Port};

/// An input of a node. It changes hands often, so it is two words: what is larger is boxed.
#[derive(Debug)]
pub(crate) enum Arrival {
    Started,
    Wake,
    Frame(Box<Parcel>),
    News(Box<News>),
}

/// What a node is told about a link.
#[derive(Debug)]
pub(crate) enum News {
    /// It has room again.
    Writable(Address),
    /// A peer came or went.
    Peer(Address, PeerChange),
}

impl From<News> for Arrival {
    fn from(news: News) -> Arrival {
        Arrival::News(Box::new(news))
    }
}

/// An input that waits in a node's inbox, and since when.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) port: Port,
    pub(crate) arrival: Arrival,
    pub(crate) since: Picos,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrival_is_small() {
        assert_eq!(size_of::<Arrival>(), 2 * size_of::<usize>());
    }
}
