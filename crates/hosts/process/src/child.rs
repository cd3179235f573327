//! One process.

use quintet_wire::services::process::{End, ProcessAnswer, Stream};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// A process, with who waits for what it says and for its end.
#[derive(Debug)]
pub(crate) struct Child<T> {
    pub(crate) job: u128,
    process: std::process::Child,
    handle: OwnedFd,
    pipes: [Pipe<T>; 2],
    wait: Option<T>,
    end: Option<End>,
    /// Whether somebody was told of its end.
    is_told: bool,
}

#[derive(Debug)]
struct Pipe<T> {
    /// None once all was read.
    end: Option<OwnedFd>,
    /// Who reads, and how much at most.
    reader: Option<(T, usize)>,
}

impl<T> Child<T> {
    /// # Errors
    /// The system refused to let it be watched; it is ended.
    pub(crate) fn new(job: u128, mut process: std::process::Child) -> io::Result<Child<T>> {
        let watched = watch(&mut process);
        match watched {
            Ok((handle, pipes)) => {
                Ok(Child { job, process, handle, pipes, wait: None, end: None, is_told: false })
            }
            Err(error) => {
                // It is not reaped so far, so the group is its own.
                let _ = kill_process_group(Pid::from_child(&process), Signal::KILL);
                process.wait()?;
                Err(error)
            }
        }
    }

    /// Its number in the system.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Whether nobody can learn anything more of it.
    pub(crate) fn is_over(&self) -> bool {
        self.is_told && self.pipes.iter().all(|pipe| pipe.end.is_none())
    }

    /// Readable when it has ended; none once that was seen.
    pub(crate) fn handle(&self) -> Option<BorrowedFd<'_>> {
        (!self.has_ended()).then(|| self.handle.as_fd())
    }

    /// Readable when a stream has something for who reads it.
    pub(crate) fn pipe(&self, stream: Stream) -> Option<BorrowedFd<'_>> {
        let pipe = &self.pipes[index(stream)];
        pipe.end.as_ref().filter(|_| pipe.reader.is_some()).map(AsFd::as_fd)
    }

    /// Sends a signal. Nothing happens if it has ended.
    ///
    /// # Errors
    /// The signal is none of the system's.
    pub(crate) fn signal(&self, number: u8, to_group: bool) -> Result<(), String> {
        let signal =
            Signal::from_named_raw(number.into()).ok_or_else(|| format!("there is no signal {number}"))?;
        self.send(signal, to_group);
        Ok(())
    }

    /// Kills it and its group.
    pub(crate) fn kill(&self) {
        self.send(Signal::KILL, true);
    }

    fn send(&self, signal: Signal, to_group: bool) {
        if self.has_ended() {
            return;
        }
        // It is not reaped before its end is noted, so its group is its own. The only error that remains is that nobody is left.
        let _ = match to_group {
            true => kill_process_group(Pid::from_child(&self.process), signal),
            false => pidfd_send_signal(&self.handle, signal),
        };
    }

    /// Notes its end, if it has ended. Its group ends with it.
    ///
    /// # Errors
    /// The system does not say how it ended.
    pub(crate) fn look(&mut self) -> io::Result<()> {
        if self.has_ended() || !has_ended(&self.handle) {
            return Ok(());
        }
        self.kill();
        let status = self.process.wait()?;
        self.end = Some(end(status));
        Ok(())
    }

    /// Somebody waits for its end.
    pub(crate) fn await_end(&mut self, asker: T) {
        self.wait = Some(asker);
    }

    /// Who waited for its end, if it has ended.
    pub(crate) fn tell_end(&mut self) -> Option<(T, ProcessAnswer)> {
        let end = self.end?;
        let asker = self.wait.take()?;
        self.is_told = true;
        Some((asker, ProcessAnswer::Ended(end)))
    }

    /// Who waits for its end learns that the system does not say how it ended.
    pub(crate) fn tell_loss(&mut self, error: &io::Error) -> Option<(T, ProcessAnswer)> {
        let asker = self.wait.take()?;
        Some((asker, ProcessAnswer::failed(format!("learn how a process ended: {error}"))))
    }

    /// Somebody reads a stream.
    pub(crate) fn read(&mut self, asker: T, stream: Stream, at_most: usize) {
        self.pipes[index(stream)].reader = Some((asker, at_most));
    }

    /// Who reads a stream, with what there is, or once there is nothing more. After the end of the process that is what lies in the pipe: whoever
    /// holds its other end longer is none of the process' group.
    pub(crate) fn tell_output(&mut self, stream: Stream) -> Option<(T, ProcessAnswer)> {
        let has_ended = self.has_ended();
        let pipe = &mut self.pipes[index(stream)];
        let at_most = pipe.reader.as_ref()?.1;
        let mut bytes = vec![0; at_most];
        let read = match &pipe.end {
            Some(end) => rustix::io::retry_on_intr(|| rustix::io::read(end, &mut bytes[..])),
            None => Ok(0),
        };
        let said = match read {
            Err(Errno::AGAIN) if !has_ended => return None,
            Err(Errno::AGAIN) | Ok(0) => ProcessAnswer::Output { bytes: Vec::new(), is_last: true },
            Ok(len) => {
                bytes.truncate(len);
                ProcessAnswer::Output { bytes, is_last: false }
            }
            Err(errno) => ProcessAnswer::failed(format!("read what a process says: {errno}")),
        };
        if !matches!(said, ProcessAnswer::Output { is_last: false, .. }) {
            pipe.end = None;
        }
        pipe.reader.take().map(|(asker, _)| (asker, said))
    }

    /// Whoever still waits for something.
    pub(crate) fn take_askers(&mut self) -> Vec<T> {
        let readers = self.pipes.iter_mut().filter_map(|pipe| pipe.reader.take()).map(|(asker, _)| asker);
        readers.chain(self.wait.take()).collect()
    }
}

fn watch<T>(process: &mut std::process::Child) -> io::Result<(OwnedFd, [Pipe<T>; 2])> {
    let handle = pidfd_open(Pid::from_child(process), PidfdFlags::empty())?;
    let output: Option<OwnedFd> = process.stdout.take().map(Into::into);
    let error: Option<OwnedFd> = process.stderr.take().map(Into::into);
    for end in [&output, &error].into_iter().flatten() {
        fcntl_setfl(end, fcntl_getfl(end)? | OFlags::NONBLOCK)?;
    }
    Ok((handle, [output, error].map(|end| Pipe { end, reader: None })))
}

fn has_ended(handle: &OwnedFd) -> bool {
    let mut wanted = [rustix::event::PollFd::new(handle, rustix::event::PollFlags::IN)];
    let now = rustix::event::Timespec::default();
    rustix::event::poll(&mut wanted, Some(&now)).is_ok_and(|count| count > 0)
}

fn end(status: ExitStatus) -> End {
    let number = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
    match status.signal() {
        Some(signal) => End::Killed(number(signal)),
        None => End::Exited(number(status.code().unwrap_or_default())),
    }
}

fn index(stream: Stream) -> usize {
    usize::from(stream == Stream::Error)
}
