//! What follows from an input: what is kept goes to the disk, what is said to the members, what was decided to whoever waits for it.

use super::{Membership, Open, Phase, answer, say};
use crate::change::{Change, Entry};
use crate::codec::Answer;
use crate::defect::seeded;
use crate::disk::Record;
use crate::refusal::{Reason, Refusal};
use quintet_contract::{Outbox, Time};

impl Membership {
    /// Does all that can be done now.
    pub(super) fn pump(&mut self, now: Time, out: &mut dyn Outbox) {
        if let Phase::Open(open) = &mut self.phase {
            open.raft.tick(now, self.sight.met());
        }
        loop {
            self.carry_out(now, out);
            self.leave_if_removed(out);
            if self.open().is_some_and(|open| open.writer.is_durable(1)) {
                // Before, its life is not on the disk, and the next one might have the same number.
                self.serve(now, out);
                self.keep_up(now);
            }
            let Phase::Open(open) = &self.phase else { return };
            if open.raft.effects.is_empty() {
                break;
            }
        }
        self.look(now);
        self.shorten_log();
        if let Phase::Open(open) = &mut self.phase {
            let begun = open.writer.begin(out);
            self.need_disk(begun, out);
        }
        if let Phase::Open(open) = &self.phase {
            self.watchers.tell(now, &open.raft.view, self.sight.news(now, open.raft.heard_at), out);
        }
    }

    /// Carries out what the agreement has left to be done, until nothing is left.
    fn carry_out(&mut self, now: Time, out: &mut dyn Outbox) {
        loop {
            let Phase::Open(open) = &mut self.phase else { return };
            let effects = std::mem::take(&mut open.raft.effects);
            let has_more = !effects.is_empty()
                || self.unsaid.front().is_some_and(|(batch, ..)| open.writer.is_durable(*batch));
            if !has_more {
                return;
            }
            open.writer.keep(effects.kept.into_iter().map(Record::from));
            let batch = open.writer.batch();
            for said in effects.said {
                let at_once = !said.after_sync || seeded!(self.config, SaidBeforeSync);
                self.unsaid.push_back((if at_once { 0 } else { batch }, said.to, said.message));
            }
            self.say_what_is_durable(now, out);
            for id in effects.read {
                self.finish_read(id, out);
            }
            for (index, entry, is_new) in effects.applied {
                self.finish_change(now, (index, &entry), is_new, out);
            }
        }
    }

    /// Says what waits for nothing, or no longer. What it says to itself, it hears.
    fn say_what_is_durable(&mut self, now: Time, out: &mut dyn Outbox) {
        let Phase::Open(open) = &mut self.phase else { return };
        let Open { raft, writer } = &mut **open;
        self.unsaid.retain(|(batch, to, message)| {
            let is_due = writer.is_durable(*batch);
            match is_due {
                true if *to == raft.me => raft.take(now, *to, message.clone()),
                true => say(*to, message, out),
                false => {}
            }
            !is_due
        });
    }

    /// This machine may learn of its removal by the change itself, or by a view in which it is not any more.
    fn leave_if_removed(&mut self, out: &mut dyn Outbox) {
        let Phase::Open(open) = &self.phase else { return };
        let (me, view) = (open.raft.me, &open.raft.view);
        if view.has_lost(me) {
            let text = format!(
                "this machine, node {}, was removed from the cluster, as view {} shows",
                me.0, view.number
            );
            self.close(Refusal::new(Reason::Removed, text), out);
        }
    }

    /// A change is committed.
    fn finish_change(
        &mut self,
        now: Time,
        (index, entry): (u64, &Entry),
        is_new: bool,
        out: &mut dyn Outbox,
    ) {
        let Phase::Open(open) = &self.phase else { return };
        let (view, me) = (open.raft.view.number, (open.raft.me, open.raft.incarnation));
        if let Some(ask) = self.desk.finish_change(now, index, entry.term) {
            let done = match &entry.change {
                Change::Join(joiner) => Answer::Joined { node: joiner.node, view },
                Change::Move(node, _) => Answer::Joined { node: *node, view },
                _ => Answer::Done,
            };
            answer(ask.from, ask.token, &done, out);
        }
        match entry.change {
            _ if !is_new => {}
            Change::Remove(node) => {
                self.sight.forget(node);
                self.lives.remove(&node);
            }
            Change::Revive(node, incarnation) if node == me.0 && incarnation > me.1 => {
                let text =
                    format!("life {} of node {} has come after this one, {}", incarnation.0, node.0, me.1.0);
                self.close(Refusal::new(Reason::Outlived, text), out);
            }
            _ => {}
        }
    }
}
