//! Queues with services of every distribution, against the formula of Pollaczek and Khinchine; distributions from files.

use quintet_model::{Device, Draw, Measure, Model, Module, Processor};
use std::path::Path;

/// The queue M/G/1 with a load of 0.6 and services of 10 ms in the mean.
fn queue(service: Draw) -> Model {
    let arrival = || Draw::exponential("10 ms / 0.6");
    let arrive =
        Module::on("world").start(arrival()).every(arrival()).send("customer", "serve", "0 B", "door");
    Model::new("M/G/1")
        .with("end", "150 s")
        .with("warm_up", "5 s")
        .processor("world", Processor::new())
        .processor("server", Processor::new().instruction("serve", service))
        .device("door", Device::new("link", &["world", "server"]))
        .module("arrive", arrive)
        .module("serve", Module::on("server").waits_for("customer", 1).execute("serve"))
}

fn gamma_function(x: f64) -> f64 {
    // Stirling's series, shifted up to where it is exact to ten digits.
    let (mut x, mut divided) = (x, 1.0);
    while x < 12.0 {
        divided *= x;
        x += 1.0;
    }
    let series = 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3)) + 1.0 / (1260.0 * x.powi(5));
    (std::f64::consts::TAU / x).sqrt() * (x / std::f64::consts::E).powf(x) * series.exp() / divided
}

/// Distributions with a mean of 10 ms, each with the square of its coefficient of variation.
fn services() -> Vec<(&'static str, Draw, f64)> {
    let weibull = |shape: f64| {
        let (first, second) = (gamma_function(1.0 + 1.0 / shape), gamma_function(1.0 + 2.0 / shape));
        let scale = format!("{} ms", 10.0 / first);
        (Draw::Weibull { shape: shape.into(), scale: scale.into() }, second / (first * first) - 1.0)
    };
    let (infant, aged) = (weibull(0.8), weibull(2.0));
    // Between 4 and 100 with a density in proportion to x^-2.5.
    let moment = |power: f64| 1.5 * (100f64.powf(power - 1.5) - 4f64.powf(power - 1.5)) / (power - 1.5);
    let moment = |power: f64| moment(power) / (4f64.powf(-1.5) - 100f64.powf(-1.5));
    let unit = format!("{} ms", 10.0 / moment(1.0));
    let bounded = Draw::Pareto {
        shape: "1.5".into(),
        minimum: format!("4 * {unit}").into(),
        maximum: Some(format!("100 * {unit}").into()),
    };
    let sigma: f64 = 0.7;
    let median = format!("{} ms", 10.0 / (sigma * sigma / 2.0).exp());
    vec![
        ("constant", "10 ms".into(), 0.0),
        ("uniform", Draw::uniform("0 ms", "20 ms"), 1.0 / 3.0),
        ("exponential", Draw::exponential("10 ms"), 1.0),
        ("gamma", Draw::Gamma { shape: "4".into(), scale: "2.5 ms".into() }, 0.25),
        (
            "beta",
            Draw::Beta { a: "1".into(), b: "1".into(), low: "5 ms".into(), high: "15 ms".into() },
            1.0 / 12.0,
        ),
        ("weibull below 1", infant.0, infant.1),
        ("weibull above 1", aged.0, aged.1),
        // 5 / (6 - 5) x 8.333 ms; 1 / (6 x 4).
        (
            "pareto",
            Draw::Pareto { shape: "6".into(), minimum: "50 ms / 6".into(), maximum: None },
            1.0 / 24.0,
        ),
        ("bounded pareto", bounded, moment(2.0) / (moment(1.0) * moment(1.0)) - 1.0),
        ("log-normal", Draw::LogNormal { mean: "10 ms".into(), deviation: "10 ms".into() }, 1.0),
        (
            "log-normal by its median",
            Draw::LogNormalMedian { median: median.into(), sigma: sigma.into() },
            (sigma * sigma).exp() - 1.0,
        ),
        (
            "weighted",
            Draw::Weighted(vec![("5 ms".into(), "3".into()), ("25 ms".into(), "1".into())]),
            0.75 * 0.25 + 0.25 * 2.25,
        ),
    ]
}

#[test]
fn waiting_follows_pollaczek_and_khinchine_for_every_distribution() {
    for (name, service, variation) in services() {
        let study = queue(service).replicate(&(0..16).collect::<Vec<_>>());
        let study = study.unwrap_or_else(|error| panic!("{name}: {error}"));
        let exact = 0.6 * 0.01 * (1.0 + variation) / (2.0 * 0.4);
        // 99.9%: of twelve distributions one in eighty sets of seeds has one that fails by chance.
        let interval =
            study.interval("module.serve.waiting", 0.999).expect("measured").expect("sixteen runs");
        assert!(interval.contains(exact), "{name}: {interval:?}, exactly {exact}");
        assert!(interval.half_width < 0.2 * exact, "{name}: too wide to tell: {interval:?}");
        let busy = study.mean("processor.server.utilisation").expect("measured");
        assert!((busy - 0.6).abs() < 0.02, "{name}: {busy}");
    }
}

const WITH_SERVICE: &str = r#"
[model]
name = "service"
end = "10 s"
[processor.server.instructions]
serve = SERVICE
[module.serve]
on = "server"
every = "100 ms"
do = [{ execute = "serve" }]
"#;

