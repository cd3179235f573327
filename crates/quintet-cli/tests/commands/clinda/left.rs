//! What a program leaves in its space.

use super::{check_product, example};
use crate::tool::{quintet, result, text, wait_until};
use quintet::{Lab, ServeConfig, Server, template};
use quintet_testbed::{Program, TempDir};
use serde_json::Value;
use std::time::Duration;

const WORKERS: u64 = 3;

/// The paper's workers return nothing, so that their live tuples are undefined there, and stay. Here they are 0, and stay as well.
#[test]
fn the_scope_names_what_the_papers_workers_leave() {
    let folder = TempDir::new().unwrap();
    let (jmatrix, socket) = (example(&folder, "jmatrix"), folder.join("space"));
    let _server = Server::start(&socket, &ServeConfig::default()).unwrap();
    let program = Program::new(text(&jmatrix)).arg("10").arg(WORKERS.to_string());
    let (code, said) = result(program.env("QUINTET_SPACE", text(&socket)).spawn().unwrap());
    assert_eq!(code, 0, "{said}");
    check_product(&said, 10);

    let space = Lab::connect(&socket, 0, Duration::from_secs(60)).unwrap().space();
    assert_eq!(space.count(&template![0i32]).unwrap(), WORKERS);
    // Beside them only what all workers read, and nobody takes: two matrices, and their dimension.
    let mut leaks = Vec::new();
    wait_until(|| {
        leaks = leaks_of(text(&socket));
        leaks.len() >= 4
    });
    let left = leaks.iter().find(|row| row["partition"] == "(?i32)").unwrap_or_else(|| panic!("{leaks:?}"));
    assert_eq!((leaks.len(), &left["leak"]["tuples"]), (4, &WORKERS.into()), "{leaks:?}");
}

/// What lies in the space and was given to nobody for a tenth of a second.
fn leaks_of(space: &str) -> Vec<Value> {
    let scope = ["scope", "--once", "--json", "--leak-after", "0.1", "--space", space];
    let (code, said) = result(quintet(scope));
    assert_eq!(code, 0, "{said}");
    let shown: Value = serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"));
    let rows = shown["partitions"].as_array().expect("partitions");
    rows.iter().filter(|row| !row["leak"].is_null()).cloned().collect()
}
