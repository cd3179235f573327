//! What a server's memory becomes while what it stores changes without an end, and is no more than before.

use super::super::case::{Beside, Better, Case, Group, Round, Unit};
use super::super::peer::Peer;
use super::Jumps;
use super::memory::resident_bytes;
use super::served::Served;
use quintet::{Error, Field, Pending, Space, Template, Tuple, Value};

/// Tuples that are stored at any time.
const STORED: u64 = 10_000;
/// Steps until the memory is looked at first, and from there until it is looked at again; as the peer does.
const FIRST_STEPS: u64 = 100_000;
const STEPS: u64 = 400_000;
const OPTIONS: &[&str] = &["--warmup", "100000", "--iterations", "400000"];
/// Steps that are under way together.
const DEPTH: u64 = 64;
/// A tuple's bytes are so many at least, and double as often as chance has it.
const LEAST_BYTES: u64 = 16;
const DOUBLINGS: u64 = 9;
/// Fields beside the name and the bytes, each of one of four types.
const FIELDS: u32 = 8;
/// Tuples that share a signature, one after another; 65,536 such signatures go by before one comes again.
const ALIKE: u64 = 4;
/// The memory in the end, in times of what it was after the first steps.
const GOAL: f64 = 1.1;

pub(super) fn cases() -> Vec<Case> {
    let case = || {
        Case::new(Group::Space, "churn-shm", Unit::Share, Better::Lower, || Ok(rounds())).on_all_processors()
    };
    let redis = Peer::new("redis-c", "redis_churn", "churn").with(OPTIONS);
    vec![case().goal(GOAL), case().beside(Beside::Program(redis))]
}

/// The resident memory of a server in the end as a part of what it was after the first steps. A step puts a tuple whose name no other
/// has, and takes one of ten thousand others by its name, chosen by chance; signatures and lengths change as well.
fn rounds() -> Round {
    Box::new(|| {
        let served = Served::start()?;
        let mut churn = Churn::fill(served.connect()?)?;
        churn.steps(FIRST_STEPS)?;
        let before = resident_bytes(served.process())?;
        churn.steps(STEPS)?;
        Ok(resident_bytes(served.process())? as f64 / before as f64)
    })
}

struct Churn {
    space: Space,
    /// The numbers of the tuples that are stored.
    stored: Vec<u64>,
    jumps: Jumps,
    next: u64,
}

impl Churn {
    fn fill(space: Space) -> Result<Churn, Error> {
        let mut churn = Churn { space, stored: Vec::new(), jumps: Jumps::new(), next: 0 };
        for _ in 0..STORED / DEPTH {
            let puts = (0..DEPTH).map(|_| churn.begin_put()).collect::<Result<_, _>>()?;
            finish(puts)?;
        }
        Ok(churn)
    }

    fn steps(&mut self, count: u64) -> Result<(), Error> {
        for _ in 0..count / DEPTH {
            let mut under_way = Vec::new();
            for _ in 0..DEPTH {
                under_way.push(self.begin_take()?);
                under_way.push(self.begin_put()?);
            }
            finish(under_way)?;
        }
        Ok(())
    }

    fn begin_put(&mut self) -> Result<Pending, Error> {
        let longest = LEAST_BYTES << self.jumps.below(DOUBLINGS);
        let bytes = longest + self.jumps.below(longest);
        let tuple = Tuple::new(fields(self.next, bytes as usize))?;
        self.stored.push(self.next);
        self.next += 1;
        self.space.begin().out(&[tuple])
    }

    fn begin_take(&mut self) -> Result<Pending, Error> {
        let chosen = self.jumps.below(self.stored.len() as u64) as usize;
        let number = self.stored.swap_remove(chosen);
        self.space.begin().take(&named(number)?)
    }
}

fn finish(pending: Vec<Pending>) -> Result<(), Error> {
    pending.into_iter().try_for_each(|pending| pending.finish().map(drop))
}

/// The name of the tuple with this number, so many bytes, and fields whose types follow from the number.
fn fields(number: u64, bytes: usize) -> Vec<Value> {
    let types = number / ALIKE;
    let further = (0..FIELDS).map(|field| match types >> (2 * field) & 3 {
        0 => Value::from(number.cast_signed()),
        1 => Value::from(number as f64),
        2 => Value::from(number as u32),
        _ => Value::from(number.is_multiple_of(2)),
    });
    [Value::from(format!("name-{number}")), Value::from(vec![7; bytes])].into_iter().chain(further).collect()
}

/// Matches that tuple by its name.
fn named(number: u64) -> Result<Template, Error> {
    let mut fields: Vec<Field> =
        fields(number, 0).iter().map(|value| Field::Formal(value.value_type())).collect();
    fields[0] = Field::from(format!("name-{number}"));
    Ok(Template::new(fields)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet::Lab;
    use std::collections::HashSet;

    #[test]
    fn each_tuple_is_found_by_its_name_and_signatures_change() {
        let tuple = |number| Tuple::new(fields(number, 20)).expect("ten fields");
        let template = named(5).expect("ten fields");
        assert!(template.matches(&tuple(5)) && !template.matches(&tuple(4)), "{template}");
        let types = |number| fields(number, 0).iter().map(Value::value_type).collect::<Vec<_>>();
        let signatures: HashSet<String> = (0..4_000).map(|number| format!("{:?}", types(number))).collect();
        assert_eq!(signatures.len(), 1_000);
    }

    #[test]
    fn what_is_stored_changes_and_is_never_more() {
        let space = Lab::embedded().space();
        let mut churn = Churn::fill(space.clone()).expect("there is room");
        let stored = space.status().expect("it is there").tuples;
        churn.steps(4 * DEPTH).expect("each is found by its name");
        assert_eq!(space.status().expect("it is there").tuples, stored);
        assert_eq!(churn.next, stored + 4 * DEPTH);
    }
}
