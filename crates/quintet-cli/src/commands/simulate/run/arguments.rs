//! What `quintet simulate run` is asked for.

use super::pattern::Pattern;
use super::wrong;
use clap::Args;
use quintet::{Code, Error};
use quintet_model::{Axis, Dimension, ElementKind, Model, evaluate};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

#[derive(Args)]
#[command(
    after_help = "docs/models.md lists every key of a model file. Exits with 65 when the model is wrong or time stands still in it, with \
                  4 when a run came to its limit of events, or a module to that of messages, with 130 when it was interrupted, \
                  with 1 when a run broke a statement of the model's [check]; what was computed is shown in any case.\n\n\
                  Example:\n  \
                  quintet simulate run models/mm1.toml --seeds 30\n  \
                  quintet simulate run models/mm1.toml --sweep load=0.2,0.5,0.8 --plot load.svg --quantity module.serve.waiting\n  \
                  quintet simulate run models/web.toml --quantity '*.utilisation' --csv busy.csv\n  \
                  quintet simulate run models/mm1.toml --seeds 1 --end '30 s' --trace mm1.pftrace"
)]
pub(crate) struct Arguments {
    /// The model
    #[arg(value_name = "MODEL")]
    file: PathBuf,
    /// How many runs, each with a seed of its own
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(super) seeds: u64,
    /// The seed of the first
    #[arg(long, default_value_t = 0, value_name = "K")]
    pub(super) first_seed: u64,
    /// Another value for a parameter of the model
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    set: Vec<(String, f64)>,
    /// A column for each value of a parameter; given again, for each combination of values
    #[arg(long = "sweep", value_name = "NAME=VALUE,...", value_parser = axis)]
    pub(super) axes: Vec<Axis>,
    /// How certain it is that the true means lie in the intervals
    #[arg(long, default_value_t = 0.95, value_name = "PART", value_parser = confidence)]
    pub(super) confidence: f64,
    /// The simulated time at which runs end, instead of the model's
    #[arg(long, value_name = "TIME", value_parser = time)]
    end: Option<String>,
    /// Events after which a run ends in any case, instead of the model's
    #[arg(long, value_name = "EVENTS", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Show each element of a group, and not only what the group did together
    #[arg(long, conflicts_with = "json")]
    pub(super) elements: bool,
    /// Write every quantity, or those of --quantity, to a table of comma-separated values
    #[arg(long, value_name = "FILE")]
    pub(super) csv: Option<PathBuf>,
    /// Draw a quantity against the parameter that is swept, as SVG
    #[arg(long, value_name = "FILE", requires = "axes")]
    pub(super) plot: Option<PathBuf>,
    /// Only these quantities: module.serve.waiting, or 'server-*.utilisation', or 'measure.*'; of several the first is drawn, a measure if
    /// there is one
    #[arg(long, value_name = "PATTERN")]
    pub(super) quantity: Option<String>,
    /// Write what happens in a run of the first seed, for the viewer at ui.perfetto.dev
    #[arg(long, value_name = "FILE", conflicts_with = "axes")]
    pub(super) trace: Option<PathBuf>,
    /// Print a JSON object a quantity, one a line
    #[arg(long)]
    pub(crate) json: bool,
}

impl Arguments {
    /// The model with what was asked to be otherwise.
    pub(super) fn model(&self) -> Result<Model, Error> {
        let settings: Vec<(&str, f64)> =
            self.set.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let model = Model::from_file(&self.file).and_then(|model| model.with_parameters(&settings));
        let mut model = model.map_err(wrong)?;
        if let Some(end) = &self.end {
            model = model.with("end", end.as_str());
        }
        if let Some(limit) = self.limit {
            model = model.with("event_limit", limit.to_string());
        }
        Ok(model)
    }

    /// # Errors
    /// A parameter that gets its value twice; a quantity that no model of this kind has.
    pub(super) fn check(&self, model: &Model) -> Result<(), Error> {
        let mut named = BTreeSet::new();
        let names = self.set.iter().map(|(name, _)| name).chain(self.axes.iter().map(|axis| &axis.parameter));
        for name in names {
            if !named.insert(name) {
                return Err(Error::new(Code::BadValue, format!("the parameter {name} is given twice")));
            }
        }
        // What is no name of a kind may be the end of one, or stand for several: what there is the runs will say.
        let named = self.quantity.as_deref().filter(|name| {
            let kind = name.split('.').next().unwrap_or_default();
            Pattern::new(name).is_name() && ElementKind::ALL.iter().any(|known| known.word() == kind)
        });
        match named.filter(|quantity| model.subject(quantity).is_none()) {
            Some(name) => Err(super::plot::no_quantity(name, None)),
            None => Ok(()),
        }
    }
}

/// Another value for a parameter: `NAME=VALUE`.
pub(crate) fn setting(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), number(value)?))
}

fn axis(text: &str) -> Result<Axis, String> {
    let (name, values) = text.split_once('=').ok_or("expected NAME=VALUE,VALUE,...")?;
    let values = values.split(',').map(number).collect::<Result<_, _>>()?;
    Ok(Axis { parameter: name.to_owned(), values })
}

fn number(text: &str) -> Result<f64, String> {
    let value = text.trim().parse::<f64>().ok().filter(|value| value.is_finite());
    value.ok_or_else(|| format!("{text:?} is no number"))
}

fn confidence(text: &str) -> Result<f64, String> {
    let part = number(text)?;
    if part > 0.0 && part < 1.0 {
        Ok(part)
    } else {
        Err("expected a number between 0 and 1, 0.95 say".to_owned())
    }
}

/// A time as in a model file. What it may be beyond that, the model's check says.
fn time(text: &str) -> Result<String, String> {
    let found = evaluate(text, &BTreeMap::new()).map_err(|error| error.to_string())?;
    if found.dimension == Dimension::TIME {
        Ok(text.to_owned())
    } else {
        Err("expected a time, \"20 s\" say".to_owned())
    }
}
