//! Random clients on a random network, and some who watch: each is told what has happened to what he watches, all of it, once and in order.

use super::network::{Network, PERIOD};
use crate::{
    Answer, Change, Events, LeaseId, Request, SpaceConfig, Template, Tuple, TupleEvent, Value, Wait,
    template, tuple,
};
use quintet_contract::{Random, Span};
use std::collections::BTreeMap;

const MANAGERS: usize = 3;
/// Those who put and take; each who watches is another one.
const CLIENTS: usize = 3;
const KEYS: u64 = 3;
const AT_ONCE: usize = 2;

/// One who watches the tuples of a key; none: all of them.
struct Watcher {
    key: Option<i64>,
    since: Option<u64>,
    /// When he was told his first number, and which it was.
    begin: Option<(u64, u64)>,
    /// How often something had moved then.
    moves: u64,
    asked: Option<u64>,
    told: Vec<TupleEvent>,
}

/// What a client has asked.
enum What {
    Put(i64, i64),
    Take,
    Lease,
    End,
}

struct Run {
    network: Network,
    random: Random,
    clock: u64,
    last_number: i64,
    asked: Vec<(usize, u64, What, u64)>,
    leases: Vec<(usize, LeaseId)>,
    watchers: Vec<Watcher>,
    /// Of each tuple its key, when it was asked to be put, and when that was answered.
    puts: BTreeMap<i64, (i64, u64, u64)>,
}

fn of(key: Option<i64>) -> Template {
    match key {
        Some(key) => template!["task", key, ?i64],
        None => template!["task", ?i64, ?i64],
    }
}

fn number_of(tuple: &Tuple) -> (i64, i64) {
    match tuple.values() {
        [_, Value::I64(key), Value::I64(number)] => (*key, *number),
        other => panic!("{other:?} is none of this run"),
    }
}

impl Run {
    fn new(seed: u64, space: SpaceConfig) -> Run {
        let gathers = seed.is_multiple_of(2);
        let keys = (0..KEYS).map(|key| Some(i64::try_from(key).expect("a small number")));
        let all = gathers.then_some(None);
        let watcher =
            |key| Watcher { key, since: None, begin: None, moves: 0, asked: None, told: Vec::new() };
        let watchers: Vec<Watcher> = keys.clone().chain(keys).chain(all).map(watcher).collect();
        let clients = CLIENTS + watchers.len();
        Run {
            network: Network::new(MANAGERS, clients, SpaceConfig { max_attempts: 1_000, ..space }),
            random: Random::new(seed, 76),
            clock: 0,
            last_number: 0,
            asked: Vec::new(),
            leases: Vec::new(),
            watchers,
            puts: BTreeMap::new(),
        }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.random.below(below)
    }

    fn key(&mut self) -> i64 {
        i64::try_from(self.draw(KEYS)).expect("a small number")
    }

    fn step(&mut self) {
        self.clock += 1;
        match self.draw(14) {
            0..3 => self.ask(),
            3 => self.watch(),
            4 if self.draw(2) == 0 => self.heat(),
            _ => drop(self.network.step(&mut self.random)),
        }
        self.hear();
    }

    /// A key moves to another manager, if tuples are spread by it.
    fn heat(&mut self) {
        let tuple = tuple!["task", self.key(), 0i64];
        let manager = usize::try_from(self.draw(MANAGERS as u64)).expect("a few");
        self.network.turn_to(PERIOD);
        self.network.heat(manager, &tuple, 1);
        self.network.turn_to(Span(2 * PERIOD.0));
    }

    fn ask(&mut self) {
        let client = usize::try_from(self.draw(CLIENTS as u64)).expect("a few");
        if self.asked.iter().filter(|(of, ..)| *of == client).count() >= AT_ONCE {
            return;
        }
        let held = self.leases.iter().position(|(of, _)| *of == client);
        let (token, what) = match (self.draw(8), held) {
            (0..3, _) => self.put(client),
            (3..5, Some(held)) => self.end(held),
            (sort, _) => self.take(client, (sort == 7).then_some(Span::from_secs(9))),
        };
        self.asked.push((client, token, what, self.clock));
    }

    fn put(&mut self, client: usize) -> (u64, What) {
        self.last_number += 1;
        let (key, number) = (self.key(), self.last_number);
        let tuples = [tuple!["task", key, number]];
        let request = Request::Out { deadline: None, tuples: &tuples, expiries: &[] };
        (self.network.ask(client, &request), What::Put(key, number))
    }

