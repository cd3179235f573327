//! Every setting once: name, type, unit, default, range, text. The command line, the environment, the file and the
//! documentation all come from the one table in `table.rs`.
//!
//! A value comes from the first of these that has one:
//!
//! 1. an argument of the command line, `NAME=VALUE`;
//! 2. an environment variable: `space.max_bytes` is `QUINTET_SPACE_MAX_BYTES`, and some have a short one that goes before it;
//! 3. a file in TOML, `quintet.toml` in the working folder unless another is named;
//! 4. the default.
//!
//! A value that is not good is refused wherever it stands, also where an earlier source would have hidden it. The error names the place
//! (file and line), the setting, and what was expected.
//!
//! ```
//! use quintet_settings::{Settings, Sources, SPACE_MAX_TUPLES};
//!
//! let sources = Sources { arguments: vec!["space.max_tuples=1_000".into()], ..Sources::default() };
//! let settings = Settings::load(&sources)?;
//! assert_eq!(settings.number(&SPACE_MAX_TUPLES), 1_000);
//! # Ok::<(), quintet_settings::SettingError>(())
//! ```
//!
//! This crate gives no setting a meaning: who uses a value says what it does, and every default here equals the default there.
//!
//! | file | holds |
//! | --- | --- |
//! | `table.rs` | every setting: read this first |
//! | `setting.rs` | [`Setting`] and its types, [`Number`], [`Switch`], [`Text`], [`Location`] |
//! | `settings.rs` | [`Settings`], [`Sources`]: the values of one program |
//! | `file.rs` | reading the file |
//! | `error.rs` | [`SettingError`] |
//! | `markdown.rs` | [`markdown()`]: the table as documentation |
#![forbid(unsafe_code)]

mod error;
mod file;
mod markdown;
mod setting;
mod settings;
mod table;

pub use error::{Place, SettingError};
pub use file::LONGEST_FILE_BYTES;
pub use markdown::markdown;
pub use setting::{Environment, Location, Number, Setting, Switch, Text, Unit};
pub use settings::{DEFAULT_FILE, Origin, Settings, Sources};
pub use table::*;
