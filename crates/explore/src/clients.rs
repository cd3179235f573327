//! The clients of a tuple space, whose schedules are made smaller.

use crate::check::Rule;
use crate::fault::Who;
use crate::network::{SERVER, Seeded, address};
use crate::plan::streams;
use crate::run::{Outcomes, run};
use crate::shrink::{Target, set};
use quintet_simulate::{Choices, Sequence, link_stream};

/// A space and its clients.
pub(crate) struct Clients {
    pub(crate) events_limit: u64,
    pub(crate) seeded: Seeded,
}

impl Target for Clients {
    type Outcomes = Outcomes;
    type Rule = Rule;

    fn run(&self, choices: &Choices) -> Outcomes {
        run(choices, self.events_limit, self.seeded)
    }

    fn rule(&self, outcomes: &Outcomes) -> Option<Rule> {
        outcomes.violation.as_ref().map(|violation| violation.rule)
    }

    fn last_member(&self, sequence: &Sequence) -> Option<Who> {
        let number = *sequence.get(&streams::WORLD)?.first()?.first()?;
        Who::try_from(number + 1).ok().filter(|number| *number > 1)
    }

    fn replace_member(&self, sequence: &mut Sequence, place: Who, last: Who) {
        for (to, from) in streams_of(place).into_iter().zip(streams_of(last)) {
            sequence.remove(&to);
            if let Some(groups) = sequence.remove(&from) {
                sequence.insert(to, groups);
            }
        }
        set(sequence, (streams::WORLD, 0, 0), u64::from(last) - 2);
        for stream in [streams::FAULTS, streams::BREAKS] {
            for fault in sequence.get_mut(&stream).into_iter().flatten() {
                if let Some(who) = fault.get_mut(1).filter(|who| **who + 1 == u64::from(last)) {
                    *who = u64::from(place) - 1;
                }
            }
        }
    }
}

/// All streams of a client.
fn streams_of(client: Who) -> [u64; 5] {
    let own = [streams::CLIENT, streams::WANTS, streams::USES].map(|kind| kind + u64::from(client));
    let (here, there) = (address(client), SERVER);
    [own[0], own[1], own[2], link_stream(here, there), link_stream(there, here)]
}
