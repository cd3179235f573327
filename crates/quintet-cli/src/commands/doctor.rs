//! `quintet doctor`: what this machine offers, and what to do where it falls short.

mod machine;
mod programs;

use crate::output::{print, print_json};
use clap::Args;
use quintet::Error;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::process::ExitCode;

#[derive(Args)]
#[command(
    after_help = "It exits with 0 also when it warns, and runs nothing that lies in the working folder, unless --python names it.\n\nExample:\n  quintet doctor --json"
)]
pub(crate) struct Arguments {
    /// The Python to look at; else that of $VIRTUAL_ENV, else python3
    #[arg(long, value_name = "PYTHON")]
    python: Option<OsString>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// One thing that was looked at.
struct Finding {
    name: &'static str,
    value: String,
    /// What to do. None: all is well.
    advice: Option<String>,
}

impl Finding {
    fn well(name: &'static str, value: impl Into<String>) -> Finding {
        Finding { name, value: value.into(), advice: None }
    }

    fn warn(name: &'static str, value: impl Into<String>, advice: impl Into<String>) -> Finding {
        Finding { name, value: value.into(), advice: Some(advice.into()) }
    }

    /// Well if `well` is, else with this advice.
    fn judge(well: bool, name: &'static str, value: String, advice: &str) -> Finding {
        if well { Finding::well(name, value) } else { Finding::warn(name, value, advice) }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let mut findings = machine::findings();
    findings.extend(programs::findings(arguments.python.as_deref()));
    if arguments.json {
        print_json(&as_json(&findings))?;
    } else {
        print(&findings.iter().map(in_words).collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn in_words(finding: &Finding) -> String {
    let state = if finding.advice.is_some() { "warn" } else { "ok" };
    let line = format!("{state:<5}{:<16}{}\n", finding.name, finding.value);
    match &finding.advice {
        Some(advice) => format!("{line}     {:<16}-> {advice}\n", ""),
        None => line,
    }
}

fn as_json(findings: &[Finding]) -> Value {
    let checks = findings.iter().map(|finding| {
        let state = if finding.advice.is_some() { "warn" } else { "ok" };
        json!({"name": finding.name, "state": state, "value": finding.value, "advice": finding.advice})
    });
    json!({"ok": findings.iter().all(|finding| finding.advice.is_none()), "checks": checks.collect::<Vec<_>>()})
}
