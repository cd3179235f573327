//! Random runs, in which the manager must answer as the model does.

mod asking;
#[cfg(feature = "seeded-defects")]
mod defects;
mod steps;

use super::bench::{Bench, Sent};
use super::model::{Model, Purpose, expiry::expiries, listing::Listed};
use crate::{Answer, Collected, LeaseId, PageSize, Refusal, Request, Space, SpaceConfig, Template, Witness};
use asking::listed;
use proptest::prelude::*;
use quintet_contract::{Input, Protocol, Snapshot, Span, check_snapshots};
use quintet_errors::Code;
use steps::{Step, Steps, collecting_steps, config, group_steps, steps, stepwise, watching_steps};

/// A manager and a model in the same situation.
struct Pair {
    bench: Bench,
    model: Model,
    /// The last token of each sender.
    tokens: [u64; 4],
    leases: Vec<u64>,
    witnesses: Vec<Witness>,
    /// The last page of a collection, and what it was asked for with.
    page: Option<(Collected, Template)>,
    /// How many pages that were taken went on from another and had tuples.
    collected: u32,
    /// The number of an event that was told last.
    number: u64,
    /// How many answers had events, and how many said that they are kept no more.
    watched: [u32; 2],
    /// How many groups have happened that took something, and how many that did not as something was gone.
    groups: [u32; 2],
    /// Whether several requests were tried again in one input that made an index: which of them found it, the model cannot know.
    is_unknown: bool,
    /// Whether a request has waited for an index.
    half_built: bool,
    /// Whether a request has had to go on in another turn.
    is_scanned: bool,
}

impl Pair {
    fn new(config: SpaceConfig) -> Pair {
        Pair {
            bench: Bench::new(config),
            model: Model::new(config),
            tokens: [0; 4],
            leases: vec![],
            witnesses: vec![],
            page: None,
            collected: 0,
            number: 0,
            watched: [0; 2],
            groups: [0; 2],
            is_unknown: false,
            half_built: false,
            is_scanned: false,
        }
    }

    fn lease(&self, back: usize) -> LeaseId {
        LeaseId(self.leases.iter().rev().nth(back).copied().unwrap_or(1_000_000))
    }

    /// The leases that were counted back, going up.
    fn some_leases(&self, back: &[usize]) -> Vec<LeaseId> {
        let mut leases: Vec<_> = back.iter().map(|back| self.lease(*back)).collect();
        leases.sort_unstable();
        leases.dedup();
        leases
    }

    fn end_group(&mut self, from: u16, token: u64, settled: u64, step: &Step) -> Vec<Sent> {
        match step {
            Step::Commit(leases, witnesses, tuples, deadline) => {
                let (leases, deadline) = (self.some_leases(leases), *deadline);
                let known = |back: &usize| self.witnesses.iter().rev().nth(*back).copied();
                let witnesses: Vec<_> = witnesses.iter().filter_map(known).collect();
                let ids: Vec<_> = leases.iter().map(|lease| lease.0).collect();
                let ages: Vec<_> = witnesses.iter().map(|witness| witness.age).collect();
                self.model.commit(from, token, (&ids, &ages), tuples, deadline);
                let commit = Request::Commit {
                    leases: &leases,
                    witnesses: &witnesses,
                    deadline,
                    tuples,
                    expiries: &expiries(tuples),
                };
                let sent = self.bench.ask_settled(from, token, settled, commit);
                let is_answer = |answer: &Answer| match answer {
                    Answer::Done => leases.len() > 1,
                    Answer::Error(refusal) => refusal.code == Code::Conflict,
                    _ => false,
                };
                for (_, _, answer) in sent.iter().filter(|sent| sent.1 == token && is_answer(&sent.2)) {
                    self.groups[usize::from(*answer != Answer::Done)] += 1;
                }
                sent
            }
            Step::Abort(leases) => {
                let leases = self.some_leases(leases);
                let ids: Vec<_> = leases.iter().map(|lease| lease.0).collect();
                self.model.abort(from, token, &ids);
                self.bench.ask_settled(from, token, settled, Request::Abort { leases: &leases })
            }
            other => unreachable!("{other:?} ends no group"),
        }
    }

