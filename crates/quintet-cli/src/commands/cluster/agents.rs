//! The agents of a cluster's machines, asked how each machine is and what runs on it.

use super::machines::Machines;
use quintet::Error;
use quintet_agent::{AgentError, Client, Membership, credentials, of_member};
use quintet_contract::NodeId;
use quintet_launch::{Answer, Info, ProcessInfo, Request};
use quintet_link::Credentials;
use quintet_membership::Member;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long a machine may take to answer, the time included in which it is connected to: the others are shown no later than this.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);

/// After which it is looked whether those who have not answered are there at all.
const LOOK: Duration = Duration::from_millis(200);
/// Between two such looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Processes of one machine that are taken from its agent.
const MOST_PROCESSES: usize = 100_000;

/// Connections to agents, kept from one look to the next.
pub(crate) struct Agents {
    dialer: Arc<Dialer>,
    known: BTreeMap<NodeId, Arc<Client>>,
}

/// What connections to agents are made with.
struct Dialer {
    folder: PathBuf,
    credentials: Credentials,
    cluster: u128,
}

/// What each machine has answered, or why it has not, by its number.
pub(crate) type Answers<T> = BTreeMap<NodeId, Result<T, String>>;

impl Agents {
    /// Of the cluster of this folder.
    ///
    /// # Errors
    /// This machine has no identity of that cluster.
    pub(crate) fn new(folder: &Path) -> Result<Agents, Error> {
        let (credentials, cluster) = credentials(folder).map_err(super::refused)?;
        let dialer = Dialer { folder: folder.to_owned(), credentials, cluster };
        Ok(Agents { dialer: Arc::new(dialer), known: BTreeMap::new() })
    }

    /// Asks each machine that seems to be there how it is. With who is known to be there by then, where that took a while.
    pub(crate) fn infos(&mut self, machines: &Machines) -> (Answers<Info>, Option<Membership>) {
        self.ask(machines, |client| match client.ask_launcher(&Request::Info, ANSWER_LIMIT)? {
            Answer::Info(info) => Ok(info),
            _ => Err(AgentError::Malformed("an answer of its agent")),
        })
    }

    /// Asks each machine that seems to be there which processes of jobs run on it.
    pub(crate) fn processes(&mut self, machines: &Machines) -> Answers<Vec<ProcessInfo>> {
        let (answers, _) = self.ask(machines, |client| {
            let until = Instant::now() + ANSWER_LIMIT;
            all_pages(|after| {
                let left = until.saturating_duration_since(Instant::now());
                match client.ask_launcher(&Request::Running { after }, left)? {
                    Answer::Running { processes, is_last } => Ok((processes, is_last)),
                    _ => Err(AgentError::Malformed("an answer of its agent")),
                }
            })
        });
        answers
    }

    /// Asks all of them at a time. Who does not answer is connected to anew the next time, and nobody waits for it after [`ANSWER_LIMIT`], nor once it
    /// is known not to be there.
    fn ask<T: Send + 'static>(
        &mut self,
        machines: &Machines,
        ask: impl Fn(&Client) -> Result<T, AgentError> + Clone + Send + 'static,
    ) -> (Answers<T>, Option<Membership>) {
        let deadline = Instant::now() + ANSWER_LIMIT;
        let (tell, answered) = channel();
        let mut answers = Answers::new();
        for (node, member) in machines.members().filter(|(node, _)| machines.seems_up(**node)) {
            let (node, member, is_own) = (*node, member.clone(), machines.is_own(*node));
            let (known, dialer) = (self.known.remove(&node), Arc::clone(&self.dialer));
            let (tell, ask) = (tell.clone(), ask.clone());
            answers.insert(node, Err(format!("no answer within {ANSWER_LIMIT:?}")));
            thread::spawn(move || {
                let client = known.map_or_else(|| dialer.client(node, &member, is_own).map(Arc::new), Ok);
                let answer = client.and_then(|client| {
                    ask(&client).map(|answer| (client, answer)).map_err(|error| error.to_string())
                });
                // Nobody listens any more once the others are shown.
                let _ = tell.send(Heard::Answer(node, answer));
            });
        }
        let folder = self.dialer.folder.clone();
        let look = move || {
            thread::spawn(move || {
                let Ok(own) = Client::local(&folder) else { return };
                // Again and again, as the leader tells what it sees to nobody but who asks.
                while Machines::known(&own).is_ok_and(|known| tell.send(Heard::Known(known)).is_ok()) {
                    thread::sleep(PAUSE);
                }
            });
        };
        let (heard, latest) = gather(&answered, answers.keys().copied().collect(), deadline, look);
        for (node, answer) in heard {
            let answer = answer.map(|(client, answer)| {
                self.known.insert(node, client);
                answer
            });
            answers.insert(node, answer);
        }
        (answers, latest)
    }
}

