//! `quintet kernel` and `run --kernels`: between a server and its clients, and killed.

mod killed;

use crate::tool::{LONG, quintet, result, text};
use quintet::{Code, Lab, template, tuple};
use quintet_testbed::{Child, TempDir};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

const LEASE: Duration = Duration::from_secs(10);

/// A command that serves, once it has said so.
fn serving<'a>(says: &str, arguments: impl IntoIterator<Item = &'a str>) -> Child {
    let child = quintet(arguments);
    child.output().wait_for(says, LONG).unwrap_or_else(|| panic!("{}", child.output().text()));
    child
}

fn kernel(space: &Path, at: &str) -> Child {
    serving("the kernel of", ["kernel", "--space", text(space), "--listen", at])
}

fn connect(socket: &Path) -> Lab {
    Lab::connect(format!("unix:{}", text(socket)).parse::<quintet::SpaceAddress>().unwrap(), 0, LEASE)
        .unwrap()
}

#[test]
fn a_kernel_that_is_killed_takes_what_its_clients_had_with_it_and_nothing_else() {
    let folder = TempDir::new().unwrap();
    let (space, at) = (folder.join("space"), folder.join("kernel"));
    let _server = serving("serving at", ["serve", "--listen", text(&space)]);
    let kernel_at = format!("unix:{}", text(&at));
    let mut kernel_of_space = kernel(&space, &kernel_at);
    let (behind, direct) = (connect(&at), Lab::connect(space.as_path(), 0, LEASE).unwrap());
    for item in 0..3i64 {
        behind.space().out(tuple!["item", item]).unwrap();
    }
    let taken = behind.space().take(&template!["item", ?i64]).unwrap();
    assert_eq!(taken, tuple!["item", 0i64]);
    let lease = behind.space().lease(&template!["item", ?i64], Some(LONG)).unwrap();
    let waits = behind.space().begin().take(&template!["wanted"]).unwrap();
    kernel_of_space.kill().unwrap();
    assert_eq!(waits.finish().unwrap_err().code(), Code::PeerDied, "clients are told");
    drop(lease);
    // What was acknowledged is there, the leased one as well, and nobody takes for who has gone.
    assert_eq!(direct.space().take(&template!["item", ?i64]).unwrap(), tuple!["item", 1i64]);
    assert_eq!(direct.space().take(&template!["item", ?i64]).unwrap(), tuple!["item", 2i64]);
    assert_eq!(direct.space().status().unwrap().waiters, 0);
    let _again = kernel(&space, &kernel_at);
    connect(&at).space().out(tuple!["wanted"]).unwrap();
    assert!(direct.space().take_if(&template!["wanted"]).unwrap().is_some());
}

#[test]
fn clients_of_a_logged_space_go_on_over_the_end_of_their_kernel_and_of_the_server() {
    let folder = TempDir::new().unwrap();
    let (space, at, log) = (folder.join("space"), folder.join("kernel"), folder.join("log"));
    let logged = ["serve", "--listen", text(&space), "--policy", "logged", "--log-dir", text(&log)];
    let mut server = serving("serving at", logged);
    let kernel_at = format!("unix:{}", text(&at));
    let mut first = kernel(&space, &kernel_at);
    let lab = connect(&at);
    let waits = lab.space().begin().take(&template!["wanted", ?i64]).unwrap();
    lab.space().out(tuple!["item"]).unwrap();
    first.kill().unwrap();
    let second = kernel(&space, &kernel_at);
    lab.space().out(tuple!["item"]).unwrap();
    server.kill().unwrap();
    let _server = serving("serving at", logged);
    second.output().wait_for("quintet: the server is there again", LONG).expect("it looks for it");
    lab.space().out(tuple!["item"]).unwrap();
    assert_eq!(lab.space().count(&template!["item"]).unwrap(), 3, "each was put once");
    lab.space().out(tuple!["wanted", 5i64]).unwrap();
    assert!(format!("{:?}", waits.finish().unwrap()).contains('5'));
}

#[test]
fn a_job_runs_behind_a_kernel() {
    let folder = TempDir::new().unwrap();
    let worker = crate::tool::script(
        &folder,
        "job",
        "case \"$QUINTET_SPACE\" in *kernel*) exec \"$QUINTET\" status --json;; esac; exit 9",
    );
    let variables = [("QUINTET", env!("CARGO_BIN_EXE_quintet"))];
    let job = ["run", "-n", "0", "--kernels", "--managers", "2", text(&worker)];
    let (code, said) = result(crate::tool::start(job, &variables));
    assert!(code == 0 && said.contains("\"tuples\":0"), "{code}: {said}");
}

#[test]
fn a_kernel_says_where_it_is_and_what_it_cannot_do() {
    let folder = TempDir::new().unwrap();
    let (space, at) = (folder.join("space"), folder.join("kernel"));
    let _server = serving("serving at", ["serve", "--listen", text(&space)]);
    let kernel = quintet(["kernel", "--space", text(&space), "--listen", text(&at), "--json"]);
    let said: Value = serde_json::from_str(&kernel.output().next_line(LONG).unwrap()).unwrap();
    assert_eq!(said["addresses"][0].as_str(), Some(&*format!("shm:{}", text(&at))), "{said}");
    let (code, said) = result(quintet(["status", "--space", text(&at), "--json"]));
    assert!(code == 0 && said.contains("\"tuples\":0"), "{said}");
    kernel.terminate().unwrap();
    assert_eq!(result(kernel).0, 0);
    let (code, said) = result(quintet(["kernel", "--space", text(&at), "--listen", text(&folder.join("k"))]));
    assert!(code != 0 && said.contains("listens"), "{said}");
    let (code, said) = result(quintet(["kernel", "--space", text(&space), "--listen", "tls:0.0.0.0:7400"]));
    assert!(code != 0 && said.contains("on this machine"), "{said}");
}
