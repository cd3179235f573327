//! `quintet token`.

use crate::commands::identity::{environment, refused};
use crate::commands::init::host_name;
use crate::output::{print, print_json};
use clap::{Args, Subcommand};
use quintet::Error;
use quintet_agent::{AgentError, Client, PORT};
use quintet_identity::{Grants, NewToken, Token, TokenError, TokenRecord, TokenState};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// For how long a token is valid that is not told otherwise.
pub(super) const USUAL_TIME: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make a token, and show it once
    Create(CreateArguments),
    /// Show which tokens there are, and which were used
    List(ListArguments),
    /// Revoke a token that was not used
    Revoke(RevokeArguments),
}

#[derive(Args)]
struct Which {
    /// The cluster, by the name that `quintet init` was given, or the path, with a slash in it, of its folder; else the only one that was made here
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(
    after_help = "Whoever has the token can use it, once: send it over a way that nobody else can read. It is shown here and stands in no file. Make it on the machine where the cluster was made.\n\nExample:\n  quintet token create --cluster lab\n  quintet token create --allow join,run,code --valid 30m --note 'for b'"
)]
struct CreateArguments {
    #[command(flatten)]
    which: Which,
    /// What it allows, with commas between: join (the cluster), run (programs on other machines), code (functions for workers elsewhere)
    #[arg(long, value_name = "WORDS", default_value_t = Grants::JOIN)]
    allow: Grants,
    /// For how long: a number with s, m, h or d behind it
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = time)]
    valid: Duration,
    /// Something to know it by
    #[arg(long, value_name = "TEXT", default_value = "")]
    note: String,
}

#[derive(Args)]
#[command(
    after_help = "Tokens that were used, revoked or have expired are shown for another week.\n\nExample:\n  quintet token list --cluster lab"
)]
struct ListArguments {
    #[command(flatten)]
    which: Which,
}

#[derive(Args)]
#[command(
    after_help = "A token that was used is used: who joined with it stays a member.\n\nExample:\n  quintet token revoke 3f0c"
)]
struct RevokeArguments {
    /// Its name, as `quintet token list` shows it, or the first digits of that, 4 at least
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    which: Which,
}

impl Arguments {
    fn which(&self) -> &Which {
        match &self.command {
            Command::Create(arguments) => &arguments.which,
            Command::List(arguments) => &arguments.which,
            Command::Revoke(arguments) => &arguments.which,
        }
    }

