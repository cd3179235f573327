//! What a setting is.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// The environment variables of a program.
pub type Environment = BTreeMap<String, String>;

/// What a number counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Things, named in the setting's text.
    Count,
    /// Bytes.
    Bytes,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
}

impl Unit {
    /// As it follows a number; nothing for a count.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Unit::Count => "",
            Unit::Bytes => " bytes",
            Unit::Milliseconds => " ms",
            Unit::Microseconds => " us",
        }
    }
}

/// A whole number.
#[derive(Debug)]
pub struct Number {
    /// Its name: a group, a dot, whole words, the unit last.
    pub name: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// Its value unless one is given.
    pub default: u64,
    /// The values it may have.
    pub range: RangeInclusive<u64>,
    /// What it does, in a sentence or two.
    pub text: &'static str,
}

/// Yes or no: `true` or `false`.
#[derive(Debug)]
pub struct Switch {
    /// See [`Number::name`].
    pub name: &'static str,
    /// See [`Number::default`].
    pub default: bool,
    /// See [`Number::text`].
    pub text: &'static str,
}

/// A name: letters, digits, `-`, `_` and `.`, and what else may be.
#[derive(Debug)]
pub struct Text {
    /// See [`Number::name`].
    pub name: &'static str,
    /// See [`Number::default`].
    pub default: &'static str,
    /// Bytes at most; 1 at least.
    pub longest: usize,
    /// Which characters may be beside letters, digits, `-`, `_` and `.`.
    pub also: &'static str,
    /// See [`Number::text`].
    pub text: &'static str,
}

/// A place in the file system.
#[derive(Debug)]
pub struct Location {
    /// See [`Number::name`].
    pub name: &'static str,
    /// Its value unless one is given, from the environment and the user's number.
    pub default: fn(&Environment, u32) -> PathBuf,
    /// The default in words, for documentation.
    pub default_text: &'static str,
    /// See [`Number::text`].
    pub text: &'static str,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub enum Setting {
    /// A whole number.
    Number(&'static Number),
    /// Yes or no.
    Switch(&'static Switch),
    /// A name.
    Text(&'static Text),
    /// A place in the file system.
    Location(&'static Location),
}

/// A value that was given, checked against its setting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    Number(u64),
    Switch(bool),
    Text(String),
    Location(PathBuf),
}

impl Setting {
    /// The setting of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<Setting> {
        crate::ALL.iter().copied().find(|setting| setting.name() == name)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Setting::Number(number) => number.name,
            Setting::Switch(switch) => switch.name,
            Setting::Text(text) => text.name,
            Setting::Location(location) => location.name,
        }
    }

    /// What it does.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Setting::Number(number) => number.text,
            Setting::Switch(switch) => switch.text,
            Setting::Text(text) => text.text,
            Setting::Location(location) => location.text,
        }
    }

    /// The environment variable that sets it.
    #[must_use]
    pub fn environment_name(self) -> String {
        format!("QUINTET_{}", self.name().replace('.', "_").to_uppercase())
    }

    /// Its default, in words.
    #[must_use]
    pub fn default_text(self) -> String {
        match self {
            Setting::Number(number) => number.default.to_string(),
            Setting::Switch(switch) => switch.default.to_string(),
            Setting::Text(text) => text.default.to_owned(),
            Setting::Location(location) => location.default_text.to_owned(),
        }
    }

    /// What a value may be, in words.
    #[must_use]
    pub fn expected(self) -> String {
        match self {
            Setting::Number(number) => {
                let (least, most) = (number.range.start(), number.range.end());
                format!("a whole number from {least} to {most}{}", number.unit.suffix())
            }
            Setting::Switch(_) => "true or false".to_owned(),
            Setting::Text(text) => {
                let also: String = text.also.chars().map(|also| format!("'{also}', ")).collect();
                format!("1 to {} letters, digits, {also}'-', '_' or '.'", text.longest)
            }
            Setting::Location(_) => "a path that is not empty".to_owned(),
        }
    }

    /// The value that `given` stands for; none if it is not one.
    pub(crate) fn parse(self, given: &str) -> Option<Value> {
        match self {
            Setting::Number(number) => {
                let value = parse_number(given)?;
                number.range.contains(&value).then_some(Value::Number(value))
            }
            Setting::Switch(_) => given.parse().ok().map(Value::Switch),
            Setting::Text(text) => {
                let length = (1..=text.longest).contains(&given.len());
                let letters = given
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c) || text.also.contains(c));
                (length && letters).then(|| Value::Text(given.to_owned()))
            }
            Setting::Location(_) => (!given.is_empty()).then(|| Value::Location(given.into())),
        }
    }
}

/// Digits, with `_` between them where it helps reading.
fn parse_number(given: &str) -> Option<u64> {
    let digits_at_both_ends =
        given.starts_with(|c: char| c.is_ascii_digit()) && given.ends_with(|c: char| c.is_ascii_digit());
    digits_at_both_ends.then(|| given.replace('_', "").parse().ok())?
}
