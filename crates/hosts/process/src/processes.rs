//! All processes of a host.

use crate::child::Child;
use crate::config::Config;
use crate::descendants::{JOBS, new_name, within_own};
use crate::ending::{Endings, Left};
use crate::folder::{Folder, open_private};
use crate::removal::remove_all;
use crate::running::running;
use crate::starting::{Common, spawn};
use crate::store::Store;
use crate::supervisor::Supervisor;
use bytes::Bytes;
use quintet_wire::Decode;
use quintet_wire::services::process::{
    FileHash, MAX_PATH_BYTES, MAX_RUNNING, ProcessAnswer, ProcessRequest, RunningProcess, Start, Stream,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The processes of a host, their jobs and files. `T` says who asks.
///
/// Programs are started by the thread that gives it requests. Those that asked the kernel for that end with this thread. Dropped, it ends all
/// jobs first, and returns when nothing is left of them, or when that has taken [too long](Config::end_limit).
#[derive(Debug)]
pub struct Processes<T> {
    config: Config,
    /// The name of all jobs together, and who sees to their end should this process be killed.
    name: String,
    jobs_variable: OsString,
    supervisor: Option<Supervisor>,
    /// Locked: no other host uses this folder.
    whole: OwnedFd,
    /// The folder of the jobs' folders.
    folders: (PathBuf, OwnedFd),
    store: Store,
    jobs: BTreeMap<u128, Folder>,
    children: BTreeMap<u64, Child<T>>,
    endings: Endings<T>,
    answers: Vec<(T, ProcessAnswer)>,
    /// What ran when somebody asked last.
    looked: Option<(Instant, Vec<RunningProcess>)>,
}

/// Whoever asks more often what runs is told what ran.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// What a descriptor says that can be read.
enum Source {
    Bell,
    End(u64),
    Output(u64, Stream),
}

impl<T> Processes<T> {
    /// No processes; removes what an earlier life has left.
    ///
    /// # Errors
    /// The folder's path is too long, it cannot be made, is open to other users, or another host uses it; or the companion cannot be started.
    pub fn open(config: Config) -> io::Result<Processes<T>> {
        let path = std::path::absolute(&config.folder)?;
        check_length(&path)?;
        let whole = open_private(&path)?;
        lock(&whole, &path)?;
        let (lives, files) = (path.join("jobs"), path.join("files"));
        open_private(&lives)?;
        remove_earlier(&lives)?;
        // Of this life alone: what sees to the end of an earlier one may still be at that.
        let jobs = lives.join(new_name()?);
        let folders = open_private(&jobs)?;
        let store = Store::open(&files, open_private(&files)?, config.max_store_bytes)?;
        let supervisor = match config.companion.split_first() {
            Some((program, words)) => {
                let mut command = Command::new(program);
                command.args(words);
                Some(Supervisor::start(command, &jobs)?)
            }
            None => None,
        };
        let name = match &supervisor {
            Some(supervisor) => supervisor.name().to_owned(),
            None => new_name()?,
        };
        Ok(Processes {
            config,
            jobs_variable: within_own(&name),
            name,
            supervisor,
            whole,
            folders: (jobs, folders),
            store,
            jobs: BTreeMap::new(),
            children: BTreeMap::new(),
            endings: Endings::new(),
            answers: Vec::new(),
            looked: None,
        })
    }

    /// Takes a request. Its answer is among [`answers`](Processes::answers) now, or after a [`wait`](Processes::wait).
    pub fn take(&mut self, asker: T, request: ProcessRequest, bulk: &Bytes) {
        let answer = match request {
            ProcessRequest::Have { hashes } => ProcessAnswer::Missing { hashes: self.store.missing(hashes) },
            ProcessRequest::Store { hash } => self.keep(hash, bulk),
            ProcessRequest::Start { process, job } => self.start(process, job, bulk),
            ProcessRequest::Read { process, stream, at_most } => {
                let Some(child) = self.children.get_mut(&process) else { return self.fail(asker, process) };
                child.read(asker, stream, at_most as usize);
                return self.tell_output(process, stream);
            }
            ProcessRequest::Wait { process } => {
                let Some(child) = self.children.get_mut(&process) else { return self.fail(asker, process) };
                child.await_end(asker);
                return self.tell_end(process);
            }
            ProcessRequest::Signal { process, signal, to_group } => {
                match self.children.get(&process).map_or(Ok(()), |child| child.signal(signal, to_group)) {
                    Ok(()) => ProcessAnswer::Done,
                    Err(text) => ProcessAnswer::failed(text),
                }
            }
            ProcessRequest::End { job } => return self.begin_ending(job, Some(asker)),
            ProcessRequest::Load => load(),
            ProcessRequest::Running { after } => self.running(after),
        };
        self.answers.push((asker, answer));
    }

    /// Takes the answers so far.
    pub fn answers(&mut self) -> Vec<(T, ProcessAnswer)> {
        std::mem::take(&mut self.answers)
    }

    /// Sleeps until `bell` can be read, or something happens to a process, and does what follows from it.
    ///
    /// # Errors
    /// The system refuses to wait.
    pub fn wait(&mut self, bell: BorrowedFd<'_>) -> io::Result<()> {
        for source in self.sleep(bell)? {
            match source {
                Source::Bell => {}
                Source::End(process) => self.tell_end(process),
                Source::Output(process, stream) => self.tell_output(process, stream),
            }
        }
        self.go_on_ending();
        Ok(())
    }

    fn sleep(&self, bell: BorrowedFd<'_>) -> io::Result<Vec<Source>> {
        let (mut sources, mut wanted) =
            (vec![Source::Bell], vec![PollFd::from_borrowed_fd(bell, PollFlags::IN)]);
        for (process, child) in &self.children {
            let ends = child.handle().map(|handle| (Source::End(*process), handle));
            let says = Stream::ALL
                .into_iter()
                .filter_map(|stream| Some((Source::Output(*process, stream), child.pipe(stream)?)));
            for (source, descriptor) in ends.into_iter().chain(says) {
                sources.push(source);
                wanted.push(PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
            }
        }
        let limit = self.endings.next().map(|due| due.saturating_duration_since(Instant::now()));
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        match poll(&mut wanted, limit.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let called = sources.into_iter().zip(&wanted).filter(|(_, fd)| !fd.revents().is_empty());
        Ok(called.map(|(source, _)| source).collect())
    }

    /// What runs, as it was a moment ago at most: to look takes longer the more processes the user has.
    fn running(&mut self, after: u32) -> ProcessAnswer {
        let now = Instant::now();
        let is_old = self.looked.as_ref().is_none_or(|(at, _)| now.duration_since(*at) > LOOK_AGAIN);
        if is_old {
            let known: BTreeMap<u32, u64> = self
                .children
                .iter()
                .filter(|(_, child)| !child.has_ended())
                .map(|(n, child)| (child.pid(), *n))
                .collect();
            self.looked = Some((now, running(Some(&self.name), |pid| known.get(&pid).copied())));
        }
        let all = self.looked.as_ref().map_or(&[][..], |(_, rows)| rows);
        let rest = &all[all.partition_point(|row| row.pid <= after)..];
        let processes = rest[..rest.len().min(MAX_RUNNING)].to_vec();
        ProcessAnswer::Running { is_last: processes.len() == rest.len(), processes }
    }

    fn keep(&mut self, hash: FileHash, contents: &[u8]) -> ProcessAnswer {
        let jobs = &self.jobs;
        let is_needed = |hash: &FileHash| jobs.values().any(|folder| folder.needs(hash));
        match self.store.put(hash, contents, is_needed) {
            Ok(()) => ProcessAnswer::Done,
            Err(error) => ProcessAnswer::failed(format!("keep the file {hash}: {error}")),
        }
    }

    fn start(&mut self, process: u64, job: u128, bulk: &[u8]) -> ProcessAnswer {
        let start = match Start::decode_all(bulk) {
            Ok(start) => start,
            Err(error) => {
                return ProcessAnswer::failed(format!("what is to be started cannot be read: {error}"));
            }
        };
        if let Err(error) = start.check() {
            return ProcessAnswer::failed(error.to_string());
        }
        if self.endings.contains(job) || self.children.contains_key(&process) {
            return ProcessAnswer::failed("its job is being ended, or it was started before");
        }
        let is_new = !self.jobs.contains_key(&job);
        let answer = self.try_start(process, job, &start).unwrap_or_else(|failed| failed);
        if is_new
            && matches!(answer, ProcessAnswer::Failed { .. })
            && let Some(folder) = self.jobs.remove(&job)
            && let Err(error) = folder.remove()
        {
            return ProcessAnswer::failed(error.to_string());
        }
        answer
    }

    fn try_start(&mut self, process: u64, job: u128, start: &Start) -> Result<ProcessAnswer, ProcessAnswer> {
        let folder = match self.jobs.entry(job) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let (path, folders) = &self.folders;
                let made = Folder::create(folders, path, &format!("{job:032x}"));
                entry.insert(made.map_err(|error| {
                    ProcessAnswer::failed(format!("make a folder in {}: {error}", path.display()))
                })?)
            }
        };
        folder.place(&start.files, &mut self.store)?;
        let mut jobs = self.jobs_variable.clone();
        jobs.push(format!(":{}", job_name(&self.name, job)));
        let common = Common {
            through: &self.config.through,
            environment: &self.config.environment,
            jobs: (JOBS, jobs),
        };
        let spawned = spawn(start, folder.path(), &common).map_err(ProcessAnswer::failed)?;
        let child = Child::new(job, spawned)
            .map_err(|error| ProcessAnswer::failed(format!("watch a process: {error}")))?;
        self.children.insert(process, child);
        Ok(ProcessAnswer::Started { folder: folder.path().as_os_str().as_bytes().to_vec() })
    }

    fn fail(&mut self, asker: T, process: u64) {
        self.answers.push((asker, ProcessAnswer::failed(format!("there is no process {process}"))));
    }

    fn tell_output(&mut self, process: u64, stream: Stream) {
        if let Some(child) = self.children.get_mut(&process) {
            self.answers.extend(child.tell_output(stream));
            self.forget_if_over(process);
        }
    }

    /// Looks whether a process has ended. Who reads it then learns what is left in its pipes.
    fn tell_end(&mut self, process: u64) {
        let Some(child) = self.children.get_mut(&process) else { return };
        if let Err(error) = child.look() {
            let job = child.job;
            self.answers.extend(child.tell_loss(&error));
            return self.begin_ending(job, None);
        }
        self.answers.extend(child.tell_end());
        if child.has_ended() {
            self.answers.extend(Stream::ALL.into_iter().filter_map(|stream| child.tell_output(stream)));
        }
        self.forget_if_over(process);
    }

    fn forget_if_over(&mut self, process: u64) {
        if self.children.get(&process).is_some_and(Child::is_over) {
            self.children.remove(&process);
        }
    }

    fn begin_ending(&mut self, job: u128, asker: Option<T>) {
        if !self.jobs.contains_key(&job) {
            return self.answers.extend(asker.map(|asker| (asker, ProcessAnswer::Done)));
        }
        if !self.endings.contains(job) {
            self.children.values().filter(|child| child.job == job).for_each(Child::kill);
        }
        self.endings.begin(job, asker, Instant::now());
        self.go_on_ending();
    }

    /// Looks who is left of the jobs that are being ended. Those of which nobody is are over.
    fn go_on_ending(&mut self) {
        let left = |job| Left {
            name: job_name(&self.name, job),
            has_children: self.children.values().any(|child| child.job == job && !child.has_ended()),
        };
        for (job, askers) in self.endings.look(left, Instant::now()) {
            self.finish(job, askers);
        }
    }

    /// Nobody of a job is left: its folder goes, and who waits is told.
    fn finish(&mut self, job: u128, askers: Vec<T>) {
        for (_, mut child) in self.children.extract_if(.., |_, child| child.job == job) {
            let askers = child.take_askers().into_iter();
            self.answers.extend(askers.map(|asker| (asker, ProcessAnswer::failed("its job was ended"))));
        }
        let removed = self.jobs.remove(&job).map_or(Ok(()), Folder::remove);
        for asker in askers {
            let answer = match &removed {
                Ok(()) => ProcessAnswer::Done,
                Err(error) => ProcessAnswer::failed(error.to_string()),
            };
            self.answers.push((asker, answer));
        }
    }
}

impl<T> Processes<T> {
    /// Answers everybody who waits: why nothing more comes. Dropped after that, it ends all jobs.
    pub fn refuse_all(&mut self, why: &str) {
        let waiting: Vec<T> = self.children.values_mut().flat_map(Child::take_askers).collect();
        let waiting = waiting.into_iter().chain(self.endings.take_askers());
        self.answers.extend(waiting.map(|asker| (asker, ProcessAnswer::failed(why))));
    }

    /// Ends all jobs. Returns when nothing is left of them, or when that has taken too long.
    fn end_jobs(&mut self) {
        for job in self.jobs.keys().copied().collect::<Vec<_>>() {
            self.begin_ending(job, None);
        }
        let limit = Instant::now() + self.config.end_limit;
        while let Some(next) = self.endings.next() {
            if next > limit {
                self.supervisor.iter_mut().for_each(Supervisor::leave_rest);
                return;
            }
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            for process in self.children.keys().copied().collect::<Vec<_>>() {
                self.tell_end(process);
            }
            self.go_on_ending();
        }
    }
}

impl<T> Drop for Processes<T> {
    fn drop(&mut self) {
        self.end_jobs();
        // What does not go now goes when the next life begins.
        let _ = std::fs::remove_dir(&self.folders.0);
        // Said, as a process that another thread has just forked holds the descriptor, too. With the descriptor it ends in any case.
        let _ = flock(&self.whole, FlockOperation::Unlock);
    }
}

/// Whether the paths of jobs' folders in this one can be told.
fn check_length(path: &Path) -> io::Result<()> {
    // `/jobs/`, a life, `/` and a job.
    let longest = MAX_PATH_BYTES - "/jobs/".len() - 32 - 1 - 32;
    if path.as_os_str().len() > longest {
        let error = format!("{} is longer than {longest} bytes", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidFilename, error));
    }
    Ok(())
}

