//! Random clients on a random network: whatever happens, it is what one space could have done.

#[cfg(feature = "seeded-defects")]
mod defects;
mod two_spaces;

use super::network::{Network, PERIOD};
use crate::{
    Answer, Field, LeaseId, Request, SpaceConfig, SpaceNumber, Template, Tuple, Value, Wait, Witness,
    template, tuple,
};
use quintet_contract::{Random, Span};
use quintet_errors::Code;
use quintet_linearizability::{Act, Order, Partition, Pattern, Purpose, check};
use std::collections::BTreeMap;
use two_spaces::NAMED;

const MANAGERS: usize = 3;
const CLIENTS: usize = 3;
const KEYS: u64 = 3;
/// Requests that a client has under way at most.
const AT_ONCE: usize = 3;
/// From this number on what is drawn is a group's; from this one on a select or a replacement; and from this one on about a named space.
const IN_GROUP: u64 = 8;
const OF_SEVERAL: u64 = 12;
const OF_TWO_SPACES: u64 = 15;

type Event = quintet_linearizability::Event<Act>;

/// A request under way.
struct Asked {
    client: usize,
    token: u64,
    event: Event,
    is_of_group: bool,
    is_cancelled: bool,
}

/// A lease that a client has.
struct Held {
    client: usize,
    number: u32,
    lease: LeaseId,
}

/// A group that a client forms.
#[derive(Default)]
struct Group {
    leased: Vec<(LeaseId, u32)>,
    witnessed: Vec<(Witness, u32)>,
}

struct Run {
    network: Network,
    random: Random,
    clock: u64,
    last_number: u32,
    asked: Vec<Asked>,
    held: Vec<Held>,
    groups: Vec<Group>,
    /// The leases of groups whose end is under way.
    ending: BTreeMap<(usize, u64), Vec<LeaseId>>,
    history: Vec<Event>,
    /// Templates may leave the key out: then signatures that were spread are gathered.
    leaves_key_out: bool,
    /// Groups are formed, and several tuples are put at once.
    does_together: bool,
    /// A named space, into which and out of which is collected.
    named: Option<SpaceNumber>,
    /// Groups that met a conflict.
    conflicts: u32,
    /// An answer that does not fit its request.
    misfit: Option<String>,
    /// Now and then a manager tells the first one that it is asked for one key more than for all others: then that key moves.
    has_hot_key: bool,
}

fn stored(partition: Partition, number: u32) -> Tuple {
    let (signature, key) = partition;
    match signature % NAMED {
        0 => tuple!["task", key, i64::from(number)],
        _ => tuple!["result", key, i64::from(number), 0i32],
    }
}

fn asking(signature: u8, key: Option<i64>) -> Template {
    match (signature % NAMED, key) {
        (0, Some(key)) => template!["task", key, ?i64],
        // A range of the key says as little of where it lies as a formal.
        (0, None) => template!["task", Field::range(i64::MIN..), ?i64],
        (_, Some(key)) => template!["result", key, ?i64, ?i32],
        (_, None) => template!["result", ?i64, ?i64, ?i32],
    }
}

fn matches(of: Pattern, tuple: &Tuple) -> bool {
    let signature = u8::from(tuple.values().len() == 4);
    of.signature == signature && of.key.is_none_or(|key| tuple.values()[1] == Value::I64(key))
}

fn number_of(tuple: &Tuple) -> u32 {
    match tuple.values()[2] {
        Value::I64(number) => u32::try_from(number).expect("a small number"),
        _ => panic!("{tuple:?} is none of this run"),
    }
}

impl Run {
    fn new(seed: u64, space: SpaceConfig, does_together: bool) -> Run {
        let mut random = Random::new(seed, 43);
        Run {
            network: Network::new(MANAGERS, CLIENTS, space),
            leaves_key_out: random.below(2) == 0,
            does_together,
            named: None,
            conflicts: 0,
            misfit: None,
            has_hot_key: seed % 2 == 1,
            random,
            clock: 0,
            last_number: 0,
            asked: Vec::new(),
            held: Vec::new(),
            groups: (0..CLIENTS).map(|_| Group::default()).collect(),
            ending: BTreeMap::new(),
            history: Vec::new(),
        }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.random.below(below)
    }

