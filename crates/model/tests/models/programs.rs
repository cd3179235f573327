//! Modules that decide, ask and wait, against what is known exactly; what is wrong with them.

use quintet_model::{MeasureResult, Model, RunResult};
use std::path::Path;

fn example(name: &str, values: &[(&str, f64)]) -> Model {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(name);
    let model = Model::from_file(path).unwrap_or_else(|error| panic!("{error}"));
    model.with_parameters(values).expect("parameters of the example")
}

fn mean(model: &Model, seeds: u64, quantity: &str) -> f64 {
    let study = model.replicate(&(0..seeds).collect::<Vec<_>>()).unwrap_or_else(|error| panic!("{error}"));
    study.mean(quantity).unwrap_or_else(|| panic!("{quantity} is measured"))
}

fn near(found: f64, exact: f64, part: f64, what: &str) {
    assert!((found / exact - 1.0).abs() <= part, "{what}: {found}, exactly {exact}, within {part} of it");
}

/// A station of a closed network: how often a customer visits it, the mean service in seconds, and its servers.
type Station = (f64, f64, usize);

/// The throughput and the time of a round without thinking, exactly, by mean value analysis with marginal probabilities
/// (Reiser and Lavenberg 1980, section 3.4).
fn mean_value_analysis(customers: usize, think: f64, stations: &[Station]) -> (f64, f64) {
    // The probability of so many customers at each station, with one customer fewer in the network.
    let mut marginal: Vec<Vec<f64>> = stations.iter().map(|_| vec![1.0]).collect();
    let (mut throughput, mut round) = (0.0, 0.0);
    for present in 1..=customers {
        let rate = |servers: usize, busy: usize| busy.min(servers) as f64;
        let response = |(&(_, service, servers), before): (&Station, &Vec<f64>)| {
            let part = |(others, probability): (usize, &f64)| {
                (others + 1) as f64 * service / rate(servers, others + 1) * probability
            };
            before.iter().enumerate().map(part).sum::<f64>()
        };
        let responses: Vec<f64> = stations.iter().zip(&marginal).map(response).collect();
        round = stations.iter().zip(&responses).map(|((visits, ..), response)| visits * response).sum();
        throughput = present as f64 / (think + round);
        for (&(visits, service, servers), before) in stations.iter().zip(&mut marginal) {
            let demand = throughput * visits * service;
            let mut after = vec![0.0];
            after.extend((1..=present).map(|here| demand / rate(servers, here) * before[here - 1]));
            after[0] = 1.0 - after.iter().sum::<f64>();
            *before = after;
        }
    }
    (throughput, round)
}

#[test]
fn mean_value_analysis_gives_what_is_known() {
    // One customer waits for nobody; two at one server of 1 s without thinking keep it busy.
    let (throughput, round) = mean_value_analysis(1, 1.0, &[(2.0, 0.5, 1), (1.0, 1.0, 3)]);
    assert!((throughput - 1.0 / 3.0).abs() < 1e-12 && (round - 2.0).abs() < 1e-12);
    let (throughput, round) = mean_value_analysis(2, 0.0, &[(1.0, 1.0, 1)]);
    assert!((throughput - 1.0).abs() < 1e-12 && (round - 2.0).abs() < 1e-12);
    // Two at two servers never wait.
    assert!((mean_value_analysis(2, 0.0, &[(1.0, 1.0, 2)]).1 - 1.0).abs() < 1e-12);
}

#[test]
fn a_site_of_three_tiers_is_as_mean_value_analysis_has_it() {
    let stations = [(2.0, 0.008, 2), (3.0, 0.006, 2), (2.0, 0.007, 1)];
    for users in [1, 20, 60] {
        let (throughput, round) = mean_value_analysis(users, 1.0, &stations);
        let model = example("web.toml", &[("users", users as f64)]);
        let model = if users == 1 { model.with("end", "2000 s") } else { model };
        let study = model.replicate(&(0..8).collect::<Vec<_>>()).expect("it is good");
        let found = |quantity: &str| study.mean(quantity).expect("it is measured");
        near(found("measure.page"), round, 0.02, &format!("page, {users} users"));
        near(found("measure.page.count") / (found_time(&study.runs[0])), throughput, 0.02, "pages a second");
        near(found("processor.database.utilisation"), throughput * 0.014, 0.02, "database");
        near(found("processor.web.utilisation"), throughput * 0.016 / 2.0, 0.02, "web");
        near(found("processor.application.utilisation"), throughput * 0.018 / 2.0, 0.02, "application");
        for run in &study.runs {
            let MeasureResult::Requests { tally, quantiles, late } = &run.measures["page"] else {
                panic!("a request is measured")
            };
            let at = |part| quantiles.at(part).expect("some").as_seconds();
            assert!(*late == 0 && at(0.0) <= at(0.5) && at(0.5) <= at(0.99));
            assert!((at(1.0) - tally.largest().expect("some")).abs() < 1e-9);
        }
    }
}

