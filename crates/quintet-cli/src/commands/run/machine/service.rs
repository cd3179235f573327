//! Programs that serve on another machine until the job ends.

use super::errand::COMPLAINT;
use super::{Machine, PROMPT_LIMIT};
use crate::commands::run::display::{Printer, Stream};
use crate::commands::run::pieces::Pieces;
use quintet::{Code, Error};
use quintet_launch::{End, Request, Start, Stream as Said, What};
use rustix::process::Signal;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;

/// One that serves, or has.
pub(in super::super) struct Service {
    /// Its number at the agent.
    pub(in super::super) process: u64,
    /// The job's there, in which it began.
    pub(super) folder: PathBuf,
    ended: Arc<AtomicBool>,
}

impl Service {
    /// Whether it has ended, or its machine is lost.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }
}

impl Machine {
    /// Starts it, and returns when it has said a first line, where it serves. What it says from then on is passed on.
    ///
    /// # Errors
    /// The machine refuses or is lost, or the program ends or says nothing.
    pub(in super::super) fn serve(self: &Arc<Self>, start: Start) -> Result<Service, Error> {
        let who = format!("{} on {}", start.name, self.name);
        let begun = self.begin(start);
        let (process, folder, heard) =
            begun.map_err(|why| Error::new(Code::Unreachable, format!("{who}: {why}")))?;
        if let Err(error) = first_line(&heard, &who) {
            self.stop(process);
            return Err(error);
        }
        let (printer, ended) = (self.printer.clone(), Arc::new(AtomicBool::new(false)));
        let service = Service { process, folder, ended: Arc::clone(&ended) };
        thread::spawn(move || {
            pass_on(&heard, &printer, &who);
            ended.store(true, Ordering::Release);
        });
        Ok(service)
    }

    /// Ends a program that serves.
    pub(in super::super) fn stop(&self, process: u64) {
        self.signal(process, Signal::TERM);
    }

    /// Sends a program there, and what it has started, a signal.
    pub(in super::super) fn signal(&self, process: u64, signal: Signal) {
        let signal = u8::try_from(signal.as_raw()).unwrap_or_default();
        self.client.tell_launcher(&Request::Signal { process, signal, to_group: true });
    }
}

fn first_line(heard: &Receiver<What>, who: &str) -> Result<(), Error> {
    let mut complaint = Vec::new();
    let failed = |code, why: &str| Err(Error::new(code, format!("{who}: {why}")));
    loop {
        match heard.recv_timeout(PROMPT_LIMIT) {
            Ok(What::Output { stream: Said::Output, bytes }) if bytes.contains(&b'\n') => return Ok(()),
            Ok(What::Output { stream: Said::Output, .. }) => {}
            Ok(What::Output { stream: Said::Error, bytes }) => {
                let room = COMPLAINT.saturating_sub(complaint.len());
                complaint.extend(bytes.iter().take(room));
            }
            Ok(What::Ended(end)) => {
                let is_in_use = end == End::Exited(Code::AddressInUse.exit_status());
                let code = if is_in_use { Code::AddressInUse } else { Code::Resource };
                return failed(code, &String::from_utf8_lossy(&complaint).trim().escape_debug().to_string());
            }
            Err(RecvTimeoutError::Timeout) => return failed(Code::PeerSilent, "it says nothing"),
            Err(RecvTimeoutError::Disconnected) => return failed(Code::PeerDied, "the machine is lost"),
        }
    }
}

fn pass_on(heard: &Receiver<What>, printer: &Printer, who: &str) {
    let (prefix, mut pieces) = (format!("[{who}] "), Pieces::default());
    for what in heard {
        if let What::Output { stream: Said::Error, bytes } = what {
            pieces.add(&bytes, |piece| printer.piece(Stream::Error, &prefix, piece));
        }
    }
    pieces.finish(|piece| printer.piece(Stream::Error, &prefix, piece));
}
