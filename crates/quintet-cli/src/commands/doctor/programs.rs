//! The programs and libraries that Quintet works with.

use super::Finding;
use crate::python::{default_python_elsewhere, find_elsewhere};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Says the versions, one a line: `name version`, or the name alone where there is none. Packages are looked for where workers
/// would find them, but nothing is imported from there.
const ASK: &str = "
import importlib.metadata as m, os, platform, site, sys
sys.path += filter(os.path.isabs, os.environ.get('PYTHONPATH', '').split(os.pathsep))
if sys.prefix == sys.base_prefix: sys.path.append(site.getusersitepackages())
print('python', platform.python_version())
for name in 'quintet', 'numpy', 'joblib', 'scikit-learn':
    try: print(name, m.version(name))
    except m.PackageNotFoundError: print(name)
";
const ADVICE: &str = "install Python 3, or name one with --python";
/// The environment that `quintet run` would use and this command does not.
const BESIDE: &str = "./.venv/bin/python";

pub(super) fn findings(named: Option<&OsStr>) -> Vec<Finding> {
    let mut findings = match chosen(named) {
        Some(python) => asked(&python),
        None => vec![Finding::warn("python", "no python3 on PATH", ADVICE)],
    };
    if named.is_none() && std::env::var_os("VIRTUAL_ENV").is_none() && Path::new(BESIDE).exists() {
        let value = format!("{BESIDE} was not looked at: nothing is run that lies in the working folder");
        let advice = format!("`quintet run` would use it; if it is yours: quintet doctor --python {BESIDE}");
        findings.push(Finding::warn("environment", value, advice));
    }
    findings
}

/// A name without a folder is looked for as that of the default.
fn chosen(named: Option<&OsStr>) -> Option<PathBuf> {
    let Some(named) = named else { return default_python_elsewhere() };
    if Path::new(named).components().count() > 1 { Some(named.into()) } else { find_elsewhere(named) }
}

fn asked(python: &Path) -> Vec<Finding> {
    let name = python.display();
    // Isolated: neither the working folder nor variables say what is imported.
    match Command::new(python).args(["-I", "-c", ASK]).output() {
        Err(error) => vec![Finding::warn("python", format!("{name}: {error}"), ADVICE)],
        Ok(output) if !output.status.success() => {
            vec![Finding::warn("python", format!("{name}: {}", output.status), ADVICE)]
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
        ("quintet", version) if version != env!("CARGO_PKG_VERSION") => {
            let value = format!("{version}; this command is {}", env!("CARGO_PKG_VERSION"));
            Finding::warn(name, value, "install the package and the command from one release")
        }
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
        let own = concat!("quintet ", env!("CARGO_PKG_VERSION"));
        assert!(!advice("joblib") && !advice(own) && !advice("python 3.11.2"));
        assert!(advice("quintet 0.0.1"), "it is another release's");
        assert!(finding("something else", "python3").is_none());
    }
}
