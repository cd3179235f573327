//! Waiting, response, intervals and queues, where they can be computed by hand.

use quintet_model::{Device, Draw, Measure, MeasureResult, Model, Module, Processor, RunResult};

fn run(model: &Model) -> RunResult {
    model.run(1).unwrap_or_else(|error| panic!("{error}"))
}

fn near(found: Option<f64>, expected: f64) {
    let found = found.expect("it was measured");
    assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
}

fn slow_clock() -> Model {
    // Due at 0, 10, 20 and 30 ms, it starts at 0, 15, 30 and 45 ms.
    let cpu = Processor::new().instruction("tick", "15 ms");
    Model::new("slow")
        .processor("cpu", cpu)
        .module("one", Module::on("cpu").every("10 ms").limit(4.0).execute("tick"))
}

#[test]
fn a_module_that_runs_by_itself_waits_from_when_its_time_came() {
    let result = run(&slow_clock());
    let one = &result.modules["one"];
    assert_eq!(one.activations, 4);
    near(one.waiting.mean(), 0.0075);
    near(one.response.mean(), 0.0225);
    near(one.interval.mean(), 0.015);
    // 30 ms waited in all, over 60 ms.
    near(Some(one.mean_queue), 0.5);
    near(Some(result.processors["cpu"].utilisation), 1.0);
}

#[test]
fn what_was_ready_before_the_end_of_the_warm_up_is_not_measured() {
    let result = run(&slow_clock().with("warm_up", "20 ms").with("end", "100 ms"));
    let one = &result.modules["one"];
    // The one that is due at 30 ms waits 15 ms; three end after 20 ms.
    near(one.waiting.mean(), 0.015);
    assert_eq!((one.waiting.count(), one.activations), (1, 3));
    near(Some(result.processors["cpu"].utilisation), 0.5);
    near(Some(result.measured.as_seconds()), 0.08);
}

#[test]
fn time_slices_are_shared() {
    // Two modules of 30 ms each, in turns of 10 ms: they end at 50 and 60 ms.
    let cpu = Processor::new().with("time_slice", "10 ms").instruction("work", "30 ms");
    let module = || Module::on("cpu").start("0 s").execute("work");
    let result = run(&Model::new("slices").processor("cpu", cpu).module("a", module()).module("b", module()));
    near(result.modules["a"].response.mean(), 0.05);
    near(result.modules["b"].response.mean(), 0.06);
    near(result.modules["b"].waiting.mean(), 0.01);
}

#[test]
fn the_kth_event_is_measured_with_the_kth() {
    let cpu = Processor::new().instruction("work", "30 ms").instruction("tick", "1 ms");
    let model = Model::new("pairs")
        .processor("cpu", cpu.clone())
        .processor("other", cpu)
        .module("fast", Module::on("cpu").every("100 ms").limit(3.0).execute("tick"))
        .module("slow", Module::on("other").every("200 ms").limit(3.0).execute("work"))
        .measure("lag", Measure::Time { from: "fast.end".to_owned(), to: "slow.end".to_owned() })
        .measure("cycle", Measure::Interval { of: "slow".to_owned() })
        .measure("rate", Measure::Throughput { of: "fast".to_owned(), bytes: Some("43 B".into()) });
    let result = run(&model);
    // 30 - 1, 230 - 101, 430 - 201 ms.
    let MeasureResult::Times { tally, .. } = &result.measures["lag"] else { panic!("times") };
    assert_eq!(tally.count(), 3);
    near(tally.mean(), 0.129);
    near(result.quantities().get("measure.cycle").copied(), 0.2);
    // 3 x 43 bytes in 430 ms.
    near(result.quantities().get("measure.rate").copied(), 300.0);
}

#[test]
fn an_event_that_has_no_first_partner_does_not_shift_the_others() {
    let cpu = Processor::new().instruction("tick", "1 ms");
    let model = Model::new("early")
        .processor("cpu", cpu)
        .module("late", Module::on("cpu").start("5 ms").every("10 ms").limit(2.0).execute("tick"))
        .module("first", Module::on("cpu").every("10 ms").limit(3.0).execute("tick"))
        .measure("lag", Measure::Time { from: "late.end".to_owned(), to: "first.start".to_owned() });
    // first: 0, 10, 20 ms; late ends: 6, 16 ms. The first of `first` comes before its partner and is left out with it.
    let MeasureResult::Times { tally, .. } = &run(&model).measures["lag"] else { panic!("times") };
    assert_eq!(tally.count(), 0, "the second of each: 10 ms comes before 16 ms");
}

