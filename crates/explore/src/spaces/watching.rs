//! What clients are told of what happens in the space, and whether that is what has happened.
//!
//! Events have one order. So all watchers are told the same, whoever goes on behind a number misses nothing, each tuple's events follow each other as they
//! can, and what was answered before something else was asked stands before it. (docs/design/0042-watch.md)

use super::asking::keys;
use super::ledger::ANSWERED_ONCE;
use super::templates::{number_of, partition_of};
use crate::system::Broken;
use quintet_contract::NodeId;
use quintet_linearizability::{Act, Event, Partition, Pattern};
use quintet_tuple_space::{Answer, Change, Events, Tuple};
use std::collections::{BTreeMap, BTreeSet};

const SAME_FOR_ALL: &str = "an event is the same for all who are told of it";
const WITHOUT_GAPS: &str = "who watches is told of every event behind his number, once, in order";
const TOLD_AT_ONCE: &str = "nobody waits for an event that has happened";
const ONE_AFTER_THE_OTHER: &str = "what happens to a tuple follows from what has happened to it";
const AS_IT_WAS_DONE: &str = "events stand in the order in which clients saw them happen";
const ALL_ARE_TOLD: &str = "what clients have done is told to who watches";

/// What a watch asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watch {
    /// Behind which number; none: the number now.
    pub(super) since: Option<u64>,
    /// Of which tuples; none: all.
    pub(super) of: Option<Pattern>,
    /// Numbers are those of these tuples alone.
    pub(super) is_apart: bool,
}

impl Watch {
    /// What has an order of its own, of what it is about: all, or each partition.
    fn parts(&self) -> Vec<Option<Partition>> {
        match self.of.filter(|_| self.is_apart) {
            None => vec![None],
            Some(Pattern { signature, key: Some(key), .. }) => vec![Some((signature, key))],
            Some(Pattern { signature, key: None, .. }) => keys().map(|key| Some((signature, key))).collect(),
        }
    }
}

/// How far a run is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Clients work.
    Working,
    /// Nothing happens any more but what ends the run.
    Ending,
    /// All is over, and it is read what has happened.
    Reading,
}

/// Something that happened to a tuple.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Told {
    tuple: u32,
    age: u64,
    change: Change,
}

/// What a watch was answered: events between two numbers.
#[derive(Debug)]
struct Page {
    watch: Watch,
    since: u64,
    up_to: u64,
    numbers: Vec<u64>,
}

/// What is known of what happened.
#[derive(Default, Debug)]
pub(super) struct Watching {
    books: BTreeMap<Option<Partition>, Book>,
    /// Behind which number each client goes on, with these tuples if their numbers are their own.
    marks: BTreeMap<(NodeId, Option<Pattern>), u64>,
}

impl Watching {
    /// Behind which number a client goes on, who may be another than the one that was told: none was.
    pub(super) fn mark(&self, node: NodeId, of: Option<Pattern>) -> Option<u64> {
        self.marks.get(&(node, of)).copied()
    }

    /// What is to be read in the end, if anything is.
    pub(super) fn unread(&self) -> Option<Watch> {
        self.books.iter().find_map(|(part, book)| {
            let of = part.map(Pattern::keyed);
            Some(Watch { since: Some(book.unread()?), of, is_apart: of.is_some() })
        })
    }

    /// An answer to a watch.
    pub(super) fn hear(
        &mut self,
        (node, clock): (NodeId, u64),
        watch: Watch,
        answer: Answer,
        is_given_up: bool,
        stage: Stage,
    ) -> Result<(), Broken> {
        let mark = match &answer {
            Answer::Events(events) => Some(events.number),
            Answer::TooOld { oldest, .. } => Some(*oldest),
            _ => None,
        };
        let of = watch.of.filter(|_| watch.is_apart);
        if let Some(mark) = mark {
            self.marks.insert((node, of), mark);
        }
        for part in watch.parts() {
            let book = self.books.entry(part).or_default();
            book.hear((node, clock), watch, answer_of(answer.clone(), part), is_given_up, stage)?;
        }
        Ok(())
    }

    /// Whether what was told is what has happened.
    pub(super) fn judge(&self, history: &[Event<Act>]) -> Result<(), Broken> {
        let puts: BTreeMap<u32, Partition> =
            history.iter().flat_map(|event| event.act.puts()).map(|(of, number)| (*number, *of)).collect();
        let moved: BTreeSet<u32> =
            puts.iter().filter(|(_, of)| may_have_moved(**of, history)).map(|(number, _)| *number).collect();
        self.books.iter().try_for_each(|(part, book)| book.judge(*part, history, &puts, &moved))
    }
}

/// Whether what was put there may have gone into another space, which is told as if it was taken, and come back, which is told as if it was put.
fn may_have_moved((signature, key): Partition, history: &[Event<Act>]) -> bool {
    let concerns = |of: &Pattern| of.signature == signature && of.key.is_none_or(|wanted| wanted == key);
    history.iter().any(|event| matches!(&event.act, Act::Move { of, .. } if of.iter().any(concerns)))
}

