//! The programs and libraries that Quintet works with.

use super::Finding;
use std::ffi::OsStr;
use std::process::Command;

/// Says the versions, one a line: `name version`, or the name alone where there is none.
const ASK: &str = "
import importlib.metadata as m, platform
print('python', platform.python_version())
for name in 'quintet', 'numpy', 'joblib', 'scikit-learn':
    try: print(name, m.version(name))
    except m.PackageNotFoundError: print(name)
";

pub(super) fn findings(python: &OsStr) -> Vec<Finding> {
    let name = python.display();
    let advice = "install Python 3, or name one with --python";
    match Command::new(python).args(["-c", ASK]).output() {
        Err(error) => vec![Finding::warn("python", format!("{name}: {error}"), advice)],
        Ok(output) if !output.status.success() => {
            vec![Finding::warn("python", format!("{name}: {}", output.status), advice)]
        }
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            said.lines().filter_map(|line| finding(line, &name.to_string())).collect()
        }
    }
}

fn finding(line: &str, python: &str) -> Option<Finding> {
    let (name, version) = line.split_once(' ').unwrap_or((line, ""));
    let name =
        *["python", "quintet", "numpy", "joblib", "scikit-learn"].iter().find(|known| **known == name)?;
    let advice = match name {
        "quintet" => "workers of `quintet run` need it: install bindings/python into this Python",
        "numpy" => "arrays from Python need it",
        _ => "",
    };
    Some(match (name, version) {
        ("python", version) => Finding::well(name, format!("{version} ({python})")),
        (_, "") if advice.is_empty() => Finding::well(name, "not there (optional)"),
        (_, "") => Finding::warn(name, "not there", advice),
        (_, version) => Finding::well(name, version),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_by_how_much_it_matters() {
        let advice = |line| finding(line, "python3").and_then(|finding| finding.advice).is_some();
        assert!(advice("quintet") && advice("numpy"));
        assert!(!advice("joblib") && !advice("quintet 0.1.0") && !advice("python 3.11.2"));
        assert!(finding("something else", "python3").is_none());
    }
}