#[test]
fn instructions_cost_cycles_or_time_alike() {
    let processor = |cost: Draw| Processor::new().with("rate", "16 MHz").instruction("work", cost);
    let model = |cost: Draw| {
        Model::new("cost")
            .processor("cpu", processor(cost))
            .module("one", Module::on("cpu").start("0 s").execute("work"))
    };
    for cost in ["160000 cycles", "10 ms", "0.16 Mcycles", "16 MHz * 10 ms * 1 cycle"] {
        near(run(&model(cost.into())).modules["one"].response.mean(), 0.01);
    }
    // The scale of a distribution is converted, whatever its shape.
    let gamma = |scale: &str| Draw::Gamma { shape: "3".into(), scale: scale.into() };
    let cycles = run(&model(gamma("16000 cycles"))).modules["one"].response.mean();
    near(run(&model(gamma("1 ms"))).modules["one"].response.mean(), cycles.expect("one response"));
}

fn queue(result: &RunResult) -> Option<f64> {
    Some(result.modules.values().map(|module| module.mean_queue).sum())
}

#[test]
fn who_waits_when_the_warm_up_ends_is_in_the_queue() {
    // Ten are ready at 0, and one after the other takes 10 ms. At 45 ms five wait, of which one begins at 50, 60, ... ms.
    let cpu = Processor::new().instruction("work", "10 ms");
    let add = |model: Model, number| {
        model.module(&format!("m{number}"), Module::on("cpu").start("0 s").execute("work"))
    };
    let model = (0..10).fold(Model::new("rush").processor("cpu", cpu), add).with("warm_up", "45 ms");
    let seconds = 0.005 * 5.0 + 0.01 * (4.0 + 3.0 + 2.0 + 1.0);
    near(queue(&run(&model.clone().with("end", "100 ms"))), seconds / 0.055);
    // Two are still waiting at 75 ms, the last but one has waited from 45 ms on.
    let seconds = 0.005 * 5.0 + 0.01 * (4.0 + 3.0) + 0.005 * 2.0;
    near(queue(&run(&model.with("end", "75 ms"))), seconds / 0.03);
}

#[test]
fn who_has_not_begun_at_the_end_is_in_the_queue() {
    // Due at 0, 10, 20, ... ms it begins at 0, 15, 30, ... ms: at 100 ms those due at 70, 80, 90 and 100 ms wait.
    let begun = (0..7).map(f64::from).map(|number| 0.005 * number);
    let seconds: f64 = begun.chain([0.03, 0.02, 0.01]).sum();
    let cpu = Processor::new().instruction("tick", "15 ms");
    let one = Module::on("cpu").every("10 ms").execute("tick");
    let model = Model::new("behind").processor("cpu", cpu.clone()).with("end", "100 ms");
    near(queue(&run(&model.clone().module("one", one.clone()))), seconds / 0.1);
    // Those that are due by 45 ms wait from then on.
    let late = model.clone().module("one", one.clone()).with("warm_up", "45 ms");
    near(queue(&run(&late)), (0.015 + 0.025 + 0.03 + 0.03 + 0.02 + 0.01) / 0.055);
    // The same, if a message or another module makes each ready.
    let clock = || Module::on("other").every("10 ms");
    let model = model.processor("other", cpu).device("wire", Device::new("link", &["cpu", "other"]));
    let told = clock().send("m", "one", "1 B", "wire");
    let waits = Module::on("cpu").waits_for("m", 1.0).execute("tick");
    near(queue(&run(&model.clone().module("clock", told).module("one", waits))), seconds / 0.1);
}

#[test]
fn who_waits_for_one_of_several_cores_is_in_the_queue() {
    // Due at 0, 10, 20, ... ms they begin at 0, 10, 30, 40, 60, 70, 90 and 100 ms; at 100 ms those due at 80, 90 and 100 ms wait.
    let seconds = 0.01 + 0.01 + 0.02 + 0.02 + 0.03 + 0.03 + 0.02 + 0.01;
    let cpu = Processor::new().instruction("tick", "30 ms").with("cores", 2);
    let model = Model::new("behind").processor("cpu", cpu).with("end", "100 ms");
    let alone = Module::on("cpu").every("10 ms").execute("tick");
    near(queue(&run(&model.clone().module("one", alone))), seconds / 0.1);
    let told = Module::on("other").every("10 ms").send("m", "one", "1 B", "wire");
    let waits = Module::on("cpu").waits_for("m", 1.0).execute("tick");
    let model = model
        .processor("other", Processor::new())
        .device("wire", Device::new("link", &["cpu", "other"]))
        .module("clock", told);
    let ended = run(&model.module("one", waits));
    near(queue(&ended), seconds / 0.1);
    near(ended.processors["cpu"].utilisation.into(), 0.95);
}