    fn number(&mut self) -> u32 {
        self.last_number += 1;
        self.last_number
    }

    fn partition(&mut self) -> Partition {
        let signature = if self.draw(4) == 0 { 1 } else { 0 };
        (signature, i64::try_from(self.draw(KEYS)).expect("a small number"))
    }

    /// Asks something, cancels something, or delivers something.
    fn step(&mut self) {
        self.clock += 1;
        let client = usize::try_from(self.draw(CLIENTS as u64)).expect("a few");
        let under_way = self.asked.iter().filter(|asked| asked.client == client).count();
        match self.draw(12) {
            0..3 if under_way < AT_ONCE => self.ask(client),
            3 => self.cancel(client),
            4 if self.has_hot_key => self.heat(),
            4 if self.draw(4) == 0 => self.network.turn_to(Span::from_micros(10)),
            _ => drop(self.network.step(&mut self.random)),
        }
        self.hear();
    }

    fn heat(&mut self) {
        let partition = self.partition();
        let manager = usize::try_from(self.draw(MANAGERS as u64)).expect("a few");
        self.network.turn_to(PERIOD);
        self.network.heat(manager, &stored(partition, 0), 1);
        self.network.turn_to(Span(2 * PERIOD.0));
    }

    fn ask(&mut self, client: usize) {
        let held = self.held.iter().position(|held| held.client == client);
        let sort = self.draw(match (self.does_together, self.named) {
            (_, Some(_)) => 24,
            (true, None) => OF_TWO_SPACES,
            (false, None) => IN_GROUP,
        });
        let (act, token) = match (sort, held) {
            (0..3, _) => self.out(client),
            (3, Some(held)) => self.end_lease(held),
            (OF_TWO_SPACES..20, _) => self.move_all(client),
            (20.., _) => self.use_named(client),
            (OF_SEVERAL, _) => self.replace(client),
            (OF_SEVERAL.., _) => self.select(client),
            (IN_GROUP.., _) if sort < 11 => self.use_in_group(client),
            (IN_GROUP.., _) => self.end_group(client),
            (4, _) if self.leaves_key_out => {
                let (signature, _) = self.partition();
                let template = asking(signature, None);
                let token = self.network.ask(client, &Request::Count { template: &template });
                (Act::Count(Pattern::of(signature), 0), token)
            }
            _ => self.query(client),
        };
        let event = Event { client: client as u32, act, asked: self.clock, answered: None };
        let is_of_group = (IN_GROUP..11).contains(&sort);
        self.asked.push(Asked { client, token, event, is_of_group, is_cancelled: false });
    }

    fn out(&mut self, client: usize) -> (Act, u64) {
        let puts = self.puts();
        let tuples: Vec<_> = puts.iter().map(|(partition, number)| stored(*partition, *number)).collect();
        let token =
            self.network.ask(client, &Request::Out { deadline: None, tuples: &tuples, expiries: &[] });
        (Act::Out(puts), token)
    }

    /// One tuple or two, wherever they belong.
    fn puts(&mut self) -> Vec<(Partition, u32)> {
        let number = if self.does_together { 1 + self.draw(3) / 2 } else { 1 };
        (0..number).map(|_| (self.partition(), self.number())).collect()
    }

    fn end_lease(&mut self, held: usize) -> (Act, u64) {
        let Held { client, number, lease } = self.held.remove(held);
        if self.draw(2) == 0 {
            return (Act::Return(vec![number]), self.network.ask(client, &Request::Release { lease }));
        }
        let puts = self.puts();
        let tuples: Vec<_> = puts.iter().map(|(partition, number)| stored(*partition, *number)).collect();
        let token =
            self.network.ask(client, &Request::Ack { lease, deadline: None, tuples: &tuples, expiries: &[] });
        let leased = vec![number];
        (Act::Commit { leased, witnessed: Vec::new(), puts, happened: true }, token)
    }

