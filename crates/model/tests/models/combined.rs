//! Actions of several kinds in one program: pools, requests, decisions, groups and ways beside each other, each by hand.

use quintet_model::{Ended, MeasureResult, Model, RunResult};

fn read(text: &str) -> Model {
    Model::from_str(&format!("[model]\nname = \"combined\"\nevent_limit = 100_000\n{text}"), "m.toml")
        .unwrap_or_else(|error| panic!("{error}"))
}

fn run(text: &str) -> RunResult {
    read(text).run(1).unwrap_or_else(|error| panic!("{error}"))
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
}

/// How long requests took on average, how many there were, and how many were late.
fn requests(result: &RunResult, measure: &str) -> (f64, u64, u64) {
    let MeasureResult::Requests { late, tally, .. } = &result.measures[measure] else { panic!("requests") };
    (tally.mean().unwrap_or(0.0), tally.count(), *late)
}

#[test]
fn a_pool_is_used_in_turns_branches_and_what_comes_too_late() {
    let result = run(r#"
        [processor.host]
        [pool.disk]
        [module.work]
        on = "host"
        start = "0 s"
        state = { turns = 0 }
        do = [
            { while = "turns < 3", do = [
                { use = "disk", time = "1 ms" },
                { set = "turns", value = "turns + 1" },
                { repeat = "turns", do = [{ use = "disk", time = "10 ms" }] },
            ] },
            { wait = "nothing", timeout = "100 ms", late = [
                { if = "turns == 3", do = [{ use = "disk", time = "500 ms", times = 2 }], else = [{ use = "disk", time = "5 s" }] },
            ] },
        ]
        [module.never]
        on = "host"
        after = ["work"]
        do = [{ send = "nothing", to = "work" }]
    "#);
    // 3 times 1 ms, 1 + 2 + 3 times 10 ms, 100 ms, and a second.
    near(result.modules["work"].response.mean().expect("one"), 0.003 + 0.060 + 0.100 + 1.0);
    assert_eq!((result.pools["disk"].uses, result.ended), (11, Ended::NothingLeft));
}

#[test]
fn who_uses_a_pool_may_ask_itself() {
    let result = run(r#"
        [processor.host]
        [pool.disk]
        [pool.tape]
        [module.work]
        on = "host"
        start = "0 s"
        do = [{ send = "job", to = "both" }]
        [module.both]
        on = "host"
        waits_for = { job = 1 }
        state = { depth = 0 }
        do = [
            { use = "disk", time = "20 ms" },
            { set = "depth", value = "depth + 1" },
            { if = "depth == 1", do = [{ ask = "job", to = "both" }] },
            { use = "tape", time = "1 ms" },
            { reply = "done" },
        ]
        [measure.inner]
        request = { of = "both" }
    "#);
    assert_eq!(
        (result.pools["disk"].uses, result.pools["tape"].uses),
        (2, 2),
        "no reply goes through a pool"
    );
    let (mean, count, late) = requests(&result, "inner");
    near(mean, 0.021);
    assert_eq!((count, late), (1, 0));
}

/// What is long is one activation's, however many instructions it is written out as: on two cores it is on one at a time.
#[test]
fn an_activation_that_decides_is_on_one_core_however_long_it_is() {
    let text = |cores: u32| {
        format!(
            r#"
            [processor.host]
            cores = {cores}
            instructions = {{ step = {{ uniform = {{ low = "1 ms", high = "1.0001 ms" }} }} }}
            [module.work]
            on = "host"
            start = "0 s"
            state = {{ done = 0 }}
            do = [{{ execute = "step", times = 250 }}, {{ set = "done", value = 1 }}]
            "#
        )
    };
    for cores in [1, 2] {
        let took = run(&text(cores)).modules["work"].response.mean().expect("one");
        assert!((0.25..0.25003).contains(&took), "{took} on {cores}");
    }
}

/// A run in which time stands still comes to an end, also where what is executed takes no time.
#[test]
fn a_turn_without_end_is_noticed() {
    let text = |instruction: &str| {
        format!(
            r#"
            [processor.host]
            instructions = {{ free = "0 s" }}
            [module.work]
            on = "host"
            start = "1 ms"
            do = [{{ while = "1", do = [{instruction}] }}]
            "#
        )
    };
    for instruction in
        ["{ execute = \"free\" }", "{ execute = \"free\", times = 300 }", "{ pause = \"0 s\" }"]
    {
        let result = run(&text(instruction));
        assert!(
            matches!(result.ended, Ended::Stalled(_) | Ended::EventLimit),
            "{instruction}: {:?}",
            result.ended
        );
    }
}
