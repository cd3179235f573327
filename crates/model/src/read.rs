//! Reading a model file. What the values mean is checked later, with the whole model at hand.

mod actions;
mod module;
mod network;
mod sample;
mod values;

use crate::keys::{self, Table};
use crate::model::{Attributes, Device, Measure, Model, Processor};
use crate::nearest::nearest;
use crate::pool::Pool;
use crate::problem::{ModelError, Problem, ProblemKind};
use crate::quantity::Quantity;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The tables of a file.
const TABLES: [&str; 9] =
    ["model", "parameters", "processor", "device", "network", "pool", "module", "measure", "check"];
/// Bytes of a file at most.
const LONGEST: u64 = 16 << 20;

impl Model {
    /// Reads and checks a model. `file` is the name that errors have.
    ///
    /// # Errors
    /// Everything that is wrong with it, in the order of the lines.
    pub fn from_str(text: &str, file: &str) -> Result<Model, ModelError> {
        Model::read_and_checked(text, file, None)
    }

    /// The same of a model in whose runs a [`Driver`](crate::Driver) has a part: it may have no modules. `programs` are the modules in whose
    /// places programs are.
    ///
    /// # Errors
    /// As [`from_str`](Model::from_str), and for a name that is no module.
    pub fn driven_from_str(text: &str, file: &str, programs: &[&str]) -> Result<Model, ModelError> {
        let programs = programs.iter().map(|name| (*name).to_owned()).collect();
        Model::read_and_checked(text, file, Some(programs))
    }

    /// What a text says, and what of it could not be read.
    pub(crate) fn read_unchecked(text: &str, file: &str) -> (Model, Vec<Problem>) {
        let mut reader = Reader::new(text, file);
        let model = reader.model(text);
        (model, reader.problems)
    }

    fn read_and_checked(
        text: &str,
        file: &str,
        driven: Option<BTreeSet<String>>,
    ) -> Result<Model, ModelError> {
        let (model, mut problems) = Model::read_unchecked(text, file);
        let model = Model { driven, ..model };
        // Without the keys that could not be read, a model means something else: what starts what is not looked at then.
        let derived = |kind: &ProblemKind| {
            matches!(
                kind,
                ProblemKind::NeverStarts { .. }
                    | ProblemKind::NoTimePasses { .. }
                    | ProblemKind::Unawaited { .. }
            )
        };
        if !problems.iter().any(|problem| matches!(problem.kind, ProblemKind::NotToml { .. }))
            && let Err(error) = model.check()
        {
            // What could not be read is not there: that it is missing need not be said again.
            let said = |key: &str| {
                problems.iter().any(|problem| problem.key.starts_with(key) || key.starts_with(&problem.key))
            };
            let is_news =
                |problem: &Problem| problems.is_empty() || !said(&problem.key) && !derived(&problem.kind);
            let news: Vec<_> = error.problems.into_iter().filter(is_news).collect();
            problems.extend(news);
        }
        if problems.is_empty() { Ok(model) } else { Err(ModelError::new(problems)) }
    }

    /// Reads and checks a model file.
    ///
    /// # Errors
    /// A file that cannot be read or is larger than 16 MiB; else those of [`Model::from_str`].
    pub fn from_file(path: impl AsRef<Path>) -> Result<Model, ModelError> {
        let path = path.as_ref();
        let file = path.display().to_string();
        let unreadable = |cause: String| {
            let kind = ProblemKind::Unreadable { cause };
            ModelError::new(vec![Problem { file: Some(file.clone()), line: None, key: String::new(), kind }])
        };
        let length = std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?.len();
        if length > LONGEST {
            return Err(unreadable(format!("it has {length} bytes, expected at most {LONGEST}")));
        }
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
        Model::from_str(&text, &file)
    }
}

/// What is known while a file is read.
struct Reader {
    file: String,
    /// Where each line but the first begins.
    line_starts: Vec<usize>,
    lines: BTreeMap<String, usize>,
    problems: Vec<Problem>,
}

/// Whether a key stands twice in the file: the parser says where, not which.
fn is_duplicate(error: &toml::de::Error) -> bool {
    error.message() == "duplicate key"
}