    /// Takes or reads something for a group.
    fn use_in_group(&mut self, client: usize) -> (Act, u64) {
        let (signature, key) = self.partition();
        let template = asking(signature, Some(key));
        let wait = Wait::AtOnce;
        let (purpose, request) = match self.draw(2) {
            0 => (Purpose::Read, Request::Witness { wait, template: &template }),
            _ => {
                let lease = Span::from_secs(9);
                (Purpose::Lease, Request::Hold { wait, lease, limit: None, template: &template })
            }
        };
        let token = self.network.ask(client, &request);
        (Act::Query { of: vec![Pattern::keyed((signature, key))], purpose, found: None }, token)
    }

    /// Ends a client's group, with what it puts.
    fn end_group(&mut self, client: usize) -> (Act, u64) {
        let Group { mut leased, witnessed } = core::mem::take(&mut self.groups[client]);
        leased.sort_unstable();
        let (leases, leased): (Vec<_>, Vec<_>) = leased.into_iter().unzip();
        let (witnesses, witnessed): (Vec<_>, Vec<_>) = witnessed.into_iter().unzip();
        let puts = self.puts();
        let tuples: Vec<_> = puts.iter().map(|(partition, number)| stored(*partition, *number)).collect();
        let (leases, witnesses) = (&*leases, &*witnesses);
        let commit = Request::Commit { leases, witnesses, deadline: None, tuples: &tuples, expiries: &[] };
        let token = self.network.ask(client, &commit);
        self.ending.insert((client, token), leases.to_vec());
        (Act::Commit { leased, witnessed, puts, happened: true }, token)
    }

    fn query(&mut self, client: usize) -> (Act, u64) {
        let (signature, key) = self.partition();
        let key = (!self.leaves_key_out || self.draw(6) > 0).then_some(key);
        let template = asking(signature, key);
        let wait = if self.draw(2) == 0 { Wait::AtOnce } else { Wait::Forever };
        let (purpose, request) = match self.draw(4) {
            0 => (Purpose::Read, Request::Read { wait, template: &template }),
            1 => {
                (Purpose::Lease, Request::Take { wait, lease: Some(Span::from_secs(9)), template: &template })
            }
            _ => (Purpose::Take, Request::Take { wait, lease: None, template: &template }),
        };
        let token = self.network.ask(client, &request);
        (Act::Query { of: vec![Pattern { key, ..Pattern::of(signature) }], purpose, found: None }, token)
    }

    /// Of one to three signatures or keys, wherever they belong.
    fn select(&mut self, client: usize) -> (Act, u64) {
        let of: Vec<Pattern> = (0..=self.draw(3))
            .map(|_| {
                let (signature, key) = self.partition();
                let key = (!self.leaves_key_out || self.draw(8) > 0).then_some(key);
                Pattern { key, ..Pattern::of(signature) }
            })
            .collect();
        let templates: Vec<Template> = of.iter().map(|of| asking(of.signature, of.key)).collect();
        let wait = self.wait();
        let (purpose, takes, lease) = match self.draw(4) {
            0 => (Purpose::Read, false, None),
            1 => (Purpose::Lease, true, Some(Span::from_secs(9))),
            _ => (Purpose::Take, true, None),
        };
        let select = Request::Select { takes, wait, lease, templates: &templates };
        (Act::Query { of, purpose, found: None }, self.network.ask(client, &select))
    }

    fn replace(&mut self, client: usize) -> (Act, u64) {
        let ((signature, key), puts, wait) = (self.partition(), self.puts(), self.wait());
        let tuples: Vec<_> = puts.iter().map(|(partition, number)| stored(*partition, *number)).collect();
        let template = asking(signature, Some(key));
        let replace = Request::Replace { wait, template: &template, tuples: &tuples, expiries: &[] };
        let token = self.network.ask(client, &replace);
        (Act::Replace { of: Pattern::keyed((signature, key)), found: None, puts }, token)
    }

    fn wait(&mut self) -> Wait {
        match self.draw(5) {
            0 => Wait::For(Span::from_micros(30)),
            1 | 2 => Wait::AtOnce,
            _ => Wait::Forever,
        }
    }

