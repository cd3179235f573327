//! `quintet peek`.

use super::cluster::place;
use super::status::in_no_cluster;
use crate::activity::{Activity, Names, bytes, seconds, tuple};
use crate::connection::SpaceArguments;
use crate::template::{Pattern, parse};
use crate::watch::{View, WatchArguments};
use clap::Args;
use quintet::{Error, Lab, ListedTuple, Space, SpaceAddress, State, Template};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Args)]
#[command(
    after_help = "Of a machine that belongs to a cluster, the cluster's space is looked at, unless another one is named.\n\nA template is a list of fields with commas between them, in brackets or not. A field is a value or, with a ? in front, a type that stands for any value of it:\n\n  values  \"text\" (or 'text'; \\n \\t \\\" \\\\ within), true, false, 42, 42u8, 0.5, 0.5f32\n  types   ?int (i64), ?float (f64), ?str, ?bytes, ?bool, ?i8 to ?i64, ?u8 to ?u64, ?f32, ?f64, and arrays: ?f64[3,?]\n  ranges  3..7 (7 is not in it), 3..=7, 3.., ..7, of numbers and of text; \"se\"... is all text that begins so\n  ...     at the end: any further fields, of the types that the space has\n\nNumbers without a type are i64 and f64, as in Python. Nothing is taken. Tuples that somebody has under a lease are shown with who has them; those that were taken for good are not. They are read a page at a time, in no particular order, and those that are shown are sorted by their age; what changes meanwhile may come twice or not at all.\n\nExamples:\n  quintet peek\n  quintet peek '\"task\", ?int'\n  quintet peek '\"order\", 100..200, ?str'\n  quintet peek '\"quintet.task\", ...' --count\n  quintet peek '?str, ?f64[?,?]' --limit 100 --json\n  quintet peek '\"row\", ...' --watch --interval 0.5"
)]
pub(crate) struct Arguments {
    /// Which tuples, as '"task", ?int'; without it all
    #[arg(value_name = "TEMPLATE", value_parser = template)]
    template: Option<Pattern>,
    /// Look into the named space of this name; without it into the one without a name
    #[arg(long, value_name = "NAME")]
    named: Option<String>,
    #[command(flatten)]
    space: SpaceArguments,
    /// Show so many tuples at most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Say only how many there are: that can be taken, and that are taken
    #[arg(long)]
    count: bool,
    #[command(flatten)]
    watch: WatchArguments,
    /// Print a JSON object; with --watch one a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is asked again and again.
struct Peek {
    pattern: Option<Pattern>,
    space: SpaceArguments,
    named: Option<String>,
    limit: usize,
    count: bool,
    lab: Option<Lab>,
}

/// What was found.
struct Found {
    rows: Vec<ListedTuple>,
    has_more: bool,
    /// Signatures of the space that nobody has looked at.
    left_out: u64,
}

/// Bytes of a field that are shown.
const FIELD_BYTES: u32 = 60;

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    let Arguments { template, named, space, limit, count, watch, json } = arguments;
    if let Some(pattern) = template.as_ref().filter(|pattern| !pattern.is_open) {
        Template::new(pattern.fields.clone()).map_err(|error| Error::new(error.code(), error.to_string()))?;
    }
    let mut peek = Peek { pattern: template, space, named, limit: limit as usize, count, lab: None };
    watch.show(json, move || peek.view())
}

/// As `quintet status` does: to the space that is named, or else to that of the cluster to which this machine belongs.
pub(super) fn connect(space: &SpaceArguments) -> Result<Lab, Error> {
    if space.names_a_space()? {
        return space.lab();
    }
    match place::chosen(None)? {
        Some(folder) => space.lab_at(SpaceAddress::Cluster(folder.to_string_lossy().into_owned())),
        None => space.lab().map_err(|error| in_no_cluster(&error)),
    }
}

/// The same space, by its address.
pub(super) fn named(space: &SpaceArguments) -> Result<SpaceArguments, Error> {
    let of_cluster = if space.names_a_space()? { None } else { place::chosen(None)? };
    let at = |folder: PathBuf| space.or_at(SpaceAddress::Cluster(folder.to_string_lossy().into_owned()));
    Ok(of_cluster.map_or_else(|| space.clone(), at))
}

/// A template, or in words why it is none.
pub(super) fn template(text: &str) -> Result<Pattern, String> {
    parse(text).map_err(|error| error.to_string())
}

impl Peek {
    fn view(&mut self) -> Result<View, Error> {
        // A connection that failed is made anew the next time.
        let lab = self.lab.take().map_or_else(|| connect(&self.space), Ok)?;
        let space = match &self.named {
            Some(name) => lab.named_space(name)?,
            None => lab.space(),
        };
        let view = if self.count { self.view_of_count(&space)? } else { self.view_of_tuples(&space)? };
        self.lab = Some(lab);
        Ok(view)
    }

