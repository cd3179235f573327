//! Who decides where everything is: the first manager.

use super::fellows::other_behaviour;
use super::heat::Heat;
use super::{HotKeysConfig, Manager};
use crate::codec::{
    COUNT, Class, MANAGERS_BEHAVIOUR, MAX_CLASSES, MAX_MOVED_KEYS, MIGRATE, Migrate, ROUTES, Relocation,
    Route,
};
use quintet_contract::{
    Address, Frame, Input, Outbox, OwnedFrame, PeerChange, PeerMap, Protocol, Time, Token,
};
use quintet_errors::Code;
use quintet_wire::{Decode, DecodeError, Reader, encode_to_vec};
use std::collections::VecDeque;

/// What it knows beside the placement.
#[derive(Debug)]
pub(super) struct Directory {
    /// Changes that were asked for.
    wanted: VecDeque<Relocation>,
    /// Managers that have not finished the change under way.
    left: usize,
    /// Who asks where everything is; answered between two changes.
    asked: Vec<(Address, Token)>,
    /// Clients behind kernels, which reach the other managers through those alone.
    relayed: PeerMap<()>,
    /// What each manager has to do.
    pub(super) heat: Heat,
}

impl Directory {
    pub(super) fn new(hot_keys: HotKeysConfig) -> Directory {
        Directory {
            wanted: VecDeque::new(),
            left: 0,
            asked: Vec::new(),
            relayed: PeerMap::new(),
            heat: Heat::new(hot_keys),
        }
    }

    /// A client is there, or gone.
    pub(super) fn note(&mut self, client: Address, change: &PeerChange) {
        match change {
            PeerChange::Up { link, .. } if link.is_relayed => drop(self.relayed.insert(client, ())),
            PeerChange::Up { .. } | PeerChange::Down(_) => drop(self.relayed.remove(client)),
        }
    }

    /// Whether a change is under way, or wanted.
    pub(super) fn is_busy(&self) -> bool {
        self.left > 0 || !self.wanted.is_empty()
    }
}

impl Manager {
    /// A client, or a manager, asks where everything is.
    pub(super) fn route(&mut self, now: Time, from: Address, frame: &Frame<'_>, out: &mut dyn Outbox) {
        let mut reader = Reader::new(frame.body);
        let asked = Route::decode(&mut reader);
        let template = reader.left();
        if self.fellow(from).is_none() && self.refuse_lost(from, frame.token, out) {
            return;
        }
        if let (Some(manager), 0, Ok(Route::Lock { .. } | Route::Unlock(_) | Route::Ring(_))) =
            (self.fellow(from), template, &asked)
        {
            return self.commit_word(now, (manager, frame.token), asked.expect("it is one of these"), out);
        }
        if let (Some(manager), Ok(Route::Give { .. } | Route::Room(_) | Route::Page(_))) =
            (self.fellow(from), &asked)
        {
            let about = (&frame.body[frame.body.len() - template..], frame.bulk);
            let word = asked.expect("it is one of these");
            return self.collect_word(now, (manager, frame.token), word, about, out);
        }
        let asked = match (asked, &mut self.directory) {
            (Ok(Route::Count(epoch)), _) => return self.count_part(now, from, epoch, template, frame, out),
            (Ok(_), _) if template > 0 => {
                let text =
                    DecodeError::Trailing { at: frame.body.len() - template, left: template }.to_string();
                return self.spaces.unnamed_mut().refuse(from, frame.token, Code::Malformed, text, out);
            }
            (Ok(Route::Ask { behaviour }), _) if behaviour != MANAGERS_BEHAVIOUR => {
                let text = other_behaviour(self.me, "this program", behaviour);
                return self.spaces.unnamed_mut().refuse(from, frame.token, Code::VersionMismatch, text, out);
            }
            (Ok(Route::Join { managers, seed, behaviour }), _) => {
                if let Some(manager) = self.fellow(from) {
                    return self.join(manager, frame.token, ((managers, seed), behaviour), out);
                }
                let text = "only another manager of the space may say that";
                return self.spaces.unnamed_mut().refuse(from, frame.token, Code::NotAllowed, text, out);
            }
            (Ok(Route::Load(load)), _) => {
                if let Some(manager) = self.fellow(from) {
                    self.acknowledge(manager, frame.token, out);
                    return self.hear_load(now, manager, load, out);
                }
                let text = "only another manager of the space may say that";
                return self.spaces.unnamed_mut().refuse(from, frame.token, Code::NotAllowed, text, out);
            }
            (Ok(word), _) if word.is_together() => {
                let text = "only another manager of the space may say that";
                return self.spaces.unnamed_mut().refuse(from, frame.token, Code::NotAllowed, text, out);
            }
            (Ok(asked), Some(directory)) => {
                directory.asked.push((from, frame.token));
                asked
            }
            (Ok(_), None) => {
                let text = self.where_the_first_is();
                return self.spaces.unnamed_mut().refuse(from, frame.token, Code::BadValue, text, out);
            }
            (Err(error), _) => {
                let text = error.to_string();
                return self.spaces.unnamed_mut().refuse(from, frame.token, Code::Malformed, text, out);
            }
        };
        match asked {
            Route::Spread(signature, field) => self.want(Relocation::Class(signature, Class::Hash(field))),
            Route::Gather(signature) => self.want(Relocation::Class(signature, Class::Search)),
            // It only asks, or was taken before.
            Route::Ask { .. }
            | Route::Count(_)
            | Route::Join { .. }
            | Route::Load(_)
            | Route::Lock { .. }
            | Route::Unlock(_)
            | Route::Ring(_)
            | Route::Give { .. }
            | Route::Room(_)
            | Route::Page(_) => {}
        }
        self.direct(now, out);
    }