/// What comes while machines are asked.
enum Heard<T> {
    /// The answer of one.
    Answer(NodeId, Result<T, String>),
    /// Who is known to be there.
    Known(Membership),
}

/// What the machines that are open answer until then. After a while it is looked who is there, which `look` has told again and again: for who is not
/// nobody waits.
fn gather<T>(
    heard: &Receiver<Heard<T>>,
    mut open: BTreeSet<NodeId>,
    deadline: Instant,
    look: impl FnOnce(),
) -> (Answers<T>, Option<Membership>) {
    let (mut answers, mut latest, mut look) = (Answers::new(), None, Some(look));
    while !open.is_empty() {
        let left = deadline.saturating_duration_since(Instant::now());
        match heard.recv_timeout(if look.is_some() { left.min(LOOK) } else { left }) {
            Ok(Heard::Answer(node, answer)) => {
                open.remove(&node);
                answers.insert(node, answer);
            }
            Ok(Heard::Known(known)) => {
                known.news.suspects.iter().for_each(|suspect| _ = open.remove(&suspect.node));
                latest = Some(known);
            }
            Err(_) if left.is_zero() => break,
            Err(_) => match look.take() {
                Some(look) => look(),
                None => break,
            },
        }
    }
    (answers, latest)
}

impl Dialer {
    /// The agent of that member, which is that of this machine or another's.
    fn client(&self, node: NodeId, member: &Member, is_own: bool) -> Result<Client, String> {
        if is_own {
            return Client::local(&self.folder).map_err(|error| error.to_string());
        }
        of_member(&member.address, member.identity, &self.credentials, &self.folder)
            .and_then(|address| Client::connect(address, node, self.cluster))
            .map_err(|error| error.to_string())
    }
}

/// All processes of a machine, by pages of those with higher numbers than the last of the page before.
///
/// # Errors
/// Those of `page`; the pages have no end.
fn all_pages(
    mut page: impl FnMut(u32) -> Result<(Vec<ProcessInfo>, bool), AgentError>,
) -> Result<Vec<ProcessInfo>, AgentError> {
    let mut all: Vec<ProcessInfo> = Vec::new();
    loop {
        let (processes, is_last) = page(all.last().map_or(0, |last| last.running.pid))?;
        let is_last = is_last || processes.is_empty();
        all.extend(processes);
        if all.len() > MOST_PROCESSES {
            return Err(AgentError::Malformed("a list of processes that has no end"));
        }
        if is_last {
            return Ok(all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quintet_launch::RunningProcess;
    use quintet_membership::{News, Suspect, Suspicion, View};

    fn process(pid: u32) -> ProcessInfo {
        let (job, command) = (String::new(), String::new());
        let running = RunningProcess {
            process: None,
            pid,
            count: 1,
            state: b'R',
            age: 0,
            cpu: 0,
            memory: 0,
            rank: None,
            job,
            command,
        };
        ProcessInfo { running, name: String::new(), restarts: 0, owner: None }
    }

    #[test]
    fn who_is_missed_meanwhile_is_not_waited_for() {
        let [answers, is_cut_off] = [NodeId(1), NodeId(2)];
        let (tell, heard) = channel();
        tell.send(Heard::Answer(answers, Ok("well"))).expect("it listens");
        let look = || {
            let suspects = vec![Suspect { node: is_cut_off, cause: Suspicion::Silent }];
            let known = Membership { view: View::default(), news: News { suspects, ..News::default() } };
            tell.send(Heard::Known(known)).expect("it listens");
        };
        let never = Instant::now() + Duration::from_secs(100_000);
        let (heard, latest) = gather(&heard, BTreeSet::from([answers, is_cut_off]), never, look);
        assert_eq!(heard, Answers::from([(answers, Ok("well"))]));
        assert_eq!(latest.map(|known| known.news.suspects.len()), Some(1), "it is shown as it is now");
    }

    #[test]
    fn pages_are_read_to_the_last_and_not_for_ever() {
        let two = all_pages(|after| Ok((vec![process(after + 1), process(after + 2)], after == 2)));
        let pids: Vec<u32> = two.expect("it ends").iter().map(|process| process.running.pid).collect();
        assert_eq!(pids, [1, 2, 3, 4]);
        let endless = all_pages(|after| Ok((vec![process(after)], false)));
        assert!(matches!(endless, Err(AgentError::Malformed(what)) if what.contains("no end")));
    }
}
