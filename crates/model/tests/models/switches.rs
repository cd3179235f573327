//! Ports of devices of kind `switch`: what each sends, what waits there, what it has no room for.

use quintet_model::{Model, PortResult, RunResult};
use std::sync::atomic::AtomicBool;

/// Two senders at once to one receiver, at 1 MB/s: 1000 bytes from each every 10 ms, of which one waits for the other for a millisecond.
const SWITCH: &str = r#"
[model]
name = "switch"
end = "99 ms"
[processor.from]
count = 2
[processor.to]
[device.sw]
kind = "switch"
stations = ["from", "to"]
rate = "8 Mb/s"
[module.send]
on = "from"
every = "10 ms"
do = [{ send = "data", to = "take", bytes = "1 kB", through = "sw" }]
[module.take]
on = "to"
waits_for = { data = 1 }
"#;

fn model(more: &str) -> Model {
    let text = SWITCH.replace("rate = ", &format!("{more}\nrate = "));
    Model::from_str(&text, "m.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn run(model: &Model) -> RunResult {
    model.run(1).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn each_port_counts_what_it_sends_and_what_waits_for_it() {
    let model = model("");
    let result = run(&model);
    let port = result.ports["sw.to"];
    assert_eq!((port.packets, port.bytes, port.dropped, port.lost), (20, 20_000, 0, 0));
    assert_eq!((port.longest_queue, port.most_buffered), (1, 2_000));
    assert!((port.utilisation - 20.0 / 99.0).abs() < 1e-9, "{port:?}");
    // Ten times one block waits for a millisecond. A switch that pauses has room reserved from the first bit on: for both for two, for one for one.
    assert!((port.mean_queue - 10.0 / 99.0).abs() < 1e-9, "{port:?}");
    assert!((port.mean_buffered - 10.0 * 5_000.0 / 99.0).abs() < 1e-6, "{port:?}");
    for idle in ["sw.from-1", "sw.from-2", "sw.from"] {
        assert_eq!(result.ports[idle], PortResult::default(), "{idle}");
    }
    for name in result.quantities().keys() {
        assert!(model.subject(name).is_some(), "{name}");
    }
    let mut trace = Vec::new();
    model.trace(1, &mut trace, &AtomicBool::new(false)).expect("a trace in memory");
    let has = |text: &str| trace.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(has("sw.to waiting") && !has("sw.from-1"), "a port that sends has a track");
}

#[test]
fn what_a_port_has_no_room_for_is_counted_there() {
    let result = run(&model("buffer = \"1 kB\"\nwhen_full = \"drop\""));
    let (port, device) = (result.ports["sw.to"], &result.devices["sw"]);
    assert_eq!((port.packets, port.dropped, device.dropped), (10, 10, 10));
    assert_eq!((port.most_buffered, port.longest_queue), (1_000, 1));
}

#[test]
fn the_warm_up_counts_at_no_port() {
    let text = SWITCH.replace("end = \"99 ms\"", "end = \"99 ms\"\nwarm_up = \"50.5 ms\"");
    let result = run(&Model::from_str(&text, "m.toml").unwrap_or_else(|error| panic!("{error}")));
    assert_eq!((result.ports["sw.to"].packets, result.ports["sw.to"].bytes), (10, 10_000));
}

#[test]
fn a_statement_may_name_a_port_of_a_switch() {
    let model = model("").promise("short", "port.sw.to.longest_queue <= 0 * port.sw.from.packets");
    let found = model.violations(&[run(&model)]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(found.len(), 1, "{found:?}");
}
