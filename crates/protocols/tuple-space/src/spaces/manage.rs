//! What is asked of the named spaces as a whole.

use super::{Client, Spaces};
use crate::Space;
use crate::codec::{
    DONE, Refusal, SPACE_ROWS, SpaceName, SpaceNumber, SpaceSettings, SpacesPage, SpacesRequest, Withheld,
};
use quintet_contract::{Address, Frame, Outbox, Time};
use quintet_errors::Code;
use quintet_wire::{Decode, DecodeError, Reader};

/// The rows to answer with, or none where it is done; or why not.
type Managed = Result<Option<SpacesPage>, (Code, String)>;

impl Spaces {
    /// Does what is asked, and answers.
    pub(super) fn manage(&mut self, now: Time, from: Address, frame: &Frame<'_>, out: &mut dyn Outbox) {
        let done = match decode(frame) {
            Ok(SpacesRequest::Create(name, settings)) => self.create(now, name, settings, out),
            Ok(SpacesRequest::Open(name)) => self.open(now, from, &name, out),
            Ok(SpacesRequest::Remove(name)) => self.remove(from, &name, out),
            Ok(SpacesRequest::List { after }) => Ok(Some(self.list(after.as_ref()))),
            Ok(SpacesRequest::Allow(rights)) => self.allow(now, from, rights, out).map(|()| None),
            Err(error) => Err((Code::Malformed, error.to_string())),
        };
        match done {
            Ok(Some(page)) => self.unnamed.reply_with(from, SPACE_ROWS, frame.token, &page, out),
            Ok(None) => self.unnamed.reply(from, DONE, frame.token, out),
            Err((code, text)) => self.unnamed.refuse(from, frame.token, code, text, out),
        }
    }

    fn create(&mut self, now: Time, name: SpaceName, asked: SpaceSettings, out: &mut dyn Outbox) -> Managed {
        let settings = self.table.filled(asked);
        if let Ok((number, there)) = self.table.find_named(&name) {
            if there.settings == settings {
                return Ok(Some(one(there.info(number))));
            }
            let text = format!(
                "{name}, with other settings (quintet space show {name}): ask for the same, or remove it first"
            );
            return Err((Code::SpaceExists, text));
        }
        let (number, space) = self.table.add(name, settings)?;
        space.grant_as(now, &self.unnamed, out);
        self.row(number)
    }

    /// Who may not use a space learns that when it opens it.
    fn open(&mut self, now: Time, from: Address, name: &SpaceName, out: &mut dyn Outbox) -> Managed {
        let (number, _) = self.table.find_named(name)?;
        self.admit(now, from, number, out)?;
        self.row(number)
    }

    fn row(&self, number: SpaceNumber) -> Managed {
        self.table.find(number).map(|named| Some(one(named.info(number))))
    }

    /// Those who wait in it are refused; its tuples are gone.
    fn remove(&mut self, from: Address, name: &SpaceName, out: &mut dyn Outbox) -> Managed {
        let (_, named) = self.table.find_named(name)?;
        if let Some(Client { link, .. }) = self.clients.get(from)
            && !named.admits(link)
        {
            let text = named.not_admitted(link.identity);
            self.unnamed.tell_refused(Withheld::Space, link.identity, &text, out);
            return Err((Code::NotAllowed, text));
        }
        let Some((number, space)) = self.table.remove(name) else { return Ok(None) };
        for address in self.clients.addresses().collect::<Vec<_>>() {
            self.clients.get_mut(address).map(|client| client.spaces.remove(&number));
        }
        let refusal = Refusal::new(Code::NoSuchSpace, format!("the space {name} was removed meanwhile"));
        self.unnamed.take_over(space.dissolve(&refusal), out);
        Ok(None)
    }

    fn list(&self, after: Option<&SpaceName>) -> SpacesPage {
        let mut rest = self.table.after(after).map(|(number, named)| named.info(number));
        let rows = rest.by_ref().take(SpacesPage::MAX_ROWS).collect();
        SpacesPage { rows, has_more: rest.next().is_some() }
    }
}

impl Space {
    /// Answers what is asked of the named spaces where this space stands alone: there are none.
    #[cold]
    pub(crate) fn answer_without_named(&mut self, from: Address, frame: &Frame<'_>, out: &mut dyn Outbox) {
        let why = "this space stands alone, without named ones";
        let (code, text) = match decode(frame) {
            Ok(SpacesRequest::List { .. }) => {
                let none = SpacesPage { rows: Vec::new(), has_more: false };
                return self.reply_with(from, SPACE_ROWS, frame.token, &none, out);
            }
            Ok(SpacesRequest::Create(name, _)) => {
                (Code::BadValue, format!("no space {name} can be made: {why}"))
            }
            Ok(SpacesRequest::Open(name) | SpacesRequest::Remove(name)) => {
                (Code::NoSuchSpace, format!("{name}; {why}"))
            }
            Ok(SpacesRequest::Allow(_)) => (Code::BadValue, format!("nobody is to be named: {why}")),
            Err(error) => (Code::Malformed, error.to_string()),
        };
        self.refuse(from, frame.token, code, text, out);
    }
}

fn one(row: crate::codec::SpaceInfo) -> SpacesPage {
    SpacesPage { rows: vec![row], has_more: false }
}

/// Reads what is asked of the spaces as a whole.
fn decode(frame: &Frame<'_>) -> Result<SpacesRequest, DecodeError> {
    let mut reader = Reader::new(frame.body);
    // Takes are settled by requests to the space where they were made.
    let _settled = reader.u64()?;
    let asked = SpacesRequest::decode(&mut reader)?;
    reader.finish()?;
    match frame.bulk.len() {
        0 => Ok(asked),
        left => Err(DecodeError::Trailing { at: 0, left }),
    }
}
