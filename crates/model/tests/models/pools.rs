//! Pools: by hand, and against what is known exactly of queues with several servers.

use quintet_model::{
    Draw, Measure, Model, ModelError, Module, Network, NetworkLink, NetworkSwitch, Pool, Processor, RunResult,
};

fn run(model: &Model) -> RunResult {
    model.run(1).unwrap_or_else(|error| panic!("{error}"))
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
}

fn read(text: &str) -> Result<Model, ModelError> {
    Model::from_str(
        &format!("[model]\nname = \"disks\"\n\n[processor.host.instructions]\nprepare = \"1 ms\"\n\n{text}"),
        "m.toml",
    )
}

#[test]
fn a_use_takes_its_overhead_its_time_and_its_bytes() {
    let model = read(
        r#"
        [pool.disks]
        servers = 2
        rate = "100 MB/s"
        overhead = "2 ms"

        [module.load]
        on = "host"
        every = "100 ms"
        limit = 3
        do = [{ execute = "prepare" }, { use = "disks", time = "3 ms", bytes = "500 kB", times = 2 }, { execute = "prepare" }]
        "#,
    )
    .expect("a good model");
    assert_eq!(model.warnings(), []);
    let result = run(&model);
    let load = &result.modules["load"];
    // 2 + 3 + 5 ms twice, and a millisecond before and behind.
    near(load.response.mean().expect("three"), 0.022);
    assert_eq!(load.activations, 3);
    let disks = &result.pools["disks"];
    assert_eq!((disks.uses, disks.bytes, disks.longest_queue), (6, 3_000_000, 1));
    near(disks.utilisation, 0.060 / (2.0 * 0.222));
    near(result.processors["host"].utilisation, 0.006 / 0.222);
    for name in result.quantities().keys() {
        let subject = model.subject(name).unwrap_or_else(|| panic!("{name}"));
        assert!(!model.is_in_group(&subject), "{name}");
    }
}

/// Three uses at once of a pool of two: the third waits for whichever is free first. With a key they wait for the one that it names.
#[test]
fn uses_wait_for_any_server_or_for_the_one_that_is_named() {
    let uses = |key: [Option<&str>; 3]| {
        let model = Model::new("keys")
            .processor("host", Processor::new())
            .pool("desk", Pool::new().with("servers", 2.0));
        let times = ["5 ms", "3 ms", "1 ms"];
        let one = |model: Model, (name, (time, key)): (&str, (&str, Option<&str>))| {
            let module = Module::on("host").start("0 s").action(quintet_model::Action::Use {
                pool: "desk".to_owned(),
                time: time.into(),
                bytes: "0 B".into(),
                key: key.map(Draw::from),
                times: 1.0.into(),
            });
            model.module(name, module)
        };
        let model = ["a", "b", "c"].into_iter().zip(times.into_iter().zip(key)).fold(model, one);
        let result = run(&model);
        ["a", "b", "c"].map(|name| (result.modules[name].response.mean().expect("once") * 1e3).round())
    };
    assert_eq!(uses([None, None, None]), [5.0, 3.0, 4.0]);
    assert_eq!(uses([Some("0"), Some("1"), Some("2")]), [5.0, 3.0, 6.0], "2 modulo 2 is the first");
    assert_eq!(uses([Some("0"), Some("4"), Some("1.9")]), [5.0, 8.0, 1.0], "numbers are rounded down");
    assert_eq!(uses([None, Some("0"), None]), [5.0, 8.0, 1.0], "the other one is free");
}

/// While a pool works for a module, the module's processor works for others, and for other activations of it.
#[test]
fn a_processor_goes_on_while_a_pool_works() {
    let model = read(
        r#"
        [pool.disk]

        [module.load]
        on = "host"
        every = "2 ms"
        limit = 10
        do = [{ execute = "prepare" }, { use = "disk", time = "2 ms" }, { execute = "prepare" }]

        [measure.load]
        time = { from = "load.start", to = "load.end" }
        "#,
    )
    .expect("a good model");
    let result = run(&model);
    // Prepared at 1 ms, loaded at 3, done at 4: when the next one is prepared it is between the two.
    let load = &result.modules["load"];
    assert_eq!(load.activations, 10);
    assert!(load.response.mean().expect("ten") < 0.0055, "{:?}", load.response.mean());
    near(result.pools["disk"].utilisation, 20.0 / (result.simulated.as_seconds() * 1e3));
}