    /// Does one step on both; what each answered.
    fn step(&mut self, from: u16, settled_back: u64, step: &Step) -> (Vec<Sent>, Vec<Sent>) {
        let last = self.tokens[usize::from(from)];
        match step {
            Step::Fill => {
                self.bench.link.full.insert(from);
                self.model.full.insert(from);
                (vec![], vec![])
            }
            Step::Late(span) => {
                self.bench.now += *span;
                self.model.now += *span;
                (vec![], vec![])
            }
            Step::Pass(span) => self.pass(*span),
            Step::List(template, rows) => self.list(template.as_ref(), *rows),
            Step::Look(template, most) => self.look_at(template.as_ref(), *most),
            Step::Writable => {
                self.model.full.remove(&from);
                let sent = self.bench.writable(from);
                let expected = self.search(sent.len(), |model| model.writable(from));
                (sent, expected)
            }
            Step::Down => (self.bench.down(from), self.input(|model| model.down(from))),
            request => {
                let names_another = matches!(request, Step::Cancel(_) | Step::Return(_));
                let token = match request {
                    Step::Cancel(back) | Step::Return(back) => last.saturating_sub(*back) + 1,
                    _ => last + 1,
                };
                self.tokens[usize::from(from)] = if names_another { last } else { token };
                let settled = if settled_back == 0 { 0 } else { last.saturating_sub(settled_back) };
                (self.ask(from, token, settled, request), self.end())
            }
        }
    }

    /// Lets time pass, with the manager's wakes.
    fn pass(&mut self, span: Span) -> (Vec<Sent>, Vec<Sent>) {
        let end = self.bench.now + span;
        let (mut sent, mut expected) = (vec![], vec![]);
        while let Some(due) = self.bench.space.deadline().filter(|due| *due <= end) {
            self.bench.now = self.bench.now.max(due);
            self.model.now = self.bench.now;
            let given = self.bench.give(Input::Wake);
            expected.extend(self.search(given.len(), Model::search_again));
            sent.extend(given);
        }
        (self.bench.now, self.model.now) = (end, end);
        (sent, expected)
    }

    /// Compares what is listed with what the model has. What is due is done with the first page.
    fn list(&mut self, template: Option<&Template>, rows: u32) -> (Vec<Sent>, Vec<Sent>) {
        let (listing, sent, pages) = self.bench.list_among(PageSize { rows, field_bytes: 256 }, template);
        let expected = self.pages(pages);
        self.look();
        let mut listed: Vec<Listed> = listing.into_iter().map(listed).collect();
        listed.sort_by_key(|row| row.0);
        assert_eq!(listed, self.model.list(template));
        (sent, expected)
    }

    /// Compares what can be looked at with what the model has. What is due is done with the first page.
    fn look_at(&mut self, template: Option<&Template>, most: u32) -> (Vec<Sent>, Vec<Sent>) {
        let (mut there, sent, pages) = self.bench.look_among(most, template);
        let expected = self.pages(pages);
        self.look();
        there.sort_by_key(|(age, _)| *age);
        assert_eq!(there, self.model.there(template));
        (sent, expected)
    }

    /// What the model does with so many requests for a page.
    fn pages(&mut self, pages: usize) -> Vec<Sent> {
        (0..pages).flat_map(|_| self.input(|_| {})).collect()
    }

    /// Tells the model what indexes there are, and who waits for one or for more turns.
    fn look(&mut self) {
        let space = &self.bench.space;
        self.model.indexes =
            space.stores.iter().map(|store| (store.signature().clone(), store.further())).collect();
        self.model.most_indexes = space.room.most_indexes();
        let waiting = space.unindexed.values().copied().chain(space.scans.waiters());
        let requesters = waiting.map(|place| space.waiters[place].requester);
        self.model.unindexed =
            requesters.map(|requester| (requester.address.node.0, requester.token.0)).collect();
        self.half_built |= !space.unindexed.is_empty();
        self.is_scanned |= !space.scans.is_empty();
    }

    /// An input in which requests are tried again, which may make indexes: what is due comes before that, and has the room that there was. The manager
    /// has sent so many answers.
    fn search(&mut self, sent: usize, act: impl FnOnce(&mut Model)) -> Vec<Sent> {
        self.model.begin();
        let (before, due) = (self.model.indexes.clone(), self.model.sent.len());
        self.look();
        self.is_unknown |= sent > due + 1 && self.model.indexes != before;
        act(&mut self.model);
        self.end()
    }

    fn input(&mut self, act: impl FnOnce(&mut Model)) -> Vec<Sent> {
        self.model.begin();
        act(&mut self.model);
        self.end()
    }

    fn end(&mut self) -> Vec<Sent> {
        self.model.end();
        self.model.serve_watchers();
        core::mem::take(&mut self.model.sent)
    }

