//! What was lent comes back: the books of the space, of the messages and of the sessions, when all is quiet.

use crate::check::{Rule, Violation};
use crate::client::Client;
use crate::network::{Network, SERVER, SPACE, address};
use crate::plan::Windows;
use quintet_contract::{Address, Protocol};
use quintet_messaging::{CreditState, Messages};
use quintet_session::{Ports, Sessions};
use quintet_tuple_space::{Books, Spaces};
use quintet_wire::registry::PORT_USER;
use std::any::Any;

impl Network {
    /// What the manager has lent.
    fn space_books(&self) -> Option<Books> {
        if self.has_messages {
            Some(self.instance::<Messages<Spaces>>(SERVER)?.inner().books())
        } else {
            Some(self.instance::<Spaces>(SERVER)?.books())
        }
    }

    fn credit<P: Protocol + Any>(&self, at: Address, peer: Address) -> Option<CreditState> {
        self.instance::<Messages<P>>(at)?.credit(peer)
    }

    /// Whether a manager that has been asked nothing that it did not answer has lent nothing.
    pub(crate) fn check_space_books(&self) -> Result<(), Violation> {
        match self.space_books() {
            None => Ok(()),
            Some(books) if books == Books::default() => Ok(()),
            Some(books) => {
                let text = format!("nothing is unfinished, and the space keeps for what is: {books:?}");
                Err(Violation::new(Rule::BooksBalance, text))
            }
        }
    }

    /// Whether the sessions between the manager and a client, which have delivered everything, keep nothing.
    pub(crate) fn check_kept(&self, client: u16) -> Result<(), Violation> {
        let at = address(client);
        let kept = if self.has_messages {
            self.kept::<Messages<Client>>(at, SERVER) + self.kept::<Messages<Spaces>>(SERVER, at)
        } else {
            self.kept::<Client>(at, SERVER) + self.kept::<Spaces>(SERVER, at)
        };
        if kept == 0 || !self.is_idle(client) {
            return Ok(());
        }
        let text = format!("client {client}: everything has arrived, and {kept} bytes of frames are kept");
        Err(Violation::new(Rule::BooksBalance, text))
    }

    fn kept<P: Protocol + Any>(&self, at: Address, peer: Address) -> u64 {
        self.simulation.get::<Sessions<Ports<P>>>(at).map_or(0, |sessions| sessions.kept_bytes(peer))
    }

    /// Whether between the manager and a client everything lent is with one of them.
    pub(crate) fn check_credit(&self, client: u16) -> Result<(), Violation> {
        let at = address(client);
        let there = Address { port: PORT_USER, ..at };
        let (Some(manager), Some(own)) =
            (self.credit::<Spaces>(SERVER, there), self.credit::<Client>(at, SPACE))
        else {
            return Ok(());
        };
        check_way(self.windows, &manager, &own)
            .and_then(|()| check_way(self.windows, &own, &manager))
            .map_err(|text| Violation::new(Rule::BooksBalance, format!("client {client}: {text}")))
    }
}

/// Whether the books of one direction agree, when nothing is under way.
fn check_way(windows: Windows, sender: &CreditState, receiver: &CreditState) -> Result<(), String> {
    for (what, has, owed, all) in [
        ("frames", sender.slots, receiver.owed_slots, windows.slots),
        ("bytes", sender.bytes, receiver.owed_bytes, windows.bytes),
        ("fragments", sender.fragments, receiver.owed_fragments, windows.fragments),
        ("unanswered requests", sender.awaiting, 0, receiver.unanswered),
    ] {
        if has + owed != all {
            return Err(format!("of {all} {what} the one side has {has} and the other {owed}"));
        }
    }
    let left = [
        (receiver.reserved_bytes, "bytes are granted"),
        (sender.leaving_bytes, "bytes are announced"),
        (sender.delayed.into(), "answers wait for the link"),
    ];
    match left.into_iter().find(|(count, _)| *count > 0) {
        None => Ok(()),
        Some((count, what)) => Err(format!("{count} {what}, and nothing is under way")),
    }
}
