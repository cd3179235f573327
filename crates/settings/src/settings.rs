//! The values of one program.

use crate::error::{Place, SettingError};
use crate::file;
use crate::setting::{Environment, Location, Number, Setting, Switch, Text, Value};
use crate::table::{ALL, CLUSTER_NAME, SHORT_VARIABLES, SPACE_ADDRESS};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// The file that is read when none is named. It need not exist.
pub const DEFAULT_FILE: &str = "quintet.toml";
/// Every variable that sets a setting begins with this.
const PREFIX: &str = "QUINTET_";

/// Where values come from.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// `NAME=VALUE` from the command line; of two for one setting the last counts.
    pub arguments: Vec<String>,
    /// The environment.
    pub environment: Environment,
    /// The file: a plain one, of at most [`LONGEST_FILE_BYTES`](crate::LONGEST_FILE_BYTES). One that is named must exist; without a name [`DEFAULT_FILE`] is read if `look_for_file` is set.
    pub file: Option<PathBuf>,
    /// Whether [`DEFAULT_FILE`] is read when no file is named.
    pub look_for_file: bool,
    /// The number of the user.
    pub user: u32,
    /// Variables whose values are not Unicode.
    pub not_unicode: Vec<String>,
}

/// Where a value came from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The table.
    Default,
    /// A source.
    Given(Place),
}

/// A value for every setting.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    given: BTreeMap<&'static str, (Value, Place)>,
    environment: Environment,
    user: u32,
}

impl Sources {
    /// The environment of this process and [`DEFAULT_FILE`], if there is one.
    #[must_use]
    pub fn of_this_process(arguments: Vec<String>, user: u32) -> Sources {
        let mut sources = Sources { arguments, look_for_file: true, user, ..Sources::default() };
        for (name, value) in std::env::vars_os() {
            // No name of ours is anything but ASCII.
            let Ok(name) = name.into_string() else { continue };
            match value.into_string() {
                Ok(value) => drop(sources.environment.insert(name, value)),
                Err(_) => sources.not_unicode.push(name),
            }
        }
        sources
    }

    fn read_file(&self) -> Result<Option<(&Path, String)>, SettingError> {
        let path = match &self.file {
            Some(path) => path,
            None if self.look_for_file => Path::new(DEFAULT_FILE),
            None => return Ok(None),
        };
        match file::text_of(path) {
            Ok(text) => Ok(Some((path, text))),
            Err(error) if error.kind() == ErrorKind::NotFound && self.file.is_none() => Ok(None),
            Err(error) => Err(SettingError::Unreadable { path: path.to_owned(), cause: error.to_string() }),
        }
    }
}

impl Settings {
    /// Reads all sources. Later ones win: the file, then the environment, then the arguments.
    ///
    /// # Errors
    /// The first value that is not good.
    pub fn load(sources: &Sources) -> Result<Settings, SettingError> {
        let mut settings =
            Settings { environment: sources.environment.clone(), user: sources.user, ..Settings::default() };
        if let Some((path, text)) = sources.read_file()? {
            for given in file::read(path, &text)? {
                settings.set(given.place, &given.name, given.value.as_deref(), &given.source)?;
            }
        }
        sources.not_unicode.iter().try_for_each(|variable| refuse(variable))?;
        for (variable, value) in &sources.environment {
            if let Some(name) = name_of(variable) {
                settings.set(Place::Variable(variable.clone()), &name, Some(value), value)?;
            }
        }
        for (variable, name) in SHORT_VARIABLES {
            if let Some(value) = sources.environment.get(*variable) {
                settings.set(Place::Variable((*variable).to_owned()), name, Some(value), value)?;
            }
        }
        for argument in &sources.arguments {
            let Some((name, value)) = argument.split_once('=') else {
                return Err(SettingError::NotAnAssignment { argument: argument.clone() });
            };
            settings.set(Place::Argument, name, Some(value), value)?;
        }
        Ok(settings)
    }

    /// The value of a number.
    #[must_use]
    pub fn number(&self, setting: &Number) -> u64 {
        match self.value(setting.name) {
            Some(Value::Number(value)) => *value,
            _ => setting.default,
        }
    }

    /// The value of a switch.
    #[must_use]
    pub fn switch(&self, setting: &Switch) -> bool {
        match self.value(setting.name) {
            Some(Value::Switch(value)) => *value,
            _ => setting.default,
        }
    }

    /// The value of a name.
    #[must_use]
    pub fn text(&self, setting: &Text) -> &str {
        match self.value(setting.name) {
            Some(Value::Text(value)) => value,
            _ => setting.default,
        }
    }

    /// The value of a location.
    #[must_use]
    pub fn location(&self, setting: &Location) -> PathBuf {
        match self.value(setting.name) {
            Some(Value::Location(value)) => value.clone(),
            _ => (setting.default)(&self.environment, self.user),
        }
    }

    /// Where the space is: as given, else a socket named after the cluster.
    #[must_use]
    pub fn space_address(&self) -> PathBuf {
        let address = self.location(&SPACE_ADDRESS);
        match self.value(SPACE_ADDRESS.name) {
            Some(_) => address,
            None => address.with_file_name(format!("{}.sock", self.text(&CLUSTER_NAME))),
        }
    }

    /// Where the value of this setting came from.
    #[must_use]
    pub fn origin(&self, setting: Setting) -> Origin {
        match self.given.get(setting.name()) {
            Some((_, place)) => Origin::Given(place.clone()),
            None => Origin::Default,
        }
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.given.get(name).map(|(value, _)| value)
    }

    fn set(
        &mut self,
        place: Place,
        name: &str,
        value: Option<&str>,
        source: &str,
    ) -> Result<(), SettingError> {
        let Some(setting) = Setting::find(name) else {
            return Err(SettingError::Unknown { place, name: name.to_owned(), similar: similar(name) });
        };
        let Some(value) = value.and_then(|value| setting.parse(value)) else {
            return Err(SettingError::Invalid {
                place,
                name: setting.name(),
                expected: setting.expected(),
                found: if source.is_empty() { "empty".to_owned() } else { source.to_owned() },
            });
        };
        self.given.insert(setting.name(), (value, place));
        Ok(())
    }
}

/// Refuses a value that is not Unicode, if the variable is a setting's.
fn refuse(variable: &str) -> Result<(), SettingError> {
    let short = SHORT_VARIABLES.iter().find(|(short, _)| *short == variable);
    let name = short.map(|(_, name)| (*name).to_owned()).or_else(|| name_of(variable));
    let Some(setting) = name.and_then(|name| Setting::find(&name)) else { return Ok(()) };
    Err(SettingError::Invalid {
        place: Place::Variable(variable.to_owned()),
        name: setting.name(),
        expected: setting.expected(),
        found: "bytes that are not UTF-8".to_owned(),
    })
}

/// The name that this variable sets. None if its first word is no group of settings: then the variable is not ours to judge.
fn name_of(variable: &str) -> Option<String> {
    let rest = variable.strip_prefix(PREFIX)?.to_lowercase();
    let (group, key) = rest.split_once('_')?;
    let known = ALL.iter().any(|setting| setting.name().split('.').next() == Some(group));
    known.then(|| format!("{group}.{key}"))
}

/// The setting whose name differs least, if it differs in less than a third of its letters.
fn similar(name: &str) -> Option<&'static str> {
    let closest = ALL.iter().map(|setting| (distance(name, setting.name()), setting.name())).min()?;
    (closest.0 * 3 < closest.1.len()).then_some(closest.1)
}

/// Letters to insert, delete or replace to turn one text into the other (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}
