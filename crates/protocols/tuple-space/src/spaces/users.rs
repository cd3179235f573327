//! Who may use a server's spaces at all, where these are for some only.
//!
//! Whoever serves says who: a caller of the server's own node, by a request like others, so that replicas learn it at one place of their log and all refuse the
//! same. Before it was said, nobody may. Who may is asked of each request, before anything is done; the node's own callers may do all. Who may no more is refused what he
//! waits for as well, at once; the leases that he holds end in their time, as he cannot renew them.

use super::Spaces;
use crate::codec::{Refusal, RequestView, SpaceRights, Withheld};
use quintet_contract::{Address, Frame, Identity, LinkInfo, Outbox, Time};
use quintet_errors::Code;

/// Those who may.
#[derive(Debug, Default)]
pub(super) struct Users {
    /// Whether not everybody may who is let in.
    pub(super) is_restricted: bool,
    /// Who may then, as it was said last.
    pub(super) allowed: SpaceRights,
}

impl Users {
    pub(super) fn new(is_restricted: bool) -> Users {
        Users { is_restricted, allowed: SpaceRights::default() }
    }

    fn admit(&self, link: &LinkInfo) -> bool {
        !self.is_restricted || self.allowed.admit(link)
    }
}

impl Spaces {
    /// Whether a request is refused because of who sent it; he is told, and so is who watches over the node.
    pub(super) fn refuse_other(&mut self, from: Address, frame: &Frame<'_>, out: &mut dyn Outbox) -> bool {
        let Some(client) = self.clients.get(from).filter(|client| !self.users.admit(&client.link)) else {
            return false;
        };
        // What is not answered names a request that was refused.
        if RequestView::is_answered(frame.kind) {
            let identity = client.link.identity;
            let text = not_a_user(identity);
            self.unnamed.tell_refused(Withheld::Space, identity, &text, out);
            self.unnamed.refuse(from, frame.token, Code::NotAllowed, text, out);
        }
        true
    }

    /// Says who may.
    ///
    /// # Errors
    /// It is not for this sender to say; or the spaces are for everybody.
    pub(super) fn allow(
        &mut self,
        now: Time,
        from: Address,
        rights: SpaceRights,
        out: &mut dyn Outbox,
    ) -> Result<(), (Code, String)> {
        if self.clients.get(from).is_some() {
            let text = "who may use these spaces is said by the process that serves them alone";
            return Err((Code::NotAllowed, text.to_owned()));
        }
        if !self.users.is_restricted {
            let text = "these spaces are for everybody who may use the server";
            return Err((Code::BadValue, text.to_owned()));
        }
        self.users.allowed = rights;
        let clients = self.clients.iter().filter(|(_, client)| !self.users.admit(&client.link));
        let refused: Vec<(Address, Option<Identity>)> =
            clients.map(|(address, client)| (address, client.link.identity)).collect();
        for (address, identity) in refused {
            let refusal = Refusal::new(Code::NotAllowed, not_a_user(identity));
            self.unnamed.refuse_unanswered_of(now, address, &refusal, out);
            self.table.refuse_unanswered_of(now, address, &refusal, out);
        }
        Ok(())
    }
}

fn not_a_user(identity: Option<Identity>) -> String {
    let who = match identity {
        Some(Identity([a, b, c, d, ..])) => format!("the identity {a:02x}{b:02x}{c:02x}{d:02x}..."),
        None => "this machine".to_owned(),
    };
    format!("{who} may not use this space: it is for others (quintet space list tells whom)")
}
