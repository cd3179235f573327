//! `isotach demo philosophers --hosts`: each on a machine of the cluster.

use super::lab::Machines;
use super::summary;
use crate::tool::result;
use quintet::Code;
use serde_json::json;

const DINE: [&str; 8] = ["isotach", "demo", "philosophers", "--json", "--seconds", "0.2", "--silence", "60"];

#[test]
fn philosophers_on_three_machines_go_on_without_one_and_another_comes_back_in_its_place() {
    let lab = Machines::up(&["a", "b", "c"]);
    let asked = ["--hosts", "c,a,b", "-n", "4", "--kill-one", "2", "--come-back"];
    let (status, said) = result(lab.command("a", &[&DINE[..], &asked].concat()));
    assert_eq!(status, 0, "{said}");
    let found = summary(&said);
    assert_eq!(found["machines"], json!(["c", "a", "b", "c"]), "{found}");
    assert_eq!((&found["one_order"], &found["lost"]), (&json!(true), &json!(2)), "{found}");
    for meals in ["meals_after", "meals_back"] {
        assert!(found[meals].as_u64().is_some_and(|meals| meals > 0), "{meals}: {found}");
    }
    assert!(lab.jobs("b").is_empty() && lab.jobs("c").is_empty(), "what ran there is gone");
}

#[test]
fn a_machine_that_is_not_there_or_may_start_nothing_is_named() {
    let lab = Machines::with_grants(&[("a", super::lab::ALL), ("b", "join")]);
    let dine = |machine: &str, hosts: &str| {
        let asked = ["--hosts", hosts, "-n", "2"];
        result(lab.command(machine, &[&DINE[..], &asked].concat()))
    };
    let (status, said) = dine("a", "a,z");
    assert!(status == i32::from(Code::BadValue.exit_status()) && said.contains("named \"z\""), "{said}");
    let (status, said) = dine("b", "a,b");
    assert!(
        status == i32::from(Code::NotAllowed.exit_status()) && said.contains("let in without `run`"),
        "{said}"
    );
}
