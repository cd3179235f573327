use crate::lab::Seen;
use crate::{Code, Identity, Lab, Packing, SpaceRights, SpaceSettings, stack, template, tuple};
use quintet_contract::{Frame, Input, Kind, Outbox, Protocol, Time};
use quintet_runtime::{Calls, Instance};
use quintet_tuple_space::codec::{FURTHER, SPACES, STATUS};
use quintet_tuple_space::{Space, SpaceConfig};

/// A server's space that takes what is asked of the named ones for a request of another kind.
struct Mistaken {
    space: Space,
    kind: Kind,
}

impl Protocol for Mistaken {
    fn handle(&mut self, now: Time, input: Input<'_>, out: &mut dyn Outbox) {
        let input = match input {
            Input::Frame(from, frame) if frame.kind == SPACES => {
                // Of each request the first eight bytes are the same: what is settled.
                Input::Frame(from, Frame { kind: self.kind, body: &frame.body[..8], ..frame })
            }
            other => other,
        };
        self.space.handle(now, input, out);
    }

    fn deadline(&self) -> Option<Time> {
        self.space.deadline()
    }
}

fn mistaken(kind: Kind) -> Lab {
    let instance = Instance::new(Mistaken { space: Space::new(SpaceConfig::default()), kind });
    Lab::over(Calls::embedded(stack::SPACE, instance), None, Seen::default(), Packing::Never)
}

#[test]
fn a_server_from_before_named_spaces_has_none_and_says_so_to_who_wants_one() {
    // Of the later operations none is so short: it is refused as what the server does not know.
    let lab = mistaken(FURTHER);
    assert_eq!(lab.spaces(), Ok(Vec::new()));
    let created = lab.create_space("orders", &SpaceSettings::default()).err();
    for refused in [created, lab.named_space("orders").err(), lab.remove_space("orders").err()] {
        let error = refused.expect("it has none");
        assert_eq!(error.code(), Code::Malformed);
        assert!(error.text().contains("from before named spaces"), "{error}");
    }
    lab.space().out(tuple!["row"]).expect("it goes on");
    assert_eq!(lab.space().count(&template!["row"]), Ok(1));
}

#[test]
fn an_answer_to_another_question_is_not_an_empty_list() {
    let error = mistaken(STATUS).spaces().expect_err("it answered with its state");
    assert_eq!(error.code(), Code::Malformed);
    assert!(error.text().contains("another question"), "{error}");
}

#[test]
fn a_space_for_more_identities_than_one_can_name_is_refused_before_it_is_asked_for() {
    let lab = Lab::embedded();
    let of = |count| {
        let identities = (0..count).map(|n: u8| Identity([n; 32])).collect();
        let allow = Some(SpaceRights { own_machine: false, identities });
        lab.create_space("orders", &SpaceSettings { allow, ..SpaceSettings::default() }).map(drop)
    };
    let error = of(129).expect_err("one too many");
    assert_eq!(error.code(), Code::TooLarge);
    assert!(error.text().contains("129 identities; one names 128 at most"), "{error}");
    assert_eq!(of(128), Ok(()));
}