    fn ask(&mut self, from: u16, token: u64, settled: u64, step: &Step) -> Vec<Sent> {
        self.model.begin();
        self.model.settle(from, settled);
        let model = &mut self.model;
        let bench = &mut self.bench;
        match step {
            Step::Out(tuples, deadline) => {
                model.out(from, token, tuples, *deadline);
                bench.ask_settled(
                    from,
                    token,
                    settled,
                    Request::Out { deadline: *deadline, tuples, expiries: &expiries(tuples) },
                )
            }
            Step::Query(purpose, wait, template) => {
                let wait = *wait;
                let request = match purpose {
                    Purpose::Read => Request::Read { wait, template },
                    Purpose::Take => Request::Take { wait, lease: None, template },
                    Purpose::Lease(ttl) => Request::Take { wait, lease: Some(*ttl), template },
                    Purpose::Count => Request::Count { template },
                    Purpose::Witness => Request::Witness { wait, template },
                    Purpose::Hold(lease, limit) => {
                        Request::Hold { wait, lease: *lease, limit: *limit, template }
                    }
                    Purpose::Replace => unreachable!("a replacement is a step of its own"),
                };
                let sent = bench.ask_settled(from, token, settled, request);
                self.look();
                self.model.query(from, token, *purpose, wait, template);
                sent
            }
            Step::Collect(takes, goes_on, most, template) => {
                self.ask_for_page((from, token, settled), *takes, *goes_on, *most, template)
            }
            Step::Select(..) | Step::Replace(..) => self.ask_further(from, token, settled, step),
            Step::Cancel(_) => {
                model.cancel(from, token);
                bench.ask_settled(from, token, settled, Request::Cancel)
            }
            Step::Return(_) => {
                model.undo(from, token);
                bench.ask_settled(from, token, settled, Request::Return)
            }
            Step::Renew => {
                model.renew(from);
                bench.ask_settled(from, token, settled, Request::Renew)
            }
            Step::Count(template) => {
                let sent = bench.ask_settled(from, token, settled, Request::Count { template });
                self.look();
                self.model.count(from, token, template);
                sent
            }
            Step::Watch(since, most, wait, template) => {
                let (since, most, wait) = (since.map(|back| self.number.saturating_sub(back)), *most, *wait);
                let template = template.as_ref();
                model.watch((from, token), since, most, wait, template);
                bench.ask_settled(from, token, settled, Request::Watch { since, most, wait, template })
            }
            Step::Commit(..) | Step::Abort(_) => self.end_group(from, token, settled, step),
            Step::Ack(..) | Step::Release(_) => self.ask_about_lease(from, token, settled, step),
            other => unreachable!("{other:?} is no request"),
        }
    }

    fn remember_leases(&mut self, sent: &[Sent]) {
        self.leases.extend(sent.iter().filter_map(|(_, _, answer)| match answer {
            Answer::Tuple(_, Some(attempt)) | Answer::Selected(_, _, Some(attempt)) => Some(attempt.lease.0),
            _ => None,
        }));
        for (_, _, answer) in sent {
            match answer {
                Answer::Events(events) => {
                    self.number = events.number;
                    self.watched[0] += u32::from(!events.events.is_empty());
                }
                Answer::TooOld { newest, .. } => {
                    self.number = *newest;
                    self.watched[1] += 1;
                }
                _ => {}
            }
        }
        self.witnesses.extend(sent.iter().filter_map(|(_, _, answer)| match answer {
            Answer::Witnessed(_, witness) => Some(*witness),
            _ => None,
        }));
    }
}

/// Errors are compared by their codes, witnesses by their ages: where a tuple lies is the manager's own affair.
fn without_texts(sent: &[Sent]) -> Vec<Sent> {
    let without = |answer: &Answer| match answer {
        Answer::Error(Refusal { code, .. }) => Answer::Error(Refusal::new(*code, "")),
        Answer::Witnessed(tuple, witness) => {
            Answer::Witnessed(tuple.clone(), Witness { place: 0, ..*witness })
        }
        other => other.clone(),
    };
    sent.iter().map(|(to, token, answer)| (*to, *token, without(answer))).collect()
}