    fn cancel(&mut self, client: usize) {
        let is_query = |asked: &&mut Asked| {
            let waits = matches!(asked.event.act, Act::Query { .. } | Act::Replace { .. });
            asked.client == client && !asked.is_cancelled && waits
        };
        if let Some(asked) = self.asked.iter_mut().find(is_query) {
            asked.is_cancelled = true;
            let token = asked.token;
            self.network.send(client, token, &Request::Cancel);
        }
    }

    /// Writes answers into the history.
    fn hear(&mut self) {
        for (client, token, answer) in core::mem::take(&mut self.network.answers) {
            let at = self.asked.iter().position(|asked| asked.client == client && asked.token == token);
            let Asked { mut event, is_of_group, .. } = self.asked.remove(at.expect("it was asked"));
            event.answered = Some(self.clock);
            match (&mut event.act, &answer) {
                (Act::Query { found, .. }, Answer::Witnessed(tuple, witness)) => {
                    *found = Some(number_of(tuple));
                    self.groups[client].witnessed.push((*witness, number_of(tuple)));
                }
                (Act::Query { found, .. }, Answer::Tuple(tuple, Some(attempt))) if is_of_group => {
                    *found = Some(number_of(tuple));
                    self.groups[client].leased.push((attempt.lease, number_of(tuple)));
                }
                // What it has read may only have moved meanwhile.
                (Act::Commit { leased, .. }, Answer::Error(refusal)) if refusal.code == Code::Conflict => {
                    self.conflicts += 1;
                    let (leased, leases) = (core::mem::take(leased), self.ending.remove(&(client, token)));
                    self.abort(client, leased, leases.unwrap_or_default());
                    continue;
                }
                (Act::Replace { found, .. }, Answer::Tuple(tuple, _)) => *found = Some(number_of(tuple)),
                (Act::Query { of, purpose, found }, Answer::Selected(which, tuple, lease)) => {
                    *found = Some(number_of(tuple));
                    if !matches(of[*which], tuple) {
                        self.misfit.get_or_insert(format!("{tuple:?} is no match of {which} of {of:?}"));
                    }
                    if let (Purpose::Lease, Some(attempt)) = (purpose, lease) {
                        self.held.push(Held { client, number: number_of(tuple), lease: attempt.lease });
                    }
                }
                (Act::Query { purpose, found, .. }, Answer::Tuple(tuple, lease)) => {
                    *found = Some(number_of(tuple));
                    if let (Purpose::Lease, Some(attempt)) = (purpose, lease) {
                        self.held.push(Held { client, number: number_of(tuple), lease: attempt.lease });
                    }
                }
                (Act::Query { .. } | Act::Replace { .. }, Answer::NoMatch)
                | (Act::Out(..) | Act::Commit { .. } | Act::Return(_), Answer::Done) => {}
                (Act::Count(_, count), Answer::Count(counted)) => *count = *counted,
                (Act::Move { count, .. }, Answer::Count(moved)) => *count = Some(*moved),
                // An index is being built: nothing has happened.
                (Act::Move { .. }, Answer::Collected(_)) => continue,
                (Act::Query { .. } | Act::Replace { .. }, Answer::Error(refusal))
                    if matches!(refusal.code, Code::Cancelled | Code::TimedOut) =>
                {
                    continue;
                }
                (act, answer) => {
                    self.misfit.get_or_insert(format!("{act:?} was answered with {answer:?}"));
                }
            }
            match event.act {
                // What is counted at several managers is counted at no one instant,
                Act::Count(..) => {}
                // and so returns what a group had at several.
                Act::Return(ref numbers) => self.history.extend(
                    numbers.iter().map(|number| Event { act: Act::Return(vec![*number]), ..event.clone() }),
                ),
                _ => self.history.push(event),
            }
        }
    }

