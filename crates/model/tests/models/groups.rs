//! Elements that stand for several: what they mean, and what is said of those that mean nothing.

use quintet_model::{MeasureResult, Model, Module, Processor};

const RING: &str = r#"
[model]
name = "ring"
end = "1 s"

[parameters]
stations = 12

[processor.hub]

[processor.station]
count = "stations"

[device.net]
kind = "bus"
stations = ["hub", "station"]
rate = "10 Mb/s"

[module.ask]
on = "hub"
every = "100 ms"
do = [{ send = "question", to = "think.each", bytes = "100 B", through = "net" }]

[module.think]
on = "station"
waits_for = { question = 1 }
do = [{ send = "hint", to = "hear.next", bytes = "10 B", through = "net" }]

[module.hear]
on = "station"
waits_for = { hint = 1 }

[measure.way]
time = { from = "ask.start", to = "think.start" }

[measure.hints]
throughput = { of = "hear" }
"#;

fn model(from: &str, to: &str) -> Result<Model, quintet_model::ModelError> {
    assert!(RING.contains(from), "{from} stands in the model");
    Model::from_str(&RING.replace(from, to), "m.toml")
}

fn problems(from: &str, to: &str) -> Vec<String> {
    let error = model(from, to).expect_err("it is wrong");
    error.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn every_element_of_a_group_is_one_and_the_group_sums_them_up() {
    let model = model("", "").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(model.warnings(), []);
    let result = model.run(1).expect("it is good");
    assert_eq!(result.processors.len(), 1 + 12 + 1);
    // At 0 s, and every 100 ms up to the end; what is asked at the end arrives later.
    assert_eq!(result.modules["ask"].activations, 11);
    for number in 1..=12 {
        assert_eq!(result.modules[&format!("hear-{number}")].activations, 10, "{number}");
    }
    assert_eq!(result.modules["hear"].activations, 120);
    let quantities = result.quantities();
    assert!((quantities["measure.hints"] - 120.0).abs() < 1e-9);
    assert!((quantities["measure.hints-3"] - 10.0).abs() < 1e-9);
    // The k-th question takes k times 80 us; hints of 8 us each go in between.
    assert!(quantities["measure.way-1"] < quantities["measure.way-12"]);
    let mean = (1..=12).map(|number| quantities[&format!("measure.way-{number}")]).sum::<f64>() / 12.0;
    assert!((quantities["measure.way"] - mean).abs() < 1e-9);
    let MeasureResult::Times { tally, quantiles } = &result.measures["way"] else { panic!("times") };
    assert_eq!((tally.count(), quantiles.count()), (120, 120));
    for name in quantities.keys() {
        assert!(model.subject(name).is_some(), "{name}");
    }
}

#[test]
fn next_is_the_next_number_and_the_first_after_the_last() {
    let also = "through = \"net\" }, { send = \"question\", to = \"think-12\", through = \"net\" }]\n\n[module.think]";
    let model =
        model("through = \"net\" }]\n\n[module.think]", also).unwrap_or_else(|error| panic!("{error}"));
    let result = model.run(1).expect("it is good");
    let heard = |number| result.modules[&format!("hear-{number}")].activations;
    assert_eq!([heard(1), heard(2), heard(12)], [20, 10, 10]);
}

#[test]
fn a_size_can_be_swept() {
    let sweep = model("", "").expect("it is good").sweep("stations", &[1.0, 5.0], &[1]).expect("it is good");
    let hints: Vec<_> =
        sweep.iter().map(|(_, study)| study.mean("measure.hints").expect("measured")).collect();
    assert_eq!(hints, [10.0, 50.0]);
    let error = model("", "").expect("it is good").sweep("stations", &[0.0], &[1]).expect_err("none");
    assert_eq!(
        error.to_string(),
        "m.toml, line 12, processor.station.count: found \"stations\", expected a whole number from 1 to 1000"
    );
}

#[test]
fn a_group_of_modules_on_one_processor_is_waited_for_as_one() {
    let model = Model::new("phases")
        .processor("cpu", Processor::new().instruction("step", "1 ms"))
        .module("begin", Module::on("cpu").start("0 s").then(&["work.each"]))
        .module("work", Module::on("cpu").count(5_u32).execute("step"))
        .module("last", Module::on("cpu").after(&["work.each"]));
    let result = model.run(1).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((result.modules["work"].activations, result.modules["last"].activations), (5, 1));
    assert!((result.simulated.as_seconds() - 0.005).abs() < 1e-12);
}

#[test]
fn what_does_not_fit_is_said_once_with_its_place() {
    for (from, to, expected) in [
        (
            "stations = 12",
            "stations = 0",
            "m.toml, line 12, processor.station.count: found \"stations\", expected a whole",
        ),
        (
            "stations = 12",
            "stations = 1001",
            "line 12, processor.station.count: found \"stations\", expected a whole",
        ),
        (
            "count = \"stations\"",
            "count = true",
            "line 12, processor.station.count: found true, false or a list",
        ),
        (
            "[processor.hub]",
            "[processor.station-3]\n[processor.hub]",
            "processor.station: station-3 is the name of another processor too",
        ),
        (
            "think.each",
            "think",
            "line 22, module.ask.do[0].to: think is a group of 12, and one module is expected here: name one, think-1, or all, think.each",
        ),
        ("think.each", "think.next", "one module is expected here"),
        ("think.each", "think-13", "line 22, module.ask.do[0].to: there is no module think-13"),
        (
            "[module.hear]\non = \"station\"",
            "[module.hear]\non = \"hub\"\ncount = 3",
            "line 27, module.think.do[0].to: hear is a group of 3, and these are 12",
        ),
        (
            "[module.hear]\n",
            "[module.hear]\ncount = 3\n",
            "module.hear.count: a module on the group station is one on each of it",
        ),
        ("of = \"hear\"", "of = \"hear.each\"", "measure.hints: a measure of a group"),
        ("bytes = \"10 B\"", "bytes = \"10 s\"", "line 27, module.think.do[0].bytes: \"10 s\" is a time"),
        (
            "stations = [\"hub\", \"station\"]",
            "stations = [\"station\"]",
            "processor hub is no station of net",
        ),
        (
            "stations = [\"hub\", \"station\"]",
            "stations = [\"hub\"]",
            "processor station-1 is no station of net",
        ),
    ] {
        let found = problems(from, to);
        assert!(found.iter().any(|problem| problem.contains(expected)), "{to}: {found:#?}");
        assert!(found.len() <= 3, "{to}: {found:#?}");
    }
}

#[test]
fn what_a_short_file_asks_for_is_bounded() {
    let groups: String =
        (0..210).map(|number| format!("[module.m{number}]\non = \"station\"\nevery = \"1 s\"\n")).collect();
    let model = RING.replace("stations = 12", "stations = 1000") + &groups;
    let error = Model::from_str(&model, "m.toml").expect_err("210,000 modules");
    assert!(error.to_string().contains("200,000 elements and actions"), "{error}");
}

const SYNCHRONOUS: &str = r#"
[model]
name = "synchronous"
end = "1 s"
[processor.station]
count = 4
[device.ring]
kind = "token-ring"
stations = ["station"]
synchronous_allocation = "100 us"
[module.talk]
on = "station"
every = "20 ms"
do = [{ send = "word", to = "hear", bytes = "1 kB", through = "ring", class = "synchronous" }]
[module.hear]
on = "station"
waits_for = { word = 1 }
"#;

#[test]
fn synchronous_traffic_that_no_ring_can_carry_is_refused() {
    assert!(Model::from_str(SYNCHRONOUS, "m.toml").is_ok());
    for (from, to, expected) in [
        (
            "\"synchronous\" }",
            "\"urgent\" }",
            "line 14, module.talk.do[0].class: found \"urgent\", expected \"asynchronous\" or",
        ),
        (
            "\"100 us\"",
            "\"3 ms\"",
            "line 10, device.ring.synchronous_allocation: an impossible device: a target token rotation time of 8.000 ms cannot be kept: the token's walk, the largest block and all synchronous allocations take 12.",
        ),
        (
            "\"100 us\"",
            "\"50 us\"",
            "line 14, module.talk.do[0].class: a block of it takes 82.240 us, and the synchronous allocation of station-1 on ring is 50.000 us",
        ),
        ("synchronous_allocation = \"100 us\"", "", "the synchronous allocation of station-1 on ring is 0"),
        (
            "synchronous_allocation = \"100 us\"",
            "synchronous_allocations = [\"1 ms\"]",
            "device.ring.synchronous_allocations: found 1 values, expected 4, one for each station",
        ),
        (
            "synchronous_allocation = \"100 us\"",
            "synchronous_allocation = \"1 us\"\nsynchronous_allocations = [\"1 ms\", \"1 ms\", \"1 ms\", \"1 ms\"]",
            "excludes synchronous_allocation",
        ),
        (
            "kind = \"token-ring\"",
            "kind = \"bus\"\nrate = \"10 Mb/s\"",
            "device.ring.synchronous_allocation: there is no such key",
        ),
        (
            "kind = \"token-ring\"\nstations = [\"station\"]\nsynchronous_allocation = \"100 us\"",
            "kind = \"link\"\nstations = [\"station\"]",
            "only a token-ring has synchronous traffic, which ring is not",
        ),
    ] {
        assert!(SYNCHRONOUS.contains(from), "{from}");
        let error = Model::from_str(&SYNCHRONOUS.replace(from, to), "m.toml").expect_err(to);
        assert!(error.to_string().contains(expected), "{to}: {error}");
    }
}
