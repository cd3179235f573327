//! A driver: the process that does the steps of some clients with its front end, one line at a time.

use crate::protocol::{self, Answer};
use quintet_testbed::{Child, Program};
use std::path::PathBuf;
use std::time::Duration;

/// Longer than anything takes: a driver that says nothing for so long stands still.
pub const LONG: Duration = Duration::from_secs(20);

/// A front end: what starts its driver.
#[derive(Clone, Debug)]
pub struct FrontEnd {
    /// Its name in the table.
    pub name: String,
    /// The driver's command, a program and its arguments.
    pub command: Vec<PathBuf>,
}

/// A driver that runs. Dropped, it is killed.
pub struct Driver {
    name: String,
    child: Child,
    patience: Duration,
}

impl Driver {
    /// Starts one. `variables` are those of its environment; nothing else of Quintet's reaches it. `patience`: for so long an answer may take.
    ///
    /// # Errors
    /// The system does not start it, or it does not say that it is ready.
    pub fn start(
        front_end: &FrontEnd,
        variables: &[(String, PathBuf)],
        patience: Duration,
    ) -> Result<Driver, String> {
        let FrontEnd { name, command } = front_end;
        let mut program = Program::new(&command[0]);
        for (variable, _) in std::env::vars().filter(|(name, _)| name.starts_with("QUINTET_")) {
            program = program.without(variable);
        }
        program = command[1..].iter().fold(program, Program::arg);
        program = variables.iter().fold(program, |program, (name, value)| program.env(name, value));
        let child = program.spawn().map_err(|error| format!("{}: {error}", command[0].display()))?;
        let driver = Driver { name: name.clone(), child, patience };
        match driver.child.output().next_line(LONG) {
            Some(line) if line == "ready" => Ok(driver),
            other => {
                Err(format!("the driver {name} did not say \"ready\": {other:?}{}", driver.last_words()))
            }
        }
    }

    /// Has it do what a line says.
    ///
    /// # Errors
    /// It has ended, stands still, or says what is no answer.
    pub fn ask(&mut self, step: usize, line: &str) -> Result<Answer, String> {
        let name = &self.name;
        self.child.say(line).map_err(|error| format!("{name}: {error}{}", self.last_words()))?;
        match self.child.output().next_line(self.patience) {
            Some(said) => protocol::answer(step, &said),
            None => Err(format!("{name} does not answer, or waits{}", self.last_words())),
        }
    }

    /// Kills it.
    ///
    /// # Errors
    /// What the system said.
    pub fn kill(&mut self) -> Result<(), String> {
        self.child.kill().map(drop).map_err(|error| error.to_string())
    }

    fn last_words(&self) -> String {
        let text = self.child.output().text();
        let start = text.len().saturating_sub(600);
        format!("; its last words: {:?}", text.get(start..).unwrap_or(&text))
    }
}