fn with_service(service: &str, file: &Path) -> Result<Model, String> {
    Model::from_str(&WITH_SERVICE.replace("SERVICE", service), &file.display().to_string())
        .map_err(|error| error.to_string())
}

#[test]
fn impossible_distributions_are_refused_in_the_words_of_the_file() {
    let place = "m.toml, line 6, processor.server.instructions.serve";
    for (service, expected) in [
        ("{ weibull = { shape = 0, scale = \"1 ms\" } }", "found shape = \"0\", expected from 5e-2 to 1e3"),
        ("{ weibull = { shape = 2 } }", "scale: is missing"),
        ("{ weibull = { shape = 2, scale = 3 } }", "\"3\" has no unit"),
        (
            "{ pareto = { shape = 2, minimum = \"0 ms\" } }",
            "found minimum = \"0 ms\", expected from 1e-100 to 1e100",
        ),
        (
            "{ pareto = { shape = 2, minimum = \"2 ms\", maximum = \"1 ms\" } }",
            "minimum = \"2 ms\" is above maximum = \"1 ms\"",
        ),
        ("{ pareto = { shape = 2, minimum = \"2 ms\", maximun = \"3 ms\" } }", "did you mean maximum?"),
        ("{ log_normal = { mean = \"0 ms\", deviation = \"1 ms\" } }", "no log-normal distribution has mean"),
        ("{ log_normal = { median = \"1 ms\", sigma = 11 } }", "found sigma = \"11\", expected at least 0"),
        ("{ log_normal = { median = \"1 ms\", deviation = \"1 ms\" } }", "there is no such key"),
        ("{ log_norml = { mean = \"1 ms\", deviation = \"1 ms\" } }", "did you mean log_normal?"),
        ("{ empirical = { file = \"../times.csv\" } }", "expected a file beside the model"),
        ("{ empirical = { file = \"/dev/zero\" } }", "expected a file beside the model"),
        ("{ empirical = { file = \"\" } }", "expected a file beside the model"),
        ("{ empirical = { file = \"none-such.csv\" } }", "none-such.csv: "),
    ] {
        let error = with_service(service, Path::new("m.toml")).expect_err(service);
        assert!(error.contains(place) && error.contains(expected), "{service}: {error}");
    }
}

#[test]
fn an_infinite_mean_is_warned_of() {
    let model = |service| with_service(service, Path::new("m.toml")).expect("it is good");
    let warnings = |service| model(service).warnings().iter().map(ToString::to_string).collect::<Vec<_>>();
    let said = warnings("{ pareto = { shape = 1, minimum = \"1 ms\" } }");
    assert!(said.len() == 1 && said[0].contains("its mean is infinite"), "{said:?}");
    assert_eq!(warnings("{ pareto = { shape = 1, minimum = \"1 ms\", maximum = \"1 s\" } }"), [""; 0]);
    // It runs all the same.
    let result = model("{ pareto = { shape = 0.5, minimum = \"1 ms\" } }").run(1).expect("it is good");
    assert!(result.modules["serve"].mean_queue.is_finite());
}

#[test]
fn measured_times_come_from_a_file_beside_the_model() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("times.csv"), "time,count\n10,3\n20,1\n").expect("it is written");
    let service = "{ empirical = { file = \"times.csv\", unit = \"ms\" } }";
    let model =
        with_service(service, &folder.path().join("m.toml")).unwrap_or_else(|error| panic!("{error}"));
    let study = model.replicate(&(0..20).collect::<Vec<_>>()).expect("it is good");
    let response = study.mean("module.serve.response").expect("measured");
    // 12.5 ms; of 2,000 values of a deviation of 4.3 ms.
    assert!((response - 0.0125).abs() < 4.0 * 0.0001, "{response}");
    let run = &study.runs[0].modules["serve"].response;
    assert!((run.least().expect("some") - 0.01).abs() < 1e-12, "{run:?}");
    assert!((run.largest().expect("some") - 0.02).abs() < 1e-12, "{run:?}");

    std::fs::write(folder.path().join("times.csv"), "10\nten\n").expect("it is written");
    let error = with_service(service, &folder.path().join("m.toml")).expect_err("a word");
    assert!(error.contains("times.csv: line 2: expected a value"), "{error}");
}

#[test]
fn intervals_cover_what_is_exact_as_often_as_they_say() {
    // 2,000 runs, of which every ten make an interval: 200. How many customers come in 10 s is exactly 60 / s in the mean, from the
    // first moment on.
    let model = queue(Draw::exponential("10 ms")).with("end", "10 s").with("warm_up", "0 s");
    let model = model.measure("come", Measure::Throughput { of: "arrive".to_owned(), bytes: None });
    let seeds: Vec<u64> = (0..2_000).collect();
    let covers = |seeds: &[u64]| {
        let study = model.replicate(seeds).expect("it is good");
        study.interval("measure.come", 0.95).expect("measured").expect("ten runs").contains(60.0)
    };
    let covered = seeds.chunks(10).filter(|seeds| covers(seeds)).count();
    // 190 in the mean; four standard errors of 3.1 on both sides.
    assert!((178..=200).contains(&covered), "{covered} of 200");
}