    /// What a program hears that has come to this manager, which is not the first.
    fn where_the_first_is(&self) -> String {
        let (number, of) = (self.me + 1, self.managers.len());
        let begin =
            format!("manager {number} of the {of} of a space is here, and programs connect to the first");
        match self.addresses[0].as_str() {
            // It listens beside the first.
            "" => format!(
                "{begin}: its address is this one without the .{me} at its end, or the port that is lower by {me}",
                me = self.me
            ),
            address => format!("{begin}, which is at {address}"),
        }
    }

    /// Counts what is here of a hash, if nothing has moved since the router heard where everything is: then all managers together have all of it.
    fn count_part(
        &mut self,
        now: Time,
        from: Address,
        epoch: u64,
        template: usize,
        frame: &Frame<'_>,
        out: &mut dyn Outbox,
    ) {
        let is_all_here = self.incoming.is_empty() && self.placement().epoch == epoch;
        if !is_all_here || !self.admitted.contains(from) {
            self.admitted.remove(from);
            return self.send_away(from, frame.token, out);
        }
        // Nothing is settled by it.
        let mut body = vec![0; size_of::<u64>()];
        body.extend_from_slice(&frame.body[frame.body.len() - template..]);
        let count = Frame { kind: COUNT, body: &body, ..*frame };
        self.spaces.handle(now, Input::Frame(from, count), out);
    }

    /// Notes a change.
    pub(super) fn want(&mut self, relocation: Relocation) {
        if let Some(directory) = &mut self.directory {
            directory.wanted.push_back(relocation);
        }
    }

    /// Begins the next change if none is under way; if none is wanted either, whoever asked is answered.
    pub(super) fn direct(&mut self, now: Time, out: &mut dyn Outbox) {
        while let Some(directory) = &mut self.directory
            && directory.left == 0
        {
            match directory.wanted.pop_front() {
                None => return self.answer_asked(out),
                Some(relocation) if self.may_happen(&relocation) => self.change(now, relocation, out),
                Some(_) => {}
            }
        }
    }

    /// Only a queue is spread, only a hash is gathered, and only a key of a hash is moved, to another manager than it is at.
    fn may_happen(&mut self, relocation: &Relocation) -> bool {
        let placement = self.placement();
        match (placement.class(&relocation.signature().0), relocation) {
            (Class::Queue, Relocation::Class(_, Class::Hash(_))) => placement.classes() < MAX_CLASSES,
            (Class::Hash(_), Relocation::Class(_, Class::Search)) => true,
            (Class::Hash(_), Relocation::Key { signature, key, manager }) => {
                let is_back = placement.home_by_value(&signature.0, Some(*key)) == *manager;
                let has_room = is_back || placement.moved_keys().count() < MAX_MOVED_KEYS;
                has_room && placement.of_key(&signature.0, Some(*key)) != *manager
            }
            _ => false,
        }
    }

    fn change(&mut self, now: Time, relocation: Relocation, out: &mut dyn Outbox) {
        let epoch = self.placement().epoch + 1;
        match relocation {
            Relocation::Class(..) => self.counts.migrations += 1,
            Relocation::Key { .. } => self.counts.keys_moved += 1,
        }
        let migrate = Migrate { epoch, relocation };
        let body = encode_to_vec(&migrate);
        if let Some(directory) = &mut self.directory {
            directory.left = self.managers.len();
        }
        for manager in self.others() {
            let token = self.ask(super::Sent::Migrate);
            let frame =
                OwnedFrame { kind: MIGRATE, token, body: body.clone().into(), bulk: bytes::Bytes::new() };
            self.tell(manager, frame, out);
        }
        self.migrate(now, migrate, None, out);
    }

    /// One more manager has finished the change.
    pub(super) fn has_changed(&mut self, now: Time, out: &mut dyn Outbox) {
        if let Some(directory) = &mut self.directory {
            directory.left = directory.left.saturating_sub(1);
        }
        self.direct(now, out);
    }

    fn answer_asked(&mut self, out: &mut dyn Outbox) {
        let Some(directory) = &mut self.directory else { return };
        let asked = core::mem::take(&mut directory.asked);
        if asked.is_empty() {
            return;
        }
        // Those of one process are beside the first for everybody.
        let are_apart = self.addresses.iter().any(|address| !address.is_empty());
        let relayed: Vec<bool> = asked.iter().map(|(to, _)| directory.relayed.contains(*to)).collect();
        let addresses = self.addresses.clone();
        let mut routes = self.placement().routes(addresses);
        for ((to, token), is_relayed) in asked.into_iter().zip(relayed) {
            routes.are_beside = is_relayed && are_apart;
            match self.fellow(to) {
                Some(manager) => {
                    let body = encode_to_vec(&routes).into();
                    self.tell(
                        manager,
                        OwnedFrame { kind: ROUTES, token, body, bulk: bytes::Bytes::new() },
                        out,
                    );
                }
                None => self.spaces.unnamed_mut().reply_with(to, ROUTES, token, &routes, out),
            }
        }
    }

    /// Whoever asks where everything is hears that a manager is gone.
    pub(super) fn refuse_asked(&mut self, out: &mut dyn Outbox) {
        let asked = self.directory.as_mut().map(|directory| core::mem::take(&mut directory.asked));
        for (from, token) in asked.unwrap_or_default() {
            self.refuse_lost(from, token, out);
        }
    }

    /// Who is gone asks nothing any more.
    pub(super) fn forget_asked(&mut self, client: Address) {
        self.directory.iter_mut().for_each(|directory| directory.asked.retain(|(from, _)| *from != client));
    }
}