fn found_time(run: &RunResult) -> f64 {
    run.measured.as_seconds()
}

#[test]
fn stop_and_wait_delivers_what_losses_leave() {
    for (loss, delay, timeout) in [(0.0, 5.0, 20.0), (0.1, 5.0, 20.0), (0.3, 2.0, 4.5), (0.5, 5.0, 11.0)] {
        let model =
            example("retransmission.toml", &[("loss", loss), ("delay_ms", delay), ("timeout_ms", timeout)]);
        let tries = 1.0 / ((1.0 - loss) * (1.0 - loss));
        let packet = 1e-3 * (1.0 + 2.0 * delay + (tries - 1.0) * (1.0 + timeout));
        near(mean(&model, 4, "measure.packets"), 1.0 / packet, 0.02, &format!("loss {loss}"));
    }
}

#[test]
fn a_timeout_below_the_round_trip_delivers_nothing() {
    let model = example("retransmission.toml", &[("loss", 0.0), ("timeout_ms", 9.0)]).with("end", "10 s");
    let result = model.run(1).expect("it is good");
    assert_eq!(result.modules["count"].activations, 0, "a reply that comes too late is nobody's");
    assert_eq!(result.modules["receive"].activations, 1_000);
}

fn erlang_b(lines: u32, offered: f64) -> f64 {
    (1..=lines).fold(1.0, |blocked, line| offered * blocked / (f64::from(line) + offered * blocked))
}

#[test]
fn calls_are_lost_as_erlang_has_it_whatever_their_length() {
    for (lines, offered) in [(1, 0.5), (3, 2.0), (10, 8.0)] {
        let model = example("admission.toml", &[("lines", lines.into()), ("offered", offered)]);
        let study = model.replicate(&(0..12).collect::<Vec<_>>()).expect("it is good");
        let found = |quantity: &str| study.mean(quantity).expect("it is measured");
        let lost = found("module.lose.activations") / found("module.call.activations");
        near(lost, erlang_b(lines, offered), 0.05, &format!("{lines} lines"));
    }
}

const GOOD: &str = r#"
[model]
name = "good"
end = "1 s"
[parameters]
size = 4
[processor.here]
instructions = { step = "1 ms" }
[processor.there]
[processor.far]
[device.wire]
kind = "link"
stations = ["here", "there"]
[device.other]
kind = "link"
stations = ["there", "far", "here"]
[module.one]
on = "here"
every = "10 ms"
state = { count = 0 }
do = [
    { if = "count < size", do = [{ set = "count", value = "count + 1" }], else = [{ pause = "1 ms" }] },
    { ask = "data", to = "two", bytes = "1 kB", through = "wire", timeout = "5 ms" },
    { repeat = "count", do = [{ execute = "step" }] },
    { wait = "hint", timeout = "1 ms", late = [{ cancel = "four" }] },
]
[module.two]
on = "there"
waits_for = { data = 1 }
do = [{ send = "more", to = "three", through = "other" }]
[module.three]
on = "far"
waits_for = { more = 1 }
do = [{ reply = "all", through = "other" }]
[module.four]
on = "here"
every = "10 ms"
do = [{ send = "hint", to = "one" }]
[measure.stay]
request = { of = "one", ask = "data" }
"#;

/// What is wrong with the good model once `from` in it is `to`.
fn problems(from: &str, to: &str) -> Vec<String> {
    crate::said::once_replaced(GOOD, from, to)
}

#[test]
fn a_request_goes_over_several_modules_and_the_reply_straight_back() {
    let model = Model::from_str(GOOD, "m.toml").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(model.warnings(), []);
    let result = model.run(1).expect("it is good");
    let MeasureResult::Requests { tally, late, .. } = &result.measures["stay"] else { panic!("requests") };
    assert!(tally.count() > 50 && *late == 0, "{tally:?}, {late}");
}

