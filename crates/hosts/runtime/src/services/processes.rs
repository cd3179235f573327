//! Processes: one thread that starts, reads and ends all of them.

use super::{Desk, Errand, Reply};
use bytes::Bytes;
use quintet_contract::{Address, OwnedFrame, Token};
use quintet_process::Processes;
use quintet_wire::registry::{PROCESS_ANSWER, PROCESS_REQUEST, SERVICE_REFUSED};
use quintet_wire::services::process::{ProcessAnswer, ProcessRequest};
use quintet_wire::{Decode, encode_to_vec};
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, TryRecvError};
use std::thread::{self, JoinHandle};

/// The processes of a node that was not started, and what wakes their thread.
pub(super) struct ProcessService {
    processes: Processes<Asker>,
    bell: Arc<OwnedFd>,
}

/// Who asks, and under which token.
type Asker = (Address, Token);

/// Ends with the node: all processes are ended then, before it is gone.
pub(super) struct RunningProcesses {
    /// None once the node ends.
    desk: Option<Desk>,
    bell: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl ProcessService {
    pub(super) fn open(config: quintet_process::Config) -> io::Result<ProcessService> {
        let bell = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        Ok(ProcessService { processes: Processes::open(config)?, bell })
    }

    pub(super) fn start(self, reply: Reply) -> RunningProcesses {
        let (sender, requests) = mpsc::channel::<Errand>();
        let bell = Arc::clone(&self.bell);
        let desk = Desk { sender, bell: Some(Arc::clone(&bell)) };
        let thread = thread::spawn(move || self.serve(&requests, &reply));
        RunningProcesses { desk: Some(desk), bell, thread: Some(thread) }
    }

    /// Works off requests until nobody is left to ask. What runs then ends with this.
    fn serve(mut self, requests: &mpsc::Receiver<Errand>, reply: &Reply) {
        let error = loop {
            // The bell is silenced first: a request left after that rings again.
            let _ = rustix::io::read(&self.bell, &mut [0; 8]);
            let is_over = self.take_all(requests, reply);
            for ((to, token), answer) in self.processes.answers() {
                reply.send(to, answer_frame(token, &answer));
            }
            if is_over {
                return;
            }
            if let Err(error) = self.processes.wait(self.bell.as_fd()) {
                break error;
            }
        };
        self.refuse_all(&error, requests, reply);
    }

    /// Ends what runs, which nobody can watch any more, and answers everybody why, until nobody is left to ask. That goes on beside the end: where the system
    /// refuses to wait, it may as well refuse to say what is left, and the end takes its time.
    fn refuse_all(mut self, error: &io::Error, requests: &mpsc::Receiver<Errand>, reply: &Reply) {
        let why =
            format!("the processes of this machine cannot be watched any more, and were ended: {error}");
        self.processes.refuse_all(&why);
        for ((to, token), answer) in self.processes.answers() {
            reply.send(to, answer_frame(token, &answer));
        }
        let processes = self.processes;
        thread::scope(|scope| {
            // Without a thread for it the end comes first.
            let _ = thread::Builder::new().spawn_scoped(scope, || drop(processes));
            for (asker, frame) in requests {
                reply.send(asker, answer_frame(frame.token, &ProcessAnswer::failed(why.as_str())));
            }
        });
    }

    /// Whether nobody is left to ask.
    fn take_all(&mut self, requests: &mpsc::Receiver<Errand>, reply: &Reply) -> bool {
        loop {
            match requests.try_recv() {
                Ok((asker, frame)) => self.take(asker, &frame, reply),
                Err(TryRecvError::Empty) => return false,
                Err(TryRecvError::Disconnected) => return true,
            }
        }
    }

    fn take(&mut self, asker: Address, frame: &OwnedFrame, reply: &Reply) {
        let request = ProcessRequest::decode_all(&frame.body).ok().filter(|_| frame.kind == PROCESS_REQUEST);
        match request {
            Some(request) => self.processes.take((asker, frame.token), request, &frame.bulk),
            None => {
                let (kind, token) = (SERVICE_REFUSED, frame.token);
                reply.send(asker, OwnedFrame { kind, token, body: Bytes::new(), bulk: Bytes::new() });
            }
        }
    }
}

fn answer_frame(token: Token, answer: &ProcessAnswer) -> OwnedFrame {
    OwnedFrame { kind: PROCESS_ANSWER, token, body: encode_to_vec(answer).into(), bulk: Bytes::new() }
}

impl RunningProcesses {
    pub(super) fn desk(&self) -> Option<&Desk> {
        self.desk.as_ref()
    }
}

impl Drop for RunningProcesses {
    fn drop(&mut self) {
        self.desk = None;
        super::ring(&self.bell);
        if let Some(thread) = self.thread.take() {
            // One that panicked has said so, and its companion ends what is left.
            let _ = thread.join();
        }
    }
}
