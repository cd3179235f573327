//! What is wrong with a setting, and where it stands.

use core::fmt;
use quintet_errors::Code;
use std::path::PathBuf;

/// Where a value was given.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// On the command line.
    Argument,
    /// In this environment variable.
    Variable(String),
    /// In this file, on this line, counted from 1.
    File(PathBuf, usize),
}

/// Why settings could not be read. The caller's fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SettingError {
    /// There is no setting of that name.
    Unknown {
        /// Where it stands.
        place: Place,
        /// The name given.
        name: String,
        /// The setting with the most similar name, if one is similar.
        similar: Option<&'static str>,
    },
    /// The value is of another type or outside the range.
    Invalid {
        /// Where it stands.
        place: Place,
        /// The setting.
        name: &'static str,
        /// What it may be.
        expected: String,
        /// What was found.
        found: String,
    },
    /// An argument without `=`.
    NotAnAssignment {
        /// The argument.
        argument: String,
    },
    /// The file cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        cause: String,
    },
    /// The file is not TOML.
    NotToml {
        /// Where it ends to be.
        place: Place,
        /// What the parser said.
        cause: String,
    },
}

impl SettingError {
    /// The code under which it is reported.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            SettingError::Unreadable { .. } | SettingError::NotToml { .. } => Code::BadFile,
            _ => Code::BadValue,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Argument => f.write_str("command line"),
            Place::Variable(name) => write!(f, "environment variable {name}"),
            Place::File(path, line) => write!(f, "{}, line {line}", path.display()),
        }
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingError::Unknown { place, name, similar } => {
                write!(f, "{place}: there is no setting {name}")?;
                match similar {
                    Some(similar) => write!(f, "; did you mean {similar}?"),
                    None => f.write_str("; docs/settings.md lists them all"),
                }
            }
            SettingError::Invalid { place, name, expected, found } => {
                write!(f, "{place}: {name} is {found}, expected {expected}")
            }
            SettingError::NotAnAssignment { argument } => {
                write!(f, "command line: {argument} is not a setting, expected NAME=VALUE")
            }
            SettingError::Unreadable { path, cause } => {
                write!(f, "the settings file {} cannot be read: {cause}", path.display())
            }
            SettingError::NotToml { place, cause } => write!(f, "{place}: not TOML: {cause}"),
        }
    }
}

impl core::error::Error for SettingError {}