/// What a processor must do for each message of a device is not asked of it for a pool.
#[test]
fn a_pool_interrupts_nobody_and_finds_no_queue_full() {
    let host = Processor::new()
        .with("input_controller", false)
        .with("output_controller", false)
        .with("io_setup", "1 s")
        .with("interrupt", "1 s")
        .with("queue_limit", 0.0);
    let load = Module::on("host").every("10 ms").limit(20.0).use_pool("disk", "4 ms");
    let result =
        run(&Model::new("quiet").processor("host", host).pool("disk", Pool::new()).module("load", load));
    assert_eq!(result.modules["load"].activations, 20);
    near(result.modules["load"].response.mean().expect("twenty"), 0.004);
    assert_eq!(result.processors["host"].lost, 0);
}

/// The mean wait in M/M/c, by Erlang's formula C: with `busy` of them at work in the mean, and services of a second.
fn erlang_c(servers: u32, busy: f64) -> f64 {
    let (mut term, mut fewer) = (1.0, 0.0);
    for number in 1..=servers {
        fewer += term;
        term *= busy / f64::from(number);
    }
    let all = term / (1.0 - busy / f64::from(servers));
    all / (fewer + all) / (f64::from(servers) - busy)
}

/// Whether the mean of a quantity over 48 runs is `exact`: within an interval of 99.9 % that is narrower than an eighth to each side.
fn check_mean(model: &Model, quantity: &str, exact: f64) {
    let seeds: Vec<u64> = (0..48).collect();
    let study = model.replicate(&seeds).unwrap_or_else(|error| panic!("{error}"));
    let interval = study.interval(quantity, 0.999).expect("it is measured").expect("48 runs");
    assert!(interval.contains(exact), "{quantity}: {interval:?}, expected {exact}");
    assert!(interval.half_width < 0.125 * exact, "{quantity}: {interval:?} says little about {exact}");
}

#[test]
fn waiting_for_pools_and_cores_is_erlang_s() {
    for servers in [2_u32, 4, 8] {
        let (load, count) = (0.7, f64::from(servers));
        let wait = erlang_c(servers, load * count);
        let service = || Draw::exponential("1 s");
        let between = || Draw::exponential(format!("{} s", 1.0 / (load * count)));
        let base = Model::new("M/M/c")
            .with("end", format!("{} s", 16_000.0 / count).as_str())
            .with("warm_up", "100 s");
        let pool = base
            .clone()
            .processor("host", Processor::new())
            .pool("servers", Pool::new().with("servers", count))
            .module(
                "come",
                Module::on("host").start(between()).every(between()).use_pool("servers", service()),
            );
        check_mean(&pool, "pool.servers.waiting", wait);
        check_mean(&pool, "module.come.response", wait + 1.0);
        check_mean(&pool, "pool.servers.utilisation", load);
        let cores = Processor::new().with("cores", count).instruction("serve", service());
        let cores = base
            .processor("host", cores)
            .module("come", Module::on("host").start(between()).every(between()).execute("serve"));
        check_mean(&cores, "module.come.waiting", wait);
    }
}