    /// Ends a group that met a conflict.
    fn abort(&mut self, client: usize, leased: Vec<u32>, leases: Vec<LeaseId>) {
        let token = self.network.ask(client, &Request::Abort { leases: &leases });
        let (act, asked) = (Act::Return(leased), self.clock);
        let event = Event { client: client as u32, act, asked, answered: None };
        self.asked.push(Asked { client, token, event, is_of_group: false, is_cancelled: false });
    }

    fn play(mut self) -> Result<(Network, u32), String> {
        for _ in 0..400 {
            if self.history.len() + self.asked.len() > 34 {
                break;
            }
            self.step();
        }
        self.verdict()
    }

    /// What there is to say against the run, once everything was delivered.
    fn verdict(mut self) -> Result<(Network, u32), String> {
        // Twice: whose group met a conflict ends it.
        for _ in 0..2 {
            self.network.settle(&mut self.random);
            self.clock += 1;
            self.hear();
        }
        if let Some(misfit) = self.misfit {
            return Err(misfit);
        }
        for asked in &self.asked {
            let of = match &asked.event.act {
                Act::Query { of, .. } => of.as_slice(),
                Act::Replace { of, .. } => core::slice::from_ref(of),
                _ => return Err(format!("{:?} has no answer", asked.event)),
            };
            for of in of {
                let template = asking(of.signature, of.key);
                let count = self.network.call(0, &Request::Count { template: &template });
                if count != Some(Answer::Count(0)) {
                    return Err(format!("{:?} waits for what is there: {count:?}", asked.event));
                }
            }
        }
        for signature in 0..if self.named.is_some() { 4 } else { NAMED } {
            let template = asking(signature, None);
            let space = if signature < NAMED { SpaceNumber::UNNAMED } else { self.named() };
            let count = self.network.call_in(0, space, &Request::Count { template: &template });
            let Some(Answer::Count(count)) = count else { return Err("no count".to_owned()) };
            self.clock += 2;
            let (act, answered) = (Act::Count(Pattern::of(signature), count), Some(self.clock));
            self.history.push(Event { client: 0, act, asked: self.clock - 1, answered });
        }
        match check(&quintet_linearizability::Space { order: Order::OfPartitions }, &self.history) {
            Ok(()) => Ok((self.network, self.conflicts)),
            Err(fault) => Err(format!("not one space: {fault}: {:#?}", self.history)),
        }
    }
}

fn run(seed: u64, space: SpaceConfig, does_together: bool) -> Result<(Network, u32), String> {
    // Nothing becomes a dead letter.
    Run::new(seed, SpaceConfig { max_attempts: 1_000, ..space }, does_together).play()
}

#[test]
fn several_managers_do_what_one_space_could_do() {
    let (mut migrations, mut keys, mut moved, mut fences, mut sent) = (0, 0, 0, 0, 0);
    for seed in 0..300 {
        let run = run(seed, SpaceConfig::default(), false);
        let (network, _) = run.unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        migrations += network.measured("quintet_manager_migrations");
        keys += network.measured("quintet_manager_keys_moved");
        moved += network.measured("quintet_router_moved");
        fences += network.measured("quintet_router_fences");
        sent += network.measured("quintet_manager_tuples_sent");
    }
    assert!(
        migrations > 300 && keys > 100 && moved > 1_000 && fences > 500 && sent > 500,
        "each is tried often: {migrations} migrations, {keys} keys moved, {moved} requests asked again, {fences} fences, {sent} tuples sent"
    );
}

#[test]
fn what_several_managers_do_together_one_space_could_do() {
    let (mut commits, mut held, mut migrations, mut conflicts, mut rings) = (0, 0, 0, 0, 0);
    for seed in 0..300 {
        let run = run(seed, SpaceConfig::default(), true);
        let (network, met) = run.unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        commits += network.measured("quintet_manager_commits");
        held += network.measured("quintet_manager_held");
        rings += network.measured("quintet_manager_rings");
        migrations += network.measured("quintet_manager_migrations");
        conflicts += met;
    }
    assert!(
        commits > 300 && held > 800 && migrations > 300 && conflicts > 50 && rings > 3,
        "each is tried often: {commits} commits, {held} inputs held, {migrations} migrations, {conflicts} conflicts, {rings} rings"
    );
}
