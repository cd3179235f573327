//! `isotach`: philosophers whose forks are shared variables, and what they say when one of them is killed.

use crate::tool::{quintet, result};
use serde_json::Value;

#[test]
fn philosophers_eat_in_one_order() {
    let (status, said) =
        result(quintet(["isotach", "demo", "philosophers", "-n", "3", "--seconds", "0.1", "--json"]));
    let found: Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}"));
    let meals: Vec<u64> = found["meals"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    assert!(status == 0 && meals.len() == 3 && meals.iter().all(|meals| *meals > 0), "{said}");
    // A meal is an isochron that takes and one that puts down.
    assert_eq!(
        (&found["one_order"], found["isochrons"].as_u64()),
        (&Value::Bool(true), Some(2 * meals.iter().sum::<u64>()))
    );
}

#[test]
fn philosophers_that_lose_one_halt_and_say_which() {
    let (status, said) =
        result(quintet(["isotach", "demo", "philosophers", "-n", "3", "--seconds", "0.1", "--kill-one"]));
    assert_eq!(status, 69, "{said}");
    for member in 0..2 {
        assert!(said.contains(&format!("philosopher {member}: member 2 has ended")), "{said}");
    }
    assert!(said.contains("philosopher 2 was killed, as asked: 2 halted"), "{said}");
}