/// Does the steps on both and compares what was answered and when either wants to be woken.
fn compare(pair: &mut Pair, steps: &Steps) -> Result<(), TestCaseError> {
    for (number, (from, settled_back, step)) in steps.iter().enumerate() {
        let (sent, expected) = pair.step(*from, *settled_back, step);
        if pair.is_unknown {
            return Ok(());
        }
        pair.remember_leases(&sent);
        prop_assert_eq!(without_texts(&sent), expected, "step {}: {:?} of {}", number, step, from);
        prop_assert_eq!(pair.bench.space.expired, pair.model.expired(), "expired after step {}", number);
        let due = pair.bench.space.timers.first();
        prop_assert_eq!(due, pair.model.deadline(), "deadline after step {}", number);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn the_manager_answers_as_the_model_does(steps in steps()) {
        compare(&mut Pair::new(config()), &steps)?;
    }

    #[test]
    fn a_manager_that_is_moved_before_every_input_answers_as_the_model_does(
        steps in steps(), index_step in proptest::option::of(1..3usize),
    ) {
        let mut pair = Pair::new(index_step.map_or(config(), stepwise));
        pair.bench.moves = true;
        compare(&mut pair, &steps)?;
    }

    #[test]
    fn equal_histories_have_equal_bytes(steps in steps(), index_step in 1..3usize) {
        // A link that is full is not the history of a space that is moved.
        let config = stepwise(index_step);
        let mut pair = Pair::new(config);
        pair.bench.history = Some(Vec::new());
        let never_full = steps.into_iter().filter(|(_, _, step)| !matches!(step, Step::Fill)).collect();
        compare(&mut pair, &never_full)?;
        let history = pair.bench.history.take().expect("it was kept");
        let inputs: Vec<_> = history.iter().map(|(at, given)| (*at, given.input())).collect();
        prop_assert_eq!(check_snapshots(&config, |config| Space::new(*config), &inputs), Ok(()));
    }

    #[test]
    fn changed_bytes_are_refused_or_a_space_whose_parts_agree(
        steps in steps(), index_step in 1..3usize, changes in proptest::collection::vec((any::<prop::sample::Index>(), 0..8u8), 1..4),
    ) {
        let mut pair = Pair::new(stepwise(index_step));
        compare(&mut pair, &steps)?;
        let mut bytes = Vec::new();
        pair.bench.space.save(&mut bytes);
        for (at, bit) in changes {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        if let Ok(mut space) = Space::restore(&stepwise(index_step), &bytes) {
            space.verify();
            let now = pair.bench.now + Span::from_secs(1);
            space.handle(now, Input::Wake, &mut quintet_contract::Effects::default());
            space.verify();
        }
    }
}

/// With more groups than else, in a space with more room, so that many happen and some do not as something was gone.
#[test]
fn groups_end_as_those_of_the_model() {
    let groups = core::cell::Cell::new([0u32; 2]);
    let settings = ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() };
    let result = proptest::test_runner::TestRunner::new(settings).run(&group_steps(), |steps| {
        let mut pair = Pair::new(SpaceConfig { max_bytes: 5_000, max_tuples: 20, ..config() });
        let result = compare(&mut pair, &steps);
        let [done, gone] = groups.get();
        groups.set([done + pair.groups[0], gone + pair.groups[1]]);
        result
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
    let [done, gone] = groups.get();
    assert!(done > 50, "{done} groups happened that took several tuples");
    assert!(gone > 200, "{gone} groups did not happen as something was gone");
}

/// With room for more events, so that many are told; those who come too late are told that.
#[test]
fn who_watches_is_told_what_the_model_tells() {
    let watched = core::cell::Cell::new([0u32; 2]);
    let settings = ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() };
    let result = proptest::test_runner::TestRunner::new(settings).run(&watching_steps(), |steps| {
        let mut pair = Pair::new(SpaceConfig { max_bytes: 20_000, max_tuples: 20, ..config() });
        let result = compare(&mut pair, &steps);
        let [told, missed] = watched.get();
        watched.set([told + pair.watched[0], missed + pair.watched[1]]);
        result
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
    let [told, missed] = watched.get();
    assert!(told > 1000, "{told} answers had events");
    assert!(missed > 100, "{missed} watches came too late");
}

/// With more pages than else, many of which go on from another one.
#[test]
fn pages_are_those_of_the_model() {
    let collected = core::cell::Cell::new(0u32);
    let settings = ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() };
    let runs = (1..4usize, collecting_steps());
    let result = proptest::test_runner::TestRunner::new(settings).run(&runs, |(index_step, steps)| {
        let mut pair = Pair::new(stepwise(index_step));
        let result = compare(&mut pair, &steps);
        collected.set(collected.get() + pair.collected);
        result
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
    let collected = collected.get();
    assert!(collected > 20, "{collected} pages that were taken went on from another and had tuples");
}

/// Where each step looks at one tuple or two, so that all of this happens while indexes are half built and searches half done.
#[test]
fn the_manager_answers_as_the_model_does_while_indexes_are_built() {
    let (half_built, scanned) = (core::cell::Cell::new(0u32), core::cell::Cell::new(0u32));
    let settings = ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() };
    let runs = (1..3usize, steps());
    let result = proptest::test_runner::TestRunner::new(settings).run(&runs, |(index_step, steps)| {
        let mut pair = Pair::new(stepwise(index_step));
        let result = compare(&mut pair, &steps);
        half_built.set(half_built.get() + u32::from(pair.half_built));
        scanned.set(scanned.get() + u32::from(pair.is_scanned));
        result
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
    let (half_built, scanned) = (half_built.get(), scanned.get());
    assert!(half_built > 300, "{half_built} runs had a request wait for an index");
    assert!(scanned > 150, "{scanned} runs had a request that had to go on in another turn");
}