    fn take(&mut self, client: usize, lease: Option<Span>) -> (u64, What) {
        // Where somebody watches all, templates leave the key out now and then.
        let gathers = self.watchers.len() > 2 * usize::try_from(KEYS).expect("a few");
        let key = self.key();
        let key = (!gathers || self.draw(30) > 0).then_some(key);
        let request = Request::Take { wait: Wait::AtOnce, lease, template: &of(key) };
        let token = self.network.ask(client, &request);
        (token, if lease.is_some() { What::Lease } else { What::Take })
    }

    fn end(&mut self, held: usize) -> (u64, What) {
        let (client, lease) = self.leases.remove(held);
        let request = match self.draw(2) {
            0 => Request::Release { lease },
            _ => Request::Ack { lease, deadline: None, tuples: &[], expiries: &[] },
        };
        (self.network.ask(client, &request), What::End)
    }

    fn watch(&mut self) {
        let at = usize::try_from(self.draw(self.watchers.len() as u64)).expect("a few");
        let wait = if self.draw(2) == 0 { Wait::AtOnce } else { Wait::For(Span::from_millis(1)) };
        let most = 1 + u32::try_from(self.draw(3)).expect("a few");
        // What is spread is gathered for him: late.
        let is_early = self.watchers[at].key.is_none() && self.clock < 200;
        if self.watchers[at].asked.is_none() && !is_early {
            self.ask_watcher(at, most, wait);
        }
    }

    fn ask_watcher(&mut self, at: usize, most: u32, wait: Wait) {
        let Watcher { key, since, .. } = self.watchers[at];
        let request = Request::Watch { since, most, wait, template: Some(&of(key)) };
        self.watchers[at].asked = Some(self.network.ask(CLIENTS + at, &request));
    }

    fn hear(&mut self) {
        for (client, token, answer) in core::mem::take(&mut self.network.answers) {
            if let Some(at) = client.checked_sub(CLIENTS) {
                self.hear_events(at, token, answer);
                continue;
            }
            let at = self.asked.iter().position(|(of, asked, ..)| (*of, *asked) == (client, token));
            let (_, _, what, since) = self.asked.remove(at.expect("it was asked"));
            match (what, answer) {
                (What::Put(key, number), Answer::Done) => {
                    self.puts.insert(number, (key, since, self.clock));
                }
                (What::Lease, Answer::Tuple(_, Some(attempt))) => self.leases.push((client, attempt.lease)),
                (What::Take, Answer::Tuple(_, None))
                | (What::Take | What::Lease, Answer::NoMatch)
                | (What::End, Answer::Done) => {}
                (_, answer) => panic!("{answer:?} is no answer"),
            }
        }
    }

    fn hear_events(&mut self, at: usize, token: u64, answer: Answer) {
        let (clock, moves, watcher) = (self.clock, self.moves(), &mut self.watchers[at]);
        assert_eq!(watcher.asked.take(), Some(token));
        let Answer::Events(Events { number, events, .. }) = answer else {
            panic!("watcher {at}, behind {:?}: {answer:?}", watcher.since)
        };
        let before = watcher.since.replace(number);
        assert!(before.is_none_or(|before| before <= number), "{before:?} and then {number}");
        if watcher.begin.is_none() {
            (watcher.begin, watcher.moves) = (Some((number, clock)), moves);
        }
        watcher.told.extend(events);
    }

    fn moves(&self) -> u64 {
        self.network.measured("quintet_manager_migrations")
    }

    /// Everything is taken, and all that has happened is read.
    fn finish(&mut self) {
        for _ in 0..2 {
            self.network.settle(&mut self.random);
            self.network.turn_to(Span::from_millis(2));
            self.network.settle(&mut self.random);
            self.clock += 1;
            self.hear();
            while let Some((client, _)) = self.leases.first().copied() {
                let (token, what) = self.end(0);
                self.asked.push((client, token, what, self.clock));
                self.network.settle(&mut self.random);
                self.hear();
            }
        }
        for key in (0..KEYS).map(|key| i64::try_from(key).expect("a small number")) {
            let request = Request::Take { wait: Wait::AtOnce, lease: None, template: &of(Some(key)) };
            while matches!(self.network.call(0, &request), Some(Answer::Tuple(..))) {}
        }
        for at in 0..self.watchers.len() {
            let mut before = None;
            while before.is_none() || before != self.watchers[at].since {
                before = self.watchers[at].since;
                self.ask_watcher(at, 100, Wait::AtOnce);
                self.network.settle(&mut self.random);
                self.hear();
            }
        }
    }

