//! What is wrong with a model is said: all of it, where, and what was expected.

use quintet_errors::Code;
use quintet_model::{Device, Draw, Model, Module, ProblemKind, Processor};

const GOOD: &str = r#"
[model]
name = "good"
end = "1 s"

[parameters]
size = 4

[processor.here]
rate = "1 MHz"
instructions = { step = "100 cycles", send = "5 us" }

[processor.there]

[device.wire]
kind = "bus"
stations = ["here", "there"]
rate = "10 Mb/s"

[module.one]
on = "here"
every = "10 ms"
do = [
    { execute = "step" },
    { send = "data", to = "two", bytes = "size * 1 kB", through = "wire" },
]

[module.two]
on = "there"
waits_for = { data = 1 }

[measure.way]
time = { from = "one.start", to = "two.start" }
"#;

/// What is wrong with the good model once `from` in it is `to`, one line each.
fn problems(from: &str, to: &str) -> Vec<String> {
    crate::said::once_replaced(GOOD, from, to)
}

#[test]
fn a_long_text_is_not_repeated_whole() {
    let said = problems("\"10 ms\"", &format!("\"10 ms{} +\"", " + 1 ms".repeat(6_000)));
    assert!(said.len() == 1 && said[0].len() < 200 && said[0].contains("... (42007 characters)"), "{said:?}");
}

#[test]
fn the_good_model_is_good() {
    let model = Model::from_str(GOOD, "m.toml").unwrap_or_else(|error| panic!("{error}"));
    let warnings: Vec<_> = model.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["m.toml, line 11, processor.here.instructions.send: no module executes it"]);
    let result = model.run(1).expect("it is good");
    // From 0 s on, the end included; 100 us each.
    assert_eq!(result.modules["one"].activations, 100);
    assert!((result.processors["here"].utilisation - 0.01).abs() < 1e-9);
    // 4 kB at 10 Mb/s, after the 100 us.
    assert!((result.quantities()["measure.way"] - 0.0033).abs() < 1e-12);
}