    /// Whether a program reads what it prints.
    pub(crate) fn is_for_a_program(&self) -> bool {
        self.which().json
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let folder = match &arguments.which().cluster {
        Some(name) => quintet_identity::place(name, &environment),
        None => quintet_identity::only_cluster(&environment),
    };
    let folder = folder.map_err(refused)?;
    match &arguments.command {
        Command::Create(create) => run_create(&folder, create),
        Command::List(list) => run_list(&folder, list),
        Command::Revoke(revoke) => run_revoke(&folder, revoke),
    }
}

fn run_create(folder: &Path, create: &CreateArguments) -> Result<ExitCode, Error> {
    let (token, record) = issue(folder, create.allow, create.valid, &create.note)?;
    let command = join_command(folder, &token);
    if create.which.json {
        let mut object = as_json(&record);
        object["token"] = token.text().into();
        object["join"] = command.into();
        print_json(&object)?;
    } else {
        let (id, allows, time) = (record.id(), record.allows, in_words(create.valid));
        print(&format!("{id}: allows {allows}, once, for {time}\non the other machine: {command}\n"))?;
        if matches!(Client::local(folder), Err(AgentError::NotRunning(_))) {
            print(
                "before that, here: quintet up (this machine's agent does not run, and lets nobody in until it does)\n",
            )?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn run_list(folder: &Path, list: &ListArguments) -> Result<ExitCode, Error> {
    let now = SystemTime::now();
    let tokens = quintet_identity::tokens(folder, now).map_err(token_refused)?;
    if list.which.json {
        print_json(&Value::from_iter(tokens.iter().map(as_json)))?;
    } else if tokens.is_empty() {
        print("no tokens\n")?;
    } else {
        let rows: String = tokens.iter().map(|record| row(record, now)).collect();
        print(&format!(
            "{:<16}  {:<11}  {:<13}  {:<10}  note\n{rows}",
            "id", "state", "allows", "valid for"
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn run_revoke(folder: &Path, revoke: &RevokeArguments) -> Result<ExitCode, Error> {
    let record = quintet_identity::revoke_token(folder, &revoke.id).map_err(token_refused)?;
    if revoke.which.json {
        print_json(&as_json(&record))?;
    } else {
        print(&format!("{}: revoked\n", record.id()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes a token of the cluster in that folder, to be used at this machine's agent.
pub(super) fn issue(
    folder: &Path,
    allows: Grants,
    valid_for: Duration,
    note: &str,
) -> Result<(Token, TokenRecord), Error> {
    let node = quintet_identity::agent_node(folder).map_err(refused)?;
    let new = NewToken { node, allows, now: SystemTime::now(), valid_for, note };
    quintet_identity::issue_token(folder, &new)
        .map_err(|error| Error::new(error.code(), format!("{}: {error}", folder.display())))
}

/// What to type on the other machine.
pub(super) fn join_command(folder: &Path, token: &Token) -> String {
    let name = folder.file_name().map_or_else(|| PathBuf::from("cluster"), PathBuf::from);
    // An agent that ran knows where others reach it.
    let known = quintet_agent::Record::read(folder).ok().flatten().map(|record| record.address);
    let place = known.filter(|address| !address.is_empty());
    let place = place.unwrap_or_else(|| format!("{}:{PORT}", host_name()));
    format!("quintet join {}@{place} {}", name.display(), token.text())
}

fn token_refused(error: TokenError) -> Error {
    Error::new(error.code(), error.to_string())
}

fn as_json(record: &TokenRecord) -> Value {
    let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    json!({
        "id": record.id(),
        "state": record.state.word(),
        "allows": record.allows.words(),
        "valid_until": seconds(record.until),
        "made_at": seconds(record.made),
        "note": record.note,
    })
}

fn row(record: &TokenRecord, now: SystemTime) -> String {
    let left = match record.state {
        TokenState::Outstanding => in_words(record.until.duration_since(now).unwrap_or_default()),
        _ => "-".to_owned(),
    };
    let (id, state, allows) = (record.id(), record.state.word(), record.allows.to_string());
    format!("{id}  {state:<11}  {allows:<13}  {left:<10}  {}\n", record.note)
}

/// A time of at least a second, from a number and a unit.
fn time(text: &str) -> Result<Duration, String> {
    let wrong = || "write a number with s, m, h or d behind it, 24h for example".to_owned();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    let seconds = number.checked_mul(seconds).filter(|seconds| *seconds > 0).ok_or_else(wrong)?;
    Ok(Duration::from_secs(seconds))
}

/// The two largest units of a time.
fn in_words(time: Duration) -> String {
    let seconds = time.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    let [(first, one), (second, two)] = match (days, hours, minutes) {
        (0, 0, _) => [(minutes, "min"), (seconds % 60, "s")],
        (0, _, _) => [(hours, "h"), (minutes, "min")],
        _ => [(days, "d"), (hours, "h")],
    };
    if second == 0 { format!("{first} {one}") } else { format!("{first} {one} {second} {two}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_numbers_with_a_unit() {
        let known = [("90s", 90), ("30m", 1_800), ("24h", 86_400), ("7d", 604_800)];
        for (text, seconds) in known {
            assert_eq!(time(text), Ok(Duration::from_secs(seconds)));
        }
        for bad in [
            "",
            "h",
            "24",
            "0h",
            "-1h",
            "1.5h",
            "1 h",
            "24H",
            "1ä",
            "99999999999999999999d",
            "18446744073709551615d",
        ] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_are_told_in_their_two_largest_units() {
        let words = |seconds| in_words(Duration::from_secs(seconds));
        let told = [0, 59, 60, 3_599, 3_600, 86_399, 86_400, 90_000].map(words);
        assert_eq!(
            told,
            ["0 min", "0 min 59 s", "1 min", "59 min 59 s", "1 h", "23 h 59 min", "1 d", "1 d 1 h"]
        );
    }
}
