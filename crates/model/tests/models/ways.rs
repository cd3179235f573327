//! Several ways between the same modules: each message takes the one that it names.

use quintet_model::{Action, Class, Device, Measure, Model, Module, Processor, RunResult};

fn run(model: &Model) -> RunResult {
    model.run(1).unwrap_or_else(|error| panic!("{error}"))
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
}

/// Sends `one` over a bus (1,000 bytes at 8 Mb/s: 1 ms), `two` over a link of 3 ms, `three` over another bus of half the rate.
fn three_ways(order: [usize; 3]) -> Model {
    let sends = [("one", "bus"), ("two", "link"), ("three", "slow")];
    let sender = order.iter().fold(Module::on("a").start("0 s"), |module, &index| {
        let (message, through) = sends[index];
        module.send(message, "gather", "1000 B", through)
    });
    let stations = ["a", "b"];
    Model::new("ways")
        .processor("a", Processor::new())
        .processor("b", Processor::new())
        .device("bus", Device::new("bus", &stations).with("rate", "8 Mb/s"))
        .device("slow", Device::new("bus", &stations).with("rate", "4 Mb/s"))
        .device("link", Device::new("link", &stations).with("delay", "3 ms"))
        .module("send", sender)
        .module(
            "gather",
            sends.iter().fold(Module::on("b"), |module, (message, _)| module.waits_for(message, 1.0)),
        )
        .module("answer", Module::on("b").start("10 ms").send("word", "hear", "1000 B", "slow"))
        .module("hear", Module::on("a").waits_for("word", 1.0))
}

#[test]
fn two_modules_are_joined_by_several_devices() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let result = run(&three_ways(order));
        let (bus, slow) = (&result.devices["bus"], &result.devices["slow"]);
        assert_eq!((bus.delivered, slow.delivered), (1, 2), "{order:?}");
        // The answer takes the slow bus, 2 ms from 10 ms on, and is the last that happens.
        near(result.simulated.as_seconds(), 0.012);
        near(bus.utilisation(), 1.0 / 12.0);
        near(slow.utilisation(), 4.0 / 12.0);
        assert_eq!(result.modules["gather"].activations, 1);
    }
}

/// From the sender's start until the message is there, over each of the three.
#[test]
fn each_message_takes_as_long_as_its_way() {
    let times = ["one", "two", "three"].map(|message| {
        // A gatherer of this message alone, beside the one of all three.
        let alone = Module::on("b").waits_for(message, 1.0);
        let (from, to) = ("send.start".to_owned(), "gather.start".to_owned());
        let through = match message {
            "one" => "bus",
            "two" => "link",
            _ => "slow",
        };
        // The other way round between the same two modules, by the link: the first way may be either.
        let back = Module::on("b").start("0 s").send("word", "send", "0 B", "link");
        let sender = Module::on("a").waits_for("word", 1.0).send(message, "gather", "1000 B", through);
        let model = three_ways([0, 1, 2]).module("gather", alone).module("send", sender).module("back", back);
        let result = run(&model.measure("way", Measure::Time { from, to }));
        result.quantities()["measure.way"]
    });
    for (found, expected) in times.into_iter().zip([0.001, 0.003, 0.002]) {
        near(found, expected);
    }
}

#[test]
fn a_module_sends_to_itself_with_and_without_a_device() {
    let local = |module: Module| {
        module.action(Action::Send {
            message: "go".to_owned(),
            to: "turn".to_owned(),
            bytes: "0 B".into(),
            through: None,
            route: Vec::new(),
            times: 1.0.into(),
            class: Class::Asynchronous,
        })
    };
    let turn = || local(Module::on("a")).send("slowly", "turn", "1000 B", "loop");
    let model = Model::new("itself")
        .with("end", "10 ms")
        .processor("a", Processor::new())
        .device("loop", Device::new("bus", &["a"]).with("rate", "8 Mb/s"))
        .module("begin", turn().start("0 s"))
        .module("turn", turn().waits_for("go", 1.0).waits_for("slowly", 1.0));
    let result = run(&model);
    // 1 ms on the bus each time; what it sends itself directly is there at once.
    assert_eq!(result.modules["turn"].activations, 10);
    assert_eq!(result.devices["loop"].delivered, 10);
}
