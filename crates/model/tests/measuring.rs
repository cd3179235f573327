//! Waiting, response, intervals and queues, where they can be computed by hand.

use quintet_model::{Draw, Measure, MeasureResult, Model, Module, Processor, RunResult};

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
    // Those due at 20 and 30 ms wait 10 and 15 ms; three end after 20 ms.
    near(one.waiting.mean(), 0.0125);
    assert_eq!((one.waiting.count(), one.activations), (2, 3));
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
