//! Errands of a job on another machine: programs of its system that prepare something in the job's folder, or tell what lies there.

use super::{Machine, PROMPT_LIMIT, number_of_started};
use crate::commands::cluster::refused;
use quintet_agent::AgentError;
use quintet_launch::{Answer, End, Program, Request, Start, Stream, What};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Pieces of output that wait for who reads them.
const WAITING: usize = 16;
/// Bytes of what an errand complains that are told.
pub(super) const COMPLAINT: usize = 500;

/// Those that are under way, by their numbers at the agent.
#[derive(Default)]
pub(super) struct Errands(Mutex<BTreeMap<u64, SyncSender<What>>>);

impl Errands {
    /// What has happened to a process, if it is one of them.
    pub(super) fn happened(&self, process: u64, what: What) {
        let is_last = matches!(what, What::Ended(_));
        let errand = if is_last { self.lock().remove(&process) } else { self.lock().get(&process).cloned() };
        // Who has asked may have given up.
        errand.into_iter().for_each(|errand| _ = errand.send(what.clone()));
    }

    /// Nothing more is heard of them.
    pub(super) fn lose(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, SyncSender<What>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Machine {
    /// Has a program of the machine's system run in the job's folder, writes what it says, and returns that folder.
    ///
    /// # Errors
    /// Why not, in words: the machine refuses or is lost, the program fails or says nothing for long, or more than `at_most` bytes, or these cannot be written.
    pub(in super::super) fn errand(
        self: &Arc<Self>,
        program: &str,
        words: &[&[u8]],
        (to, at_most): (&mut dyn Write, u64),
    ) -> Result<PathBuf, String> {
        let mut start = Start::new(program, Program::Path(program.as_bytes().to_vec()));
        start.arguments = words.iter().map(|word| word.to_vec()).collect();
        let (process, folder, heard) = self.begin(start)?;
        let outcome = listen(&heard, program, to, at_most);
        if outcome.is_err() && self.errands.lock().remove(&process).is_some() {
            self.client.tell_launcher(&Request::Signal { process, signal: 9, to_group: true });
        }
        outcome.map(|()| folder)
    }

    pub(in super::super) fn begin(
        self: &Arc<Self>,
        start: Start,
    ) -> Result<(u64, PathBuf, Receiver<What>), String> {
        let request = Request::Start { job: self.job, start: Box::new(start) };
        // Held until it is known, as for workers.
        let mut errands = self.errands.lock();
        if self.is_lost() {
            return Err("the machine is lost".to_owned());
        }
        let answer = self.client.ask_launcher(&request, PROMPT_LIMIT);
        let started = answer.and_then(|answer| match &answer {
            Answer::Started { folder, .. } => Ok((folder.clone(), number_of_started(answer)?)),
            _ => Err(AgentError::Malformed("an answer of its agent")),
        });
        let (folder, process) = started.map_err(|error| refused(error).text().to_owned())?;
        let (tell, heard) = sync_channel(WAITING);
        errands.insert(process, tell);
        drop(errands);
        self.follow_if_new();
        Ok((process, super::as_path(folder), heard))
    }
}

fn listen(heard: &Receiver<What>, program: &str, to: &mut dyn Write, at_most: u64) -> Result<(), String> {
    let (mut left, mut complaint) = (at_most, Vec::new());
    loop {
        match heard.recv_timeout(PROMPT_LIMIT) {
            Ok(What::Output { stream: Stream::Output, bytes }) => {
                left = left.checked_sub(bytes.len() as u64).ok_or("there is more of it than may be")?;
                to.write_all(&bytes).map_err(|error| error.to_string())?;
            }
            Ok(What::Output { stream: Stream::Error, bytes }) => {
                let room = COMPLAINT.saturating_sub(complaint.len());
                complaint.extend(bytes.iter().take(room));
            }
            Ok(What::Ended(End::Exited(0))) => return Ok(()),
            Ok(What::Ended(_)) => {
                let complaint = String::from_utf8_lossy(&complaint);
                return Err(format!("{program} failed there: {}", complaint.trim().escape_debug()));
            }
            Err(RecvTimeoutError::Timeout) => return Err(format!("{program} says nothing there")),
            Err(RecvTimeoutError::Disconnected) => return Err("the machine is lost".to_owned()),
        }
    }
}
