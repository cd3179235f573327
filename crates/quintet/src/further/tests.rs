use crate::lab::Seen;
use crate::{Code, Field, Lab, Packing, stack, template, tuple};
use quintet_contract::{Frame, Input, Outbox, Protocol, Time};
use quintet_runtime::{Calls, Instance};
use quintet_tuple_space::codec::{FURTHER, TAKE};
use quintet_tuple_space::{Space, SpaceConfig};

/// A server from before the further operations and before ranges: it cannot read them.
struct Older(Space);

impl Protocol for Older {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let input = match input {
            Input::Frame(from, frame) if frame.kind == FURTHER => {
                Input::Frame(from, Frame { body: &frame.body[..8], ..frame })
            }
            // What it knows of the template ends in front of the ranges.
            Input::Frame(from, frame) if frame.kind == TAKE && frame.body.len() > FORMAL_TAKE => {
                Input::Frame(from, Frame { body: &frame.body[..frame.body.len() - 1], ..frame })
            }
            other => other,
        };
        self.0.handle(now, input, out);
    }

    fn deadline(&self) -> Option<Time> {
        self.0.deadline()
    }
}

/// Bytes of a take of one formal.
const FORMAL_TAKE: usize = 8 + 1 + 8 + 8 + 1 + 1 + 8;

#[test]
fn a_server_from_before_ranges_says_so() {
    let instance = Instance::new(Older(Space::new(SpaceConfig::default())));
    let lab = Lab::over(Calls::embedded(stack::SPACE, instance), None, Seen::default(), Packing::Never);
    let space = lab.space();
    let error = space.take_if(&template![Field::range(3..=7i64)]).expect_err("it has none");
    assert_eq!(error.code(), Code::Malformed);
    assert!(error.text().ends_with("a server from before ranges does not have them"), "{error}");
    assert_eq!(space.take_if(&template![?i64]), Ok(None), "it goes on");
}

#[test]
fn a_server_from_before_selects_and_replacements_says_so() {
    let instance = Instance::new(Older(Space::new(SpaceConfig::default())));
    let lab = Lab::over(Calls::embedded(stack::SPACE, instance), None, Seen::default(), Packing::Never);
    let (space, row) = (lab.space(), template!["row"]);
    let waited = space.replace(&row, &[tuple!["row"]]).map(drop);
    let begun = space.begin().select(core::slice::from_ref(&row)).and_then(crate::Pending::finish).map(drop);
    for refused in [waited, begun, space.select_if(core::slice::from_ref(&row)).map(drop)] {
        let error = refused.expect_err("it has none");
        assert_eq!(error.code(), Code::Malformed);
        assert!(error.text().contains("from before selects and replacements"), "{error}");
    }
    space.out(tuple!["row"]).expect("it goes on");
    assert_eq!(space.count(&row), Ok(1));
}
