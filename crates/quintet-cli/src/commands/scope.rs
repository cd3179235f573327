//! `quintet scope`: the live tuplescope.

mod class;
mod picture;
mod shown;

use super::peek::{connect, named};
use crate::asking::Asking;
use crate::connection::SpaceArguments;
use crate::replicas;
use crate::watch::{View, interval, watch};
use clap::Args;
use picture::{Last, Picture};
use quintet::{Error, Lab, Replica};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// So long a replica that says nothing is waited for.
const REPLICAS_LIMIT: Duration = Duration::from_secs(1);

#[derive(Args)]
#[command(
    after_help = "A partition is the tuples of the same types with the same text in front. Its class says how they are asked for, as the templates seen so far show:\n\n  counting semaphore  there is nothing to carry: the text is all\n  queue               every template takes any of them\n  hash on N           every template has a value for field N\n  search              templates differ in that\n  -                   nobody has asked so far\n\nWaits: takes and reads that wait, by template; oldest: since when the first of them does. Hot keys: the values that are asked for most, as shares of one question in sixteen. A LEAK? is tuples that were there all the time, can be taken, and of whose partition nobody was given one. Of a replicated space each server is shown with what it does: leads, follows, has no log, and so no vote until it has been sent the space.\n\nNothing is taken. It is drawn in place until q or ctrl-C; elsewhere a block is printed each time, or with --json an object a line. With --once it is shown once: rates need two looks, and are null.\n\nExamples:\n  quintet scope\n  quintet scope orders --space quintet://lab\n  quintet scope --once --json\n  quintet scope --leak-after 5 --interval 0.5"
)]
pub(crate) struct Arguments {
    /// The named space to show; without it the one without a name
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    space: SpaceArguments,
    /// Show it once
    #[arg(long, conflicts_with = "looks")]
    once: bool,
    /// Seconds between two looks, from 0.1
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    interval: Duration,
    /// End after so many looks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    looks: Option<u64>,
    /// Tuples are told as a leak that nobody was given for so many seconds, from 0.1
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = interval)]
    leak_after: Duration,
    /// Show so many rows of each part at most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Print a JSON object; without --once one a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Who looks, from one look to the next.
struct Scope {
    name: Option<String>,
    space: SpaceArguments,
    leak_after: Duration,
    limit: usize,
    lab: Option<Lab>,
    last: Option<Last>,
    asking: Asking<Result<Vec<Replica>, Error>>,
    /// What the servers of a replicated space have said last.
    replicas: Vec<Replica>,
}

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    let Arguments { name, space, once, interval, looks, leak_after, limit, json } = arguments;
    let mut scope = Scope {
        name,
        space,
        leak_after,
        limit: limit as usize,
        lab: None,
        last: None,
        asking: Asking::new(),
        replicas: Vec::new(),
    };
    if once {
        return crate::watch::once(json, move || scope.view());
    }
    watch(interval, json, looks, move || scope.view())
}

impl Scope {
    fn view(&mut self) -> Result<View, Error> {
        // A connection that failed is made anew the next time.
        let lab = self.lab.take().map_or_else(|| connect(&self.space), Ok)?;
        let space = match &self.name {
            Some(name) => lab.named_space(name)?,
            None => lab.space(),
        };
        let picture = Picture::take(&space, Instant::now(), self.last.as_ref(), self.leak_after)?;
        self.lab = Some(lab);
        self.last = Some(picture.last());
        self.ask_replicas()?;
        let mut view =
            View { text: picture.as_table(self.limit), json: picture.as_json(self.name.as_deref()) };
        if !self.replicas.is_empty() {
            view.text += &format!("\n{}\n", replicas::as_table(&self.replicas));
            view.json["replicas"] = replicas::as_json(&self.replicas);
        }
        Ok(view)
    }

    /// Asks each replica what it does. While one of them cannot be reached and nobody says so, it is shown what they said before.
    fn ask_replicas(&mut self) -> Result<(), Error> {
        let (space, name) = (named(&self.space)?, self.name.clone());
        let ask = move || space.replicas_of(name.as_deref(), REPLICAS_LIMIT);
        if let Some(said) = self.asking.within(2 * REPLICAS_LIMIT, ask) {
            self.replicas = said?;
        }
        Ok(())
    }
}
