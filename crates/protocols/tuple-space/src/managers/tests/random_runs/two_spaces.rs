//! The same with a named space, which clients collect into and out of: what they see two spaces could have done.
//!
//! What lies in it has signatures of its own in the histories.

use super::{Network, Run, SpaceConfig, asking, stored};
use crate::{Request, SpaceNumber, SpaceSettings, Wait};
use quintet_contract::Random;
use quintet_linearizability::{Act, Pattern, Purpose};

/// So many more are the signatures of the named space than those of the other one.
pub(super) const NAMED: u8 = 2;

impl Run {
    /// Collects all of a key, or of a signature, from one space into the other.
    pub(super) fn move_all(&mut self, client: usize) -> (Act, u64) {
        let (signature, key) = self.partition();
        let leaves_key_out = self.leaves_key_out && self.draw(3) == 0;
        let key = (!leaves_key_out).then_some(key);
        let here = Pattern { key, ..Pattern::of(signature) };
        let named = Pattern { signature: signature + NAMED, ..here };
        let (of, from, into) = match self.draw(2) {
            0 => ([here, named], SpaceNumber::UNNAMED, self.named()),
            _ => ([named, here], self.named(), SpaceNumber::UNNAMED),
        };
        let request = Request::CollectInto { takes: true, into, template: &asking(signature, key) };
        (Act::Move { of, count: None }, self.network.ask_in(client, from, &request))
    }

    pub(super) fn named(&self) -> SpaceNumber {
        self.named.expect("such runs have one")
    }

    /// Puts, takes or reads something in the named space.
    pub(super) fn use_named(&mut self, client: usize) -> (Act, u64) {
        let (signature, key) = self.partition();
        let (partition, named) = ((signature + NAMED, key), self.named());
        if self.draw(3) == 0 {
            let number = self.number();
            let tuples = [stored(partition, number)];
            let out = Request::Out { deadline: None, tuples: &tuples, expiries: &[] };
            return (Act::out(partition, number), self.network.ask_in(client, named, &out));
        }
        let (template, wait) = (asking(signature, Some(key)), Wait::AtOnce);
        let (purpose, request) = match self.draw(2) {
            0 => (Purpose::Read, Request::Read { wait, template: &template }),
            _ => (Purpose::Take, Request::Take { wait, lease: None, template: &template }),
        };
        let act = Act::Query { of: vec![Pattern::keyed(partition)], purpose, found: None };
        (act, self.network.ask_in(client, named, &request))
    }
}

/// A run with a named space.
pub(super) fn run_of_two_spaces(seed: u64, space: SpaceConfig) -> Result<(Network, u32), String> {
    let mut run = Run::new(seed, SpaceConfig { max_attempts: 1_000, ..space }, true);
    run.network.settle(&mut Random::new(seed, 77));
    run.named = Some(run.network.create("named", SpaceSettings::default()));
    run.play()
}

#[test]
fn what_is_collected_from_one_space_into_another_at_several_managers_two_spaces_could_collect() {
    let (mut commits, mut held, mut migrations) = (0, 0, 0);
    for seed in 0..300 {
        let run = run_of_two_spaces(seed, SpaceConfig::default());
        let (network, _) = run.unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        commits += network.measured("quintet_manager_commits");
        held += network.measured("quintet_manager_held");
        migrations += network.measured("quintet_manager_migrations");
    }
    assert!(
        commits > 300 && held > 800 && migrations > 300,
        "each is tried often: {commits} commits, {held} inputs held, {migrations} migrations"
    );
}
