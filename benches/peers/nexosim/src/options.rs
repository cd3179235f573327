//! Command-line options: those every peer takes.

use std::error::Error;

/// The options of one run.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// How often the case is measured.
    pub(crate) rounds: u64,
    /// Customers of an unmeasured run before each round.
    pub(crate) warmup: u64,
    /// Customers of a round.
    pub(crate) iterations: u64,
    /// The processor it runs on, if one is named.
    pub(crate) cpu: Option<usize>,
    /// The only case to measure, where one is named.
    pub(crate) only_case: Option<String>,
}

impl Options {
    /// Reads the options from `arguments`, which do not include the program's name.
    ///
    /// # Errors
    ///
    /// An option is unknown, lacks its value, or has one that is no number or out of range.
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut options = Self { rounds: 11, warmup: 1000, iterations: 500_000, cpu: None, only_case: None };
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name}: its value is missing"))?;
            options.set(&name, value)?;
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), Box<dyn Error>> {
        match name {
            "--rounds" => self.rounds = positive(name, &value)?,
            "--warmup" => self.warmup = value.parse()?,
            "--iterations" => self.iterations = positive(name, &value)?,
            "--cpus" => self.cpu = value.split(',').next().map(str::parse).transpose()?,
            "--case" => self.only_case = Some(value),
            _ => return Err(format!("{name}: unknown option; the README lists the options").into()),
        }
        Ok(())
    }
}

fn positive(name: &str, value: &str) -> Result<u64, Box<dyn Error>> {
    match value.parse()? {
        0 => Err(format!("{name}: expected at least 1").into()),
        number => Ok(number),
    }
}
