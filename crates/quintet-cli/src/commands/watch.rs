//! `quintet watch`.

use super::peek::{connect, template};
use crate::connection::SpaceArguments;
use crate::output::{print_json, print_line};
use crate::template::Pattern;
use clap::Args;
use quintet::{Error, EventStream, Since, Template, Tuple, TupleEvent};
use quintet_agent::log::escaped;
use serde_json::json;
use std::process::ExitCode;

#[derive(Args)]
#[command(
    after_help = "Of a machine that belongs to a cluster, the cluster's space is watched, unless another one is named. A template is written as for quintet peek (quintet peek --help).\n\nEach line is an event: its number, what happened, and the tuple. A tuple is put; taken by a plain take; leased, and then done or returned; failed, where a dead letter comes in its place. Whoever comes back goes on behind the last number that he has seen (--since): events are kept while somebody watches and for ten minutes after, a sixteenth of the space's quota of them and at most 16 MiB. Asked for older ones, or when it reads too slowly, the command ends with status 75 and says which are kept.\n\nIt ends with ctrl-C, or after --limit events.\n\nExamples:\n  quintet watch\n  quintet watch '\"order\", ?int, ?str'\n  quintet watch '\"task\", ...' --existing --json\n  quintet watch --since 4711 --limit 10"
)]
pub(crate) struct Arguments {
    /// Which tuples, as '"task", ?int'; without it all
    #[arg(value_name = "TEMPLATE", value_parser = template)]
    template: Option<Pattern>,
    /// Watch the named space of this name; without it the one without a name
    #[arg(long, value_name = "NAME")]
    named: Option<String>,
    #[command(flatten)]
    space: SpaceArguments,
    /// Go on behind the event of this number; without it, with what happens from now on
    #[arg(long, value_name = "NUMBER", conflicts_with = "existing")]
    since: Option<u64>,
    /// Begin with the tuples that are there
    #[arg(long)]
    existing: bool,
    /// End after so many events
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Print a JSON object for each event
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let Arguments { template: pattern, named, space, since, existing, limit, json } = arguments;
    // What is not known to the end is compared here.
    let closed = pattern.as_ref().filter(|pattern| !pattern.is_open);
    let wanted = closed.map(|pattern| Template::new(pattern.fields.clone())).transpose();
    let wanted = wanted.map_err(|error| Error::new(error.code(), error.to_string()))?;
    let lab = connect(space)?;
    let space = match named {
        Some(name) => lab.named_space(name)?,
        None => lab.space(),
    };
    let since = match since {
        _ if *existing => Since::Start,
        Some(number) => Since::Number(*number),
        None => Since::Now,
    };
    let mut events = space.watch(wanted.as_ref(), since)?;
    let mut shown = 0;
    while limit.is_none_or(|limit| shown < limit) {
        let Some(event) = next(&mut events, pattern.as_ref()) else { break };
        if !print(&event?, *json)? {
            break;
        }
        shown += 1;
    }
    Ok(ExitCode::SUCCESS)
}

/// The next event that is wanted.
fn next(events: &mut EventStream, pattern: Option<&Pattern>) -> Option<Result<TupleEvent, Error>> {
    events.find(|event| match event {
        Ok(event) => pattern.is_none_or(|pattern| !pattern.is_open || matches(pattern, &event.tuple)),
        Err(_) => true,
    })
}

fn matches(pattern: &Pattern, tuple: &Tuple) -> bool {
    let types: Vec<_> = tuple.values().iter().map(quintet::Value::value_type).collect();
    let template = pattern.for_types(&types).and_then(|fields| Template::new(fields).ok());
    template.is_some_and(|template| template.matches(tuple))
}

/// False: nobody reads on.
fn print(event: &TupleEvent, json: bool) -> Result<bool, Error> {
    let TupleEvent { number, age, change, tuple } = event;
    if !json {
        return print_line(escaped(&format!("{number:>12} {:<9} {tuple}", change.name())));
    }
    let fields: Vec<String> = tuple.values().iter().map(ToString::to_string).collect();
    print_json(&json!({"number": number, "change": change.name(), "age": age, "fields": fields}))
}
