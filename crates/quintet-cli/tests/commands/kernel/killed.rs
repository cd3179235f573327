//! Kernels that are killed and started again, again and again, under the clients behind them.

use super::{LEASE, serving};
use crate::account::{kills_under_clients, number};
use crate::tool::{LONG, text};
use quintet::{Code, Error, Lab, LinkConfig, Space, SpaceAddress, template, tuple};
use quintet_testbed::{Child, TempDir};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const WORKERS: usize = 3;
/// Of a round.
const TASKS: i64 = 40;
/// Who waits for a task looks so often whether it is over.
const LOOK: Duration = Duration::from_millis(50);
/// For a server, a kernel and a client that is started again, also on a busy machine.
const PATIENT: &str = "link.resume_window_ms=60000";

/// A space and a kernel in front of it, each in a process of its own.
struct Behind {
    folder: TempDir,
    policy: Vec<String>,
    server: Option<Child>,
    kernel: Option<Child>,
}

impl Behind {
    fn start(policy: &str) -> Behind {
        let folder = TempDir::new().unwrap();
        let log = text(&folder.join("log")).to_owned();
        let policy = match policy {
            "logged" => ["--policy", "logged", "--log-dir", &log].map(str::to_owned).to_vec(),
            _ => Vec::new(),
        };
        let mut behind = Behind { folder, policy, server: None, kernel: None };
        behind.serve();
        behind.begin_kernel();
        behind
    }

    fn space(&self) -> PathBuf {
        self.folder.join("space")
    }

    fn at(&self) -> String {
        format!("unix:{}", text(&self.folder.join("kernel")))
    }

    fn serve(&mut self) {
        let space = self.space();
        let words = ["serve", "--listen", text(&space), "--set", PATIENT];
        let policy = self.policy.iter().map(String::as_str);
        self.server = Some(serving("serving at", words.into_iter().chain(policy)));
    }

    fn begin_kernel(&mut self) {
        let (space, at) = (self.space(), self.at());
        let words = ["kernel", "--space", text(&space), "--listen", &at, "--set", PATIENT];
        self.kernel = Some(serving("the kernel of", words));
    }

    fn kill_kernel(&mut self) {
        self.kernel.take().expect("it runs").kill().unwrap();
        self.begin_kernel();
    }

    fn kill_server(&mut self) {
        self.server.take().expect("it runs").kill().unwrap();
        self.serve();
    }
}

fn connect(at: &str) -> Result<Space, Error> {
    let link = LinkConfig { resume_window: LONG, ..LinkConfig::default() };
    let address: SpaceAddress = at.parse().expect("an address");
    Lab::connect_with(address, 0, LEASE, link).map(|lab| lab.space())
}

/// Of a space with a log: no call of its clients fails, whether their kernel or the server is killed.
fn clients_go_on(kills: i64) {
    let mut behind = Behind::start("logged");
    let at = behind.at();
    kills_under_clients(
        || connect(&at).expect("the kernel is there"),
        kills,
        |round| match round % 3 {
            2 => behind.kill_server(),
            _ => behind.kill_kernel(),
        },
    );
}

#[test]
fn clients_of_a_logged_space_go_on_whether_their_kernel_or_the_server_is_killed() {
    clients_go_on(6);
}

#[test]
#[ignore = "takes minutes: make kill"]
fn clients_of_a_logged_space_go_on_however_often_their_kernel_or_the_server_is_killed() {
    clients_go_on(300);
}

/// Ends the workers, also of a test that panics.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does tasks under leases until it is over, and connects anew whenever its kernel has ended.
fn work(at: &str, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        match connect(at).and_then(|space| do_tasks(&space, is_over)) {
            Err(error) if [Code::PeerDied, Code::Unreachable].contains(&error.code()) => {
                std::thread::yield_now()
            }
            ended => ended.expect("nothing ends but the kernel"),
        }
    }
}

/// # Errors
/// The kernel has ended.
fn do_tasks(space: &Space, is_over: &AtomicBool) -> Result<(), Error> {
    while !is_over.load(Ordering::Relaxed) {
        match space.lease(&template!["task", ?i64], Some(LOOK)) {
            Ok(lease) => {
                let done = tuple!["done", number(lease.tuple()), i64::from(lease.attempt())];
                lease.acknowledge(&[done])?;
            }
            Err(error) if error.code() == Code::TimedOut => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Of a volatile space: what was put stays, leases come back, and each task is done once.
fn each_task_is_done_once(kills: i64) {
    let mut behind = Behind::start("volatile");
    let (at, is_over) = (behind.at(), AtomicBool::new(false));
    let direct = Lab::connect(behind.space().as_path(), 0, LEASE).unwrap().space();
    std::thread::scope(|scope| {
        let _ending = Ending(&is_over);
        for _ in 0..WORKERS {
            scope.spawn(|| work(&at, &is_over));
        }
        let mut redone = 0;
        for round in 0..kills {
            let tasks = round * TASKS..(round + 1) * TASKS;
            tasks.clone().for_each(|task| direct.out(tuple!["task", task]).unwrap());
            let mut done = Vec::new();
            let mut take = |count: i64| {
                for _ in 0..count {
                    let result =
                        direct.take_within(&template!["done", ?i64, ?i64], LONG).expect("it is done");
                    done.push(number(&result));
                    redone += i64::try_from(result[2].clone()).unwrap() - 1;
                }
            };
            let before = round * 7 % TASKS;
            take(before);
            behind.kill_kernel();
            take(TASKS - before);
            done.sort_unstable();
            assert!(done.into_iter().eq(tasks), "each once");
        }
        let state = direct.status().unwrap();
        assert_eq!((state.tuples, state.hidden, state.dead_letters), (0, 0, 0), "{state:?}");
        assert_eq!(u64::try_from(redone).unwrap(), state.redone, "a redone task is a returned lease");
    });
}

#[test]
fn each_task_is_done_once_though_the_kernel_of_its_workers_is_killed() {
    each_task_is_done_once(6);
}

#[test]
#[ignore = "takes minutes: make kill"]
fn each_task_is_done_once_however_often_the_kernel_of_its_workers_is_killed() {
    each_task_is_done_once(300);
}
