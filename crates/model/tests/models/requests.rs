//! Requests that use pools, in groups, by stated ways, synchronously over a ring; messages that nobody waits for.

use quintet_model::{Ended, MeasureResult, Model, RunResult};

fn model(text: &str) -> Model {
    Model::from_str(text, "m.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn run(text: &str) -> RunResult {
    model(text).run(1).unwrap_or_else(|error| panic!("{error}"))
}

fn response(result: &RunResult, module: &str) -> (u64, f64) {
    let response = &result.modules[module].response;
    (response.count(), (response.mean().unwrap_or(f64::NAN) * 1e9).round() / 1e9)
}

#[test]
fn a_use_that_is_cancelled_ends_and_its_pool_goes_on_to_the_end() {
    let text = r#"
        [model]
        name = "cancelled"
        [processor.cpu]
        [pool.disks]
        servers = 1
        [module.one]
        on = "cpu"
        start = "0 s"
        do = [{ ask = "first", to = "hasty" }]
        [module.two]
        on = "cpu"
        start = "1 ms"
        do = [{ ask = "second", to = "patient" }]
        [module.hasty]
        on = "cpu"
        waits_for = { first = 1 }
        do = [{ send = "load", to = "serve" }, { pause = "5 ms" }, { cancel = "serve" }, { reply = "no" }]
        [module.patient]
        on = "cpu"
        waits_for = { second = 1 }
        do = [{ send = "load", to = "serve" }, { pause = "100 ms" }, { reply = "yes" }]
        [module.serve]
        on = "cpu"
        waits_for = { load = 1 }
        do = [{ use = "disks", time = "20 ms" }, { send = "loaded", to = "done" }]
        [module.done]
        on = "cpu"
        waits_for = { loaded = 1 }
    "#;
    let result = run(text);
    // The use of the first ends at 5 ms, the pool with it at 20 ms; that of the second, from 1 ms on, is done at 40 ms.
    assert_eq!((response(&result, "serve"), result.modules["done"].activations), ((1, 0.039), 1));
    assert_eq!((result.pools["disks"].uses, response(&result, "one").1), (2, 0.005));
    let kept = run(&text.replace("{ cancel = \"serve\" }, ", ""));
    assert_eq!(kept.modules["done"].activations, 2, "it is the cancel that ends it");
}

#[test]
fn groups_use_and_ask_within_what_they_decide() {
    let result = run(r#"
        [model]
        name = "nested"
        end = "1 s"
        [processor.user]
        count = 3
        [processor.server]
        cores = 3
        instructions = { serve = "5 ms" }
        [pool.disks]
        servers = 3
        [device.net]
        kind = "link"
        stations = ["user", "server"]
        [module.work]
        on = "user"
        start = "0 s"
        state = { turns = 0 }
        do = [{ repeat = 2, do = [
            { use = "disks", time = "2 ms" },
            { ask = "job", to = "serve", through = "net", timeout = "6 ms", late = [{ use = "disks", time = "9 ms" }] },
            { set = "turns", value = "turns + 1" },
            { if = "turns == 2", do = [{ use = "disks", time = "1 ms", times = 2 }, { ask = "job", to = "serve", through = "net" }] },
        ] }]
        [module.serve]
        on = "server"
        waits_for = { job = 1 }
        do = [{ execute = "serve" }, { reply = "done" }]
        [measure.asked]
        request = { of = "work" }
    "#);
    // Each: twice 2 + 5 ms, and 2 + 5 ms in the second turn; nobody waits for another.
    for user in ["work-1", "work-2", "work-3"] {
        assert_eq!(response(&result, user), (1, 0.021), "{user}");
    }
    assert_eq!((result.pools["disks"].uses, result.modules["serve"].activations), (12, 9));
    for (measure, count) in [("asked", 9), ("asked-2", 3)] {
        let MeasureResult::Requests { tally, late, .. } = &result.measures[measure] else {
            panic!("requests")
        };
        assert_eq!((tally.count(), *late), (count, 0), "{measure}");
    }
}

#[test]
fn a_question_takes_the_way_that_it_states_and_its_reply_takes_it_back() {
    let with = |route: &str| {
        format!(
            r#"
            [model]
            name = "ways"
            end = "0.99 s"
            [processor.here]
            [processor.there]
            [network.net]
            rate = "1 Gb/s"
            packet = "1500 B"
            [network.net.switch.s]
            [network.net.link.up]
            between = ["here", "s"]
            [network.net.link.short]
            between = ["s", "there"]
            [network.net.link.long]
            between = ["s", "there"]
            delay = "10 ms"
            cost = 5
            [module.one]
            on = "here"
            every = "100 ms"
            do = [{{ ask = "question", to = "two", through = "net"{route} }}]
            [module.two]
            on = "there"
            waits_for = {{ question = 1 }}
            do = [{{ reply = "answer", bytes = "1 kB" }}]
            [measure.asked]
            request = {{ of = "one" }}
            "#
        )
    };
    for (route, short, long, least) in [
        ("", 10, 0, 0.0),
        (", route = [\"up\", \"long\"]", 0, 10, 0.02),
        (", route = [\"up\", \"short\"]", 10, 0, 0.0),
    ] {
        let result = run(&with(route));
        let packets = |port: &str| result.ports[port].packets;
        assert_eq!((packets("net.s.short"), packets("net.there.short")), (short, short), "{route}");
        assert_eq!((packets("net.s.long"), packets("net.there.long")), (long, long), "{route}");
        let asked = result.quantities()["measure.asked"];
        assert!(asked >= least && asked < least + 0.001, "{route}: {asked}");
    }
    let error = Model::from_str(&with(", route = [\"up\", \"lnog\"]"), "m.toml").expect_err("no such link");
    assert!(
        error.to_string().contains("module.one.do[0].route") && error.to_string().contains("lnog"),
        "{error}"
    );
}

/// Two stations whose asynchronous traffic is more than the ring carries, and a question from one to the other every 50 ms.
const RING: &str = r#"
[model]
name = "urgent"
end = "2 s"
[processor.here]
[processor.there]
[device.ring]
kind = "token-ring"
stations = ["here", "there"]
synchronous_allocation = "500 us"
[module.load]
on = "here"
every = "300 us"
do = [{ send = "bulk", to = "sink", bytes = "4 kB", through = "ring" }]
[module.sink]
on = "there"
waits_for = { bulk = 1 }
[module.back]
on = "there"
every = "300 us"
do = [{ send = "bulk", to = "drain", bytes = "4 kB", through = "ring" }]
[module.drain]
on = "here"
waits_for = { bulk = 1 }
[module.ask]
on = "here"
every = "50 ms"
do = [{ ask = "question", to = "answer", bytes = "1 kB", through = "ring", class = "synchronous" }]
[module.answer]
on = "there"
waits_for = { question = 1 }
do = [{ reply = "answer", bytes = "1 kB", through = "ring", class = "synchronous" }]
[measure.asked]
request = { of = "ask" }
"#;

#[test]
fn synchronous_questions_and_replies_pass_what_waits_for_a_ring() {
    let longest = |text: &str| {
        let result = run(text);
        let MeasureResult::Requests { tally, .. } = &result.measures["asked"] else { panic!("requests") };
        tally.largest().unwrap_or(f64::INFINITY)
    };
    // Each waits for two targets of 8 ms at most.
    let urgent = longest(RING);
    assert!(urgent <= 0.032, "{urgent}");
    for (kind, place) in [("ask = \"question\"", "question"), ("reply = \"answer\"", "reply")] {
        let line = RING.lines().find(|line| line.contains(kind)).expect("it is there");
        let text = RING.replace(line, &line.replace(", class = \"synchronous\"", ""));
        let behind = longest(&text);
        assert!(behind > 0.1, "the {place} waits behind what is not urgent: {behind}");
    }
}

#[test]
fn what_no_ring_carries_is_not_synchronous() {
    for (from, to, expected) in [
        ("\"500 us\"", "\"50 us\"", "module.ask.do[0].class: a block of it takes"),
        (
            "reply = \"answer\", bytes = \"1 kB\", through = \"ring\"",
            "reply = \"answer\"",
            "module.answer.do[0].class: only a token-ring has synchronous traffic, and through does not name one",
        ),
        (
            "kind = \"token-ring\"\nstations = [\"here\", \"there\"]\nsynchronous_allocation = \"500 us\"",
            "kind = \"link\"\nstations = [\"here\", \"there\"]",
            "module.ask.do[0].class: only a token-ring has synchronous traffic, which ring is not",
        ),
    ] {
        let problems = crate::said::once_replaced(RING, from, to);
        assert!(problems.iter().any(|problem| problem.contains(expected)), "{to}: {problems:?}");
    }
}

/// Sends so many hints at once to a module that waits for one of them in its midst, after a second.
fn hints(count: u32) -> RunResult {
    run(&format!(
        r#"
        [model]
        name = "hints"
        [processor.cpu]
        [module.tell]
        on = "cpu"
        start = "0 s"
        do = [{{ repeat = {count}, do = [{{ pause = "1 us" }}, {{ send = "hint", to = "late" }}] }}]
        [module.late]
        on = "cpu"
        start = "0 s"
        do = [{{ pause = "1 s" }}, {{ wait = "hint" }}]
        "#
    ))
}

#[test]
fn a_module_keeps_so_many_messages_before_it_waits_for_them_and_no_more() {
    let result = hints(100_000);
    assert_eq!((result.ended, result.modules["late"].activations), (Ended::NothingLeft, 1));
    let ended = hints(100_001).ended;
    assert_eq!(ended, Ended::Overfull { module: "late".to_owned(), message: "hint".to_owned() });
    let said = ended.to_string();
    assert!(
        said.starts_with("module late has 100000 messages ") && said.contains("no room for hint"),
        "{said}"
    );
}