/// What of an answer is about a part.
fn answer_of(answer: Answer, part: Option<Partition>) -> Answer {
    match answer {
        Answer::Events(mut events) => {
            events.events.retain(|event| part.is_none() || partition_of(&event.tuple) == part);
            Answer::Events(events)
        }
        answer => answer,
    }
}

/// What is known of what happened to all tuples, or to those of a partition.
#[derive(Default, Debug)]
struct Book {
    told: BTreeMap<u64, Told>,
    pages: Vec<Page>,
    /// The first number that somebody was given, and when.
    begin: Option<(u64, u64)>,
    /// Events that were kept no more before all were read in the end.
    is_torn: bool,
    /// Up to which number all was read in the end, and whether there is more.
    read: u64,
    is_read: bool,
}

impl Book {
    /// Behind which number more is to be read in the end, if anything is.
    fn unread(&self) -> Option<u64> {
        let (begin, _) = self.begin?;
        let is_over = self.is_read || self.is_torn;
        (!is_over).then_some(begin.max(self.read))
    }

    fn hear(
        &mut self,
        (node, clock): (NodeId, u64),
        watch: Watch,
        answer: Answer,
        is_given_up: bool,
        stage: Stage,
    ) -> Result<(), Broken> {
        match answer {
            Answer::Events(events) => self.hear_events(clock, watch, events, stage),
            Answer::TooOld { oldest, newest } => {
                let since = watch.since.unwrap_or_default();
                if (oldest..=newest).contains(&since) {
                    let found = format!("{since} is too old, and {oldest} to {newest} are kept");
                    return Err(Broken::new(WITHOUT_GAPS, found));
                }
                self.is_torn = true;
                Ok(())
            }
            Answer::Error(_) if is_given_up => {
                let newest = self.told.keys().next_back().copied().unwrap_or_default();
                let is_forgotten = stage != Stage::Working
                    && (watch.of.is_none() || watch.is_apart)
                    && watch.since.is_some_and(|since| since < newest);
                let found = || {
                    format!(
                        "node {} waits behind {:?}, and others were told of {newest}",
                        node.0, watch.since
                    )
                };
                if is_forgotten { Err(Broken::new(TOLD_AT_ONCE, found())) } else { Ok(()) }
            }
            answer => Err(Broken::new(ANSWERED_ONCE, format!("{watch:?}: {answer:?}"))),
        }
    }

    fn hear_events(
        &mut self,
        clock: u64,
        watch: Watch,
        Events { number: up_to, events, .. }: Events,
        stage: Stage,
    ) -> Result<(), Broken> {
        let begin = self.begin.get_or_insert((up_to, clock));
        let since = watch.since.unwrap_or(up_to);
        // Two that ask at first may be answered the other way round.
        if up_to < begin.0 {
            *begin = (up_to, clock);
        }
        let numbers: Vec<u64> = events.iter().map(|event| event.number).collect();
        let are_behind = numbers.first().is_none_or(|first| *first > since)
            && numbers.is_sorted_by(|one, next| one < next)
            && numbers.last().is_none_or(|last| *last <= up_to)
            && since <= up_to;
        if !are_behind {
            return Err(Broken::new(WITHOUT_GAPS, format!("behind {since}, up to {up_to}: {numbers:?}")));
        }
        for event in events {
            let told = Told { tuple: number(&event.tuple)?, age: event.age, change: event.change };
            let first = self.told.entry(event.number).or_insert_with(|| told.clone());
            if *first != told {
                return Err(Broken::new(SAME_FOR_ALL, format!("{}: {first:?} and {told:?}", event.number)));
            }
        }
        if stage == Stage::Reading && since == self.read.max(begin.0) {
            (self.is_read, self.read) = (numbers.is_empty() && up_to == since, up_to);
        }
        self.pages.push(Page { watch, since, up_to, numbers });
        Ok(())
    }

    /// Whether what was told of a part is what has happened.
    fn judge(
        &self,
        part: Option<Partition>,
        history: &[Event<Act>],
        puts: &BTreeMap<u32, Partition>,
        moved: &BTreeSet<u32>,
    ) -> Result<(), Broken> {
        self.pages.iter().try_for_each(|page| self.judge_page(page, puts))?;
        let begins = |tuple: &u32| self.is_new(*tuple, history);
        if !self.is_torn {
            self.judge_tuples(&begins, moved)?;
        }
        // What becomes of a tuple that was leased when it would have moved is told when its manager has heard of it.
        let is_late =
            |told: &Told| part.is_some() && told.change == Change::Done || moved.contains(&told.tuple);
        self.judge_order(history, &is_late)?;
        let is_its =
            |tuple: &u32| (part.is_none() || puts.get(tuple) == part.as_ref()) && !moved.contains(tuple);
        if self.is_read { self.judge_whole(history, &is_its) } else { Ok(()) }
    }

