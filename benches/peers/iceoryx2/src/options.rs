//! Command-line options: those every peer takes, and `--side`, by which the program starts its other process.

use std::error::Error;

/// What one process of the measurement does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Side {
    /// Starts the other process, measures and reports.
    Asking,
    /// Answers every message until its count is reached.
    Answering,
}

/// The options of one run, the same in both processes but for `side`.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// How often the case is measured.
    pub(crate) rounds: u64,
    /// Unmeasured round trips before each round.
    pub(crate) warmup: u64,
    /// Measured round trips in a round.
    pub(crate) iterations: u64,
    /// Round trips timed together as one sample.
    pub(crate) group: u64,
    /// The processors of the asking and of the answering process.
    pub(crate) cpus: [usize; 2],
    /// The only case to measure, where one is named.
    pub(crate) only_case: Option<String>,
    /// Which process this is.
    pub(crate) side: Side,
    /// What the names of this run's services begin with.
    pub(crate) service: String,
}

impl Options {
    /// Reads the options from `arguments`, which do not include the program's name.
    ///
    /// # Errors
    ///
    /// An option is unknown, lacks its value, or has one that is no number or out of range.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut options = Self {
            rounds: 11,
            warmup: 1000,
            iterations: 20_000,
            group: 16,
            cpus: [0, 1],
            only_case: None,
            side: Side::Asking,
            service: format!("quintet-peer/{}", std::process::id()),
        };
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name}: its value is missing"))?;
            options.set(&name, value)?;
        }
        options.group = options.group.min(options.iterations);
        options.iterations -= options.iterations % options.group;
        Ok(options)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), Box<dyn Error>> {
        match name {
            "--rounds" => self.rounds = positive(name, &value)?,
            "--warmup" => self.warmup = value.parse()?,
            "--iterations" => self.iterations = positive(name, &value)?,
            "--group" => self.group = positive(name, &value)?,
            "--cpus" => self.cpus = processors(&value)?,
            "--case" => self.only_case = Some(value),
            "--side" if value == "answering" => self.side = Side::Answering,
            "--service" => self.service = value,
            _ => return Err(format!("{name}: unknown option; the README lists the options").into()),
        }
        Ok(())
    }

    /// Round trips of the whole run.
    pub(crate) fn round_trips(&self) -> u64 {
        self.rounds * (self.warmup + self.iterations)
    }
}

fn positive(name: &str, value: &str) -> Result<u64, Box<dyn Error>> {
    match value.parse()? {
        0 => Err(format!("{name}: expected at least 1").into()),
        number => Ok(number),
    }
}

/// Reads `A,B` or `A,B,C`, as every peer does; both processes poll, so the first two must differ.
fn processors(value: &str) -> Result<[usize; 2], Box<dyn Error>> {
    let numbers = value.split(',').map(str::parse).collect::<Result<Vec<usize>, _>>()?;
    match numbers[..] {
        [first, second] | [first, second, _] if first != second => Ok([first, second]),
        _ => {
            Err(format!("--cpus: expected two different processor numbers such as 0,1, got '{value}'").into())
        }
    }
}
