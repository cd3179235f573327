use crate::lab::Seen;
use crate::{Lab, Outcome, Packing, Space, stack, template, tuple};
use quintet_contract::{Address, Input, Outbox, OwnedFrame, Protocol, Time};
use quintet_runtime::{Calls, Instance};
use quintet_tuple_space::SpaceConfig;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A space that lets frames lie while it is slow.
struct Slow {
    space: quintet_tuple_space::Space,
    is_slow: Arc<AtomicBool>,
    lying: Vec<(Address, OwnedFrame)>,
}

impl Protocol for Slow {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        if let (Input::Frame(from, frame), true) = (input, self.is_slow.load(Ordering::Relaxed)) {
            return self.lying.push((from, frame.to_owned()));
        }
        for (from, frame) in std::mem::take(&mut self.lying) {
            self.space.handle(now, Input::Frame(from, frame.borrow()), out);
        }
        self.space.handle(now, input, out);
    }

    fn deadline(&self) -> Option<Time> {
        self.space.deadline()
    }
}

fn slow() -> (Space, Arc<AtomicBool>) {
    let (space, is_slow) = (quintet_tuple_space::Space::new(SpaceConfig::default()), Arc::default());
    let slow = Slow { space, is_slow: Arc::clone(&is_slow), lying: Vec::new() };
    (
        Lab::over(Calls::embedded(stack::SPACE, Instance::new(slow)), None, Seen::default(), Packing::Never)
            .space(),
        is_slow,
    )
}

#[test]
fn a_dropped_take_that_was_answered_returns_its_tuple() {
    let space = Lab::embedded().space();
    space.out(tuple!["x"]).unwrap();
    drop(space.begin().take(&template!["x"]).unwrap());
    drop(space.begin().lease(&template!["x"]).unwrap());
    assert_eq!(space.take_if(&template!["x"]).unwrap(), Some(tuple!["x"]));
}

#[test]
fn a_dropped_take_that_is_answered_much_later_returns_its_tuple() {
    let (space, is_slow) = slow();
    for lease in [false, true] {
        space.out(tuple!["x"]).unwrap();
        is_slow.store(true, Ordering::Relaxed);
        let template = template!["x"];
        drop(if lease { space.begin().lease(&template) } else { space.begin().take(&template) }.unwrap());
        is_slow.store(false, Ordering::Relaxed);
        // What lies there is seen to first.
        assert_eq!(space.count(&template!["y"]).unwrap(), 0);
        assert_eq!(space.take_if(&template!["x"]).unwrap(), Some(tuple!["x"]), "leased: {lease}");
    }
}

#[test]
fn what_was_only_looked_at_is_returned_and_what_was_kept_is_not() {
    let space = Lab::embedded().space();
    let seen = Some(Ok(Outcome::Tuple(tuple!["x"], None)));
    for is_kept in [false, true] {
        space.out(tuple!["x"]).unwrap();
        let mut take = space.begin().take(&template!["x"]).unwrap();
        assert_eq!((take.peek(Duration::ZERO), take.peek(Duration::ZERO)), (seen.clone(), seen.clone()));
        if is_kept {
            take.keep();
            assert_eq!((take.peek(Duration::ZERO), take.wait(Duration::ZERO)), (None, None));
        }
        drop(take);
        assert_eq!(space.take_if(&template!["x"]).unwrap().is_none(), is_kept);
    }
    let open = space.begin().take(&template!["x"]).unwrap();
    open.keep();
    assert!(!open.is_done());
}
