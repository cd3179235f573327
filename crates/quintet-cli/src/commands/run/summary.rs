//! What is said of a job in the end.

use super::child::{Who, in_words, shell_status};
use super::ledger::Redone;
use crate::output::{print_json, tell};
use quintet::{Code, Error};
use serde_json::{Value, json};
use std::process::{ExitCode, ExitStatus};

/// A job that is over.
pub(super) struct Summary {
    pub(super) master: ExitStatus,
    pub(super) workers: Vec<Ended>,
    /// How many times one of them was started again.
    pub(super) restarts: u64,
    pub(super) submitted: u64,
    pub(super) done: u64,
    pub(super) redone: usize,
    pub(super) kill_asked: bool,
    pub(super) victim: Option<i64>,
    pub(super) proof: Option<Redone>,
}

/// How a child ended.
pub(super) struct Ended {
    pub(super) who: Who,
    /// What the machine is called where it ran, if it has a name.
    pub(super) machine: Option<String>,
    pub(super) status: ExitStatus,
}

impl Ended {
    fn in_words(&self) -> String {
        let place = self.machine.as_ref().map_or_else(String::new, |machine| format!(" on {machine}"));
        format!("{}{place} {}", self.who, in_words(self.status))
    }
}

impl Summary {
    /// Prints it: for a program on standard output, for a person on standard error. `failures`: what went wrong beside the job,
    /// and was told.
    ///
    /// # Errors
    /// Standard output takes no more.
    pub(super) fn show(&self, as_json: bool, failures: &[Error]) -> Result<(), Error> {
        if as_json {
            print_json(&self.as_json(failures))?;
        } else {
            tell(self.in_words());
        }
        if let Some(missing) = self.missing_proof() {
            tell(missing);
        }
        Ok(())
    }

    /// The exit status of the command.
    pub(super) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.status())
    }

    fn status(&self) -> u8 {
        match self.missing_proof() {
            Some(_) => Code::TaskFailed.exit_status(),
            None => shell_status(self.master),
        }
    }

    /// Why a kill that was asked for showed nothing, although the master was content.
    fn missing_proof(&self) -> Option<&'static str> {
        let missing = self.master.success() && self.kill_asked && self.proof.is_none();
        missing.then_some(match self.victim {
            Some(_) => "no task was redone after the kill",
            None => "no worker was seen holding a task, so none was killed",
        })
    }

    fn as_json(&self, failures: &[Error]) -> Value {
        let failures =
            failures.iter().map(|error| json!({"error": error.code().name(), "text": error.text()}));
        let redone = self.proof.as_ref();
        let redone = redone
            .map(|Redone { task, before, by, attempt, .. }| json!({"task": task, "held_by": before, "by": by, "attempt": attempt}));
        json!({
            "exit_status": self.status(),
            "master": in_words(self.master),
            "missing": self.missing_proof(),
            "tasks": {"submitted": self.submitted, "done": self.done, "redone": self.redone},
            "killed": self.victim.map(|rank| json!({"worker": rank, "redone": redone})),
            "failures": failures.collect::<Vec<_>>(),
            "restarts": self.restarts,
            "workers": self.workers.iter().map(|worker| in_words(worker.status)).collect::<Vec<_>>(),
            "machines": self.workers.iter().map(|worker| worker.machine.as_deref()).collect::<Vec<_>>(),
        })
    }

    fn in_words(&self) -> String {
        let Summary { submitted, done, redone, .. } = self;
        let workers: Vec<String> = self.workers.iter().map(Ended::in_words).collect();
        let restarts = match self.restarts {
            0 => String::new(),
            restarts => format!("; workers started again: {restarts}"),
        };
        let tasks = match (submitted, done) {
            (0, 0) => "no tasks were reported".to_owned(),
            _ => format!("{done} of {submitted} tasks done, {redone} redone"),
        };
        format!(
            "{tasks}; master {}; {}{restarts}",
            in_words(self.master),
            if workers.is_empty() { "no workers".to_owned() } else { workers.join(", ") }
        )
    }
}