/// A network of queues with exponential services, whose stations are each as if alone (Jackson 1957): M/M/1, M/M/2, and M/M/1 again for
/// those of whom a third come back. Between them customers cross two switches, on links without queues.
#[test]
fn stations_of_a_network_of_queues_are_as_if_alone() {
    let far =
        |from: &str, to: &str| NetworkLink::new(from, to).with("rate", "1000 Gb/s").with("delay", "3 ms");
    let lan = Network::new()
        .switch("one", NetworkSwitch::new())
        .switch("two", NetworkSwitch::new())
        .link("a", far("world", "one"))
        .link("b", far("one", "two"))
        .link("c", far("two", "desk"));
    // 0.4 customers a second from outside; each comes to the desk 1.5 times in the mean.
    let between = || Draw::exponential("1 s / 0.4");
    let send = |module: Module| module.send("customer", "pay", "1 B", "lan");
    let model = Model::new("Jackson")
        .with("end", "8000 s")
        .with("warm_up", "200 s")
        .processor("world", Processor::new())
        .processor("desk", Processor::new())
        .network("lan", lan)
        .pool("door", Pool::new())
        .pool("counter", Pool::new().with("servers", 2.0))
        .pool("till", Pool::new())
        .module(
            "come",
            send(
                Module::on("world")
                    .start(between())
                    .every(between())
                    .use_pool("door", Draw::exponential("1.5 s")),
            ),
        )
        .module("pay", Module::on("desk").waits_for("customer", 1.0).then(&["buy"]))
        .module("again", Module::on("desk"))
        .module(
            "buy",
            Module::on("desk")
                .use_pool("counter", Draw::exponential("2 s"))
                .use_pool("till", Draw::exponential("1 s"))
                .or_then("buy_more", 1.0)
                .or_then("again", 2.0),
        )
        .module("buy_more", Module::on("desk").then(&["buy"]))
        .measure("pay", Measure::Time { from: "come.end".to_owned(), to: "pay.start".to_owned() });
    check_mean(&model, "pool.door.waiting", 1.5 * 0.6 / 0.4);
    // 0.6 a second come to the counter, 1.2 busy of two; to the till as many.
    check_mean(&model, "pool.counter.waiting", 2.0 * erlang_c(2, 1.2));
    check_mean(&model, "pool.till.waiting", 0.6 / 0.4);
    let way = model.run(1).expect("a good model").quantities()["measure.pay"];
    assert!((way - 0.009).abs() < 1e-6, "{way}");
}

#[test]
fn each_mistake_is_named_with_its_place() {
    let load = "\n[module.load]\non = \"host\"\nstart = \"0 s\"\ndo = [{ execute = \"prepare\" }, ";
    let cases = [
        (
            "[pool.disks]",
            "{ use = \"discs\", time = \"1 s\" }]",
            "module.load.do[1].use: there is no pool discs; did you mean disks?",
        ),
        (
            "[pool.disks]",
            "{ use = \"disks\", bytes = \"1 B\" }]",
            "pool.disks.rate: is missing, expected a data rate",
        ),
        (
            "[pool.disks]\nservers = 0",
            "{ use = \"disks\" }]",
            "pool.disks.servers: found \"0\", expected a whole number from 1 to 4096",
        ),
        ("[pool.disks]\nspeed = 1", "{ use = \"disks\" }]", "pool.disks.speed: there is no such key"),
        (
            "[pool.disks]",
            "{ use = \"disks\", time = \"1 B\" }]",
            "module.load.do[1].time: \"1 B\" is an amount of data, expected a time",
        ),
        (
            "[pool.disks]",
            "{ use = \"disks\", key = \"1 s\" }]",
            "module.load.do[1].key: \"1 s\" is a time, expected a number",
        ),
        (
            "[pool.disks]",
            "{ use = \"disks\", tme = 1 }]",
            "module.load.do[1].tme: there is no such key; did you mean time?",
        ),
        (
            "[pool.disks]",
            "{ uses = 1 }]",
            "module.load.do[1]: found a table, expected a table with one of execute, use, send, ask",
        ),
    ];
    for (pool, action, expected) in cases {
        let error = read(&format!("{pool}\n{load}{action}\n")).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}\nexpected {expected}");
    }
    let idle = read(&format!("[pool.disks]\n{load}]\n")).expect("a good model");
    let said: Vec<_> = idle.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(said, ["m.toml, line 7, pool.disks: no module uses it"]);
}