#[test]
fn each_mistake_is_named_with_its_place() {
    let mut failures = Vec::new();
    for (from, to, expected) in [
        (
            "\"count < size\"",
            "\"cont < size\"",
            "line 22, module.one.do[0].if: \"cont < size\" is no expression: character 1",
        ),
        ("\"count < size\"", "\"cont < size\"", "did you mean count?"),
        ("\"count < size\"", "\"count < 3 ms\"", "a number without unit and a time do not go together"),
        ("\"count < size\"", "\"3 ms\"", "module.one.do[0].if: \"3 ms\" is a time, expected a number"),
        ("\"count < size\"", "\"count <\"", "the text ends, expected a number"),
        ("\"count < size\"", "\"count = size\"", "found =, expected"),
        (
            "\"count + 1\"",
            "\"1 / 0\"",
            "do[0].do[0].value: \"1 / 0\" is no expression: character 1: no finite number",
        ),
        (
            "set = \"count\"",
            "set = \"cuont\"",
            "do[0].do[0].set: there is no variable cuont; did you mean count?",
        ),
        ("{ count = 0 }", "{ size = 0, count = 0 }", "module.one.state.size: found size, expected letters"),
        ("{ count = 0 }", "{ queue = 0, count = 0 }", "module.one.state.queue: found queue"),
        ("{ count = 0 }", "{ count = \"1 s\" }", "module.one.state.count: \"1 s\" is a time"),
        ("pause = \"1 ms\"", "pause = \"1 B\"", "do[0].else[0].pause: \"1 B\" is an amount of data"),
        ("pause = \"1 ms\"", "puase = \"1 ms\"", "expected a table with one of execute, use, send, ask"),
        ("timeout = \"5 ms\"", "timeout = 5", "do[1].timeout: \"5\" has no unit"),
        ("ask = \"data\", to = \"two\",", "ask = \"date\", to = \"two\",", "date"),
        ("ask = \"data\", to = \"two\",", "ask = \"data\",", "module.one.do[1].to: is missing"),
        (
            "{ cancel = \"four\" }",
            "{ cancel = \"fuor\" }",
            "do[3].late[0].cancel: there is no module fuor; did you mean four?",
        ),
        ("{ send = \"hint\", to = \"one\" }", "{ reply = \"hint\" }", "module.four.do[0]: nobody asks it"),
        ("ask = \"data\" }", "ask = \"more\" }", "measure.stay.request.ask: the module does not ask by more"),
        (
            "every = \"10 ms\"\ndo = [{ send = \"hint\"",
            "do = [{ send = \"hint\"",
            "module.four: it can never start",
        ),
    ] {
        let said = problems(from, to);
        if !said.iter().any(|said| said.contains(expected)) {
            failures.push(format!("{to}: expected {expected}, said {said:?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let deep = format!("{}{{ pause = \"1 ms\" }}{}", "{ repeat = 1, do = [".repeat(20), "] }".repeat(20));
    let said = problems("{ send = \"hint\", to = \"one\" }", &deep);
    assert!(said.iter().any(|said| said.contains("at most 16 actions within each other")), "{said:?}");
}

#[test]
fn groups_ask_and_cancel_each_their_own() {
    let text = r#"
        [model]
        name = "groups"
        end = "1 s"
        [processor.user]
        count = 3
        [processor.server]
        [device.net]
        kind = "link"
        stations = ["user", "server"]
        [module.use]
        on = "user"
        every = "100 ms"
        do = [{ repeat = 2, do = [{ ask = "x", to = "serve", through = "net", timeout = "5 ms", late = [{ cancel = "idle" }] }] }]
        [module.idle]
        on = "user"
        every = "100 ms"
        do = [{ pause = "50 ms" }, { send = "never", to = "never" }]
        [module.never]
        on = "user"
        waits_for = { never = 1 }
        [module.serve]
        on = "server"
        waits_for = { x = 1 }
        do = [{ pause = "10 ms" }, { reply = "y" }]
        [measure.late]
        request = { of = "use" }
    "#;
    let model = Model::from_str(text, "m.toml").unwrap_or_else(|error| panic!("{error}"));
    let result = model.run(1).expect("it is good");
    // At 0 to 1 s, each twice, on three processors; the last of 1 s is open.
    let MeasureResult::Requests { late, tally, .. } = &result.measures["late"] else { panic!("requests") };
    assert_eq!((*late, tally.count()), (60, 0));
    assert_eq!(result.modules["never"].activations, 0);
}