type Entry<'a> = Spanned<DeValue<'a>>;

impl Reader {
    fn new(text: &str, file: &str) -> Reader {
        let line_starts = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Reader {
            file: file.to_owned(),
            line_starts: line_starts.collect(),
            lines: BTreeMap::new(),
            problems: Vec::new(),
        }
    }

    /// The line, counted from 1, in which the byte `at` stands.
    fn line(&self, at: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= at) + 1
    }

    fn problem(&mut self, at: usize, key: &str, kind: ProblemKind) {
        let line = Some(self.line(at));
        self.problems.push(Problem { file: Some(self.file.clone()), line, key: key.to_owned(), kind });
    }

    fn wrong_kind(&mut self, key: &str, entry: &Entry<'_>, expected: &str) {
        let found = describe(entry.get_ref()).to_owned();
        self.problem(
            entry.span().start,
            key,
            ProblemKind::WrongKind { found, expected: expected.to_owned() },
        );
    }

    fn model(&mut self, text: &str) -> Model {
        let mut model = Model { file: Some(self.file.clone()), ..Model::default() };
        let table = match DeTable::parse(text) {
            Ok(table) => table,
            Err(error) => {
                let at = error.span().map_or(text.len(), |span| span.start);
                let which = error.span().and_then(|span| text.get(span)).filter(|_| is_duplicate(&error));
                let which = which.map_or_else(String::new, |key| format!(" {key}"));
                let cause = format!("{}{which}", error.message());
                self.problem(at, "", ProblemKind::NotToml { cause });
                return model;
            }
        };
        for (key, entry) in table.get_ref() {
            let name = key.get_ref().as_ref();
            self.lines.insert(name.to_owned(), self.line(key.span().start));
            let Some(inner) = self.table(name, entry) else { continue };
            match name {
                "model" => model.attributes = self.attributes(name, inner, &keys::MODEL, &[]),
                "parameters" => model.parameters = self.quantities(name, inner),
                "check" => model.checks = self.quantities(name, inner),
                "processor" => model.processors = self.each(name, inner, Reader::processor),
                "device" => model.devices = self.each(name, inner, Reader::device),
                "pool" => model.pools = self.each(name, inner, Reader::pool),
                "network" => model.networks = self.each(name, inner, Reader::network),
                "module" => model.modules = self.each(name, inner, Reader::module),
                "measure" => {
                    model.measures =
                        self.each(name, inner, Reader::measure).into_iter().filter_map(present).collect()
                }
                _ => {
                    let nearest = nearest(name, TABLES);
                    self.problem(key.span().start, name, ProblemKind::UnknownKey { nearest });
                }
            }
        }
        model.lines = std::mem::take(&mut self.lines);
        model
    }

    /// The table that an entry is.
    fn table<'a, 'b>(&mut self, key: &str, entry: &'b Entry<'a>) -> Option<&'b DeTable<'a>> {
        match entry.get_ref() {
            DeValue::Table(inner) => Some(inner),
            _ => {
                self.wrong_kind(key, entry, "a table");
                None
            }
        }
    }

    /// The named elements of one kind.
    fn each<T: Default>(
        &mut self,
        kind: &str,
        table: &DeTable<'_>,
        read: fn(&mut Reader, &str, &DeTable<'_>) -> T,
    ) -> BTreeMap<String, T> {
        let mut elements = BTreeMap::new();
        for (name, entry) in table {
            let path = format!("{kind}.{}", name.get_ref());
            self.lines.insert(path.clone(), self.line(name.span().start));
            let element = self.table(&path, entry).map(|inner| (inner, entry.span()));
            let element = element.map_or_else(T::default, |(inner, _)| read(self, &path, inner));
            elements.insert(name.get_ref().to_string(), element);
        }
        elements
    }

    /// The keys of a table but those that are `special`. Reports keys that the table cannot have.
    fn attributes(&mut self, path: &str, table: &DeTable<'_>, keys: &Table, special: &[&str]) -> Attributes {
        let mut attributes = Attributes::new();
        for (key, entry) in table {
            let name = key.get_ref().as_ref();
            let path = format!("{path}.{name}");
            self.lines.insert(path.clone(), self.line(key.span().start));
            if keys.find(name).is_none() {
                let nearest = nearest(name, keys.keys.iter().map(|key| key.name));
                self.problem(key.span().start, &path, ProblemKind::UnknownKey { nearest });
            } else if !special.contains(&name)
                && let Some(value) = self.value(&path, entry)
            {
                attributes.insert(name.to_owned(), value);
            }
        }
        attributes
    }

    fn processor(&mut self, path: &str, table: &DeTable<'_>) -> Processor {
        let attributes = self.attributes(path, table, &keys::PROCESSOR, &["instructions"]);
        let mut instructions = BTreeMap::new();
        let path = format!("{path}.instructions");
        if let Some(entry) = table.get("instructions")
            && let Some(inner) = self.table(&path, entry)
        {
            for (name, entry) in inner {
                let path = format!("{path}.{}", name.get_ref());
                self.lines.insert(path.clone(), self.line(name.span().start));
                instructions.insert(name.get_ref().to_string(), self.draw(&path, entry));
            }
        }
        Processor { attributes, instructions }
    }

    fn device(&mut self, path: &str, table: &DeTable<'_>) -> Device {
        let kind =
            table.get("kind").map(|entry| self.text(&format!("{path}.kind"), entry)).unwrap_or_default();
        let stations = table.get("stations").map(|entry| self.names(&format!("{path}.stations"), entry));
        let known = keys::DEVICES.iter().find(|(name, _)| *name == kind);
        let attributes = known.map(|(_, keys)| self.attributes(path, table, keys, &["kind", "stations"]));
        for key in ["kind", "stations"] {
            if let Some((key, _)) = table.get_key_value(key) {
                self.lines.insert(format!("{path}.{}", key.get_ref()), self.line(key.span().start));
            }
        }
        Device { kind, stations: stations.unwrap_or_default(), attributes: attributes.unwrap_or_default() }
    }

    fn pool(&mut self, path: &str, table: &DeTable<'_>) -> Pool {
        Pool { attributes: self.attributes(path, table, &keys::POOL, &[]) }
    }

    fn measure(&mut self, path: &str, table: &DeTable<'_>) -> Option<Measure> {
        self.attributes(path, table, &keys::MEASURE, &["time", "throughput", "interval", "request"]);
        let expected = "one of time, throughput, interval and request";
        let mut entries = table.iter().filter(|(key, _)| keys::MEASURE.find(key.get_ref()).is_some());
        let (Some((key, entry)), None) = (entries.next(), entries.next()) else {
            if self.problems.iter().any(|problem| problem.key.starts_with(path)) {
                return None;
            }
            let (line, kind) =
                (self.lines.get(path).copied(), ProblemKind::Missing { expected: expected.to_owned() });
            self.problems.push(Problem { file: Some(self.file.clone()), line, key: path.to_owned(), kind });
            return None;
        };
        let path = format!("{path}.{}", key.get_ref());
        let inner = self.table(&path, entry)?;
        match key.get_ref().as_ref() {
            "time" => {
                let mut texts = self.texts(&path, inner, &["from", "to"])?;
                Some(Measure::Time { to: texts.pop()?, from: texts.pop()? })
            }
            "throughput" => {
                let mut texts = self.texts(&path, inner, &["of", "bytes?"])?;
                let bytes = if texts.len() == 2 { texts.pop().map(Quantity::from) } else { None };
                Some(Measure::Throughput { of: texts.pop()?, bytes })
            }
            "request" => {
                let mut texts = self.texts(&path, inner, &["of", "ask?"])?;
                let message = if texts.len() == 2 { texts.pop() } else { None };
                Some(Measure::Request { of: texts.pop()?, message })
            }
            _ => Some(Measure::Interval { of: self.texts(&path, inner, &["of"])?.pop()? }),
        }
    }
}

fn present<T>((name, value): (String, Option<T>)) -> Option<(String, T)> {
    Some((name, value?))
}

/// A value in words.
fn describe(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