#[test]
fn each_mistake_is_named_with_its_place() {
    let mut failures = Vec::new();
    for (from, to, expected) in [
        (
            "rate = \"1 MHz\"",
            "rat = \"1 MHz\"",
            "m.toml, line 10, processor.here.rat: there is no such key; did you mean rate?",
        ),
        (
            "rate = \"1 MHz\"",
            "cores = 0",
            "line 10, processor.here.cores: found \"0\", expected a whole number from 1 to 1024",
        ),
        ("rate = \"1 MHz\"", "cores = -2", "found \"-2\", expected a whole number from 1 to 1024"),
        ("rate = \"1 MHz\"", "cores = 1.5", "found \"1.5\", expected a whole number from 1 to 1024"),
        ("rate = \"1 MHz\"", "cores = \"size / 3\"", "found \"size / 3\", expected a whole number"),
        ("rate = \"1 MHz\"", "cores = 1e300", "found \"1e300\", expected a whole number from 1 to 1024"),
        (
            "rate = \"1 MHz\"",
            "cores = \"4 ms\"",
            "processor.here.cores: \"4 ms\" is a time, expected a number",
        ),
        ("rate = \"1 MHz\"", "cores = [2]", "processor.here.cores: found a list"),
        (
            "[processor.there]",
            "[processor.there]\n[processor.more]\ncount = 1000\ncores = 1000",
            "processor: found 1000002 cores, expected at most 200000 in all",
        ),
        ("[parameters]", "[parameter]", "line 6, parameter: there is no such key; did you mean parameters?"),
        (
            "\"10 ms\"",
            "10",
            "line 22, module.one.every: \"10\" has no unit, expected a time, such as \"1.5 ms\"",
        ),
        (
            "\"10 ms\"",
            "\"10 kB\"",
            "line 22, module.one.every: \"10 kB\" is an amount of data, expected a time",
        ),
        ("\"10 ms\"", "\"-10 ms\"", "line 22, module.one.every: found \"-10 ms\", expected at least 0"),
        ("\"10 ms\"", "\"0 ms\"", "line 22, module.one.every: found no time between two starts"),
        (
            "\"10 ms\"",
            "{ uniform = { low = \"2 s\", high = \"1 s\" } }",
            "line 22, module.one.every: low = \"2 s\" is above high = \"1 s\"",
        ),
        (
            "\"10 ms\"",
            "{ uniform = { low = \"2 s\" } }",
            "line 22, module.one.every.uniform.high: is missing",
        ),
        (
            "\"10 ms\"",
            "{ exponential = { mean = \"-2 s\" } }",
            "line 22, module.one.every: found mean = \"-2 s\", expected at least 0",
        ),
        (
            "\"10 ms\"",
            "{ gamma = { shape = 0, scale = \"1 s\" } }",
            "module.one.every: found shape = \"0\", expected from 1e-6 to 1e9",
        ),
        (
            "[measure.way]",
            "[module.three]\non = \"here\"\nafter = [\"one\", \"one\"]\n[measure.way]",
            "module.three.after: one stands there twice, and would run once",
        ),
        ("[module.two]", "[module.one]\n[module.two]", "not TOML: duplicate key one"),
        ("\"10 ms\"", "{ exponentail = { mean = \"2 s\" } }", "did you mean exponential?"),
        ("\"10 ms\"", "{ empirical = { values = [[\"1 s\", 0]] } }", "all weights are zero"),
        (
            "\"10 ms\"",
            "{ empirical = { values = [[\"1 s\"]] } }",
            "found a list, expected a list of two values",
        ),
        ("\"10 ms\"", "\"10 ms +\"", "\"10 ms +\" is no expression: character 8: the text ends"),
        (
            "\"10 ms\"",
            "\"1 ms * sise\"",
            "character 8: sise is no parameter, unit or function; did you mean size?",
        ),
        (
            "\"10 ms\"",
            "true",
            "module.one.every: found true or false, expected a number or a text with a unit",
        ),
        (
            "on = \"here\"",
            "on = \"her\"",
            "line 21, module.one.on: there is no processor her; did you mean here?",
        ),
        ("on = \"here\"\n", "", "line 20, module.one.on: is missing, expected the processor"),
        (
            "execute = \"step\"",
            "execute = \"stop\"",
            "line 24, module.one.do[0].execute: there is no instruction of the processor stop; did you mean step?",
        ),
        (
            "to = \"two\", bytes",
            "to = \"tow\", bytes",
            "line 25, module.one.do[1].to: there is no module tow; did you mean two?",
        ),
        (
            "through = \"wire\"",
            "through = \"wirr\"",
            "line 25, module.one.do[1].through: there is no device wirr; did you mean wire?",
        ),
        (
            "send = \"data\"",
            "send = \"date\"",
            "line 25, module.one.do[1].send: nobody waits for the message date",
        ),
        (
            "[\"here\", \"there\"]",
            "[\"here\"]",
            "line 25, module.one.do[1].through: processor there is no station of wire",
        ),
        ("[\"here\", \"there\"]", "[]", "line 17, device.wire.stations: the device has no stations"),
        (
            "[\"here\", \"there\"]",
            "[\"here\", \"there\", \"here\"]",
            "device.wire.stations: here is connected twice",
        ),
        (
            "[\"here\", \"there\"]",
            "[\"here\", \"there\", \"her\"]",
            "there is no processor her; did you mean here?",
        ),
        (
            "kind = \"bus\"",
            "kind = \"buss\"",
            "line 16, device.wire.kind: there is no kind of device buss; did you mean bus?",
        ),
        (
            "kind = \"bus\"",
            "kind = \"bus\"\nslot_time = \"1 us\"",
            "line 17, device.wire.slot_time: there is no such key",
        ),
        ("kind = \"bus\"", "kind = \"bus\"\ncycles_per_word = 1.5", "expected a whole number from 1 to"),
        (
            "kind = \"bus\"",
            "kind = \"bus\"\nwords_per_block = 1\nbits_per_cycle = 1\ncycles_per_word = 1",
            "device.wire: an impossible device: a block of 1 bits",
        ),
        ("rate = \"10 Mb/s\"", "", "device.wire.rate: is missing, expected cycle or rate"),
        (
            "rate = \"1 MHz\"",
            "rate = \"1 MHz\"\ncycle = \"1 us\"",
            "processor.here.rate: says the same as cycle",
        ),
        ("every = \"10 ms\"\n", "", "line 20, module.one: it can never start: it has no condition"),
        (
            "waits_for = { data = 1 }",
            "waits_for = { data = 1, more = 1 }",
            "module.two: it can never start: no module that can start sends it the message more",
        ),
        (
            "waits_for = { data = 1 }",
            "waits_for = { data = 0 }",
            "module.two.waits_for.data: found \"0\", expected a whole number from 1",
        ),
        (
            "waits_for = { data = 1 }",
            "waits_for = { data = 1 }\nthen = [\"one\"]",
            "module one is on another processor than two: send it a message",
        ),
        (
            "to = \"two.start\"",
            "to = \"two.strat\"",
            "line 33, measure.way.time.to: found \"two.strat\", expected MODULE.start or MODULE.end",
        ),
        ("time = {", "tiem = {", "line 33, measure.way.tiem: there is no such key; did you mean time?"),
        ("end = \"1 s\"", "end = \"1 s\"\nwarm_up = \"2 s\"", "line 5, model.warm_up: found 2"),
        ("name = \"good\"\n", "", "line 2, model.name: is missing"),
        ("size = 4", "size = \"size\"", "line 7, parameters.size: is computed from itself"),
        ("size = 4", "size = 4\nms = 1", "line 8, parameters.ms: found ms, expected letters"),
        (
            "size = 4",
            "size = \"4 B\"",
            "parameters.size: \"4 B\" is an amount of data, expected a number without unit",
        ),
        ("size = 4", "size = 4\nsize = 5", "line 8, not TOML"),
        (
            "size = 4",
            "size = 5_000_000",
            "line 25, module.one.do[1].bytes: found a mean of 5e9, expected at most 4294967295",
        ),
        ("size = 4", "size = 2026-01-01", "parameters.size: found a date, expected a number"),
    ] {
        let found = problems(from, to);
        if found.len() > 2 || !found.iter().any(|problem| problem.contains(expected)) {
            failures.push(format!("{to}: {found:#?}, expected {expected}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn an_end_that_is_no_files_takes_the_blame_for_itself() {
    let written = "[model]\nname = \"m\"\nend = \"1 s\"\nwarm_up = \"500 ms\"\n[processor.p]\n[module.a]\non = \"p\"\nstart = \"0 s\"\n";
    let said = |model: &Model| model.run(1).map(drop).map_err(|error| error.to_string());
    let model = Model::from_str(written, "m.toml").unwrap();
    assert_eq!(said(&model), Ok(()));
    let early = "end: found 100.000 ms, expected a time after the warm-up, which ends at 500.000 ms";
    assert_eq!(said(&model.with("end", "100 ms")), Err(early.to_owned()));
    let refused =
        Model::from_str(&written.replace("1 s", "100 ms"), "m.toml").map_err(|error| error.to_string());
    let wrong = "m.toml, line 4, model.warm_up: found 500.000 ms, expected a time before the end, which is at 100.000 ms";
    assert_eq!(refused.map(drop), Err(wrong.to_owned()));
}

#[test]
fn all_mistakes_are_said_at_once_in_the_order_of_the_lines() {
    let bad =
        GOOD.replace("1 MHz", "1 MHzz").replace("\"1 s\"", "1").replace("on = \"there\"", "on = \"where\"");
    let error = Model::from_str(&bad, "m.toml").expect_err("three mistakes");
    let lines: Vec<_> = error.problems.iter().filter_map(|problem| problem.line).collect();
    assert!(lines.is_sorted(), "{error}");
    for line in [4, 10, 29] {
        assert!(lines.contains(&line), "{line}: {error}");
    }
    assert_eq!(error.code(), Code::BadValue);
    assert_eq!(Model::from_str("[", "m.toml").expect_err("no TOML").code(), Code::BadFile);
    assert_eq!(Model::from_file("/nowhere/m.toml").expect_err("no file").code(), Code::BadFile);
}

fn clock(module: Module) -> Model {
    let cpu = Processor::new().instruction("tick", "1 ms").instruction("nothing", "0 s");
    Model::new("clock").processor("cpu", cpu).module("one", module.start("0 s"))
}

/// The kinds of what is wrong with a model built in Rust.
fn kinds(model: &Model) -> Vec<ProblemKind> {
    model
        .check()
        .map_or_else(|error| error.problems, |()| Vec::new())
        .into_iter()
        .map(|problem| problem.kind)
        .collect()
}

#[test]
fn a_cycle_without_time_is_found_where_it_can_be_proved() {
    let begin = || clock(Module::on("cpu").then(&["a"]));
    let cycle = |a: Module| begin().module("a", a.then(&["b"])).module("b", Module::on("cpu").then(&["a"]));
    let still = cycle(Module::on("cpu").execute("nothing"));
    let names = vec!["a".to_owned(), "b".to_owned()];
    assert_eq!(kinds(&still), [ProblemKind::NoTimePasses { cycle: names }]);
    let moving = cycle(Module::on("cpu").execute("tick")).with("end", "1 s");
    assert_eq!(kinds(&moving), []);
    let result = moving.run(1).expect("it is good");
    assert_eq!(result.modules["b"].activations, 1000);
    assert!((result.processors["cpu"].utilisation - 1.0).abs() < 1e-9);
}

#[test]
fn a_cycle_that_stands_still_by_chance_ends_the_run() {
    // With one of the two ways no time passes; which is taken is drawn.
    let model = clock(Module::on("cpu").then(&["a"]))
        .module("a", Module::on("cpu").or_then("a", 1_000_000_000.0).or_then("end", 1e-9))
        .module("end", Module::on("cpu"));
    let ended = model.run(1).expect("nothing can be proved").ended;
    assert!(matches!(ended, quintet_model::Ended::Stalled(_)), "{ended}");
}

#[test]
fn what_waits_for_itself_never_starts() {
    let model = clock(Module::on("cpu"))
        .module("a", Module::on("cpu").after(&["b"]).execute("tick"))
        .module("b", Module::on("cpu").after(&["a"]).execute("tick"));
    let kinds = kinds(&model);
    assert_eq!(kinds.len(), 2, "{kinds:?}");
    assert!(kinds.iter().all(|kind| matches!(kind, ProblemKind::NeverStarts { .. })), "{kinds:?}");
}

#[test]
fn joins_and_choices_start_their_successors() {
    let model = clock(Module::on("cpu").every("10 ms").limit(1000.0).execute("tick").then(&["a", "b"]))
        .module("a", Module::on("cpu").execute("tick"))
        .module("b", Module::on("cpu").execute("tick").or_then("rare", 1.0).or_then("often", 3.0))
        .module("both", Module::on("cpu").after(&["a", "b"]))
        .module("either", Module::on("cpu").after_any(&["a", "b"]))
        .module("rare", Module::on("cpu"))
        .module("often", Module::on("cpu"));
    let result = model.run(1).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(result.ended, quintet_model::Ended::NothingLeft);
    let count = |name: &str| result.modules[name].activations;
    assert_eq!((count("one"), count("both"), count("either")), (1000, 1000, 2000));
    assert_eq!(count("rare") + count("often"), 1000);
    // 250 of 1000 in the mean, with a deviation of 13.7.
    assert!((195..=305).contains(&count("rare")), "{}", count("rare"));
}

#[test]
fn models_built_in_rust_have_the_same_checks() {
    let model = clock(Module::on("cpu").execute("tack").every(Draw::exponential("1 B")))
        .device("net", Device::new("ring", &[]).with("colour", 7.0));
    let kinds = kinds(&model);
    assert!(
        kinds.iter().any(|kind| matches!(kind, ProblemKind::UnknownName { name, .. } if name == "tack")),
        "{kinds:?}"
    );
    assert!(
        kinds.iter().any(|kind| matches!(kind, ProblemKind::UnknownName { name, .. } if name == "ring")),
        "{kinds:?}"
    );
    assert!(kinds.iter().any(|kind| matches!(kind, ProblemKind::WrongDimension { .. })), "{kinds:?}");
    assert!(kinds.iter().any(|kind| matches!(kind, ProblemKind::Disconnected { .. })), "{kinds:?}");
    assert!(clock(Module::on("cpu")).with_parameters(&[("n", 1.0)]).is_err());
}

#[test]
fn a_run_without_end_stops_at_the_limit_of_events_and_says_so() {
    let model = clock(Module::on("cpu").every("10 ms").execute("tick")).with("event_limit", 1000.0);
    let result = model.run(1).expect("it is good");
    assert_eq!((result.ended, result.events), (quintet_model::Ended::EventLimit, 1000));
}

#[test]
fn a_send_that_repeats_sends_so_often_and_random_instructions_are_drawn_each_time() {
    let model = Model::from_str(
        &GOOD.replace("through = \"wire\"", "through = \"wire\", times = \"size - 1\""),
        "m.toml",
    );
    let result = model.expect("it is good").with("end", "0.9999 s").run(1).expect("it is good");
    assert_eq!(result.modules["two"].activations, 300);
    // The mean of 100 draws: its deviation is a tenth of that of one draw.
    let cost = Draw::exponential("1 us");
    let cpu = Processor::new().instruction("tick", cost);
    let times = quintet_model::Action::Execute { instruction: "tick".to_owned(), times: 100.0.into() };
    let model = Model::new("sum")
        .processor("cpu", cpu)
        .module("one", Module::on("cpu").every("1 ms").limit(500.0).action(times));
    let response = model.run(1).expect("it is good").modules["one"].response.clone();
    let deviation = response.deviation().expect("500 values");
    assert!((8e-6..12e-6).contains(&deviation), "{deviation}");
}