    /// Whether a page has all events that it is about, as far as these are known.
    fn judge_page(&self, page: &Page, puts: &BTreeMap<u32, Partition>) -> Result<(), Broken> {
        let is_asked_for = |told: &Told| {
            page.watch.of.is_none_or(|of| {
                puts.get(&told.tuple).is_some_and(|partition| of.has(*partition, told.tuple))
            })
        };
        let known = self.told.range(page.since + 1..page.up_to + 1).filter(|(_, told)| is_asked_for(told));
        let known: Vec<u64> = known.map(|(number, _)| *number).collect();
        // Numbers of all events leave none out while events are kept.
        let is_whole = page.watch.of.is_some() || page.numbers.len() as u64 == page.up_to - page.since;
        if known == page.numbers && is_whole {
            return Ok(());
        }
        let Page { watch, since, up_to, numbers } = page;
        let found =
            format!("{watch:?} was told {numbers:?} up to {up_to} behind {since}; there were {known:?}");
        Err(Broken::new(WITHOUT_GAPS, found))
    }

    /// Whether a tuple was put after events were kept.
    fn is_new(&self, tuple: u32, history: &[Event<Act>]) -> bool {
        let since = self.begin.map_or(u64::MAX, |(_, clock)| clock);
        history
            .iter()
            .any(|event| event.asked > since && event.act.puts().iter().any(|(_, number)| *number == tuple))
    }

    /// Whether what happens to each tuple can follow what has happened to it before.
    fn judge_tuples(&self, is_new: &dyn Fn(&u32) -> bool, moved: &BTreeSet<u32>) -> Result<(), Broken> {
        let mut last: BTreeMap<u32, Change> = BTreeMap::new();
        for (number, Told { tuple, change, .. }) in &self.told {
            let before = last.insert(*tuple, *change);
            let may_follow = match (before, change) {
                (None, Change::Put) => true,
                (None, _) => !is_new(tuple),
                (Some(Change::Put | Change::Returned), Change::Taken | Change::Leased) => true,
                (Some(Change::Leased), Change::Returned | Change::Done) => true,
                (Some(Change::Put | Change::Returned | Change::Leased), Change::Expired) => true,
                (Some(Change::Taken), Change::Put) => moved.contains(tuple),
                _ => false,
            };
            if !may_follow {
                let found = format!("event {number}: tuple {tuple} is {change} after {before:?}");
                return Err(Broken::new(ONE_AFTER_THE_OTHER, found));
            }
        }
        let is_there = |change: &Change| !matches!(change, Change::Taken | Change::Done | Change::Expired);
        match last.iter().find(|(_, change)| self.is_read && is_there(change)) {
            None => Ok(()),
            Some((tuple, change)) => {
                let found = format!("tuple {tuple} is {change} when all were taken");
                Err(Broken::new(ONE_AFTER_THE_OTHER, found))
            }
        }
    }

    /// Whether no event stands before one whose operation was answered when its own was not asked yet.
    fn judge_order(&self, history: &[Event<Act>], is_late: &dyn Fn(&Told) -> bool) -> Result<(), Broken> {
        let done: BTreeMap<(u32, Change), &Event<Act>> =
            history.iter().flat_map(|event| changes(&event.act).map(move |change| (change, event))).collect();
        let mut latest: (u64, u64) = (0, 0);
        for (number, Told { tuple, change, .. }) in self.told.iter().filter(|(_, told)| !is_late(told)) {
            let Some(event) = done.get(&(*tuple, *change)) else { continue };
            if event.answered.is_some_and(|answered| answered < latest.0) {
                let found = format!(
                    "event {number}, tuple {tuple} {change}, was over before event {} was begun",
                    latest.1
                );
                return Err(Broken::new(AS_IT_WAS_DONE, found));
            }
            latest = latest.max((event.asked, *number));
        }
        Ok(())
    }

    /// Whether all is told that was done since events were kept.
    fn judge_whole(&self, history: &[Event<Act>], is_its: &dyn Fn(&u32) -> bool) -> Result<(), Broken> {
        let Some((_, begin)) = self.begin else { return Ok(()) };
        let told: BTreeSet<(u32, Change)> =
            self.told.values().map(|told| (told.tuple, told.change)).collect();
        let done = history.iter().filter(|event| event.asked > begin && event.answered.is_some());
        for event in done {
            if let Some((tuple, change)) =
                changes(&event.act).find(|change| is_its(&change.0) && !told.contains(change))
            {
                let found = format!("tuple {tuple} {change}: {:?}", event.act);
                return Err(Broken::new(ALL_ARE_TOLD, found));
            }
        }
        Ok(())
    }
}

/// What an operation did to tuples, as far as that happens to each of them once.
fn changes(act: &Act) -> impl Iterator<Item = (u32, Change)> {
    let change = if matches!(act, Act::Commit { .. }) { Change::Done } else { Change::Taken };
    let removed = act.removed().iter().map(move |tuple| (*tuple, change));
    removed.chain(act.added().iter().map(|(_, tuple)| (*tuple, Change::Put)))
}

/// # Errors
/// It is no tuple that a client has put.
fn number(tuple: &Tuple) -> Result<u32, Broken> {
    number_of(tuple).ok_or_else(|| Broken::new(ANSWERED_ONCE, format!("an event of {tuple:?}")))
}