    /// The templates that are meant; one that is none stands for all tuples.
    fn templates(&self, state: &State) -> Result<(Vec<Option<Template>>, u64), Error> {
        let bad = |error: quintet::ValueError| Error::new(error.code(), error.to_string());
        let Some(pattern) = &self.pattern else { return Ok((vec![None], 0)) };
        if !pattern.is_open {
            return Ok((vec![Some(Template::new(pattern.fields.clone()).map_err(bad)?)], 0));
        }
        let types = state.rows.iter().map(|row| row.signature.types().collect::<Vec<_>>());
        let fitting = types.filter_map(|types| pattern.for_types(&types));
        let templates = fitting.map(|fields| Template::new(fields).map(Some).map_err(bad));
        Ok((templates.collect::<Result<_, _>>()?, state.signatures.saturating_sub(state.rows.len() as u64)))
    }

    fn find(&self, space: &Space) -> Result<Found, Error> {
        let (templates, left_out) = self.templates(&space.status()?)?;
        let mut found = Found { rows: Vec::new(), has_more: false, left_out };
        for template in &templates {
            let rows = u32::try_from(self.limit + 1 - found.rows.len()).unwrap_or(u32::MAX);
            for row in space.list(template.as_ref()).field_bytes(FIELD_BYTES).page_rows(rows) {
                if found.rows.len() == self.limit {
                    found.has_more = true;
                    break;
                }
                found.rows.push(row?);
            }
        }
        found.rows.sort_by_key(|row| row.age);
        Ok(found)
    }

    fn view_of_tuples(&self, space: &Space) -> Result<View, Error> {
        let found = self.find(space)?;
        // Who somebody is stands in the space as well; where nobody has a tuple, nobody is asked for.
        let is_taken = found.rows.iter().any(|row| row.lease.is_some());
        let activity = is_taken.then(|| Activity::read(space)).transpose()?;
        let holder = |row: &ListedTuple| Some(activity.as_ref()?.name(row.lease?.holder, &Names::default()));
        let json = found.rows.iter().map(|row| {
            let lease = row.lease.map(|lease| {
                json!({"by": holder(row), "client": lease.holder.to_string(), "held_s": Duration::from(lease.held).as_secs_f64(),
                    "ends_in_s": lease.ends_in.map(|left| Duration::from(left).as_secs_f64())})
            });
            let fields: Vec<String> = row.fields.iter().map(ToString::to_string).collect();
            let expires_in = row.expires_in.map(|left| Duration::from(left).as_secs_f64());
            json!({"age": row.age, "bytes": row.bytes, "failed": row.failed, "fields": fields, "taken": lease,
                "expires_in_s": expires_in})
        });
        let json = json!({"tuples": json.collect::<Vec<Value>>(), "more": found.has_more});
        let mut lines = vec![format!("{:>8} {:>10}  tuple", "age", "size")];
        for row in &found.rows {
            let taken = row.lease.map(|lease| {
                format!("  taken by {} for {}", holder(row).unwrap_or_default(), seconds(lease.held.into()))
            });
            let expires = row.expires_in.map(|left| format!("  expires in {}", seconds(left.into())));
            let (fields, taken, expires) =
                (tuple(&row.fields), taken.unwrap_or_default(), expires.unwrap_or_default());
            lines.push(format!("{:>8} {:>10}  {fields}{taken}{expires}", row.age, bytes(row.bytes)));
        }
        lines.push(match found.has_more {
            true => format!(
                "the first {} found; there are more: --limit shows more of them, --count counts them",
                self.limit
            ),
            false => format!("{} tuples", found.rows.len()),
        });
        lines.extend(left_out(found.left_out));
        Ok(View { text: lines.join("\n") + "\n", json })
    }

    fn view_of_count(&self, space: &Space) -> Result<View, Error> {
        let state = space.status()?;
        let (templates, left) = self.templates(&state)?;
        let (mut there, mut taken) = (0, 0);
        for template in &templates {
            match template {
                None => (there, taken) = (state.tuples, state.leases),
                Some(template) => {
                    there += space.count(template)?;
                    for row in space.list(Some(template)).field_bytes(0) {
                        // Those that are taken come first.
                        if row?.lease.is_none() {
                            break;
                        }
                        taken += 1;
                    }
                }
            }
        }
        let mut lines = vec![format!("{there} tuples, and {taken} taken")];
        lines.extend(left_out(left));
        Ok(View { text: lines.join("\n") + "\n", json: json!({"tuples": there, "taken": taken}) })
    }
}

fn left_out(signatures: u64) -> Option<String> {
    (signatures > 0).then(|| {
        format!(
            "tuples of {signatures} more signatures were not looked at: ... looks at the first {}",
            State::MAX_ROWS
        )
    })
}
