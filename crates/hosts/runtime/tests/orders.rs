//! What other threads ask a node's loop for is done at once, whatever the loop is at.

use quintet_contract::NodeId;
use quintet_runtime::{Node, Services};
use std::thread;
use std::time::Duration;

/// Longer than anything here takes, also on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// An order that came between the loop's look at orders and its look at frames was forgotten until something else happened.
#[test]
fn no_order_is_left_lying() {
    let mut node = Node::new(NodeId(1), Services::none()).expect("the system has descriptors");
    let handle = node.handle();
    let runs = thread::spawn(move || node.run());
    for number in 0..5_000 {
        let told = handle.measure(LONG);
        assert!(told.is_some_and(|told| !told.is_empty()), "the node has not heard order {number}");
    }
    handle.stop();
    runs.join().expect("no panic").expect("it could wait");
}
