//! The table as documentation.

use crate::setting::{Setting, Unit};
use crate::table::{ALL, SHORT_VARIABLES};
use std::fmt::Write;

const HEAD: &str = "\
# Settings

<!-- Written by `cargo xtask docs` from crates/settings/src/table.rs; edit that. -->

A value comes from the first of these that has one: an argument `NAME=VALUE`, the environment variable, `quintet.toml`, the default.
Of two variables the shorter one counts. The file is a plain one of at most 1 MiB; in it, a name's part before the dot is a table:

```toml
[space]
max_bytes = 2_147_483_648
```

Whole numbers may have `_` between their digits.
";

/// Every setting, by groups, in Markdown.
#[must_use]
pub fn markdown() -> String {
    let mut page = HEAD.to_owned();
    let mut group = "";
    for setting in ALL {
        let of = setting.name().split('.').next().unwrap_or("");
        if of != group {
            group = of;
            let _ = write!(
                page,
                "\n## {group}\n\n| name, variable | default | values | |\n| --- | --- | --- | --- |\n"
            );
        }
        let _ = writeln!(
            page,
            "| `{}`<br>{} | {} | {} | {} |",
            setting.name(),
            variables(*setting),
            default(*setting),
            setting.expected(),
            setting.text(),
        );
    }
    page
}

fn variables(setting: Setting) -> String {
    let mut variables = format!("`{}`", setting.environment_name());
    for (variable, _) in SHORT_VARIABLES.iter().filter(|(_, name)| *name == setting.name()) {
        let _ = write!(variables, ", `{variable}`");
    }
    variables
}

/// The default with its unit, large byte counts in the unit in which they are whole.
fn default(setting: Setting) -> String {
    const GIB: u64 = 1 << 30;
    const MIB: u64 = 1 << 20;
    match setting {
        Setting::Number(number) => match (number.unit, number.default) {
            (Unit::Bytes, value) if value % GIB == 0 => format!("{value} ({} GiB)", value / GIB),
            (Unit::Bytes, value) if value % MIB == 0 => format!("{value} ({} MiB)", value / MIB),
            (unit, value) => format!("{value}{}", unit.suffix()),
        },
        Setting::Switch(_) | Setting::Text(_) => format!("`{}`", setting.default_text()),
        Setting::Location(_) => setting.default_text(),
    }
}