    /// What there is to say against what was told.
    fn verdict(&self) -> Result<(), String> {
        self.watchers.iter().try_for_each(|watcher| self.judge(watcher))?;
        for one in &self.watchers {
            for other in self
                .watchers
                .iter()
                .filter(|other| one.key.is_some() && other.key.is_none_or(|key| one.key == Some(key)))
            {
                let from = one
                    .begin
                    .map_or(0, |(number, _)| number)
                    .max(other.begin.map_or(0, |(number, _)| number));
                let of = |watcher: &Watcher| -> Vec<TupleEvent> {
                    let told = watcher.told.iter().filter(|event| event.number > from);
                    told.filter(|event| Some(number_of(&event.tuple).0) == one.key).cloned().collect()
                };
                if of(one) != of(other) {
                    return Err(format!("two were told otherwise: {:?} and {:?}", of(one), of(other)));
                }
            }
        }
        Ok(())
    }

    fn judge(&self, watcher: &Watcher) -> Result<(), String> {
        let Some((_, begin)) = watcher.begin else { return Ok(()) };
        let told = &watcher.told;
        if !told.is_sorted_by(|one, next| one.number < next.number) {
            return Err(format!("in another order: {told:?}"));
        }
        let mut last: BTreeMap<i64, Change> = BTreeMap::new();
        // What was spread for a while has an order for each key.
        let is_apart = |key| if watcher.moves == self.moves() { 0 } else { key };
        let mut latest: BTreeMap<i64, u64> = BTreeMap::new();
        for event in told {
            let (key, number) = number_of(&event.tuple);
            let before = last.insert(number, event.change);
            let is_new = self.puts.get(&number).is_none_or(|(_, asked, _)| *asked > begin);
            let follows = match (before, event.change) {
                (None, Change::Put) => true,
                (None, _) => !is_new,
                (Some(Change::Put | Change::Returned), Change::Taken | Change::Leased) => true,
                (Some(Change::Leased), Change::Returned | Change::Done) => true,
                _ => false,
            };
            if !follows || watcher.key.is_some_and(|wanted| wanted != key) {
                return Err(format!("{event:?} after {before:?}: {told:?}"));
            }
            if event.change == Change::Put
                && let Some((_, asked, answered)) = self.puts.get(&number)
            {
                let latest = latest.entry(is_apart(key)).or_default();
                if *answered < *latest {
                    return Err(format!(
                        "{event:?} was answered before one in front of it was asked: {told:?}"
                    ));
                }
                *latest = (*latest).max(*asked);
            }
        }
        let is_of_him = |key: &i64| watcher.key.is_none_or(|wanted| wanted == *key);
        let missed = self.puts.iter().find(|(number, (key, asked, _))| {
            let is_gone = matches!(last.get(*number), Some(Change::Taken | Change::Done));
            is_of_him(key) && *asked > begin && !is_gone
        });
        match missed {
            Some((number, _)) => Err(format!("{number} is {:?} in the end: {told:?}", last.get(number))),
            None => Ok(()),
        }
    }
}

fn run(seed: u64, space: SpaceConfig) -> Result<Run, String> {
    let mut run = Run::new(seed, space);
    for _ in 0..600 {
        run.step();
    }
    run.finish();
    run.verdict().map(|()| run)
}

#[test]
fn whoever_watches_is_told_everything_once_and_in_order_wherever_it_moves() {
    let (mut migrations, mut keys, mut told) = (0, 0, 0);
    for seed in 0..200 {
        let run = run(seed, SpaceConfig::default()).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        migrations += run.network.measured("quintet_manager_migrations");
        keys += run.network.measured("quintet_manager_keys_moved");
        told += run.watchers.iter().map(|watcher| watcher.told.len()).sum::<usize>();
    }
    assert!(
        migrations > 200 && keys > 200 && told > 5_000,
        "each is tried often: {migrations} migrations, {keys} keys moved, {told} events told"
    );
}

#[cfg(feature = "seeded-defects")]
#[test]
fn each_defect_of_watches_is_found() {
    use crate::Defect;
    for defect in [
        Defect::WatcherLeftBehind,
        Defect::EventsLeftBehind,
        Defect::EndToldNowhere,
        Defect::NumbersNotPassed,
    ] {
        let space = SpaceConfig { defect: Some(defect), ..SpaceConfig::default() };
        let fails = |seed: &u64| std::panic::catch_unwind(|| run(*seed, space).is_err()).unwrap_or(true);
        assert!((0..500).any(|seed| fails(&seed)), "{defect:?} is not found");
    }
}
