//! `reproduce`: an object a cell, a page, and the same numbers each time.

use crate::tool::{quintet, result, text};
use quintet_testbed::TempDir;
use serde_json::Value;

#[test]
fn each_cell_is_an_object_and_each_run_the_same() {
    let folder = TempDir::new().unwrap();
    let page = folder.path().join("page.html");
    let study = ["reproduce", "thomas-1991", "--simulated", "--seeds", "1", "--json", "--html", text(&page)];
    let (status, said) = result(quintet(study));
    assert_eq!(status, 0, "{said}");
    let objects: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (sum, cells) = objects.split_last().unwrap();
    assert_eq!(sum["cells"], cells.len());
    assert!(cells.iter().all(|cell| cell["published"].is_number() && cell["role"].is_string()));
    assert!(std::fs::read_to_string(&page).unwrap().starts_with("<!doctype html>"));
    assert_eq!(result(quintet(study)), (0, said));
}

#[test]
fn a_page_that_cannot_be_written_is_an_error() {
    let nowhere =
        ["reproduce", "thomas-1991", "--simulated", "--seeds", "1", "--html", "/nonexistent/page.html"];
    let (status, said) = result(quintet(nowhere));
    assert_ne!(status, 0);
    assert!(said.contains("/nonexistent/page.html"), "{said}");
}

#[test]
fn one_of_the_two_ways_must_be_chosen() {
    let (status, said) = result(quintet(["reproduce", "thomas-1991"]));
    assert_eq!(status, 64, "{said}");
    assert!(said.contains("--what-if") && said.contains("--simulated"), "{said}");
    assert_eq!(result(quintet(["reproduce", "thomas-1991", "--simulated", "--what-if"])).0, 64);
}
