//! Programs in C-Linda on several machines: `quintet run --hosts`.

use super::{check_blocks, check_product, example, program};
use crate::hosts::lab::Machines;
use crate::tool::{LONG, result, start, text, wait_until};
use quintet::{Lab, ServeConfig, Server, tuple};
use quintet_testbed::{Program, TempDir};
use serde_json::Value;
use std::collections::BTreeSet;

#[test]
fn the_papers_matrix_program_multiplies_on_three_machines() {
    let lab = Machines::up(&["a", "b", "c"]);
    let jmatrix = example(&lab.room, "jmatrix");
    let words = ["run", "--hosts", "a,b,c", "-n", "5", text(&jmatrix), "30", "5"];
    let (code, said) = result(lab.command("a", &words));
    assert_eq!(code, 0, "{said}");
    check_product(&said, 30);
    assert!((1..=5).all(|worker| said.contains(&format!("worker {worker} started"))), "{said}");
}

#[test]
fn the_papers_block_program_puts_and_takes_its_blocks_on_three_machines() {
    let lab = Machines::up(&["a", "b", "c"]);
    let jblock = example(&lab.room, "jblock");
    // The managers of its space are on all three.
    let words = ["run", "--hosts", "a,b,c", "--managers", "3", "-n", "3", text(&jblock), "50", "32"];
    let (code, said) = result(lab.command("a", &words));
    assert_eq!(code, 0, "{said}");
    check_blocks(&said, 50, 32);
    // The space is the cluster's, at a: each block goes there and comes back.
    for machine in ["b", "c"] {
        let space = format!("quintet://{}", text(&lab.folder(machine)));
        let program = lab.program_of(text(&jblock), machine, &["50", "1000"]).env("QUINTET_SPACE", space);
        let (code, said) = result(program.spawn().unwrap());
        assert_eq!(code, 0, "{said}");
        check_blocks(&said, 50, 1000);
    }
}

/// Each eval is busy until all of them run: so each has a worker to itself.
const BUSY: &str = "#include <stdio.h>
int be_there(int number);
int be_there(int number)
{
    printf(\"eval %d is here\\n\", number);
    fflush(stdout);
    out(\"here\", number);
    while (!rdp(\"go\"))
        continue;
    return number;
}
void real_main(void)
{
    for (int i = 0; i < 3; i++)
        eval(\"was there\", be_there(i));
    for (int i = 0; i < 3; i++)
        in(\"here\", ?int);
    out(\"go\");
    for (int i = 0; i < 3; i++)
        in(\"was there\", i);
    printf(\"all were there\\n\");
}
";

#[test]
fn evals_are_carried_out_on_all_machines() {
    let lab = Machines::up(&["a", "b", "c"]);
    let busy = program(&lab.room, "busy", BUSY);
    let words = ["run", "--hosts", "a,b,c", "-n", "3", text(&busy)];
    let (code, said) = result(lab.command("a", &words));
    assert!(code == 0 && said.contains("all were there"), "{code}: {said}");
    let places = said.lines().filter_map(|line| line.split_once("] eval ").map(|(place, _)| place));
    let places: BTreeSet<&str> = places.collect();
    assert_eq!(places, BTreeSet::from(["[worker 0", "[worker 1 on b", "[worker 2 on c"]), "{said}");
}

/// Three evals of which two are busy for as long as nobody puts "go": the third has no process.
const CROWD: &str = "#include <stdlib.h>
int busy(int number);
int busy(int number)
{
    while (!rdp(\"go\"))
        continue;
    return number;
}
void real_main(int argc, char *argv[])
{
    int evals = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 0; i < evals; i++)
        eval(\"was busy\", busy(i));
    in(\"was busy\", evals - 1);
    if (argc > 2)
        out(\"go\");
}
";

#[test]
fn more_evals_than_processes_are_told_with_who_waits_for_what() {
    let folder = TempDir::new().unwrap();
    let crowd = program(&folder, "crowd", CROWD);
    let socket = folder.join("space");
    let server = Server::start(&socket, &ServeConfig::default()).unwrap();
    let lab = Lab::connect(&socket, 0, LONG).unwrap();
    // Alone, as many at once as there are processors.
    let processors = std::thread::available_parallelism().unwrap().get();
    let evals = (processors + 2).to_string();
    let crowd = Program::new(text(&crowd)).arg(&evals).env("QUINTET_SPACE", text(&socket));
    let running = crowd.spawn().unwrap();
    let status = || {
        let (code, said) = result(start(["status", "--json", "--space", text(&socket)], &[]));
        assert_eq!(code, 0, "{said}");
        serde_json::from_str::<Value>(&said).unwrap()
    };
    wait_until(|| {
        let evals = status()["evals"].clone();
        evals["waiting"] == 2 && evals["taken"].as_array().is_some_and(|all| all.len() == processors)
    });
    let shown = status();
    assert!(shown["evals"]["taken"][0].as_str().unwrap().contains("crowd.cl:13"), "{shown}");
    let (_, said) = result(start(["status", "--space", text(&socket)], &[]));
    assert!(said.contains("2 evals wait for a process") && said.contains("computes"), "{said}");
    let awaited = format!("(\"was busy\", {})", processors + 1);
    assert!(shown["waiting"].to_string().contains(&awaited.replace('"', "\\\"")), "{shown}");
    lab.space().out(tuple!["go"]).unwrap();
    assert_eq!(result(running).0, 0);
    server.stop().unwrap();
}