fn lock(folder: &OwnedFd, path: &Path) -> io::Result<()> {
    flock(folder, FlockOperation::NonBlockingLockExclusive).map_err(|errno| match errno {
        Errno::WOULDBLOCK => {
            let error = format!("another process uses {}: end it, or name another folder", path.display());
            io::Error::new(io::ErrorKind::ResourceBusy, error)
        }
        errno => errno.into(),
    })
}

/// Removes the folders of earlier lives. One in which somebody still writes is left to who ends that.
fn remove_earlier(lives: &Path) -> io::Result<()> {
    for life in std::fs::read_dir(lives)? {
        match remove_all(&life?.path()) {
            Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The name by which all that descends from a job is found: another host on this machine may have a job of the same number.
fn job_name(all: &str, job: u128) -> String {
    format!("{all}-{job:032x}")
}

fn load() -> ProcessAnswer {
    let cores = std::thread::available_parallelism()
        .map_or(1, |cores| u16::try_from(cores.get()).unwrap_or(u16::MAX));
    match std::fs::read_to_string("/proc/loadavg").map(|text| hundredths(&text)) {
        Ok(Some(load)) => ProcessAnswer::Load { cores, load },
        Ok(None) => ProcessAnswer::failed("read /proc/loadavg: it has another form"),
        Err(error) => ProcessAnswer::failed(format!("read /proc/loadavg: {error}")),
    }
}

/// The first number of a text such as `1.25 0.80 ...`, in hundredths.
fn hundredths(text: &str) -> Option<u32> {
    let (whole, part) = text.split_whitespace().next()?.split_once('.')?;
    let part: u32 = part.get(..2)?.parse().ok()?;
    whole.parse::<u32>().ok()?.checked_mul(100)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_read_in_hundredths() {
        assert_eq!(hundredths("1.25 0.80 0.10 1/200 33\n"), Some(125));
        assert_eq!((hundredths("0.07"), hundredths("12.00 1"), hundredths("")), (Some(7), Some(1200), None));
        assert_eq!((hundredths("1"), hundredths("a.bc"), hundredths("1.2")), (None, None, None));
    }
}