#[test]
fn of_both_ends_of_the_measured_time_one_belongs_to_it() {
    let cpu = Processor::new().instruction("tick", "10 ms");
    let model = Model::new("full")
        .processor("cpu", cpu)
        .module("one", Module::on("cpu").every("10 ms").execute("tick"))
        .measure("rate", Measure::Throughput { of: "one".to_owned(), bytes: None })
        .with("end", "100 ms");
    let late = run(&model.clone().with("warm_up", "20 ms"));
    assert_eq!((late.modules["one"].activations, late.modules["one"].waiting.count()), (8, 8));
    near(late.quantities().get("measure.rate").copied(), 100.0);
    near(Some(late.processors["cpu"].utilisation), 1.0);
    assert_eq!(run(&model).modules["one"].activations, 10, "without a warm-up nothing is left out");
}

#[test]
fn who_waits_behind_one_that_waits_for_room_has_waited_since_it_was_due() {
    // Each millisecond 1000 bytes for a bus that takes 10 ms for them.
    let cpu = Processor::new().instruction("tick", "1 us");
    let model = Model::new("blocked")
        .processor("cpu", cpu.clone())
        .processor("other", cpu)
        .device("bus", Device::new("bus", &["cpu", "other"]).with("rate", "100 kB/s"))
        .module(
            "sender",
            Module::on("cpu").every("1 ms").limit(5_000.0).execute("tick").send("m", "sink", "1000 B", "bus"),
        )
        .module("sink", Module::on("other").waits_for("m", 1.0).execute("tick"));
    // From some time on, the one that waits for room has 1024 messages before it, and goes on when one of these is there:
    // every 10 ms, the first time after 10.001 ms. The one after it begins then.
    let sender = &run(&model).modules["sender"];
    let last = 0.000_001 + 0.01 * (4_999.0 - 1_024.0) - 4.999;
    near(sender.waiting.largest(), last);
    near(sender.response.largest(), last + 0.01);
    // From 10 to 20 s all are due; 2024 have begun at first, and one more at 10.000001 s and every 10 ms from then on.
    let part = run(&model.with("warm_up", "10 s").with("end", "20 s"));
    near(queue(&part), 5_000.0 - (2_024.0 + 499.5 + 0.999_9));
}

#[test]
fn a_device_has_its_window_of_messages_and_those_beyond_wait_at_their_sender() {
    // One message a millisecond, and 2.5 ms each on the bus: with a window of 3 the fifth and all later ones wait.
    let model = |window: Option<u32>| {
        let bus = Device::new("bus", &["here", "there"]).with("rate", "1 MB/s");
        let bus = window.into_iter().fold(bus, |bus, window| bus.with("window", window));
        let send = Module::on("here").every("1 ms").limit(10.0);
        Model::new("window")
            .processor("here", Processor::new())
            .processor("there", Processor::new())
            .device("bus", bus)
            .module("send", send.send("data", "take", "2.5 kB", "bus"))
            .module("take", Module::on("there").waits_for("data", 1))
    };
    let (narrow, wide) = (run(&model(Some(3))), run(&model(None)));
    for (result, blocked, longest) in [(&narrow, 6, 2), (&wide, 0, 6)] {
        let bus = &result.devices["bus"];
        assert_eq!((bus.delivered, bus.blocked, bus.longest_queue), (10, blocked, longest));
        near(Some(result.quantities()["device.bus.blocked"]), f64::from(u32::try_from(blocked).unwrap()));
        near(Some(result.simulated.as_seconds()), 0.025);
    }
    assert!(narrow.modules["send"].response.mean() > wide.modules["send"].response.mean());
    let later = model(Some(3)).with("warm_up", "6.5 ms").with("end", "1 s");
    let blocked = run(&later).devices["bus"].blocked;
    assert_eq!(blocked, 4, "those that began to wait before the end of the warm-up are not counted");
}
