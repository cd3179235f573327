//! The clients of a tuple space, whose schedules are made smaller.

use crate::check::Rule;
use crate::fault::Who;
use crate::network::{SERVER, Seeded, address};
use crate::plan::streams;
use crate::run::{Outcomes, run};
use crate::shrink::Target;
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

    fn streams_of(&self, client: Who, _others: &[Who]) -> Vec<u64> {
        let own = [streams::CLIENT, streams::WANTS, streams::USES].map(|kind| kind + u64::from(client));
        let (here, there) = (address(client), SERVER);
        own.into_iter().chain([link_stream(here, there), link_stream(there, here)]).collect()
    }
}
