//! What is told to those who watch.

use super::{Model, Place};
use crate::{Answer, Change, Events, Template, Tuple, TupleEvent, Wait};
use quintet_contract::{Span, Time};
use quintet_errors::Code;

/// How long events are kept after somebody has watched.
const KEPT_FOR: Span = Span::from_secs(600);

#[derive(Default)]
pub(super) struct Watches {
    number: u64,
    /// The events that are kept, and until when at least.
    kept: Option<(Vec<TupleEvent>, Time)>,
    pub(super) watchers: Vec<Watcher>,
}

#[derive(Clone)]
pub(super) struct Watcher {
    pub(super) order: u64,
    pub(super) from: u16,
    pub(super) token: u64,
    most: u32,
    pub(super) due: Option<Time>,
    mark: u64,
    template: Option<Template>,
    is_blocked: bool,
}

fn bytes(tuple: &Tuple) -> u64 {
    let (head, bulk) = tuple.encode().unwrap();
    (head.len() + bulk.len()) as u64 + 96
}

impl Model {
    pub(super) fn note(&mut self, change: Change, at: usize) {
        let (age, tuple) = (self.stored[at].order, self.stored[at].tuple.clone());
        let Watches { number, kept, watchers } = &mut self.watches;
        let Some((events, until)) = kept else { return };
        if watchers.is_empty() && self.now > *until {
            *kept = None;
            return;
        }
        *number += 1;
        events.push(TupleEvent { number: *number, age, change, tuple });
        let limit = (self.config.max_bytes / 16).min(16 << 20);
        while events.len() > 1 && events.iter().map(|event| bytes(&event.tuple)).sum::<u64>() > limit {
            events.remove(0);
        }
    }

    fn keep_events(&mut self) {
        let until = self.now + KEPT_FOR;
        match &mut self.watches.kept {
            Some((_, kept_until)) => *kept_until = until.max(*kept_until),
            None => {
                self.watches.number += 1;
                self.watches.kept = Some((vec![], until));
            }
        }
    }

    pub(in super::super) fn watch(
        &mut self,
        (from, token): (u16, u64),
        since: Option<u64>,
        most: u32,
        wait: Wait,
        template: Option<&Template>,
    ) {
        self.keep_events();
        let number = self.watches.number;
        let due = if let Wait::For(span) = wait { Some(self.now + span) } else { None };
        let mut watcher = Watcher {
            order: 0,
            from,
            token,
            most,
            due,
            mark: since.unwrap_or(number),
            template: template.cloned(),
            is_blocked: false,
        };
        let mut budget = self.config.index_step;
        if self.answer_watcher(&mut watcher, &mut budget) {
            return;
        }
        let goes_on = watcher.mark < number || since.is_none() || wait == Wait::AtOnce;
        if goes_on && !watcher.is_blocked {
            self.reply(from, token, Answer::Events(nothing(watcher.mark)));
        } else if self.may_wait(from, token) {
            watcher.order = self.order();
            self.watches.watchers.push(watcher);
        }
    }

    fn answer_watcher(&mut self, watcher: &mut Watcher, budget: &mut usize) -> bool {
        let events = self.watches.kept.as_ref().map_or(&[][..], |(events, _)| events);
        let (oldest, newest) = (self.watches.number - events.len() as u64, self.watches.number);
        if watcher.mark < oldest || watcher.mark > newest {
            self.reply(watcher.from, watcher.token, Answer::TooOld { oldest, newest });
            return true;
        }
        let (mut number, mut found) = (watcher.mark, vec![]);
        for event in events.iter().filter(|event| event.number > watcher.mark) {
            if *budget == 0 || found.len() == watcher.most as usize {
                break;
            }
            *budget -= 1;
            number = event.number;
            if watcher.template.as_ref().is_none_or(|template| template.matches(&event.tuple)) {
                found.push(event.clone());
            }
        }
        if found.is_empty() {
            watcher.mark = number;
            return false;
        }
        if self.full.contains(&watcher.from) {
            watcher.is_blocked = true;
            return false;
        }
        let events = Events { number, next: None, events: found };
        self.sent.push((watcher.from, watcher.token, Answer::Events(events)));
        true
    }

    /// Gives those who watch what came.
    pub(in super::super) fn serve_watchers(&mut self) {
        let mut budget = self.config.index_step;
        for mut watcher in self.watches.watchers.clone() {
            if watcher.is_blocked || watcher.mark >= self.watches.number {
                continue;
            }
            let is_answered = self.answer_watcher(&mut watcher, &mut budget);
            let at = self.watches.watchers.iter().position(|other| other.order == watcher.order).unwrap();
            self.watches.watchers[at] = watcher;
            if is_answered {
                self.drop_watcher(at);
            }
            if budget == 0 {
                return;
            }
        }
    }

    pub(super) fn drop_watcher(&mut self, at: usize) -> Watcher {
        self.keep_events();
        self.watches.watchers.remove(at)
    }

    pub(super) fn time_out_watcher(&mut self, at: usize) {
        let watcher = self.drop_watcher(at);
        self.reply(watcher.from, watcher.token, Answer::Events(nothing(watcher.mark)));
    }

    pub(super) fn cancel_watcher(&mut self, from: u16, token: u64) {
        let his = |watcher: &Watcher| (watcher.from, watcher.token) == (from, token);
        let Some(at) = self.watches.watchers.iter().position(his) else { return };
        self.drop_watcher(at);
        self.refuse(from, token, Code::Cancelled);
    }

    pub(super) fn unblock_watchers(&mut self, of: u16) {
        let his = self.watches.watchers.iter_mut().filter(|watcher| watcher.from == of);
        his.for_each(|watcher| watcher.is_blocked = false);
    }

    pub(super) fn watchers_down(&mut self, address: u16) {
        while let Some(at) = self.watches.watchers.iter().position(|watcher| watcher.from == address) {
            self.drop_watcher(at);
        }
    }

    /// Ages and tuples that can be taken and match.
    pub(in super::super) fn there(&self, template: Option<&Template>) -> Vec<(u64, Tuple)> {
        let shown = self.stored.iter().filter(|stored| stored.place == Place::Shown);
        let wanted = shown.filter(|stored| template.is_none_or(|template| template.matches(&stored.tuple)));
        let mut there: Vec<_> = wanted.map(|stored| (stored.order, stored.tuple.clone())).collect();
        there.sort_by_key(|(age, _)| *age);
        there
    }
}

fn nothing(number: u64) -> Events {
    Events { number, next: None, events: vec![] }
}
